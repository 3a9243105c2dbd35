//! `run-requests`, as the executable of pods.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use handoff::requests::{Line, What};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// An instance with a job `web` that has both scripts, in which `run-requests` runs.
struct Instance {
    root: tempfile::TempDir,
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Instance {
    fn new() -> Instance {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("run", "echo \"errand $TOKEN ${LEAKED-none}\"; exit 3"), ("post-deploy", "echo deployed")]
        {
            let path = root.path().join("var/vcap/jobs/web/bin").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(root.path().join("var/vcap/bosh")).unwrap();
        fs::create_dir_all(root.path().join("var/run/boson/requests")).unwrap();
        let (child, out) = start(root.path());
        Instance { root, child, out }
    }

    fn request(&self, file: &str, text: &str) {
        // As the kubelet does it: at once.
        let directory = self.root.path().join("var/run/boson/requests");
        fs::write(directory.join("new"), text).unwrap();
        fs::rename(directory.join("new"), directory.join(file)).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn stop(&mut self) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(root: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(testkit::executable("run-requests"));
    command.args(["--job", "web", "--errand", "--post-deploy", "--pass-env", "TOKEN", "--requests-interval", "20ms"]);
    command.env("BOSON_ROOT", root).env("TOKEN", "secret").env("LEAKED", "x");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

fn line(what: What, id: &str, status: Option<u8>) -> String {
    Line { what, job: "web".to_owned(), id: id.to_owned(), status }.to_string()
}

#[test]
fn each_request_is_carried_out_once() {
    let mut instance = Instance::new();
    instance.request("errand", "0 other");
    instance.request("errand", "1 web\n");
    let lines = [instance.line(), instance.line(), instance.line()];
    let expected = [line(What::Errand, "1", None), "errand secret none".to_owned(), line(What::Errand, "1", Some(3))];
    assert_eq!(lines, expected);

    instance.request("post-deploy", "a");
    let lines = [instance.line(), instance.line(), instance.line()];
    let expected =
        [line(What::PostDeploy, "a", None), "[web] deployed".to_owned(), line(What::PostDeploy, "a", Some(0))];
    assert_eq!(lines, expected);

    // A container that restarts does nothing again, and what is requested meanwhile.
    instance.stop();
    instance.request("errand", "2 web");
    let (child, out) = start(instance.root.path());
    (instance.child, instance.out) = (child, out);
    assert_eq!(instance.line(), line(What::Errand, "2", None));
    instance.line();
    assert_eq!(instance.line(), line(What::Errand, "2", Some(3)));
    instance.stop();
}
