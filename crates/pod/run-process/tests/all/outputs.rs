//! Processes with a lot of output or none, stalled and closed readers, and full disks.

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::{Job, RUN_PROCESS, output, text};

#[test]
fn a_stalled_reader_blocks_no_process() {
    // Far more than pipes and buffers hold; the reader reads only the first line.
    let job =
        Job::script("echo ready; head -c 8000000 /dev/zero; echo >&2 done; echo > \"$HOME/done\"; sleep 1000", "");
    let running = job.start(&["--quit-timeout", "50ms"]);
    eventually("everything is printed", || job.path("var/vcap/data/web/done").exists());
    eventually("everything is in the log file", || {
        job.path("var/vcap/sys/log/web/web.stdout.log").metadata().unwrap().len() == 8_000_006
    });
    running.signal(Signal::SIGTERM);
    let (read, status) = running.wait();
    assert_eq!(status, 143);
    assert!(read.len() < 8_000_000, "the reader missed some of the output");
}

#[test]
fn a_closed_reader_kills_no_process() {
    let job = Job::script("echo ready; while [ ! -e \"$HOME/gone\" ]; do sleep 0.01; done; seq 1 100000; exit 5", "");
    let mut running = job.start(&[]);
    running.stop_reading();
    job.write("var/vcap/data/web/gone", "", 0o644);
    assert_eq!(running.wait_for_status(), 5);
    let log = job.read("var/vcap/sys/log/web/web.stdout.log");
    assert!(log.ends_with("\n100000\n"), "the log file has everything");
}

#[test]
fn a_process_that_closes_its_output_keeps_running() {
    let job = Job::script("exec >&- 2>&-; while [ ! -e \"$HOME/go\" ]; do sleep 0.01; done; exit 4", "");
    let running = job.start_quietly();
    job.write("var/vcap/data/web/go", "", 0o644);
    assert_eq!(running.wait(), (String::new(), 4));
}

#[test]
fn a_background_process_that_holds_the_output_open_is_not_waited_for() {
    // The orphan keeps the pipes open; it is terminated, which closes them.
    let job = Job::script("sleep 1000 & echo printed; exit 3", "");
    let output = job.run();
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("printed\n", Some(3)));
}

#[test]
fn a_full_disk_stops_neither_the_process_nor_its_output() {
    let job = Job::script("head -c 1000000 /dev/zero | tr '\\0' x; exit 3", "");
    std::fs::create_dir_all(job.path("var/vcap/sys/log")).unwrap();
    let mount = format!("mount -t tmpfs -o size=64k none {}", job.path("var/vcap/sys/log").display());
    let can = std::process::Command::new("unshare").args(["-Urm", "sh", "-c", &mount]).output();
    if !can.is_ok_and(|o| o.status.success()) {
        return;
    }
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    let mut command = job.command_below(&["unshare", "-Urm", "sh", "-c", &script, &RUN_PROCESS]);
    let output = output(command.env("BOSON_LOG", "warn"));
    assert_eq!((output.stdout.len(), output.status.code()), (1_000_000, Some(3)));
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("a log file cannot be written").count(), 1, "{stderr}");
}

#[test]
fn a_log_directory_that_cannot_be_created_is_reported() {
    let job = Job::script("exit 0", "");
    job.write("var/vcap/sys/log", "", 0o644);
    let refused = job.run();
    assert_eq!(refused.status.code(), Some(70));
    assert!(text(&refused.stderr).contains("/var/vcap/sys/log"), "{refused:?}");
}
