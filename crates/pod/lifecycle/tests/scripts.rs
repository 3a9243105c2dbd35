//! Real lifecycle scripts. `pre-start` stands for all verbs in tests of common behaviour.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A root directory with these jobs; the text is the script's, none for a job without one.
fn root(jobs: &[(&str, Option<&str>)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (job, script) in jobs {
        let bin = root.path().join("var/vcap/jobs").join(job).join("bin");
        fs::create_dir_all(&bin).unwrap();
        if let Some(script) = script {
            testkit::files::write_program(&bin.join("pre-start"), format!("#!/bin/sh\n{script}\n"), 0o750);
        }
    }
    root
}

fn command(root: &Path) -> Command {
    let mut command = Command::new(testkit::executable("pre-start"));
    command.arg("--root").arg(root).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(root: &Path) -> Output {
    command(root).env("LEAKED", "x").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_script_runs_with_a_bare_environment_and_its_logs() {
    let root = root(&[
        ("a", Some("env -u PWD -u _ -u SHLVL | sort; pwd; echo oops >&2")),
        ("b", None),
        ("c", Some("printf 'no newline'")),
    ]);
    for round in 1..=2 {
        let output = run(root.path());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stdout = text(&output.stdout);
        let mut lines: Vec<_> = stdout.lines().collect();
        lines.sort_unstable();
        let base = root.path().join("var/vcap");
        let (dir, tmp) = (format!("[a] {}/bosh", base.display()), format!("[a] TMPDIR={}/data/tmp", base.display()));
        assert_eq!(lines, [&dir, "[a] PATH=/usr/sbin:/usr/bin:/sbin:/bin", &tmp, "[c] no newline"]);
        assert_eq!(text(&output.stderr), "[a] oops\n");
        let log = root.path().join("var/vcap/sys/log/a/pre-start.stderr.log");
        assert_eq!(fs::read_to_string(&log).unwrap(), "oops\n".repeat(round));
        assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(log.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o750);
        assert!(!root.path().join("var/vcap/sys/log/b").exists());
    }
}

#[test]
fn scripts_run_in_parallel() {
    // Each waits for the other.
    let script = |mine: &str, other: &str| {
        format!("touch \"${{0%/jobs/*}}/{mine}\"; until [ -e \"${{0%/jobs/*}}/{other}\" ]; do sleep 0.01; done")
    };
    let root = root(&[("a", Some(&script("a", "b"))), ("b", Some(&script("b", "a")))]);
    assert_eq!(run(root.path()).status.code(), Some(0));
}

#[test]
fn a_failure_is_reported_with_boshs_message_and_its_cause() {
    let root = root(&[
        ("a", Some("exit 3")),
        ("b", Some("exit 0")),
        ("c", Some("kill -KILL $$")),
        ("d", Some("exit 0")),
        ("e", Some("")),
    ]);
    testkit::files::write_program(&root.path().join("var/vcap/jobs/e/bin/pre-start"), "#!/bin/sh\r\nexit 0\r\n", 0o755);
    fs::set_permissions(root.path().join("var/vcap/jobs/d/bin/pre-start"), fs::Permissions::from_mode(0o640)).unwrap();
    let output = run(root.path());
    assert_eq!(output.status.code(), Some(70));
    let log = root.path().join("var/vcap/sys/log");
    let log = log.display();
    assert_eq!(
        text(&output.stderr),
        format!(
            "error: 4 of 5 pre-start scripts failed. Failed Jobs: a, c, d, e. Successful Jobs: b.\n  \
             caused by: a: exit status 3; see {log}/a/pre-start.stderr.log\n  \
             caused by: c: killed by SIGKILL; see {log}/c/pre-start.stderr.log\n  \
             caused by: d: cannot execute bin/pre-start: Permission denied (os error 13); it is not executable (mode 0640)\n  \
             caused by: e: cannot execute bin/pre-start: No such file or directory (os error 2); its first line ends as \
             lines do on Windows (CR LF), so that no such interpreter exists\n  code: script-failed (boson explain-error script-failed)\n"
        )
    );
}

#[test]
fn a_script_that_raises_a_limit_too_far_is_told_what_it_lacks() {
    let raise = "ulimit -n 500; ulimit -n 600 2>/dev/null && exit 0; echo '3: ulimit: error setting limit (Operation not permitted)' >&2; exit 2";
    let root = root(&[("a", Some(raise))]);
    let output = run(root.path());
    // A root that may raise limits does.
    if output.status.code() != Some(0) {
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains("a: exit status 2, it raises a limit above the hard limit of its container"),
            "{stderr}"
        );
    }
}

#[test]
fn when_all_scripts_fail_none_is_listed_as_successful() {
    let root = root(&[("a", Some("exit 3"))]);
    let stderr = text(&run(root.path()).stderr);
    assert!(stderr.starts_with("error: 1 of 1 pre-start scripts failed. Failed Jobs: a.\n"), "{stderr}");
}

#[test]
fn term_stops_the_scripts() {
    let wait = "trap 'echo stopped; exit 1' TERM; echo ready; while :; do sleep 1000 & wait $!; done";
    let root = root(&[("a", Some(wait)), ("b", Some(wait))]);
    let mut child = command(root.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut first = [lines.next().unwrap(), lines.next().unwrap()];
    first.sort();
    assert_eq!(first, ["[a] ready", "[b] ready"]);
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let mut rest: Vec<_> = lines.collect();
    rest.sort();
    assert_eq!(rest, ["[a] stopped", "[b] stopped"]);
    assert_eq!(child.wait().unwrap().code(), Some(70));
}

#[test]
fn missing_scripts_succeed_and_missing_jobs_fail() {
    assert_eq!(run(root(&[("a", None)]).path()).status.code(), Some(0));
    assert_eq!(run(tempfile::tempdir().unwrap().path()).status.code(), Some(65));
}

#[test]
fn only_scripts_of_the_named_jobs_run() {
    let root = root(&[("a", Some("echo a")), ("b", Some("echo b")), ("c", None)]);
    let run = |jobs: &[&str]| command(root.path()).args(jobs.iter().flat_map(|job| ["--job", job])).output().unwrap();
    assert_eq!(text(&run(&["b"]).stdout), "[b] b\n");
    assert_eq!((run(&["c"]).status.code(), text(&run(&["c"]).stdout)), (Some(0), String::new()));
    let output = run(&["b", "x", "y"]);
    assert_eq!(output.status.code(), Some(65));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("error: job \"x\" is not rendered\n") && stderr.contains("\"y\""), "{stderr}");
    assert!(stderr.contains("hint: rendered are the jobs: a, b, c"), "{stderr}");
    assert_eq!(text(&output.stdout), "", "nothing is run then");
}

#[test]
fn script_states_are_written_to_files() {
    let root = root(&[("a", Some("cat \"${0%/jobs/*}/sys/run/boson/a/pre-start.hook\"")), ("b", Some("exit 3"))]);
    let output = run(root.path());
    assert!(
        text(&output.stdout).starts_with("[a] {\"version\":1,\"state\":\"running\",\"attempt\":1,\"since\":"),
        "{output:?}"
    );
    let state = |job: &str| {
        let file = root.path().join(format!("var/vcap/sys/run/boson/{job}/pre-start.hook"));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        fs::read_to_string(file).unwrap()
    };
    assert!(state("a").starts_with("{\"version\":1,\"state\":\"succeeded\",\"exit_code\":0,"), "{}", state("a"));
    assert!(state("b").starts_with("{\"version\":1,\"state\":\"failed\",\"exit_code\":3,"), "{}", state("b"));
}

#[test]
fn a_flood_of_output_is_kept_whole_and_a_background_process_is_not_waited_for() {
    let root = root(&[
        ("a", Some("seq 1 100000; seq 1 100000 >&2")),
        // Closes its output and keeps running.
        ("b", Some("exec >&- 2>&-; sleep 0.1; exit 0")),
    ]);
    let output = run(root.path());
    assert_eq!(output.status.code(), Some(0), "{:?}", output.status);
    assert_eq!(text(&output.stdout).lines().count(), 100_000);
    assert_eq!(text(&output.stderr).lines().last(), Some("[a] 100000"));
    let log = |stream: &str| fs::read(root.path().join(format!("var/vcap/sys/log/a/pre-start.{stream}.log"))).unwrap();
    assert_eq!((log("stdout").len(), log("stdout")), (588_895, log("stderr")));
}

/// A daemon that a script starts with the script's own outputs keeps running, and its later output is logged.
#[test]
fn a_background_process_of_a_script_keeps_running_and_its_output_is_logged() {
    let root = root(&[(
        "a",
        Some(
            "sh -c 'echo $$; until [ -e \"$0\" ]; do sleep 0.01; done; echo later; exec sleep 1000' \"${0%/jobs/*}/go\" &",
        ),
    )]);
    let output = run(root.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let log = root.path().join("var/vcap/sys/log/a/pre-start.stdout.log");
    let log = || fs::read_to_string(&log).unwrap();
    let pid: i32 = log().trim().parse().unwrap();
    let pid = nix::unistd::Pid::from_raw(pid);
    nix::sys::signal::kill(pid, None).unwrap_or_else(|e| panic!("the daemon is gone: {e}"));
    fs::write(root.path().join("var/vcap/go"), "").unwrap();
    testkit::waiting::eventually("the later line is in the log", || log().ends_with("\nlater\n"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}

/// The idioms of public releases: `exec > >(tee -a LOG | logger -t TAG)`. The helpers write after the script's exit.
#[test]
fn the_last_lines_behind_a_process_substitution_are_not_lost() {
    let slowly = "while read -r line; do sleep 0.01; echo \"<$line>\"; done";
    let root = root(&[]);
    let write = |job: &str, text: &str| {
        let path = root.path().join("var/vcap/jobs").join(job).join("bin/pre-start");
        testkit::files::write_program(&path, format!("#!/bin/bash\n{text}\n"), 0o750);
    };
    write("a", &format!("exec > >(tee -a \"${{0%/jobs/*}}/copy\" | {{ {slowly}; }})\nseq 1 20\nexit 3"));
    write("b", &format!("exec &> >({slowly})\nseq 1 20; echo error >&2"));
    let output = run(root.path());
    assert_eq!(output.status.code(), Some(70), "{output:?}");
    assert!(text(&output.stderr).contains("caused by: a: exit status 3;"), "{output:?}");
    let lines: String = (1..=20).map(|n| format!("<{n}>\n")).collect();
    let log = |job: &str| {
        fs::read_to_string(root.path().join(format!("var/vcap/sys/log/{job}/pre-start.stdout.log"))).unwrap()
    };
    assert_eq!((log("a"), log("b")), (lines.clone(), format!("{lines}<error>\n")));
    let stdout = text(&output.stdout);
    let of = |job: &str| stdout.lines().filter(|line| line.starts_with(job)).count();
    assert_eq!((of("[a] <"), of("[b] <")), (20, 21), "{stdout}");
}

#[test]
fn a_script_without_header_is_not_given_to_a_shell() {
    let root = root(&[]);
    let path = root.path().join("var/vcap/jobs/a/bin/pre-start");
    testkit::files::write_program(&path, "touch ran\n", 0o750);
    let output = run(root.path());
    assert_eq!(output.status.code(), Some(70));
    let stderr = text(&output.stderr);
    let expected = "caused by: a: cannot execute bin/pre-start: Exec format error (os error 8); it has neither an ELF header nor a \
                    first line with #!, such as #!/bin/bash\n";
    assert!(stderr.contains(expected), "{stderr}");
}

#[test]
fn a_script_that_hangs_and_ignores_term_is_killed() {
    let root = root(&[("a", Some("trap '' TERM QUIT; echo ready; while :; do sleep 1000; done"))]);
    let mut child = command(root.path()).args(["--stop-timeout", "50ms", "--quit-timeout", "50ms"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "[a] ready");
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(text(&output.stderr).contains("a: killed by SIGKILL"), "{output:?}");
}

#[test]
fn each_verb_runs_and_reports_the_scripts_of_its_name() {
    for script in ["pre-start", "post-start", "post-deploy"] {
        let root = tempfile::tempdir().unwrap();
        let write = |job: &str, text: &str| {
            let path = root.path().join("var/vcap/jobs").join(job).join("bin").join(script);
            testkit::files::write_program(&path, format!("#!/bin/sh\n{text}\n"), 0o750);
        };
        write("a", "echo PATH=$PATH");
        write("b", "echo oops >&2; exit 3");
        let mut command = Command::new(testkit::executable(script));
        let output = command.arg("--root").arg(root.path()).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(70));
        assert_eq!(text(&output.stdout), "[a] PATH=/usr/sbin:/usr/bin:/sbin:/bin\n");
        let log = root.path().join(format!("var/vcap/sys/log/b/{script}.stderr.log"));
        let expected = format!(
            "[b] oops\nerror: 1 of 2 {script} scripts failed. Failed Jobs: b. Successful Jobs: a.\n  \
             caused by: b: exit status 3; see {}; the end of its output:\n    oops\n  code: script-failed (boson explain-error script-failed)\n",
            log.display()
        );
        assert_eq!(text(&output.stderr), expected);
        assert_eq!(fs::read_to_string(&log).unwrap(), "oops\n");
        let state = root.path().join(format!("var/vcap/sys/run/boson/b/{script}.hook"));
        let state = fs::read_to_string(state).unwrap();
        assert!(state.starts_with("{\"version\":1,\"state\":\"failed\",\"exit_code\":3,"), "{state}");
    }
}
