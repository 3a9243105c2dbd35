//! Signals that were ignored when the process started.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::os::fd::AsFd;
use std::process::Command;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signals::Signals;

/// Set in the process that the test starts.
const INSIDE: &str = "SIGNALS_TEST_INSIDE";

#[test]
fn a_child_is_not_reaped_by_the_kernel_where_sigchld_was_ignored() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' CHLD; exec \"$0\" --test-threads=1"]).arg(std::env::current_exe().unwrap());
    let output = shell.env(INSIDE, "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
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
