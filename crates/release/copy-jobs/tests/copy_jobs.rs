//! The executable `copy-jobs` on real directories.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use testkit::files::{Kind, names, tree, write, write_with_mode};

struct Pod {
    root: tempfile::TempDir,
}

impl Pod {
    fn new() -> Self {
        Pod { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    fn source(&self) -> PathBuf {
        self.path("var/vcap/jobs-src")
    }

    fn copied(&self, release: &str) -> PathBuf {
        self.path("var/vcap/all-releases/jobs-src").join(release)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(testkit::executable("copy-jobs"));
        command.env_remove("RELEASE_NAME").env("BOSON_ROOT", self.root.path()).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    #[track_caller]
    fn copies(&self, args: &[&str]) {
        let output = self.run(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The message of a run that fails with this exit code.
    #[track_caller]
    fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{message}");
        message
    }
}

fn set_time(path: &Path, seconds: u64, nanoseconds: u32) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

/// A source with every kind of file and attribute that a copy keeps.
fn nats(source: &Path) {
    write_with_mode(&source.join("nats/job.MF"), "name: nats\n", 0o644);
    write_with_mode(&source.join("nats/templates/bin/run"), "#!/bin/sh\n", 0o755);
    write_with_mode(&source.join("nats/templates/secret.erb"), "", 0o400);
    write(&source.join("nats/large"), vec![b'x'; 20_000_000]);
    write(&source.join("nats/.hidden"), "h");
    fs::create_dir(source.join("nats/empty")).unwrap();
    symlink("templates/bin/run", source.join("nats/run")).unwrap();
    symlink("../nats/missing", source.join("nats/dangling")).unwrap();
    symlink("..", source.join("nats/up")).unwrap();
    set_time(&source.join("nats/job.MF"), 1_000_000_000, 123_456_789);
    fs::set_permissions(source.join("nats/empty"), fs::Permissions::from_mode(0o1500)).unwrap();
    set_time(&source.join("nats/empty"), 1_100_000_000, 1);
    set_time(&source.join("nats"), 1_200_000_000, 987_654_321);
    set_time(source, 1_300_000_000, 5);
}

#[test]
fn a_copy_keeps_contents_modes_times_and_links() {
    let pod = Pod::new();
    nats(&pod.source());
    pod.copies(&["--release", "nats"]);
    assert_eq!(tree(&pod.copied("nats")), tree(&pod.source()));
    assert_eq!(names(pod.copied("nats").parent().unwrap()), ["nats"]);
}

#[test]
fn release_and_paths_can_be_set_by_flags_and_variables() {
    let pod = Pod::new();
    nats(&pod.source());
    assert!(pod.command(&[]).env("RELEASE_NAME", "by-env").status().unwrap().success());
    assert_eq!(tree(&pod.copied("by-env")), tree(&pod.source()));
    let other = Pod::new();
    let (from, to) = (pod.source(), other.path("deep/down/here"));
    other.copies(&["--from", from.to_str().unwrap(), "--to", &format!("{}/", to.display())]);
    assert_eq!(tree(&to), tree(&from));
    let relative =
        pod.command(&["--from", "var/vcap/jobs-src", "--to", "x"]).current_dir(pod.path("")).status().unwrap();
    assert!(relative.success());
    assert_eq!(tree(&pod.path("x")), tree(&from));
}

#[test]
fn a_second_run_replaces_what_the_first_copied() {
    let pod = Pod::new();
    nats(&pod.source());
    pod.copies(&["--release", "nats"]);
    pod.copies(&["--release", "nats"]);
    assert_eq!(tree(&pod.copied("nats")), tree(&pod.source()));
    fs::remove_dir_all(pod.source().join("nats/templates")).unwrap();
    write(&pod.source().join("nats/templates"), "now a file");
    fs::remove_file(pod.source().join("nats/run")).unwrap();
    pod.copies(&["--release", "nats"]);
    assert_eq!(tree(&pod.copied("nats")), tree(&pod.source()));
    assert_eq!(names(pod.copied("nats").parent().unwrap()), ["nats"]);
}

#[test]
fn setuid_and_setgid_are_not_copied() {
    let pod = Pod::new();
    write_with_mode(&pod.source().join("a/run"), "x", 0o6755);
    pod.copies(&["--release", "r"]);
    assert_eq!(tree(&pod.copied("r"))[Path::new("a/run")].mode, 0o755);
}

#[test]
fn absolute_links_inside_become_relative() {
    let pod = Pod::new();
    let source = pod.source();
    write(&source.join("a/templates/x"), "x");
    symlink(source.join("a/templates/x"), source.join("a/here")).unwrap();
    symlink("/var/vcap/jobs-src/a/templates", source.join("a/there")).unwrap();
    pod.copies(&["--release", "r"]);
    let copied = tree(&pod.copied("r"));
    assert_eq!(copied[Path::new("a/here")].kind, Kind::Link("../a/templates/x".into()));
    assert_eq!(copied[Path::new("a/there")].kind, Kind::Link("../a/templates".into()));
}

#[test]
fn links_of_a_releases_jobs_to_its_other_places_become_copies() {
    let pod = Pod::new();
    let release = pod.path("nats-release");
    let jobs = release.join("jobs");
    write(&jobs.join("nats/spec"), "name: nats");
    fs::create_dir_all(release.join("packages")).unwrap();
    write_with_mode(&release.join("shared_job_templates/ctl.erb"), "ctl", 0o755);
    write(&release.join("shared_job_templates/more/a.erb"), "a");
    write(&release.join("src/x/real.erb"), "real");
    symlink("../../src/x/real.erb", release.join("shared_job_templates/more/b.erb")).unwrap();
    fs::create_dir_all(jobs.join("nats/templates")).unwrap();
    symlink("../../../shared_job_templates/ctl.erb", jobs.join("nats/templates/ctl.erb")).unwrap();
    symlink("../../../shared_job_templates/more", jobs.join("nats/templates/more")).unwrap();
    symlink(release.join("shared_job_templates/more/a.erb"), jobs.join("nats/templates/absolute.erb")).unwrap();
    symlink("ctl.erb", jobs.join("nats/templates/inside.erb")).unwrap();
    let from = jobs.to_str().unwrap();
    pod.copies(&["--release", "r", "--from", from]);
    let templates = pod.copied("r").join("nats/templates");
    for (path, text) in
        [("ctl.erb", "ctl"), ("more/a.erb", "a"), ("more/b.erb", "real"), ("absolute.erb", "a"), ("inside.erb", "ctl")]
    {
        assert_eq!(fs::read_to_string(templates.join(path)).unwrap(), text, "{path}");
    }
    let copied = tree(&pod.copied("r"));
    assert_eq!(copied[Path::new("nats/templates/ctl.erb")].mode, 0o755);
    for path in ["inside.erb", "more/b.erb"] {
        assert!(!matches!(copied[&Path::new("nats/templates").join(path)].kind, Kind::Link(_)), "{path}");
    }
    // The release is the limit, whichever way leads out of it.
    symlink("/etc/passwd", release.join("shared_job_templates/more/passwd")).unwrap();
    symlink("../../..", jobs.join("nats/up")).unwrap();
    symlink("../../../shared_job_templates/missing", jobs.join("nats/templates/missing")).unwrap();
    let message = pod.fails(65, &["--release", "r", "--from", from]);
    assert_eq!(message.matches("error:").count(), 3, "{message}");
    for part in
        ["templates/more stands for: /etc/passwd is not in the release", "nats/up stands for", "missing stands for"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    // Without a release around it, jobs is a tree like any other.
    fs::remove_dir(release.join("packages")).unwrap();
    assert!(pod.fails(65, &["--release", "r", "--from", from]).contains("leads out of the job sources"));
}

#[test]
fn a_directory_that_contains_itself_is_refused() {
    let pod = Pod::new();
    let release = pod.path("release");
    fs::create_dir_all(release.join("config")).unwrap();
    fs::create_dir_all(release.join("shared")).unwrap();
    write(&release.join("jobs/a/spec"), "name: a");
    symlink("../shared", release.join("shared/self")).unwrap();
    symlink("../../shared", release.join("jobs/a/templates")).unwrap();
    let message = pod.fails(65, &["--release", "r", "--from", release.join("jobs").to_str().unwrap()]);
    assert!(message.contains("shared contains itself"), "{message}");
}

#[test]
fn all_uncopyable_files_are_reported_and_nothing_changes() {
    let pod = Pod::new();
    write(&pod.source().join("a/x"), "1");
    pod.copies(&["--release", "r"]);
    let before = tree(&pod.path("var/vcap/all-releases"));
    symlink("/etc/passwd", pod.source().join("a/absolute")).unwrap();
    symlink("../../..", pod.source().join("a/up")).unwrap();
    let _socket = UnixListener::bind(pod.source().join("a/socket")).unwrap();
    assert!(Command::new("mkfifo").arg(pod.source().join("a/pipe")).status().unwrap().success());
    let message = pod.fails(65, &["--release", "r"]);
    assert_eq!(message.matches("error:").count(), 4, "{message}");
    for part in ["a/absolute leads out", "points to /etc/passwd", "a/up leads out", "a socket", "a named pipe"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(tree(&pod.path("var/vcap/all-releases")), before);
}

#[test]
fn a_missing_source_is_reported() {
    let pod = Pod::new();
    let message = pod.fails(65, &["--release", "r"]);
    assert!(message.contains("var/vcap/jobs-src does not exist") && message.contains("hint:"), "{message}");
    assert!(names(&pod.path("")).is_empty());
    write(&pod.path("file"), "");
    let file = pod.path("file");
    assert!(pod.fails(65, &["--release", "r", "--from", file.to_str().unwrap()]).contains("not a directory"));
}

#[test]
fn an_invalid_release_name_is_refused() {
    let pod = Pod::new();
    nats(&pod.source());
    for name in ["", ".", "..", "../x", "a/b", "/", ".hidden", "a\nb", &"n".repeat(201)] {
        let message = pod.fails(2, &["--release", name]);
        assert!(message.contains("is not a release name"), "{message}");
    }
    assert!(pod.fails(2, &[]).contains("RELEASE_NAME"));
    assert!(pod.fails(2, &["--to", "/"]).contains("names no directory"));
    assert_eq!(names(&pod.path("var/vcap")), ["jobs-src"]);
}

#[test]
fn an_unwritable_destination_is_one_error_and_leaves_nothing() {
    let pod = Pod::new();
    write(&pod.source().join("a/x"), "1");
    write(&pod.path("file"), "precious");
    let file = pod.path("file");
    let message = pod.fails(70, &["--to", file.to_str().unwrap()]);
    assert!(message.contains("it is not a directory"), "{message}");
    pod.fails(70, &["--to", file.join("below").to_str().unwrap()]);
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    // Not even root can create a file in /proc.
    let message = pod.fails(70, &["--to", "/proc/boson/x"]);
    assert!(message.contains("/proc/boson"), "{message}");
    assert_eq!(names(&pod.path("")), ["file", "var"]);
}

#[test]
fn source_and_destination_must_not_overlap() {
    let pod = Pod::new();
    nats(&pod.source());
    let before = tree(&pod.source());
    for to in ["var/vcap/jobs-src", "var/vcap/jobs-src/nats/copy", "var/vcap"] {
        let message = pod.fails(65, &["--to", pod.path(to).to_str().unwrap()]);
        assert!(message.contains("overlap"), "{message}");
    }
    assert_eq!(tree(&pod.source()), before);
}

#[test]
fn a_link_at_the_destination_is_replaced_not_followed() {
    let pod = Pod::new();
    write(&pod.source().join("a/x"), "1");
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("precious"), "p");
    fs::create_dir_all(pod.copied("")).unwrap();
    symlink(outside.path(), pod.copied("r")).unwrap();
    pod.copies(&["--release", "r"]);
    assert_eq!(tree(&pod.copied("r")), tree(&pod.source()));
    assert_eq!(names(outside.path()), ["precious"]);
    // There is none above it either, in the volume that all releases share.
    fs::remove_dir_all(pod.copied("")).unwrap();
    symlink(outside.path(), pod.path("var/vcap/all-releases/jobs-src")).unwrap();
    assert!(pod.fails(70, &["--release", "r"]).contains("not followed"));
    assert_eq!(names(outside.path()), ["precious"]);
}

#[test]
fn many_releases_are_copied_at_once() {
    let pod = Pod::new();
    nats(&pod.source());
    // Twenty releases, each copied twice at the same time.
    let releases: Vec<String> = (0..20).map(|n| format!("release-{n}")).collect();
    let runs: Vec<_> =
        releases.iter().chain(&releases).map(|release| pod.command(&["--release", release]).spawn().unwrap()).collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    let expected = tree(&pod.source());
    for release in &releases {
        assert!(tree(&pod.copied(release)) == expected, "{release}");
    }
    assert_eq!(names(&pod.copied("")).len(), 20);
}

/// A source whose copy takes a while.
fn many_files(source: &Path) {
    write(&source.join("a/0"), "new");
    for n in 1..4000 {
        fs::hard_link(source.join("a/0"), source.join(format!("a/{n}"))).unwrap();
    }
}

/// Starts a copy and sends it `signal` while it runs; returns its exit status.
fn interrupted(pod: &Pod, signal: &str) -> std::process::ExitStatus {
    let volume = pod.copied("");
    loop {
        let mut run = pod.command(&["--release", "r"]).spawn().unwrap();
        testkit::waiting::wait_for("the copy to begin", || {
            let begun = names(&volume).iter().any(|name| name.starts_with(".r.copy-jobs-"));
            (begun || run.try_wait().unwrap().is_some()).then_some(())
        });
        let id = run.id().to_string();
        // The shell's own: a machine may have no program of this name.
        assert!(Command::new("sh").args(["-c", &format!("kill -s {signal} {id}")]).status().unwrap().success());
        let status = run.wait().unwrap();
        // The copy may have completed already; then the test tries again.
        if !status.success() {
            return status;
        }
    }
}

#[test]
fn a_killed_copy_leaves_the_old_sources_and_the_next_run_removes_its_leftovers() {
    let pod = Pod::new();
    let old = Pod::new();
    write(&old.source().join("a/old"), "old");
    many_files(&pod.source());
    // A copy by another process: of a release with the same name prefix, still running.
    fs::create_dir_all(pod.copied(".r-2.copy-jobs-0123456789abcdef")).unwrap();
    pod.copies(&["--release", "r", "--from", old.source().to_str().unwrap()]);
    let status = interrupted(&pod, "KILL");
    assert_eq!(status.code(), None);
    let now = tree(&pod.copied("r"));
    assert!(now == tree(&old.source()) || now == tree(&pod.source()));
    pod.copies(&["--release", "r"]);
    assert!(tree(&pod.copied("r")) == tree(&pod.source()));
    assert_eq!(names(&pod.copied("")), [".r-2.copy-jobs-0123456789abcdef", "r"]);
}

#[test]
fn a_terminated_copy_leaves_nothing() {
    use std::os::unix::process::ExitStatusExt;
    let pod = Pod::new();
    many_files(&pod.source());
    fs::create_dir_all(pod.copied("")).unwrap();
    for (name, number) in [("TERM", 15), ("INT", 2)] {
        let _ = fs::remove_dir_all(pod.copied("r"));
        let status = interrupted(&pod, name);
        // A shell has its background jobs ignore INT, perhaps these tests too.
        assert_eq!(status.signal().or(status.code().map(|code| code - 128)), Some(number));
        assert!(names(&pod.copied("")).iter().all(|name| name == "r"));
    }
}

#[test]
fn the_help_shows_examples() {
    let output = Pod::new().run(&["--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    for part in ["--from", "--to", "RELEASE_NAME", "Example", "copy-jobs --release nats", "Exit codes"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}
