//! `boson exec`: its terminal and its signals.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::Pid;
use rustix::termios::{Winsize, tcsetwinsize};
use testkit::waiting::{PATIENCE, eventually};

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

/// `boson top` in a terminal that it controls, of 80 columns and 24 lines.
struct Top {
    child: Child,
    terminal: File,
    /// What the terminal shows.
    screen: vt100::Parser,
    /// The other end, whose mode is looked at.
    slave: File,
}

impl Top {
    fn start(machine: &Machine) -> Top {
        let pty = openpty(None, None).unwrap();
        tcsetwinsize(&pty.slave, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let verb = machine.command(&["top", "--interval", "200ms"]);
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(verb.get_program()).args(verb.get_args()).current_dir(machine.path(""));
        command.envs(verb.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
        let stream = || Stdio::from(pty.slave.try_clone().unwrap());
        let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        let screen = vt100::Parser::new(NonZero::new(24).unwrap(), NonZero::new(80).unwrap(), 0);
        Top { child, terminal: File::from(pty.master), screen, slave: File::from(pty.slave) }
    }

    /// Reads the terminal until its screen is as wanted.
    fn wait_for(&mut self, is_wanted: impl Fn(&vt100::Screen) -> bool) {
        let mut buffer = [0; 4096];
        while !is_wanted(self.screen.screen()) {
            let mut readable = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
            let count = poll(&mut readable, PollTimeout::try_from(PATIENCE).unwrap()).unwrap();
            assert!(count > 0, "the screen stays:\n{}", self.screen.screen().contents());
            let length = self.terminal.read(&mut buffer).unwrap();
            self.screen.process(&buffer[..length]);
        }
    }

    fn expect(&mut self, text: &str) {
        self.wait_for(|screen| screen.contents().contains(text));
    }

    fn press(&mut self, key: &str) {
        self.terminal.write_all(key.as_bytes()).unwrap();
    }
}

fn has_its_mode(terminal: &File) -> bool {
    tcgetattr(terminal).unwrap().local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
}

#[test]
fn top_shows_what_runs_restarts_a_job_and_leaves_the_terminal_as_it_was() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let mut top = Top::start(&machine);
    top.expect("2 of 2 instances run");
    top.expect("log of web/0/web");
    assert!(top.screen.screen().alternate_screen() && !has_its_mode(&top.slave));
    top.press("r");
    top.expect("Restart web/0/web? y/n");
    top.press("y");
    top.expect("web/0/web runs");
    top.press("q");
    assert_eq!(top.child.wait().unwrap().code(), Some(0), "{}", top.screen.screen().contents());
    top.wait_for(|screen| !screen.alternate_screen());
    assert!(has_its_mode(&top.slave));

    // The same after SIGTERM, and after a signal that leaves it no time.
    for (signal, code) in [(Signal::SIGTERM, Some(143)), (Signal::SIGKILL, None)] {
        let mut top = Top::start(&machine);
        top.expect("2 of 2 instances run");
        kill(Pid::from_raw(top.child.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(top.child.wait().unwrap().code(), code);
        top.wait_for(|screen| !screen.alternate_screen() && !screen.hide_cursor());
        eventually("the terminal has its mode", || has_its_mode(&top.slave));
    }
}

#[test]
fn top_needs_a_terminal_and_a_deployment() {
    let machine = Machine::new();
    machine.boson(&["top"]).ends_with(65);
    machine.up(&[]).ends_with(0);
    let said = machine.boson(&["top"]).ends_with(2);
    assert!(said.stderr.contains("boson status --vitals"), "{}", said.stderr);
    machine.boson(&["top", "--interval", "1ms"]).ends_with(2);
}
