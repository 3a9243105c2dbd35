//! `boson exec`: its terminal and its signals.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, tcgetattr};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::Machine;

/// Reads the terminal until it has printed the text.
fn expect(terminal: &mut File, printed: &mut String, text: &str) {
    let mut buffer = [0; 1024];
    while !printed.contains(text) {
        let length = terminal.read(&mut buffer).unwrap_or_else(|e| panic!("{text:?} is missing: {e}: {printed}"));
        printed.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
}

#[test]
fn a_command_in_a_terminal_has_one_of_its_own() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let pty = openpty(None, None).unwrap();
    let mut terminal = File::from(pty.master);
    tcsetwinsize(&terminal, Winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let stream = || Stdio::from(pty.slave.try_clone().unwrap());
    // `/dev/tty` is the controlling terminal; Ctrl-C interrupts what runs in it.
    let script =
        "echo ready-$TERM > /dev/tty; stty size; trap : INT; cat; echo code-$?; read line; echo got-$line; exit 7";
    let mut child = machine
        .command(&["exec", "web/0", "bash", "-c", script])
        .env("TERM", "kind")
        .stdin(stream())
        .stdout(stream())
        .stderr(stream())
        .spawn()
        .unwrap();
    drop(pty.slave);
    let mut printed = String::new();
    expect(&mut terminal, &mut printed, "ready-kind");
    expect(&mut terminal, &mut printed, "33 77");
    terminal.write_all(b"typed\r").unwrap();
    // Once as the line editor's echo, once as cat's output.
    expect(&mut terminal, &mut printed, "typed\r\ntyped\r\n");
    terminal.write_all(b"\x03").unwrap();
    expect(&mut terminal, &mut printed, "code-130");
    terminal.write_all(b"a line\r").unwrap();
    expect(&mut terminal, &mut printed, "got-a line");
    assert_eq!(child.wait().unwrap().code(), Some(7), "{printed}");
    // The terminal has its mode back.
    assert!(tcgetattr(&terminal).unwrap().local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO));
}

#[test]
fn nothing_in_an_instance_ignores_the_signals_that_nohup_ignores() {
    let machine = Machine::new();
    let up = machine.command(&["up", "-m", "manifest.yml", "-r", "release", "--detach"]);
    let mut ignoring = Command::new("env");
    ignoring
        .arg("--ignore-signal=HUP,INT,QUIT")
        .arg(up.get_program())
        .args(up.get_args())
        .current_dir(machine.path(""));
    for (name, value) in up.get_envs() {
        match value {
            Some(value) => ignoring.env(name, value),
            None => ignoring.env_remove(name),
        };
    }
    assert!(ignoring.output().unwrap().status.success());
    let script = "trap 'exit 3' INT; kill -INT $$; exit 0";
    machine.boson(&["exec", "web/0", "sh", "-c", script]).ends_with(3);
}
