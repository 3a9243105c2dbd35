//! Brokerpaks: expressions against HIL itself, a request with 60 inputs against a process that does nothing, unpacking against unzip,
//! provisioning against a script of the same commands.
//!
//! `cargo bench -p e2e --bench brokerpak`; `BOSON_E2E_BIN=$PWD/target/static` measures what `make static` has built. It needs Go with the
//! modules of HIL and OpenTofu, and unzip.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod measure;

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use measure::{Result, median, median_of, ms, table, timed};

const RUNS: usize = 11;
const EXPRESSIONS: usize = 50_000;
const INPUTS: usize = 60;
/// Bytes of each of the two files that are unpacked: some of them compress, some do not.
const SIZE: usize = 60 << 20;

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_: &[String]) -> Result<()> {
    let brokerpak = testkit::executable("boson-brokerpak");
    let scratch = measure::scratch()?;
    let rows = [
        expressions(&brokerpak, scratch.path())?,
        request(&brokerpak, scratch.path())?,
        archive(&brokerpak, scratch.path())?,
        provision(&brokerpak, scratch.path())?,
    ];
    println!("whole processes, medians of {RUNS} runs");
    table(&["", "boson, ms", "the other, ms", "ratio", "goal"], &rows);
    Ok(())
}

fn row(what: &str, own: Duration, other: Duration, ratio: f64, goal: &str) -> Vec<String> {
    [what.to_owned(), format!("{:.1}", ms(own)), format!("{:.1}", ms(other)), format!("{ratio:.2}x"), goal.to_owned()]
        .into()
}

/// From before the start of a process that reads a file to its end.
fn fed(mut command: Command, input: &Path) -> Result<Duration> {
    command.stdin(File::open(input)?).stdout(Stdio::null());
    let started = Instant::now();
    let status = command.status()?;
    let took = started.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?} failed").into()) }
}

fn expressions(brokerpak: &Path, directory: &Path) -> Result<Vec<String>> {
    let go = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/brokerpak/hil/tests/go");
    let program = directory.join("hil");
    let built = Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(go).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("HIL's program cannot be built: it needs Go with the module hashicorp/hil".into());
    }
    // As those of real paks.
    let kinds = [
        "${json.marshal(request.default_labels)}",
        "csb-${request.instance_id}",
        "${str.truncate(64, \"${name}-${request.instance_id}\")}",
        "${size > 10 ? \\\"large\\\" : \\\"small\\\"}",
    ];
    let variables = r#"{"request.instance_id": "0123456789", "request.default_labels": {"a": "b", "c": "d"}, "name": "n", "size": 12}"#;
    let mut lines = String::new();
    for number in 0..EXPRESSIONS {
        let expression = kinds[number % kinds.len()].replace("\\\"", "\"").replace('"', "\\\"");
        writeln!(lines, "{{\"expression\": \"{expression}\", \"variables\": {variables}}}")?;
    }
    let input = directory.join("expressions");
    fs::write(&input, lines)?;
    let own = (0..RUNS).map(|_| {
        let mut command = Command::new(brokerpak);
        command.args(["brokerpak", "eval", "--batch"]);
        fed(command, &input)
    });
    let own = median(own.collect::<Result<Vec<_>>>()?)?;
    let other = median((0..RUNS).map(|_| fed(Command::new(&program), &input)).collect::<Result<Vec<_>>>()?)?;
    let ratio = ms(other) / ms(own);
    Ok(row(&format!("{EXPRESSIONS} expressions, HIL in Go"), own, other, ratio, ">= 3x"))
}

fn request(brokerpak: &Path, directory: &Path) -> Result<Vec<String>> {
    let pak = directory.join("pak");
    fs::create_dir_all(&pak)?;
    let (mut inputs, mut template) = (String::new(), String::new());
    for number in 0..INPUTS {
        writeln!(
            inputs,
            "  - {{field_name: input_{number}, type: string, details: d, default: 'csb-${{request.instance_id}}', constraints: {{maxLength: 99}}}}"
        )?;
        writeln!(template, "    variable \"input_{number}\" {{ type = string }}")?;
    }
    let manifest = "packversion: 1\nname: p\nversion: 1.0.0\nplatforms: [{os: linux, arch: amd64}]\n\
        terraform_binaries: [{name: tofu, version: 1.9.1}]\nservice_definitions: [s.yml]\n";
    let service = format!(
        "version: 1\nname: s\nid: 00000000-0000-0000-0000-000000000000\ndescription: d\ndisplay_name: S\n\
        image_url: https://example.com\ndocumentation_url: https://example.com\nsupport_url: https://example.com\n\
        plans: [{{name: p, id: 00000000-0000-0000-0000-000000000001, description: d, display_name: P}}]\n\
        provision:\n  user_inputs:\n{inputs}  template: |\n{template}"
    );
    fs::write(pak.join("manifest.yml"), manifest)?;
    fs::write(pak.join("s.yml"), service)?;
    fs::write(directory.join("r.json"), r#"{"operation": "provision", "plan": "p", "instance_id": "i"}"#)?;
    let own = median_of(RUNS, |_| {
        let mut command = Command::new(brokerpak);
        command.args(["brokerpak", "resolve", "pak", "--request", "r.json"]).current_dir(directory);
        Ok(command)
    })?;
    let other = median_of(RUNS, |_| Ok(Command::new("/bin/true")))?;
    Ok(row(&format!("a request with {INPUTS} inputs, /bin/true"), own, other, ms(own) / ms(other), "<= 10x"))
}

fn archive(brokerpak: &Path, directory: &Path) -> Result<Vec<String>> {
    let pak = directory.join("packed");
    fs::create_dir_all(&pak)?;
    let mut random = testkit::random::Random::new(1);
    for name in ["tofu", "terraform-provider-x_v1.0.0"] {
        let mut content = Vec::with_capacity(SIZE);
        while content.len() < SIZE {
            content.extend(random.number().to_le_bytes());
            content.extend_from_slice(b"a text that repeats itself");
        }
        fs::write(pak.join(name), content)?;
    }
    let manifest = "packversion: 1\nname: packed\nversion: 1.0.0\nplatforms: [{os: linux, arch: amd64}]\nterraform_binaries:\n\
        - {name: tofu, version: 1.9.1, url_template: tofu}\n\
        - {name: terraform-provider-x, version: 1.0.0, url_template: terraform-provider-x_v1.0.0}\nservice_definitions: [s.yml]\n";
    fs::write(pak.join("manifest.yml"), manifest)?;
    fs::copy(directory.join("pak/s.yml"), pak.join("s.yml"))?;
    let built = Command::new(brokerpak).args(["brokerpak", "build", "packed"]).current_dir(directory).output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned().into());
    }
    let own = median_of(RUNS, |run| {
        let mut command = Command::new(brokerpak);
        let to = format!("own-{run}");
        let _ = fs::remove_dir_all(directory.join(format!("own-{}", run.wrapping_sub(1))));
        command.args(["brokerpak", "extract", "packed-1.0.0.brokerpak", &to, "--platform", "linux/amd64"]);
        command.current_dir(directory);
        Ok(command)
    })?;
    let other = median_of(RUNS, |run| {
        let mut command = Command::new("unzip");
        let _ = fs::remove_dir_all(directory.join(format!("other-{}", run.wrapping_sub(1))));
        command.args(["-q", "packed-1.0.0.brokerpak", "-d", &format!("other-{run}")]).current_dir(directory);
        Ok(command)
    })?;
    Ok(row("unpacking 120 MB, unzip", own, other, ms(own) / ms(other), "<= 1x"))
}

/// `run provision` against a shell script that runs the same commands of OpenTofu in an equal workspace.
fn provision(brokerpak: &Path, directory: &Path) -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built = Command::new(root.join(".ci/terraform")).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err("OpenTofu cannot be built".into());
    }
    let tofu = PathBuf::from(String::from_utf8(built.stdout)?.trim()).join("tofu");
    let service = fs::read_to_string(directory.join("pak/s.yml"))?;
    let (head, _) = service.split_once("provision:\n").ok_or("the service has no provision")?;
    let actions = "provision:\n  user_inputs: [{field_name: a, type: string, details: d, default: '${request.instance_id}'}]\n  template: |\n    \
        variable a { type = string }\n    resource terraform_data x { input = var.a }\n    output o { value = terraform_data.x.output }\n  \
        outputs: [{field_name: o, type: string, details: d}]\n";
    let pak = directory.join("live");
    fs::create_dir_all(&pak)?;
    fs::copy(directory.join("pak/manifest.yml"), pak.join("manifest.yml"))?;
    fs::write(pak.join("s.yml"), format!("{head}{actions}"))?;
    let run = |state: &str| {
        let mut command = Command::new(brokerpak);
        command.args(["brokerpak", "run", "provision", "live", "--request", "r.json", "--output", "o.json"]);
        command.args(["--state-dir", state, "--terraform"]).arg(format!("1.9.1={}", tofu.display()));
        command.current_dir(directory);
        command
    };
    let kept = run("kept-state").args(["--keep-workspace", "kept"]).output()?;
    if !kept.status.success() {
        return Err(String::from_utf8_lossy(&kept.stderr).into_owned().into());
    }
    let script = "set -e\ncp -r kept/1 \"$1\"\ncd \"$1\"\nmkdir home plugins\nexport HOME=$PWD/home CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_INPUT=0\n\
        export TF_CLI_CONFIG_FILE=/dev/null\n\"$2\" init -plugin-dir=plugins -no-color -input=false\n\"$2\" apply -auto-approve -no-color -input=false\n";
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        own.push(timed(&mut run(&format!("state-{number}")))?);
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", &format!("script-{number}")]).arg(&tofu).current_dir(directory);
        other.push(timed(&mut command)?);
    }
    let (own, other) = (median(own)?, median(other)?);
    Ok(row("run provision, a script of the same commands", own, other, ms(own) / ms(other), "<= 1.05x"))
}
