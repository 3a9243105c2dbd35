//! The directory tree of `create-dirs`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

fn create_dirs(root: &Path) -> Output {
    Command::new(testkit::executable("create-dirs")).arg("--root").arg(root).output().unwrap()
}

fn with_jobs() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let jobs = root.path().join("var/vcap/jobs");
    // As render-jobs leaves them: links through a generation, with hidden files beside.
    fs::create_dir_all(jobs.join(".generations/1/nats")).unwrap();
    symlink(".generations/1", jobs.join(".current")).unwrap();
    symlink(".current/nats", jobs.join("nats")).unwrap();
    symlink(".current/gone", jobs.join("gone")).unwrap();
    fs::create_dir(jobs.join("plain")).unwrap();
    fs::write(jobs.join("file"), "").unwrap();
    root
}

/// Every directory and link with its mode, sorted.
fn tree(base: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![base.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let meta = entry.path().symlink_metadata().unwrap();
            let name = entry.path().strip_prefix(base).unwrap().display().to_string();
            if name == "jobs" {
                continue;
            }
            if meta.is_symlink() {
                found.push(format!("{name} -> {}", fs::read_link(entry.path()).unwrap().display()));
            } else {
                found.push(format!("{name} {:o}", meta.mode() & 0o7777));
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_job_gets_boshs_directories() {
    let root = with_jobs();
    let base = root.path().join("var/vcap");
    let expected = [
        "data 755",
        "data/nats 770",
        "data/packages 755",
        "data/plain 770",
        "data/sys 755",
        "data/sys/log 755",
        "data/sys/log/nats 770",
        "data/sys/log/plain 770",
        "data/sys/run 755",
        "data/sys/run/.tail-logs 700",
        "data/sys/run/boson 755",
        "data/sys/run/boson/nats 755",
        "data/sys/run/boson/plain 755",
        "data/sys/run/bpm 755",
        "data/sys/run/bpm/nats 700",
        "data/sys/run/bpm/plain 700",
        "data/sys/run/nats 770",
        "data/sys/run/plain 770",
        "data/tmp 1770",
        "store 755",
        "sys -> data/sys",
    ];
    for _ in 0..2 {
        let output = create_dirs(root.path());
        assert!(output.status.success(), "{output:?}");
        assert_eq!(tree(&base), expected, "the second run changes nothing");
    }
    // Root of a user namespace may not have the id.
    if std::os::unix::fs::chown(root.path(), Some(1000), Some(1000)).is_ok() {
        let meta = base.join("data/nats").metadata().unwrap();
        assert_eq!((meta.uid(), meta.gid()), (0, 1000));
        for dir in ["bpm/nats", "boson/nats"] {
            assert_eq!(base.join("sys/run").join(dir).metadata().unwrap().uid(), 1000, "{dir}");
        }
    }
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    let (usual, strict) = (with_jobs(), with_jobs());
    assert!(create_dirs(usual.path()).status.success());
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077; exec \"$0\" --root \"$1\""]).arg(testkit::executable("create-dirs"));
    assert!(command.arg(strict.path()).status().unwrap().success());
    assert_eq!(tree(&strict.path().join("var/vcap")), tree(&usual.path().join("var/vcap")));
}

#[test]
fn a_mount_at_sys_is_used() {
    let root = with_jobs();
    let base = root.path().join("var/vcap");
    fs::create_dir_all(base.join("sys/log")).unwrap();
    fs::write(base.join("sys/log/kept"), "x").unwrap();
    assert!(create_dirs(root.path()).status.success());
    assert!(
        base.join("sys/log/nats").is_dir() && base.join("sys/log/kept").is_file() && !base.join("data/sys").exists()
    );
}

/// A pod without a persistent disk, whose root file system is read-only.
#[test]
fn a_store_that_cannot_be_created_is_left_out() {
    let root = with_jobs();
    let base = root.path().join("var/vcap");
    let script = "mkdir \"$0/data\" \"$0/sys\"; mount --bind \"$0\" \"$0\" && cd \"$0\" || exit 99
        for volume in data sys; do mount -t tmpfs none $volume || exit 99; done
        mount -o remount,bind,ro . || exit 99; ! touch file 2>/dev/null || exit 99
        \"$1\" --root \"$2\" && [ -d data/nats ] && [ -d sys/log/nats ] && [ ! -e store ]";
    let mut unshare = Command::new("unshare");
    unshare.args(["-Urm", "sh", "-c", script]).arg(&base).arg(testkit::executable("create-dirs")).arg(root.path());
    let Ok(output) = unshare.output() else { return };
    if output.status.code() == Some(99) || String::from_utf8_lossy(&output.stderr).contains("unshare failed") {
        println!("skipped: no mounts can be made here");
        return;
    }
    assert!(output.status.success(), "{output:?}");
}

/// As in a pod whose pre-start runs as root and whose process does not.
#[test]
fn a_run_process_of_vcap_uses_what_root_has_created() {
    let root = with_jobs();
    if !nix::unistd::Uid::effective().is_root()
        || std::os::unix::fs::chown(root.path(), Some(1000), Some(1000)).is_err()
    {
        println!("skipped: only root can become vcap");
        return;
    }
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let job = root.path().join("var/vcap/jobs/plain");
    fs::create_dir_all(job.join("config")).unwrap();
    fs::create_dir(job.join("bin")).unwrap();
    let pre_start = job.join("bin/pre-start");
    fs::write(&pre_start, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&pre_start, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(job.join("config/bpm.yml"), "processes: [{name: plain, executable: /bin/echo, args: [it runs]}]\n")
        .unwrap();
    assert!(create_dirs(root.path()).status.success());
    // vcap may not reach the directory of the sources.
    let program = root.path().join("boson-pod");
    fs::copy(testkit::executable("boson-pod"), &program).unwrap();
    let verb = |name: &str| {
        let mut command = Command::new(&program);
        command.arg(name).arg("--root").arg(root.path());
        command
    };
    assert!(verb("pre-start").status().unwrap().success());
    let output = verb("run-process").args(["--job", "plain"]).uid(1000).gid(1000).output().unwrap();
    assert!(output.status.success() && output.stdout == b"it runs\n", "{output:?}");
}

/// The ephemeral disk may be new while the root file system is not.
#[test]
fn the_removed_target_of_a_link_is_created_again() {
    let root = with_jobs();
    let base = root.path().join("var/vcap");
    assert!(create_dirs(root.path()).status.success());
    let before = tree(&base);
    fs::remove_dir_all(base.join("data")).unwrap();
    let output = create_dirs(root.path());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(tree(&base), before);
}

#[test]
fn missing_rendered_jobs_are_reported_with_their_path() {
    let root = tempfile::tempdir().unwrap();
    let output = create_dirs(root.path());
    assert_eq!(output.status.code(), Some(65));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("/var/vcap/jobs"), "{stderr}");
    assert!(!root.path().join("var").exists());
}

#[test]
fn all_failures_are_reported() {
    let root = with_jobs();
    let base = root.path().join("var/vcap");
    fs::create_dir_all(base.join("data")).unwrap();
    symlink("/etc", base.join("data/nats")).unwrap();
    symlink("/etc", base.join("data/plain")).unwrap();
    let output = create_dirs(root.path());
    assert_eq!(output.status.code(), Some(70));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr.matches("refusing to open symlink at ").count(), 2, "{stderr}");
}
