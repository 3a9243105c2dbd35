//! Jobs that run containers themselves, as those of a Diego cell: refused, privileged, killed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::eventually;

use crate::deployment::{Deployment, rows};

const ALLOWED: &[&str] = &["--allow-privileged", "cell"];

/// Settings of the whole machine that the jobs write.
const SETTINGS: [&str; 4] = [
    "/proc/sys/fs/inotify/max_user_watches",
    "/proc/sys/fs/nr_open",
    "/proc/sys/kernel/dmesg_restrict",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];

#[test]
fn privileged_jobs_are_refused_before_anything_runs() {
    let cell = Deployment::prepare("cell", "cell", &["--allow-privileged", "cell/garden"]);
    let outcome = cell.try_up();
    assert_eq!(outcome.code, Some(65), "{}{}", outcome.stdout, outcome.stderr);
    let refused = "error: job silk-daemon of instance group cell must be privileged: unsafe.privileged of process silk-daemon in bpm.yml\n  \
                   hint: --allow-privileged cell/silk-daemon allows it";
    assert!(outcome.stderr.contains(refused) && !outcome.stderr.contains("garden"), "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("compil") && !cell.state().exists(), "{}", outcome.stdout);
}

#[test]
fn jobs_of_a_cell_run_an_app_and_leave_nothing() {
    if !can_be_privileged() {
        println!("skipped: not root, or no loop devices, or no cgroups");
        return;
    }
    let before = SETTINGS.map(|path| fs::read_to_string(path).ok());
    let cell = Deployment::prepare("cell", "cell", ALLOWED);
    let printed = cell.up_again();
    for path in SETTINGS.iter().filter(|path| Path::new(path).exists()) {
        assert_eq!(
            printed.matches(&format!("cell/0: warning: {path} is a setting of the whole machine")).count(),
            1,
            "{printed}"
        );
    }
    let status = cell.boson(&["status"]);
    assert_eq!((status.code, rows(&status, &["running"]).len()), (Some(0), 3), "{}", status.stdout);
    let answer = "an app of the cell, two certificates, process 1\n";
    assert_eq!(cell.succeed(&["run-errand", "smoke-tests"]), answer);
    let log = |path: &str| cell.succeed(&["exec", "cell/0", "cat", &format!("/var/vcap/sys/log/{path}")]);
    assert!(log("garden/post-start.stdout.log").contains("the app answers: an app of the cell"));
    let rep = log("rep/rep.stdout.log");
    assert!(rep.starts_with("user 1000, certificate, ") && rep.ends_with("sees an app of the cell\n"), "{rep}");
    assert_eq!(log("silk-daemon/silk-daemon.stdout.log"), "user 0, 10.255.10.0/32\n");
    assert_eq!(SETTINGS.map(|path| fs::read_to_string(path).ok()), before, "the machine's settings");
    let left = Left::of(&cell);
    assert!(!left.cgroups().is_empty() && left.loops() == 2, "{} loop devices", left.loops());
    assert!(links().iter().all(|name| !["w-garden", "w-app", "silk-vtep"].contains(&name.as_str())), "{:?}", links());

    // What the job has mounted outlives it, its container does not: the next start makes another one.
    cell.succeed(&["restart", "cell/0/garden"]);
    eventually("the app answers again", || cell.succeed(&["run-errand", "smoke-tests"]) == answer);
    // An instance that is replaced takes everything with it.
    cell.edit("two certificates", "three certificates");
    cell.up_again();
    assert_eq!(cell.succeed(&["run-errand", "smoke-tests"]), answer.replace("two", "three"));
    assert_eq!(left.loops(), 0, "those of the instance before");
    let new = Left::of(&cell);
    assert_eq!(new.loops(), 2);
    cell.down();
    new.assert_nothing();
}

#[test]
fn a_killed_boson_leaves_nothing_of_a_cell() {
    if !can_be_privileged() {
        println!("skipped: not root, or no loop devices, or no cgroups");
        return;
    }
    // While its processes run.
    let cell = Deployment::prepare("cell", "cell", ALLOWED);
    cell.up_again();
    let left = Left::of(&cell);
    kill(Pid::from_raw(holder(&cell)), Signal::SIGKILL).expect("boson is killed");
    left.assert_nothing_soon(&cell);
    // In the middle of its start: a pre-start script has mounted file systems, and waits.
    cell.edit("two certificates", "$(touch /tmp/waits; sleep 10000)");
    let mut up = in_foreground(&cell);
    eventually("a pre-start script waits", || {
        cell.boson(&["exec", "cell/0", "test", "-e", "/var/vcap/packages/rootfs/rootfs/tmp/waits"]).code == Some(0)
    });
    let left = Left::of(&cell);
    assert!(!left.cgroups().is_empty());
    kill(Pid::from_raw(holder(&cell)), Signal::SIGKILL).expect("boson is killed");
    up.wait().expect("boson up ends");
    left.assert_nothing_soon(&cell);
    // And by Ctrl-C.
    cell.edit("$(touch /tmp/waits; sleep 10000)", "no certificates");
    let mut up = in_foreground(&cell);
    eventually("the cell runs", || rows(&cell.boson(&["status"]), &["running"]).len() == 3);
    kill(Pid::from_raw(i32::try_from(up.id()).expect("a process id")), Signal::SIGINT).expect("boson is interrupted");
    up.wait().expect("boson up ends");
    assert!(!cell.state().exists(), "Ctrl-C leaves the state directory");
    left.assert_nothing();
}

/// Whether instances can be privileged on this machine as these jobs need it.
fn can_be_privileged() -> bool {
    nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists() && Path::new("/sys/fs/cgroup").is_dir()
}

fn in_foreground(cell: &Deployment) -> Child {
    let mut command = Command::new(testkit::executable("boson"));
    command.args(cell.up_arguments(&[])).env("BOSON_STATE_DIR", cell.state());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("boson up starts")
}

/// The boson that holds the deployment.
fn holder(cell: &Deployment) -> i32 {
    let text = fs::read_to_string(cell.state().join("state.json")).expect("the deployment's record");
    let record: serde_yaml::Value = serde_yaml::from_str(&text).expect("JSON");
    i32::try_from(record["boson"]["pid"].as_i64().expect("boson's process")).expect("a process id")
}

fn links() -> Vec<String> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// What an instance could leave on the machine.
struct Left {
    /// How the names of its cgroups begin.
    prefix: String,
    /// The inodes of the files of its loop devices.
    images: Vec<u64>,
}

impl Left {
    fn of(cell: &Deployment) -> Left {
        let meta = fs::metadata(cell.state()).expect("the state directory");
        let prefix = format!("boson-{:x}-{:x}-", meta.dev(), meta.ino());
        let data = cell.state().join("instances/cell-0/vcap/data/garden");
        let images =
            ["store", "spare"].iter().filter_map(|name| Some(fs::metadata(data.join(name)).ok()?.ino())).collect();
        Left { prefix, images }
    }

    fn cgroups(&self) -> Vec<PathBuf> {
        let (mut found, mut pending) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
        while let Some(directory) = pending.pop() {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                if entry.file_name().to_string_lossy().starts_with(&self.prefix) {
                    found.push(entry.path());
                }
                pending.push(entry.path());
            }
        }
        found
    }

    /// How many of its files are those of loop devices.
    fn loops(&self) -> usize {
        let output = Command::new("losetup").args(["--list", "--raw", "--noheadings", "--output", "BACK-INO"]).output();
        let text = String::from_utf8(output.expect("losetup runs").stdout).expect("text");
        text.lines().filter(|inode| inode.trim().parse().is_ok_and(|inode| self.images.contains(&inode))).count()
    }

    fn is_nothing(&self) -> bool {
        self.cgroups().is_empty() && self.loops() == 0
    }

    #[track_caller]
    fn assert_nothing(&self) {
        assert!(self.is_nothing(), "{:?}, {} loop devices", self.cgroups(), self.loops());
    }

    /// After a kill, which other processes have to notice.
    #[track_caller]
    fn assert_nothing_soon(&self, cell: &Deployment) {
        eventually("everything of the cell has ended", || self.is_nothing() && cell.processes().is_empty());
        cell.succeed(&["down"]);
        assert!(!cell.state().exists(), "boson down leaves the state directory");
    }
}
