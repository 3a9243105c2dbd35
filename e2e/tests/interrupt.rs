//! Stopping a rendering stops all of its processes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use e2e::lone_job;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use std::os::fd::AsFd;
use testkit::waiting::PATIENCE;

/// Renders a template that reads from a pipe, and stops that once it reads; returns the pipe's other end.
fn stop(directory: &Path, template: &str, signal: Signal) {
    let pipe = directory.join("pipe");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let template = template.replace("PIPE", pipe.to_str().unwrap());
    let mut render = lone_job(directory, &[("waits", &template), ("plain", "<%= p('text') %>\n")]);
    let mut rendering = render.stdin(Stdio::null()).process_group(0).spawn().unwrap();
    // Once the template has opened it, too.
    let pipe = File::options().write(true).open(&pipe).unwrap();
    kill(Pid::from_raw(rendering.id().cast_signed()), signal).unwrap();
    // The other end has no holder any more: the process that evaluated the template has exited, too.
    let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::empty())];
    assert_eq!(poll(&mut fds, PollTimeout::try_from(PATIENCE).unwrap()), Ok(1), "the template is still evaluated");
    let status = rendering.wait().unwrap();
    assert_eq!(status.signal().or(status.code().map(|code| code - 128)), Some(signal as i32), "{status}");
    assert!(!directory.join("jobs/lone").exists());
}

#[test]
fn interrupting_rendering_ends_all_its_processes() {
    for (kind, template) in [
        ("with others", "<%= File.read('PIPE') %>"),
        ("in a process of its own", "<% $own = 1 %><%= File.read('PIPE') %>"),
        ("in Ruby's hands", "<%= File.read('PIPE', 1) rescue 'no' while true %>"),
    ] {
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL] {
            let directory = tempfile::tempdir().unwrap();
            println!("{signal} for a template {kind}");
            stop(directory.path(), template, signal);
            // Leftovers do no harm.
            fs::write(directory.path().join("jobs-src/lone/lone/templates/waits.erb"), "done\n").unwrap();
            assert!(lone_job(directory.path(), &[("waits", "done\n")]).status().unwrap().success());
            assert_eq!(fs::read_to_string(directory.path().join("jobs/lone/waits")).unwrap(), "done\n");
        }
    }
}

/// Ruby has handlers of its own for these signals while it starts.
#[test]
fn a_signal_ends_a_starting_process() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        for number in 0..60 {
            let directory = tempfile::tempdir().unwrap();
            let mut render = lone_job(directory.path(), &[("loops", "<% loop {} %>")]);
            let mut rendering = render.stdin(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
            // At one point of its start after another; no event tells which one it has reached.
            std::thread::sleep(Duration::from_micros(500 * number));
            kill(Pid::from_raw(rendering.id().cast_signed()), signal).unwrap();
            let status = rendering.wait().unwrap();
            let mut stderr = String::new();
            rendering.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            assert_eq!((status.signal(), stderr.as_str()), (Some(signal as i32), ""), "{status}");
        }
    }
}
