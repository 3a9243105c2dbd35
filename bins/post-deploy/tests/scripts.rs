//! `post-deploy` with real scripts. What all lifecycle scripts have in common is tested with `pre-start`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

fn script(root: &Path, job: &str, text: &str) {
    let path = root.join("var/vcap/jobs").join(job).join("bin/post-deploy");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
}

#[test]
fn the_scripts_of_this_name_are_run_and_reported() {
    let root = tempfile::tempdir().unwrap();
    script(root.path(), "a", "env -u PWD -u _ -u SHLVL");
    script(root.path(), "b", "echo oops >&2; exit 3");
    let mut command = Command::new(env!("CARGO_BIN_EXE_post-deploy"));
    let output = command.arg("--root").arg(root.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[a] PATH=/usr/sbin:/usr/bin:/sbin:/bin\n");
    let log = root.path().join("var/vcap/sys/log/b/post-deploy.stderr.log");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        format!(
            "[b] oops\nerror: 1 of 2 post-deploy scripts failed. Failed Jobs: b. Successful Jobs: a.\n  \
             caused by: b: exit status 3; see {}\n",
            log.display()
        )
    );
    assert_eq!(fs::read_to_string(log).unwrap(), "oops\n");
    let state = fs::read_to_string(root.path().join("var/vcap/sys/run/boson/b/post-deploy.hook")).unwrap();
    assert!(state.starts_with("{\"state\":\"failed\",\"exit_code\":3,"), "{state}");
}
