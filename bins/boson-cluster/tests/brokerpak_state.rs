//! The state of a brokerpak's instance in Secrets.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::api_server::ApiServer;
use testkit::waiting::{eventually, wait_for};

const LEASE: &str = "coordination.k8s.io/v1/leases/brokerpak-i-1";

/// A cluster, and the directories of pods.
struct Pods {
    server: ApiServer,
    work: tempfile::TempDir,
}

impl Pods {
    fn new() -> Pods {
        let pods = Pods { server: ApiServer::start(), work: tempfile::tempdir().unwrap() };
        pods.server.write_kubeconfig(&pods.work.path().join("kubeconfig"));
        pods
    }

    /// The shared directory of a pod.
    fn directory(&self, pod: &str) -> PathBuf {
        let directory = self.work.path().join(pod);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn command(&self, pod: &str, step: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        command.args(["brokerpak-state", step, "--instance", "i-1", "--holder", pod, "--dir"]);
        command.arg(self.directory(pod)).arg("--kubeconfig").arg(self.work.path().join("kubeconfig"));
        command.args(arguments);
        command
    }

    fn finish(&self, pod: &str, arguments: &[&str]) -> Output {
        self.command(pod, "finish", arguments).output().unwrap()
    }

    fn is_ready(&self, pod: &str) -> bool {
        self.command(pod, "ready", &[]).output().unwrap().status.success()
    }

    /// The container that keeps the state, once it is ready.
    fn keep(&self, pod: &str, arguments: &[&str]) -> Keeper {
        let keeper = Keeper(Some(self.command(pod, "keep", arguments).stderr(Stdio::piped()).spawn().unwrap()));
        eventually("the state is loaded", || self.is_ready(pod));
        keeper
    }

    fn write(&self, pod: &str, name: &str, content: &str) {
        let path = self.directory(pod).join("state/instances/i").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, pod: &str, name: &str) -> Option<String> {
        fs::read_to_string(self.directory(pod).join("state/instances/i").join(name)).ok()
    }

    fn lease(&self) -> Option<Value> {
        self.server.store().get(LEASE).cloned()
    }

    fn version(&self) -> u64 {
        let version =
            |lease: Value| lease["metadata"]["annotations"]["brokerpak.boson/state-version"].as_str()?.parse().ok();
        self.lease().and_then(version).unwrap_or_default()
    }

    fn secrets(&self) -> Vec<String> {
        self.server.store().names("secrets").into_iter().map(str::to_owned).collect()
    }

    /// What the run leaves behind.
    fn outcome(&self, pod: &str, code: u8, output: &Value) {
        fs::write(self.directory(pod).join("status"), code.to_string()).unwrap();
        fs::write(self.directory(pod).join("output.json"), output.to_string()).unwrap();
    }
}

/// A container; it ends with the test.
struct Keeper(Option<Child>);

impl Keeper {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.as_ref().unwrap().id() as i32), signal).unwrap();
    }

    fn wait(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    fn terminate(self) {
        self.signal(Signal::SIGTERM);
        let output = self.wait();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn data(secret: &Value, key: &str) -> String {
    String::from_utf8(BASE64.decode(secret["data"][key].as_str().unwrap()).unwrap()).unwrap()
}

#[test]
fn every_change_is_stored_and_loaded_by_the_next_pod() {
    let pods = Pods::new();
    let keeper = pods.keep("a", &[]);
    assert_eq!(pods.secrets(), [""; 0]);
    pods.write("a", "terraform.tfstate", "one");
    eventually("the state is stored", || pods.version() == 1);
    pods.write("a", "terraform.tfstate", "two");
    eventually("the change is stored", || pods.version() == 2);
    eventually("the old version is deleted", || pods.secrets() == ["brokerpak-i-1-v2"]);
    // The last change, which nobody has seen before the end.
    pods.write("a", "bindings/b/record.json", "three");
    keeper.terminate();
    assert_eq!(pods.lease().unwrap()["spec"]["holderIdentity"], "");
    let keeper = pods.keep("b", &[]);
    assert_eq!(pods.read("b", "terraform.tfstate").as_deref(), Some("two"));
    assert_eq!(pods.read("b", "bindings/b/record.json").as_deref(), Some("three"));
    // A state that needs several Secrets: hexadecimal digits of random bytes.
    let mut large = String::new();
    let mut random = testkit::random::Random::new(1);
    while large.len() < 3_000_000 {
        large.push_str(&format!("{:016x}", random.number()));
    }
    pods.write("b", "terraform.tfstate", &large);
    eventually("the large state is stored", || pods.version() == 4);
    eventually("in parts", || pods.secrets().len() >= 2);
    keeper.terminate();
    let keeper = pods.keep("c", &[]);
    assert!(pods.read("c", "terraform.tfstate").unwrap() == large);
    keeper.terminate();
}

#[test]
fn a_restarted_container_stores_what_it_finds() {
    let pods = Pods::new();
    let keeper = pods.keep("a", &[]);
    pods.write("a", "x", "one");
    eventually("the state is stored", || pods.version() == 1);
    keeper.signal(Signal::SIGKILL);
    keeper.wait();
    pods.write("a", "x", "two");
    let keeper = pods.keep("a", &[]);
    eventually("the change is stored", || pods.version() == 2);
    assert_eq!(pods.read("a", "x").as_deref(), Some("two"));
    keeper.terminate();
}

#[test]
fn one_pod_at_a_time_has_the_lease() {
    let pods = Pods::new();
    let first = pods.keep("a", &["--lease-duration", "2s"]);
    pods.write("a", "x", "one");
    eventually("the state is stored", || pods.version() == 1);
    let waiting = Keeper(Some(pods.command("b", "keep", &[]).spawn().unwrap()));
    // The first one has renewed its Lease: the other one has had time to take it, and has not.
    let renewed = pods.lease().unwrap()["spec"]["renewTime"].clone();
    wait_for("a renewal", || (pods.lease().unwrap()["spec"]["renewTime"] != renewed).then_some(()));
    assert!(!pods.is_ready("b"));
    first.signal(Signal::SIGKILL);
    first.wait();
    eventually("the other pod has the Lease", || pods.is_ready("b"));
    assert_eq!(pods.read("b", "x").as_deref(), Some("one"));
    assert!(!pods.is_ready("a"), "what it was told does not hold any more");
    waiting.terminate();
}

#[test]
fn a_pod_that_has_lost_the_lease_changes_nothing() {
    let pods = Pods::new();
    let keeper = pods.keep("a", &["--lease-duration", "6s"]);
    pods.write("a", "x", "one");
    eventually("the state is stored", || pods.version() == 1);
    let mut lease = pods.lease().unwrap();
    lease["spec"]["holderIdentity"] = "other".into();
    lease["metadata"]["annotations"]["brokerpak.boson/state-version"] = "7".into();
    pods.server.store().put(LEASE, lease);
    pods.write("a", "x", "two");
    let output = keeper.wait();
    assert_eq!(output.status.code(), Some(70));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the Lease brokerpak-i-1 is lost"));
    assert_eq!(pods.version(), 7);
    assert_eq!(pods.secrets(), ["brokerpak-i-1-v1"], "the valid version of the other pod is not touched");
    eventually("terraform is told", || !pods.is_ready("a"));
    pods.outcome("a", 0, &json!({"operation": "provision", "result": "ok"}));
    assert_eq!(pods.finish("a", &[]).status.code(), Some(70));
    assert_eq!(pods.version(), 7);
}

#[test]
fn bindings_have_secrets() {
    let pods = Pods::new();
    let keeper = pods.keep("a", &[]);
    pods.write("a", "x", "one");
    let credentials = json!({"uri": "smtp://x", "port": 25, "tls": {"ca": "c"}});
    pods.outcome("a", 0, &json!({"operation": "bind", "result": "ok", "credentials": credentials}));
    let arguments = ["--secret", "mail", "--secret-type", "smtp"];
    let output = pods.finish("a", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let secret = pods.server.store().get("secrets/mail").cloned().unwrap();
    assert_eq!(secret["type"], "servicebinding.io/smtp");
    let found = ["type", "uri", "port", "tls"].map(|key| data(&secret, key));
    assert_eq!(found, ["smtp", "smtp://x", "25", r#"{"ca":"c"}"#]);
    assert_eq!(pods.lease().unwrap()["spec"]["holderIdentity"], "");
    // It does not take the Lease once more.
    keeper.terminate();
    assert_eq!(pods.version(), 1);
    let keeper = pods.keep("b", &[]);
    pods.outcome("b", 66, &json!({"operation": "unbind", "result": "error", "message": "terraform failed: it burns"}));
    let output = pods.finish("b", &arguments);
    assert_eq!(output.status.code(), Some(66));
    assert!(String::from_utf8_lossy(&output.stderr).contains("terraform failed: it burns"));
    assert!(pods.server.store().get("secrets/mail").is_some());
    keeper.terminate();
    let keeper = pods.keep("c", &[]);
    pods.outcome("c", 0, &json!({"operation": "unbind", "result": "ok"}));
    assert!(pods.finish("c", &arguments).status.success());
    assert!(pods.server.store().get("secrets/mail").is_none());
    keeper.terminate();
}

#[test]
fn secrets_of_others_are_not_touched() {
    let pods = Pods::new();
    let own = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mail"}, "data": {}});
    pods.server.store().put("secrets/mail", own);
    let keeper = pods.keep("a", &[]);
    pods.write("a", "x", "one");
    pods.outcome("a", 0, &json!({"operation": "bind", "result": "ok", "credentials": {}}));
    let output = pods.finish("a", &["--secret", "mail"]);
    assert_eq!(output.status.code(), Some(65));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Secret mail exists"));
    assert_eq!(pods.version(), 1, "the state is stored all the same");
    keeper.terminate();
}

#[test]
fn nothing_remains_of_an_instance_without_state() {
    let pods = Pods::new();
    let keeper = pods.keep("a", &[]);
    pods.write("a", "x", "one");
    eventually("the state is stored", || pods.version() == 1);
    fs::remove_dir_all(pods.directory("a").join("state/instances/i")).unwrap();
    pods.outcome("a", 0, &json!({"operation": "deprovision", "result": "ok"}));
    assert!(pods.finish("a", &[]).status.success());
    assert_eq!(pods.secrets(), [""; 0]);
    assert_eq!(pods.lease(), None);
    keeper.terminate();
    assert_eq!(pods.lease(), None);
}

#[test]
fn terraform_may_finish_after_the_pod_was_told_to_end() {
    let pods = Pods::new();
    let keeper = pods.keep("a", &[]);
    let running = fs::File::create(pods.directory("a").join("running")).unwrap();
    running.lock().unwrap();
    keeper.signal(Signal::SIGTERM);
    pods.write("a", "x", "one");
    eventually("the state is stored", || pods.version() == 1);
    pods.write("a", "x", "two");
    drop(running);
    assert!(keeper.wait().status.success());
    let keeper = pods.keep("b", &[]);
    assert_eq!(pods.read("b", "x").as_deref(), Some("two"));
    keeper.terminate();
}

#[test]
fn the_instance_of_a_lease_is_compared() {
    let pods = Pods::new();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "brokerpak-i-1", "annotations": {"brokerpak.boson/instance-id": "other"}}, "spec": {},
    });
    pods.server.store().put(LEASE, lease);
    let output = pods.command("a", "keep", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(65));
    assert!(!Path::new(&pods.directory("a").join("loaded")).exists());
}
