//! `run-process` exits with the status of its process.

use crate::support::{Job, text};

#[test]
fn a_program_that_does_not_exist_exits_127() {
    let job = Job::new("processes: [{name: web, executable: /no/such/program}]");
    let output = job.run();
    assert_eq!(output.status.code(), Some(127));
    let expected = format!(
        "error: job \"web\", process \"web\": cannot execute /no/such/program\n  --> {}\n  caused by: No such file or directory (os error 2)\n  code: process-not-started (boson explain-error process-not-started)\n",
        job.path("var/vcap/jobs/web/config/bpm.yml").display()
    );
    assert_eq!(text(&output.stderr), expected);
    assert!(
        job.read("var/vcap/sys/run/boson/web/web.state")
            .starts_with("{\"version\":1,\"state\":\"crashed\",\"exit_code\":127,")
    );
}

#[test]
fn a_missing_interpreter_exits_127_with_a_hint() {
    let job = Job::new("processes: [{name: web, executable: ROOT/web}]");
    job.write("web", "#!/no/such/interpreter -x\n", 0o755);
    let output = job.run();
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("hint: its interpreter /no/such/interpreter does not exist here"));
}

#[test]
fn a_script_with_windows_line_endings_is_reported() {
    let job = Job::new("processes: [{name: web, executable: ROOT/web}]");
    job.write("web", "#!/bin/sh\r\nexit 0\r\n", 0o755);
    let output = job.run();
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("hint: its first line ends as lines do on Windows (CR LF)"), "{output:?}");
}

#[test]
fn a_file_that_cannot_be_executed_exits_126() {
    let job = Job::new("processes: [{name: web, executable: ROOT/web}]");
    job.write("web", "#!/bin/sh\n", 0o644);
    let output = job.run();
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("caused by: Permission denied"), "{}", text(&output.stderr));
}

#[test]
fn a_missing_working_directory_exits_126() {
    let output = Job::script("exit 0", "  workdir: /no/such/dir\n").run();
    assert_eq!(output.status.code(), Some(126));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("cannot change to its working directory /no/such/dir to execute "), "{stderr}");
}

#[test]
fn a_program_without_a_slash_is_found_in_the_process_own_path() {
    let job =
        Job::new("processes: [{name: web, executable: tool, args: [01, yes], env: {PATH: ROOT/tools:/bin:/usr/bin}}]");
    job.write("tools/tool", "#!/bin/sh\necho \"$0 $*\"\n", 0o755);
    let output = job.run();
    assert_eq!(text(&output.stdout), format!("{} 01 yes\n", job.path("tools/tool").display()));
}

/// `execvp` would run it with /bin/sh. BPM refuses it.
#[test]
fn a_file_without_header_is_not_given_to_a_shell() {
    for (executable, env) in [("ROOT/web", "PATH: /bin"), ("web", "PATH: ROOT")] {
        let job = Job::new(&format!("processes: [{{name: web, executable: {executable}, env: {{{env}}}}}]"));
        job.write("web", "echo shell\n", 0o755);
        let output = job.run();
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(126), ""), "{output:?}");
        assert!(text(&output.stderr).contains("caused by: Exec format error"), "{output:?}");
        let hint = "hint: it has neither an ELF header nor a first line with #!, such as #!/bin/bash\n";
        assert_eq!(text(&output.stderr).contains(hint), executable == "ROOT/web", "{output:?}");
    }
}

/// A supervisor that closes the connection without a reply: `bpm` asks again, and takes no reply for none.
#[test]
fn a_supervisor_that_closes_the_connection_without_a_reply_is_an_error() {
    let job = Job::new("processes: [{name: web, executable: /bin/true}]");
    job.write("var/vcap/sys/run/boson/web/x", "", 0o644);
    let socket = job.path("var/vcap/sys/run/boson/web/web.sock");
    let bpm = |args: &[&str], connections: usize| {
        let (listener, path) = (std::os::unix::net::UnixListener::bind(&socket).unwrap(), socket.clone());
        let server = std::thread::spawn(move || {
            for left in (0..connections).rev() {
                let connection = listener.accept().unwrap();
                if left == 0 {
                    std::fs::remove_file(&path).unwrap();
                }
                drop(connection);
            }
        });
        let mut command = std::process::Command::new(testkit::executable("bpm"));
        let ran = command.args(args).arg("--root").arg(job.path("")).output().unwrap();
        server.join().unwrap();
        ran
    };
    for args in [["stop", "web"], ["pid", "web"], ["running", "web"]] {
        let ran = bpm(&args, 2);
        assert_eq!(ran.status.code(), Some(70), "{args:?}: {ran:?}");
        assert!(text(&ran.stderr).contains("it ended before it answered"), "{ran:?}");
    }
    // It has ended, and there is no other one.
    assert_eq!(bpm(&["stop", "web"], 1).status.code(), Some(0));
}
