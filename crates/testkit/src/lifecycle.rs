//! What the verbs that run lifecycle scripts have in common.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::files::write_program;

/// Checks that `executable`, the verb named like `script`, runs the scripts of that name of a rendered instance below `root`,
/// and reports them.
///
/// # Panics
/// If it does not.
pub fn check_verb(executable: &str, script: &str, root: &Path) {
    let write = |job: &str, text: &str| {
        let path = root.join("var/vcap/jobs").join(job).join("bin").join(script);
        write_program(&path, format!("#!/bin/sh\n{text}\n"), 0o750);
    };
    write("a", "env -u PWD -u _ -u SHLVL");
    write("b", "echo oops >&2; exit 3");
    let mut command = Command::new(executable);
    let output = command.arg("--root").arg(root).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|e| panic!("{executable}: {e}"));
    assert_eq!(output.status.code(), Some(70));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[a] PATH=/usr/sbin:/usr/bin:/sbin:/bin\n");
    let log = root.join(format!("var/vcap/sys/log/b/{script}.stderr.log"));
    let told = format!(
        "[b] oops\nerror: 1 of 2 {script} scripts failed. Failed Jobs: b. Successful Jobs: a.\n  \
         caused by: b: exit status 3; see {}\n",
        log.display()
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), told);
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(read(&log), "oops\n");
    let state = read(&root.join(format!("var/vcap/sys/run/boson/b/{script}.hook")));
    assert!(state.starts_with("{\"state\":\"failed\",\"exit_code\":3,"), "{state}");
}
