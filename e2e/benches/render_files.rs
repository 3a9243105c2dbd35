//! Nstance: `text-template` from start to exit against a compiled Go program and `/bin/true`, and `render-files` with more and
//! more files and vars.
//!
//! `cargo bench -p e2e --bench render_files`; `BOSON_E2E_BIN=$PWD/target/static` measures what `make static` has built. Go is
//! needed for the comparison.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod measure;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use measure::{Result, median, ms, table, timed};

const RUNS: usize = 101;
/// How many files or vars a configuration has.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

const TEMPLATE: &str = "#!/bin/sh\n{{ range $i, $n := .nodes }}{{ if $i }},{{ end }}{{ $n.name | printf \"%s-%02d\" $.prefix $i }}{{ end }}\n\
    {{ with .env }}{{ range $k, $v := . }}export {{ $k }}={{ printf \"%q\" $v }}\n{{ end }}{{ end }}";

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_: &[String]) -> Result<()> {
    let render_files = testkit::executable("render-files");
    let scratch = measure::scratch()?;
    starts(&render_files, scratch.path())?;
    sizes(&render_files, scratch.path())
}

fn starts(render_files: &Path, scratch: &Path) -> Result<()> {
    let (template, data) = (scratch.join("template"), scratch.join("data.json"));
    fs::write(&template, TEMPLATE)?;
    let nodes: Vec<_> = (0..20).map(|n| serde_json::json!({"name": format!("node{n}")})).collect();
    let env: serde_json::Map<_, _> = (0..20).map(|n| (format!("KEY{n}"), format!("value {n}").into())).collect();
    fs::write(&data, serde_json::json!({"nodes": nodes, "prefix": "p", "env": env}).to_string())?;
    let Some(go) = go(scratch)? else {
        println!("Go is not installed: text-template is not compared");
        return Ok(());
    };
    let ours = || {
        let mut command = Command::new(render_files);
        command.args(["text-template", "--numbers", "float64", "--template"]).arg(&template).arg("--data").arg(&data);
        command
    };
    let theirs = || {
        let mut command = Command::new(&go);
        command.arg("render").args([&template, &data]);
        command
    };
    if ours().output()?.stdout != theirs().output()?.stdout {
        return Err("the outputs differ".into());
    }
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        // By turns, so that whatever else the machine does meets all.
        for (times, mut command) in times.iter_mut().zip([ours(), theirs(), Command::new("/bin/true")]) {
            times.push(timed(&mut command)?);
        }
    }
    let [ours, theirs, nothing] = times.map(median);
    let (ours, theirs, nothing) = (ours?, theirs?, nothing?);
    let row = |name: &str, time: Duration| {
        vec![
            name.to_owned(),
            format!("{:.2}", ms(time)),
            format!("{:.2}x", ms(time) / ms(theirs)),
            format!("{:+.2}", ms(time) - ms(nothing)),
        ]
    };
    println!("a template of 40 values, from start to exit (medians of {RUNS} runs)");
    table(
        &["process", "ms", "/ Go's program", "ms over /bin/true"],
        &[row("text-template", ours), row("Go's program", theirs), row("/bin/true", nothing)],
    );
    Ok(())
}

/// A program that renders a template with Go's own engine; `None` without Go.
fn go(scratch: &Path) -> Result<Option<PathBuf>> {
    if Command::new("go").arg("version").output().is_err() {
        return Ok(None);
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/nstance/go-template/tests/go");
    let program = scratch.join("go-program");
    let mut build = Command::new("go");
    build.args(["build", "-ldflags=-s -w", "-o"]).arg(&program).arg(".").current_dir(source);
    if build.status()?.success() { Ok(Some(program)) } else { Err("the Go program does not compile".into()) }
}

fn sizes(render_files: &Path, scratch: &Path) -> Result<()> {
    let mut rows = Vec::new();
    for (what, configuration) in [("files", files as fn(usize) -> String), ("vars", vars)] {
        let mut first = None;
        for size in SIZES {
            let path = scratch.join(format!("{what}-{size}.json"));
            fs::write(&path, configuration(size))?;
            let time = measure::median_of(15, |_| {
                let mut command = Command::new(render_files);
                command.args(["--group", "g", "--check", "--config-path"]).arg(&path);
                Ok(command)
            })?;
            let each = ms(time) / size as f64;
            let first = *first.get_or_insert(each);
            rows.push(vec![
                format!("{size} {what}"),
                format!("{:.2}", ms(time)),
                format!("{:.2}", each * 1000.0),
                format!("{:.2}", each / first),
            ]);
        }
    }
    println!(
        "render-files --check, from start to exit (medians of 15 runs); linear is at most 1.00 in the last column"
    );
    table(&["configuration", "ms", "us each", "of the first"], &rows);
    Ok(())
}

/// A configuration with so many files, each of which has a template.
fn files(size: usize) -> String {
    let mut files = String::new();
    for n in 0..size {
        let comma = if n > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            files,
            r#"{comma}"f{n}.env": {{"kind": "env", "template": {{"ID": "{{{{ .Instance.ID }}}}", "V": "{{{{ .Vars.V }}}} {n}"}}}}"#
        );
    }
    format!(
        r#"{{"vars": {{"V": "v"}}, "templates": {{"t": {{"files": {{{files}}}}}}}, "groups": {{"g": {{"template": "t"}}}}}}"#
    )
}

/// A configuration with so many vars and args that use them.
fn vars(size: usize) -> String {
    let vars: Vec<String> = (0..size).map(|n| format!(r#""V{n}": "value {n}""#)).collect();
    let args: Vec<String> = (0..size).map(|n| format!(r#""a{n}": "{{{{ .Vars.V{n} }}}}""#)).collect();
    format!(r#"{{"vars": {{{}}}, "groups": {{"g": {{"args": {{{}}}}}}}}}"#, vars.join(","), args.join(","))
}
