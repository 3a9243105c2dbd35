//! What is wrong with the input: told at once, with nothing touched.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Job, output, text};

fn refused(job: &Job, args: &[&str], status: i32) -> String {
    let output = output(job.command().args(args));
    assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    text(&output.stderr).replace(job.path("").to_str().unwrap(), "/")
}

fn nothing_was_touched(job: &Job) {
    assert!(!job.path("var/vcap/sys").exists() && !job.path("var/vcap/data").exists());
}

#[test]
fn a_missing_bpm_yml_is_65() {
    let job = Job::without_bpm_yml();
    assert_eq!(
        refused(&job, &[], 65),
        "error: job \"web\", process \"web\": cannot read /var/vcap/jobs/web/config/bpm.yml\n  caused by: No such file or directory (os error 2)\n  hint: rendered are the jobs: web\n"
    );
    nothing_was_touched(&job);
}

#[test]
fn a_wrong_bpm_yml_is_65_with_all_its_problems() {
    let job =
        Job::new("processes:\n- name: web\n  args: {}\n- name: other\n  executable: x\n  shutdown_signal: KILL\n");
    assert_eq!(
        refused(&job, &[], 65),
        "error: job \"web\", process \"web\": process \"web\": args: cannot unmarshal !!map into []string\n  --> /var/vcap/jobs/web/config/bpm.yml:3:9\n\
         error: job \"web\", process \"web\": process \"web\": invalid config: executable\n  --> /var/vcap/jobs/web/config/bpm.yml:2:3\n\
         error: job \"web\", process \"web\": process \"other\": shutdown signal should either be 'TERM' or 'INT' (or left unspecified), but got 'KILL'\n  --> /var/vcap/jobs/web/config/bpm.yml:6:20\n"
    );
    nothing_was_touched(&job);
}

#[test]
fn an_unknown_process_is_65() {
    let job = Job::new("processes: [{name: a, executable: x}, {name: b, executable: x}]");
    assert_eq!(
        refused(&job, &["--process", "c"], 65),
        "error: job \"web\", process \"c\": process \"c\" not present in job configuration (/var/vcap/jobs/web/config/bpm.yml)\n  --> /var/vcap/jobs/web/config/bpm.yml\n  hint: its processes are: a, b\n"
    );
    nothing_was_touched(&job);
}

#[test]
fn an_unknown_capability_is_65() {
    let job = Job::new("processes: [{name: web, executable: x, capabilities: [NET_ADMIN, FLY]}]");
    let stderr = refused(&job, &[], 65);
    assert!(stderr.contains("capabilities: there is no capability \"FLY\""), "{stderr}");
    nothing_was_touched(&job);
}

#[test]
fn a_persistent_disk_must_be_there() {
    let job = Job::script("exit 0", "  persistent_disk: true\n");
    let stderr = refused(&job, &[], 70);
    assert!(stderr.contains("requested persistent disk does not exist"), "{stderr}");
}

#[test]
fn a_link_in_place_of_a_log_file_or_directory_is_refused() {
    let job = Job::script("exit 0", "");
    fs::create_dir_all(job.path("var/vcap/sys/log/web")).unwrap();
    job.write("precious", "", 0o644);
    symlink(job.path("precious"), job.path("var/vcap/sys/log/web/web.stdout.log")).unwrap();
    let stderr = refused(&job, &[], 70);
    assert!(stderr.contains("refusing to open symlink at /var/vcap/sys/log/web/web.stdout.log"), "{stderr}");

    let job = Job::script("exit 0", "");
    fs::create_dir_all(job.path("var/vcap/data/web")).unwrap();
    symlink("/etc", job.path("var/vcap/data/web/tmp")).unwrap();
    let stderr = refused(&job, &[], 70);
    assert!(stderr.contains("refusing to open symlink at /var/vcap/data/web/tmp"), "{stderr}");
}

#[test]
fn names_that_are_paths_are_a_usage_error() {
    let job = Job::without_bpm_yml();
    for args in [["--process", "../x"], ["--process", ""], ["--stop-timeout-ms", "soon"], ["--process", ".."]] {
        refused(&job, &args, 2);
    }
}
