//! Commands, with a shell in terraform's place: what depends on the system and not on terraform.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use terraform_runner::{Command, End, Interruption, Limits, Masks, Outcome};

const PATIENT: Limits = Limits { timeout: None, grace: Duration::from_secs(600) };

fn run_with(script: &str, limits: Limits, interruption: &Interruption, tick: &mut dyn FnMut()) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let lock = File::create(directory.path().join("lock")).unwrap();
    let command = Command {
        executable: Path::new("/bin/sh"),
        arguments: &["-c".to_owned(), script.to_owned()],
        directory: directory.path(),
        environment: &BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        keep_stdout: None,
        lock: &lock,
        masks: &Masks::new(["hunter2-secret"]),
    };
    command.run(limits, interruption, tick).unwrap()
}

fn run(script: &str) -> Outcome {
    run_with(script, PATIENT, &Interruption::default(), &mut || ())
}

#[test]
fn much_output_neither_blocks_nor_is_kept() {
    let outcome = run("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo out; echo 'Error: last' >&2; exit 3");
    assert!(!outcome.is_success());
    assert_eq!((outcome.end, outcome.reason().as_str()), (End::Exited, "exit status 3"));
    assert!(outcome.stderr.len() < 200_000, "{}", outcome.stderr.len());
}

#[test]
fn errors_are_one_line_each_and_without_secrets() {
    let text = "\n╷\n│ Warning: old\n│ \n│   on main.tf\n╵\n╷\n│ Error: cannot log in\n│ \n│ with hunter2-secret\n│ at main.tf\n╵\n╷\n│ Error: another\n╵\n";
    let outcome = run(&format!("printf '%s' '{text}' >&2; exit 1"));
    assert_eq!(outcome.errors(), ["cannot log in with *** at main.tf", "another"]);
    let outcome = run("echo one >&2; echo ' two' >&2; exit 1");
    assert_eq!(outcome.errors(), ["one two"]);
}

#[test]
fn an_interruption_is_forwarded_and_a_second_one_kills() {
    let once = Interruption::default();
    let script = "trap 'echo got it >&2; exit 4' INT; while :; do sleep 0.01; done";
    let outcome = run_with(script, PATIENT, &once, &mut || once.raise());
    assert_eq!(outcome.end, End::Interrupted);
    let twice = Interruption::default();
    let outcome = run_with("trap '' INT; while :; do sleep 0.01; done", PATIENT, &twice, &mut || twice.raise());
    assert_eq!((outcome.end, outcome.reason().as_str()), (End::Interrupted, "it was interrupted (signal 9)"));
}

#[test]
fn what_hangs_is_interrupted_and_then_killed() {
    let limits = Limits { timeout: Some(Duration::ZERO), grace: Duration::ZERO };
    let outcome = run_with("trap '' INT; while :; do sleep 0.01; done", limits, &Interruption::default(), &mut || ());
    assert_eq!(outcome.end, End::TimedOut);
    assert!(!outcome.is_success());
}
