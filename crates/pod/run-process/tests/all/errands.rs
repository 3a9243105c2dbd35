//! `--errand`: a job's `bin/run`, once.

use crate::support::{Job, mode, output, text};

#[test]
fn an_errand_runs_with_the_agents_environment_and_its_status_is_forwarded() {
    let job = Job::without_bpm_yml();
    job.write(
        "var/vcap/jobs/web/bin/run",
        "#!/bin/sh\nenv -u PWD -u _ -u SHLVL | sort\npwd\necho oops >&2\nexit 3\n",
        0o755,
    );
    let output = output(job.command().arg("--errand").env("LEAKED", "x"));
    assert_eq!(output.status.code(), Some(3));
    let base = job.path("var/vcap").display().to_string();
    let expected = format!("PATH=/usr/sbin:/usr/bin:/sbin:/bin\nTMPDIR={base}/data/tmp\n{base}/bosh\n");
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(text(&output.stderr), "oops\n");
    assert_eq!(job.read("var/vcap/sys/log/web/run.stderr.log"), "oops\n");
    assert_eq!(mode(&job.path("var/vcap/sys/log/web/run.stdout.log")), 0o640);
    assert!(job.read("var/vcap/sys/run/boson/web/run.state").contains("\"exit_code\":3"));
}

#[test]
fn a_job_without_bin_run_is_not_an_errand() {
    let job = Job::without_bpm_yml();
    let output = output(job.command().arg("--errand"));
    assert_eq!(output.status.code(), Some(65));
    assert!(text(&output.stderr).contains("cannot find "), "{}", text(&output.stderr));
    assert!(!job.path("var/vcap/sys").exists());
}

#[test]
fn an_errand_that_is_not_executable_exits_126() {
    let job = Job::without_bpm_yml();
    job.write("var/vcap/jobs/web/bin/run", "#!/bin/sh\n", 0o644);
    let output = output(job.command().arg("--errand"));
    assert_eq!(output.status.code(), Some(126));
}

/// A job may have both: `bin/run` is the errand, and `bpm` can start its process.
#[test]
fn an_errand_may_run_its_own_bpm_process_and_a_signal_exits_128_plus_its_number() {
    let job = Job::script("echo process; exit 7", "");
    let bpm = testkit::executable("bpm");
    let script = format!(
        "#!/bin/sh\n'{}' --root '{}' run web\necho \"status $?\"\nkill -TERM $$\n",
        bpm.display(),
        job.path("").display()
    );
    job.write("var/vcap/jobs/web/bin/run", &script, 0o755);
    let output = output(job.command().arg("--errand"));
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    assert_eq!(text(&output.stdout), "process\nstatus 7\n", "{output:?}");
    assert_eq!(job.read("var/vcap/sys/log/web/run.stdout.log"), "process\nstatus 7\n");
}

#[test]
fn the_last_lines_of_an_errand_behind_a_process_substitution_are_not_lost() {
    let job = Job::without_bpm_yml();
    let script = "#!/bin/bash\nexec > >(while read -r line; do sleep 0.01; echo \"<$line>\"; done)\nseq 1 20\nexit 3\n";
    job.write("var/vcap/jobs/web/bin/run", script, 0o755);
    let output = output(job.command().arg("--errand"));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let lines: String = (1..=20).map(|n| format!("<{n}>\n")).collect();
    assert_eq!((text(&output.stdout), job.read("var/vcap/sys/log/web/run.stdout.log")), (lines.clone(), lines));
}
