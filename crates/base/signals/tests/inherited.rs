//! Signals that were ignored when the process started.
//!
//! Started with an argument of its own, this program is the process that reads signals: a test's thread would share them with the
//! thread that waits for the test, which may take them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::os::fd::AsFd;
use std::process::Command;

use libtest_mimic::{Arguments, Trial};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signals::Signals;

const INSIDE: &str = "--wait-for-a-child";

fn main() {
    if std::env::args().nth(1).is_some_and(|first| first == INSIDE) {
        return inside();
    }
    let trial = Trial::test("a_child_is_not_reaped_by_the_kernel_where_sigchld_was_ignored", || {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' CHLD; exec \"$0\" \"$1\""]).arg(std::env::current_exe()?).arg(INSIDE);
        let output = shell.output()?;
        assert!(output.status.success(), "{output:?}");
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit();
}

fn inside() {
    let signals = Signals::block().unwrap();
    let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
    loop {
        let mut descriptors = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        poll(&mut descriptors, PollTimeout::NONE).unwrap();
        if signals.next().unwrap() == Some(nix::libc::SIGCHLD) {
            break;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(7));
}
