//! Invalid input: reported at once, with nothing changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

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
fn a_missing_bpm_yml_exits_65() {
    let job = Job::without_bpm_yml();
    assert_eq!(
        refused(&job, &[], 65),
        "error: job \"web\", process \"web\": cannot read /var/vcap/jobs/web/config/bpm.yml\n  caused by: No such file or directory (os error 2)\n  hint: rendered are the jobs: web\n  code: job-not-rendered (boson explain-error job-not-rendered)\n"
    );
    nothing_was_touched(&job);
}

#[test]
fn an_invalid_bpm_yml_exits_65_with_all_problems() {
    let job =
        Job::new("processes:\n- name: web\n  args: {}\n- name: other\n  executable: x\n  shutdown_signal: KILL\n");
    assert_eq!(
        refused(&job, &[], 65),
        "error: job \"web\", process \"web\": process \"web\": args: cannot unmarshal !!map into []string\n  --> /var/vcap/jobs/web/config/bpm.yml:3:9\n  code: bpm-invalid (boson explain-error bpm-invalid)\n\
         error: job \"web\", process \"web\": process \"web\": invalid config: executable\n  --> /var/vcap/jobs/web/config/bpm.yml:2:3\n\
         error: job \"web\", process \"web\": process \"other\": shutdown signal should either be 'TERM' or 'INT' (or left unspecified), but got 'KILL'\n  --> /var/vcap/jobs/web/config/bpm.yml:6:20\n"
    );
    nothing_was_touched(&job);
}

#[test]
fn an_unknown_process_exits_65() {
    let job = Job::new("processes: [{name: a, executable: x}, {name: b, executable: x}]");
    assert_eq!(
        refused(&job, &["--process", "c"], 65),
        "error: job \"web\", process \"c\": process \"c\" not present in job configuration (/var/vcap/jobs/web/config/bpm.yml)\n  --> /var/vcap/jobs/web/config/bpm.yml\n  hint: its processes are: a, b\n  code: process-unknown (boson explain-error process-unknown)\n"
    );
    nothing_was_touched(&job);
}

/// Otherwise other processes of the pod would wait for one that never started, or take a killed one for running.
#[test]
fn a_process_that_never_started_counts_as_crashed() {
    let errand: &[&str] = &["--errand"];
    for (bpm_yml, args, process, status) in [
        ("processes: {", &[][..], "web", 65),
        ("processes: [{name: web, executable: x, capabilities: [FLY]}]", &[], "web", 65),
        ("processes: [{name: web, executable: x, persistent_disk: true}]", &[], "web", 70),
        ("", errand, "run", 65),
    ] {
        let job = Job::new(bpm_yml);
        let [state, pid] = [format!("boson/web/{process}.state"), format!("bpm/web/{process}.pid")]
            .map(|path| format!("var/vcap/sys/run/{path}"));
        job.write(&state, "{\"version\":1,\"state\":\"running\",\"pid\":7,\"since\":5}\n", 0o644);
        job.write(&pid, "7", 0o600);
        refused(&job, args, status);
        let content = job.read(&state);
        assert!(
            content.starts_with(&format!("{{\"version\":1,\"state\":\"crashed\",\"exit_code\":{status},\"since\":")),
            "{content}"
        );
        assert!(!job.path(&pid).exists());
    }
    // But the state file of a running process is kept.
    let job = Job::script("echo ready; while :; do sleep 10 & wait $!; done", "");
    let running = job.start_quietly();
    job.write("var/vcap/jobs/web/config/bpm.yml", "processes: {", 0o644);
    refused(&job, &[], 65);
    assert!(job.read("var/vcap/sys/run/boson/web/web.state").contains("\"running\""));
    assert!(job.path("var/vcap/sys/run/bpm/web/web.pid").exists());
    drop(running);
}

#[test]
fn an_unknown_capability_exits_65() {
    let job = Job::new("processes: [{name: web, executable: x, capabilities: [NET_ADMIN, FLY]}]");
    let stderr = refused(&job, &[], 65);
    assert!(stderr.contains("capabilities: unknown capability \"FLY\""), "{stderr}");
    nothing_was_touched(&job);
}

#[test]
fn a_missing_persistent_disk_is_reported() {
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
    for args in [["--process", "../x"], ["--process", ""], ["--stop-timeout", "soon"], ["--process", ".."]] {
        refused(&job, &args, 2);
    }
}

#[test]
fn an_executable_for_another_machine_exits_126() {
    let job = Job::new("processes: [{name: web, executable: ROOT/web}]");
    // A header is enough: big-endian, for an unsupported architecture.
    let mut header = vec![0u8; 64];
    header[..6].copy_from_slice(b"\x7fELF\x02\x02");
    header[18..20].copy_from_slice(&[0xfa, 0xce]);
    fs::write(job.path("web"), header).unwrap();
    fs::set_permissions(job.path("web"), fs::Permissions::from_mode(0o755)).unwrap();
    let stderr = refused(&job, &[], 126);
    let emulated = !stderr.contains("caused by: Exec format error");
    let hint = format!("it was built for another machine (number {}), and this is {}", 0xface, std::env::consts::ARCH);
    assert!(stderr.contains(&hint) || emulated, "{stderr}");
}

#[test]
fn an_executable_with_a_missing_loader_exits_127() {
    let job = Job::new("processes: [{name: web, executable: ROOT/web}]");
    // An existing program with another loader.
    let mut program = fs::read("/bin/true").unwrap();
    let Some(at) = program.windows(4).position(|w| w == b"/ld-") else { return };
    program[at..at + 4].copy_from_slice(b"/xx-");
    fs::write(job.path("web"), program).unwrap();
    fs::set_permissions(job.path("web"), fs::Permissions::from_mode(0o755)).unwrap();
    let stderr = refused(&job, &[], 127);
    assert!(stderr.contains("hint: its interpreter /") && stderr.contains("/xx-"), "{stderr}");
}

#[test]
fn a_hook_that_hangs_is_stopped() {
    let job = Job::script("exit 0", "  hooks: {pre_start: ROOT/hook}\n");
    job.write("hook", "#!/bin/sh\ntrap '' TERM\necho hanging\nwhile :; do sleep 1000; done\n", 0o755);
    let mut running = job.spawn(&["--stop-timeout", "50ms", "--quit-timeout", "50ms"]);
    assert_eq!(running.line(), "hanging");
    running.signal(nix::sys::signal::Signal::SIGTERM);
    // Nothing was started: as if it had been stopped at once.
    assert_eq!(running.wait().1, 143);
}
