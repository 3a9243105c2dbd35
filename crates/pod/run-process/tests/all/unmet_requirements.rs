//! Requirements of bpm.yml that this container cannot fulfil.

use std::fs;

use crate::support::{Job, mode, output, text};

/// More open files than the kernel allows, and a limit that only a container's first process may set.
const TOO_MUCH: &str = "  limits: {open_files: 4611686018427387904, processes: 10}\n";

#[test]
fn an_unmet_requirement_is_reported_once_and_the_process_runs() {
    let job = Job::script("ulimit -n", TOO_MUCH);
    let output = output(job.command().env("BOSON_LOG", "warn"));
    assert_eq!(output.status.code(), Some(0));
    let got = text(&output.stdout);
    let introduction = "job \"web\", process \"web\": this container cannot fulfil all requests of bpm.yml\n";
    let expected = format!(
        "\x20 limits.open_files: 4611686018427387904 is above the hard limit; the process gets {}\n\
         \x20 limits.processes: this is not the container's first process; the pod's limit of process ids counts\n",
        got.trim()
    );
    let stderr = text(&output.stderr);
    assert!(stderr.contains(introduction) && stderr.ends_with(&expected), "{stderr}");
    assert_eq!(stderr.matches("open_files").count(), 1, "{stderr}");
}

#[test]
fn with_strict_it_is_an_error_and_nothing_is_touched() {
    let job = Job::script("exit 0", TOO_MUCH);
    let output = output(job.command().env("BOSON_STRICT", "true"));
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(70), ""));
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("error: job \"web\", process \"web\": limits.").count(), 2, "{stderr}");
    assert!(stderr.matches("config/bpm.yml\n").count() >= 2, "{stderr}");
    assert!(!job.path("var/vcap/sys").exists());
}

#[test]
fn a_met_requirement_is_not_reported() {
    let job = Job::script(
        "exit 0",
        "  limits: {open_files: 64, memory: 64M}\n  additional_volumes: [{path: /var/vcap/data/x, writable: true}]\n",
    );
    let output = output(job.command().arg("--strict"));
    let stderr = text(&output.stderr);
    // A process that cannot become vcap gets that message only.
    let about_user = stderr.contains(": user: the process runs as user ") && output.status.code() == Some(70);
    assert!(output.status.success() && stderr.is_empty() || about_user, "{stderr}");
}

#[test]
fn a_volume_with_mount_only_must_exist() {
    let job = Job::script("exit 0", "  additional_volumes: [{path: /var/vcap/data/theirs, mount_only: true}]\n");
    let refused = job.run();
    assert_eq!(refused.status.code(), Some(70));
    assert!(text(&refused.stderr).contains("the volume /var/vcap/data/theirs does not exist\n  hint: "), "{refused:?}");
    fs::create_dir_all(job.path("var/vcap/data/theirs")).unwrap();
    let before = mode(&job.path("var/vcap/data/theirs"));
    assert_eq!(job.run().status.code(), Some(0));
    assert_eq!(mode(&job.path("var/vcap/data/theirs")), before, "it is theirs");
}

/// BPM mounts volumes after the hook.
#[test]
fn a_hook_may_make_a_volume_with_mount_only() {
    let spec =
        "  additional_volumes: [{path: /var/vcap/data/theirs, mount_only: true}]\n  hooks: {pre_start: ROOT/hook}\n";
    let job = Job::script("echo started", spec);
    job.write(
        "hook",
        "#!/bin/sh\nmkdir -p ROOT/var/vcap/data/theirs\n".replace("ROOT", &job.path("").display().to_string()).as_str(),
        0o755,
    );
    let output = job.run();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "started\n"), "{output:?}");
}

#[test]
fn a_volume_with_mount_only_must_exist_after_the_hook() {
    let spec =
        "  additional_volumes: [{path: /var/vcap/data/theirs, mount_only: true}]\n  hooks: {pre_start: ROOT/hook}\n";
    let job = Job::script("echo started", spec);
    job.write("hook", "#!/bin/sh\necho hook\n", 0o755);
    let refused = job.run();
    assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(70), "hook\n"));
    let stderr = text(&refused.stderr);
    assert!(
        stderr.contains(
            "the volume /var/vcap/data/theirs does not exist\n  hint: mount_only: the pod, or the pre_start hook"
        ),
        "{stderr}"
    );
    let state = job.read("var/vcap/sys/run/boson/web/web.state");
    assert!(state.starts_with("{\"version\":1,\"state\":\"crashed\",\"exit_code\":70,"), "{state}");
}

#[test]
fn a_volume_that_is_a_file_is_refused() {
    let job = Job::script("exit 0", "  additional_volumes: [{path: /var/vcap/data/file}]\n");
    job.write("var/vcap/data/file", "", 0o644);
    let refused = job.run();
    assert_eq!(refused.status.code(), Some(70));
    assert!(text(&refused.stderr).contains("var/vcap/data/file"), "{refused:?}");
}
