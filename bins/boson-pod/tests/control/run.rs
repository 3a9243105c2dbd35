//! `bpm run`.

use std::fs;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::{Pod, WAIT, write_program};

#[test]
fn bpm_run_uses_the_foreground_with_additional_settings() {
    let pod = Pod::new("");
    pod.process("env: {A: old, B: kept},", "echo $A $B $C; echo oops >&2; exit 5");
    pod.hook("post-start", "echo never");
    let (code, stdout, stderr) = pod.bpm("run", &["-e", "A=new", "-e", "C=x=y", "-v", "/var/vcap/data/more:writable"]);
    assert_eq!((code, stdout.as_str()), (5, "new kept x=y\n"));
    assert!(stderr.ends_with("oops\n"), "{stderr}");
    assert_eq!(pod.read("sys/log/web/web.stdout.log"), "new kept x=y\n");
    assert!(pod.vcap("data/more").is_dir());
    for file in ["web.state", "web.sock", "post-start.hook"] {
        assert!(!pod.vcap("sys/run/boson/web").join(file).exists(), "{file}");
    }
    assert!(!pod.pid_file().exists());
}

#[test]
fn all_errors_are_reported_at_once_with_bpms_messages() {
    let pod = Pod::new("echo never");
    let (code, stdout, stderr) = pod.bpm("run", &["-e", "A", "-v", "/etc", "-v", "/var/vcap/x:fast"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    for text in [
        "invalid volume path: /etc must be within /var/vcap",
        "invalid volume option: fast",
        "invalid envionment variable definition (format should be KEY=value): \"A\"",
    ] {
        assert!(stderr.contains(text), "{stderr}");
    }
    assert_eq!(pod.bpm("run", &["-p", "nobody"]).0, 65);
}

#[test]
fn a_running_process_is_left_unchanged() {
    let pod = Pod::new(WAIT);
    let _supervisor = pod.start(&[]);
    let pid = pod.bpm("pid", &[]).1;
    assert_eq!(pod.bpm("run", &[]), (0, String::new(), String::new()));
    assert_eq!(pod.bpm("pid", &[]).1, pid);
}

#[test]
fn a_process_run_by_a_script_stops_with_the_pod() {
    let pod = Pod::new(WAIT);
    let (pid, program) = (pod.file("pid"), pod.file("backup"));
    write_program(&program, format!("#!/bin/sh\necho $$ > '{}'; {WAIT}\n", pid.display()).as_bytes());
    let executable = testkit::executable("bpm");
    let web = pod.file("web");
    write_program(&web, format!("#!/bin/sh\n'{}' run web -p backup & {WAIT}\n", executable.display()).as_bytes());
    let root = pod.vcap("").join("../..");
    pod.config(&format!(
        "processes: [{{name: web, executable: {}, env: {{BOSON_ROOT: {}}}, unsafe: {{privileged: true}}}}, \
         {{name: backup, executable: {}}}]",
        web.display(),
        root.display(),
        program.display()
    ));
    let drained = pod.file("drained");
    pod.hook("drain", &format!("touch {}; echo 0", drained.display()));
    let supervisor = pod.start(&[]);
    eventually("the backup runs", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    supervisor.signal(Signal::SIGTERM);
    assert_eq!(supervisor.wait(), 143);
    assert!(drained.exists(), "the pod stopped, not one process of several");
    let pid = fs::read_to_string(&pid).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap());
}
