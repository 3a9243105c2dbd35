//! `process-template --ask` on a terminal.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use nix::pty::{OpenptyResult, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

const TEMPLATE: &str = "kind: Template
apiVersion: v1
objects: [{kind: Secret, apiVersion: v1, stringData: {password: $(PASSWORD)}}]
parameters: [{name: PASSWORD, required: true, description: Of the database}]
";

/// Runs the verb on a terminal, types an answer, and returns the exit status, what the terminal showed, and whether it shows
/// what is typed afterwards.
fn asked(answer: &str) -> (std::process::ExitStatus, String, bool) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("t.yaml"), TEMPLATE).unwrap();
    let OpenptyResult { master, slave } = openpty(None, None).unwrap();
    // What the verb holds of the terminal is all that keeps it open: where the verb has ended, reading does, too.
    let child = Command::new(testkit::executable("process-template"))
        .args(["--template", "t.yaml", "--ask", "--output", "out.yaml"])
        .current_dir(directory.path())
        .stdin(Stdio::from(slave.try_clone().unwrap()))
        .stderr(Stdio::from(slave))
        .spawn();
    let mut child = child.unwrap();
    let mut terminal = File::from(master);
    let mut shown = Vec::new();
    while !shown.ends_with(b"> ") {
        let mut byte = [0];
        let read = terminal.read_exact(&mut byte);
        read.unwrap_or_else(|error| panic!("{error} after {:?}", String::from_utf8_lossy(&shown)));
        shown.extend(byte);
    }
    terminal.write_all(answer.as_bytes()).unwrap();
    let status = child.wait().unwrap();
    let shows = tcgetattr(&terminal).unwrap().local_flags.contains(LocalFlags::ECHO | LocalFlags::ISIG);
    // The end of a terminal is an error.
    let _ = terminal.read_to_end(&mut shown);
    if status.success() {
        assert!(fs::read_to_string(directory.path().join("out.yaml")).unwrap().contains("password: hunter2"));
    }
    (status, String::from_utf8(shown).unwrap(), shows)
}

#[test]
fn answers_are_not_shown() {
    let (status, shown, shows) = asked("hunter2\n");
    assert!(status.success(), "{shown}");
    assert_eq!(shown.replace('\r', ""), "PASSWORD: Of the database\n> \n");
    assert!(shows);
}

#[test]
fn control_c_ends_the_program_and_restores_the_terminal() {
    use std::os::unix::process::ExitStatusExt;
    let (status, shown, shows) = asked("hun\u{3}");
    assert_eq!(status.signal(), Some(nix::sys::signal::Signal::SIGINT as i32), "{shown}");
    assert!(shows && !shown.contains("hun"), "{shown}");
}
