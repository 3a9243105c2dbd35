//! Completion and manual pages, as shells and `man` use them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use testkit::executable;

/// The names that people type, and the executables.
const NAMES: [(&str, &str); 6] = [
    ("boson", "boson"),
    ("boson-cluster", "boson-cluster"),
    ("boson-templates", "boson-templates"),
    ("brokerpak", "boson-brokerpak"),
    ("kubectl_complete-boson", "boson-cluster"),
    ("render-files", "boson-cloud"),
];

/// A directory with these names: first in the `PATH` of [`command`].
fn installed() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("bin")).unwrap();
    for (name, file) in NAMES {
        symlink(executable(file), directory.path().join("bin").join(name)).unwrap();
    }
    directory
}

fn command(directory: &Path, program: &str) -> Command {
    let path = format!("{}:{}", directory.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program);
    command.current_dir(directory).env("PATH", path).env("XDG_STATE_HOME", directory.join("state"));
    command.env_remove("BOSON_STATE_DIR").env_remove("DEPLOYMENT_NAME");
    command
}

fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn script(directory: &Path, shell: &str, name: &str) -> String {
    stdout(command(directory, name).env("BOSON_COMPLETE", shell))
}

fn is_installed(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|directory| directory.join(program).is_file())
}

/// The state of a deployment `name` with these instances, which has the errand `smoke-tests`.
fn write_deployment(directory: &Path, name: &str, instances: &[&str]) {
    let state = directory.join("state/boson").join(name);
    let jobs = state.join("generations/1/all-releases/jobs-src/web");
    for (job, template) in [("web", "config/web.yml"), ("smoke-tests", "bin/run")] {
        fs::create_dir_all(jobs.join(job)).unwrap();
        let specification = format!("name: {job}\ntemplates: {{a.erb: {template}}}\n");
        fs::write(jobs.join(job).join("job.MF"), specification).unwrap();
    }
    let addresses: Vec<String> = instances.iter().map(|instance| format!("\"{instance}\": \"10.0.0.2\"")).collect();
    let addresses = addresses.join(", ");
    let record = format!(
        "{{\"version\": 1, \"deployment\": \"{name}\", \"boson\": null, \"network\": null, \"addresses\": {{{addresses}}}}}"
    );
    fs::write(state.join("state.json"), record).unwrap();
}

/// What bash offers at the end of a command line.
fn offered_by_bash(directory: &Path, line: &str) -> Vec<String> {
    let script = r#"
        name=$1
        source <(BOSON_COMPLETE=bash "$name")
        function=$(complete -p "$name" | sed 's/.* -F \([^ ]*\) .*/\1/')
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        "$function" "$name" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        ((!${#COMPREPLY[@]})) || printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let words = line.split(' ');
    let mut command = command(directory, "bash");
    let text = stdout(command.args(["--norc", "-c", script, "bash"]).args(words));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_verbs_flags_and_files() {
    let installed = installed();
    let offered = |line: &str| offered_by_bash(installed.path(), line);
    assert_eq!(offered("boson int"), ["interpolate"]);
    assert_eq!(offered("boson logs --fo"), ["--follow"]);
    assert_eq!(offered("boson completion ")[..3], ["bash", "zsh", "fish"]);
    assert_eq!(offered("brokerpak b"), ["build"]);
    assert_eq!(offered("boson-cluster ev"), ["events"]);
    fs::write(installed.path().join("manifest.yml"), "").unwrap();
    assert_eq!(offered("boson up --manifest m"), ["manifest.yml"]);
    // The commands of the bosh CLI have the flags of the verbs that they name.
    assert_eq!(offered("boson deploy --skip-d"), ["--skip-drain"]);
    // Verbs of pods are offered if no other verb is meant.
    assert!(!offered("boson ").contains(&"run-process".to_owned()));
    assert_eq!(offered("boson run-p"), ["run-process"]);
}

#[test]
fn names_of_deployments_instances_and_errands_are_completed() {
    let installed = installed();
    write_deployment(installed.path(), "shop", &["web/0", "web/1", "db/0"]);
    write_deployment(installed.path(), "other", &["nats/0"]);
    let offered = |line: &str| offered_by_bash(installed.path(), line);
    assert_eq!(offered("boson status -d "), ["other", "shop"]);
    assert_eq!(offered("boson down -d=s"), ["-d=shop"]);
    assert_eq!(offered("boson logs -d shop w"), ["web/0", "web/1"]);
    assert_eq!(offered("boson exec n"), ["nats/0"]);
    assert_eq!(offered("boson restart --deployment-name=shop db/"), ["db/0"]);
    assert_eq!(offered("boson run-errand smoke"), ["smoke-tests"]);
    assert_eq!(offered("boson run-errand smoke-tests --instance w"), ["web", "web/0", "web/1"]);
    // A state that cannot be read is skipped; a message would disturb the prompt.
    fs::write(installed.path().join("state/boson/shop/state.json"), "{").unwrap();
    assert_eq!(offered("boson status -d "), ["other"]);
}

#[test]
fn kubectl_completes_the_plugin() {
    let installed = installed();
    let offered = |words: &[&str]| stdout(command(installed.path(), "kubectl_complete-boson").args(words));
    assert_eq!(offered(&["ev"]), "events\tShow the events of a deployment's objects\n:4\n");
    assert!(offered(&["logs", "--pod"]).starts_with("--pod\tOnly this pod\n"));
    assert_eq!(offered(&["dance", ""]).lines().last(), Some(":4"));
}

#[test]
fn every_shell_reads_its_script() {
    let installed = installed();
    for shell in ["bash", "zsh", "fish"] {
        for (name, _) in NAMES.iter().filter(|(name, _)| !name.starts_with("kubectl")) {
            let text = script(installed.path(), shell, name);
            assert!(text.contains("BOSON_COMPLETE") && text.contains(name), "{text}");
            let path = installed.path().join(format!("{name}.{shell}"));
            fs::write(&path, text).unwrap();
            if is_installed(shell) {
                stdout(command(installed.path(), shell).arg("-n").arg(path));
            }
        }
        let printed = stdout(command(installed.path(), "boson").args(["completion", shell]));
        assert_eq!(printed, script(installed.path(), shell, "boson"));
    }
    let unknown = command(installed.path(), "boson").env("BOSON_COMPLETE", "tcsh").output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn fish_offers_words_with_their_help() {
    if !is_installed("fish") {
        return;
    }
    let installed = installed();
    let script = "BOSON_COMPLETE=fish boson | source; complete --do-complete 'boson explain-'";
    let text =
        stdout(command(installed.path(), "fish").env("HOME", installed.path()).args(["--no-config", "-c", script]));
    assert_eq!(text, "explain-error\tExplain an error code\n");
}

#[test]
fn manual_pages_have_every_verb_and_are_sound() {
    let installed = installed();
    let pages = installed.path().join("man1");
    fs::create_dir(&pages).unwrap();
    symlink(executable("boson-cluster"), installed.path().join("bin/kubectl-boson")).unwrap();
    for name in ["boson", "boson-templates", "brokerpak", "kubectl-boson", "render-files"] {
        assert_eq!(stdout(command(installed.path(), name).env("BOSON_MAN_PAGES", &pages)), "");
    }
    for name in ["boson", "boson-up", "boson-run-process", "brokerpak-build", "kubectl-boson-apply", "render-files"] {
        let text = fs::read_to_string(pages.join(format!("{name}.1"))).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(text.contains(&format!(".TH {name} 1 \"\" \"boson ")), "{text}");
    }
    let up = fs::read_to_string(pages.join("boson-up.1")).unwrap();
    assert!(up.contains("\\fBboson up\\fR") && up.contains(".SH NOTES\n") && !up.contains(".SH VERSION"), "{up}");
    if is_installed("groff") {
        let all = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path());
        stdout(command(installed.path(), "groff").args(["-man", "-ww", "-z"]).args(all));
    }
}
