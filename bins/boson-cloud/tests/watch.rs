//! `render-files --watch`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::eventually;

/// A process that is killed if the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Exchanges a file as the kubelet exchanges those of a ConfigMap: by renaming a link to another directory.
fn publish(dir: &Path, version: &str, configuration: &str) {
    fs::create_dir_all(dir.join(version)).unwrap();
    fs::write(dir.join(version).join("config.json"), configuration).unwrap();
    let next = dir.join("..data_tmp");
    std::os::unix::fs::symlink(version, &next).unwrap();
    fs::rename(next, dir.join("..data")).unwrap();
    if !dir.join("config.json").is_symlink() {
        std::os::unix::fs::symlink("..data/config.json", dir.join("config.json")).unwrap();
    }
}

#[test]
fn changes_are_rendered_failures_keep_the_result_and_term_ends_it() {
    let temp = tempfile::tempdir().unwrap();
    let (mount, out) = (temp.path().join("mount"), temp.path().join("out"));
    let configuration = |value: &str| format!(r#"{{"groups": {{"g": {{"args": {{"a": "{value}"}}}}}}}}"#);
    publish(&mount, "..1", &configuration("one"));
    let log = temp.path().join("log");
    let child = Command::new(env!("CARGO_BIN_EXE_boson-cloud"))
        .args(["render-files", "--watch", "--group", "g"])
        .env_clear()
        .env("CONFIG_PATH", mount.join("config.json"))
        .env("OUTPUT_DIR", &out)
        .env("BOSON_ROOT", temp.path())
        .stderr(fs::File::create(&log).unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let args = || fs::read_to_string(out.join("args.json")).unwrap_or_default();
    eventually("the first result", || args().contains("one"));
    publish(&mount, "..2", &configuration("two"));
    eventually("the second result", || args().contains("two"));
    publish(&mount, "..3", &configuration("{{ .Vars.none }}"));
    eventually("the message", || fs::read_to_string(&log).unwrap().contains("map has no entry for key \"none\""));
    assert!(args().contains("two"), "a failure keeps the result");
    publish(&mount, "..4", &configuration("four"));
    eventually("the fourth result", || args().contains("four"));
    let id = Pid::from_raw(i32::try_from(running.0.id()).unwrap());
    kill(id, Signal::SIGTERM).unwrap();
    assert_eq!(running.0.wait().unwrap().code(), Some(0));
}
