//! `--errand`: a job's `bin/run`, once.

use crate::support::{Job, mode, output, text};

#[test]
fn an_errand_runs_with_a_bare_path_and_its_status_is_passed_on() {
    let job = Job::without_bpm_yml();
    job.write("var/vcap/jobs/web/bin/run", "#!/bin/sh\nenv -u PWD -u _ -u SHLVL\necho oops >&2\nexit 3\n", 0o755);
    let output = output(job.command().arg("--errand").env("LEAKED", "x"));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stdout), "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n");
    assert_eq!(text(&output.stderr), "oops\n");
    assert_eq!(job.read("var/vcap/sys/log/web/run.stderr.log"), "oops\n");
    assert_eq!(mode(&job.path("var/vcap/sys/log/web/run.stdout.log")), 0o640);
    assert!(job.read("var/vcap/sys/run/boson/web/run.state").contains("\"exit_code\":3"));
}

#[test]
fn a_job_without_bin_run_is_no_errand() {
    let job = Job::without_bpm_yml();
    let output = output(job.command().arg("--errand"));
    assert_eq!(output.status.code(), Some(65));
    assert!(text(&output.stderr).contains("cannot find "), "{}", text(&output.stderr));
    assert!(!job.path("var/vcap/sys").exists());
}

#[test]
fn an_errand_that_is_not_executable_is_126() {
    let job = Job::without_bpm_yml();
    job.write("var/vcap/jobs/web/bin/run", "#!/bin/sh\n", 0o644);
    let output = output(job.command().arg("--errand"));
    assert_eq!(output.status.code(), Some(126));
}
