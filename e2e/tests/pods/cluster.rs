//! The cluster under test, by its own command line.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The deadline of every wait; only a failing test reaches it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);
const INTERVAL: Duration = Duration::from_millis(200);

/// A path from the environment of `e2e/run`; all tests here need it.
pub(crate) fn from_run(name: &str) -> PathBuf {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: `make e2e` runs these tests")).into()
}

/// A test's own namespace, with the restricted Pod Security Standard.
pub(crate) struct Namespace {
    pub(crate) name: String,
}

impl Namespace {
    /// Creates it; it is deleted when this is dropped.
    pub(crate) fn new(test: &str) -> Namespace {
        Namespace::with_standard(test, "restricted")
    }

    /// As [`Namespace::new`], with this Pod Security Standard.
    pub(crate) fn with_standard(test: &str, standard: &str) -> Namespace {
        let name = format!("{test}-{}", std::process::id());
        kubectl(&["create", "namespace", &name]);
        kubectl(&["label", "namespace", &name, &format!("pod-security.kubernetes.io/enforce={standard}")]);
        Namespace { name }
    }

    /// Runs kubectl in the namespace; gives its output.
    #[track_caller]
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        kubectl(&[&["--namespace", &self.name], args].concat())
    }

    /// As [`Namespace::kubectl`], where it may fail.
    pub(crate) fn try_kubectl(&self, args: &[&str]) -> Result<String, String> {
        try_kubectl(&[&["--namespace", &self.name], args].concat())
    }

    /// Applies a document.
    #[track_caller]
    pub(crate) fn apply(&self, document: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), document).unwrap();
        self.kubectl(&["apply", "--filename", file.path().to_str().unwrap()]);
    }

    /// The object as the API server has it.
    #[track_caller]
    pub(crate) fn get(&self, object: &str) -> serde_json::Value {
        serde_json::from_str(&self.kubectl(&["get", object, "--output", "json"])).unwrap()
    }

    /// How a Job has ended: `Complete`, `Failed` or not yet.
    #[track_caller]
    pub(crate) fn ended(&self, job: &str) -> Option<String> {
        let job = self.get(&format!("job/{job}"));
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let of = |kind: &str| conditions.iter().any(|of| of["type"] == kind && of["status"] == "True");
        ["Complete", "Failed"].into_iter().find(|kind| of(kind)).map(str::to_owned)
    }

    /// The pod, if it exists at the moment.
    pub(crate) fn try_pod(&self, pod: &str) -> Option<serde_json::Value> {
        let text = self.try_kubectl(&["get", "pod", pod, "--output", "json"]).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn is_ready(&self, pod: &str) -> bool {
        let Some(pod) = self.try_pod(pod) else { return false };
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True");
        ready && pod["metadata"].get("deletionTimestamp").is_none()
    }

    /// Waits until a pod is ready that is not being deleted.
    #[track_caller]
    pub(crate) fn wait_until_ready(&self, pod: &str) {
        self.wait_until(&format!("{pod} is ready"), || self.is_ready(pod));
    }

    /// The objects and events of the namespace, the most useful first.
    fn story(&self) -> String {
        let reports = [
            &["get", "pods", "--output", "wide"][..],
            &["get", "events", "--sort-by", ".lastTimestamp"],
            &["logs", "--selector", "app.kubernetes.io/name", "--all-containers", "--prefix", "--tail", "30"],
            &["describe", "pods"],
        ];
        reports.map(|args| self.try_kubectl(args).unwrap_or_else(|e| e)).join("\n")
    }

    /// Waits until the condition holds, and shows the namespace if it never does.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, mut is: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is() {
            if start.elapsed() > DEADLINE {
                panic!("not after {DEADLINE:?}: {what}\n{}", self.story());
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The cluster may be shared; nothing in the namespace is needed any more.
        let _ = self.try_kubectl(&["delete", "pods", "--all", "--grace-period=1", "--wait=false"]);
        let _ = try_kubectl(&["delete", "namespace", &self.name, "--wait=false"]);
    }
}

/// Runs kubectl; gives its output.
#[track_caller]
pub(crate) fn kubectl(args: &[&str]) -> String {
    try_kubectl(args).unwrap_or_else(|e| panic!("kubectl {}: {e}", args.join(" ")))
}

/// As [`kubectl`], where it may fail.
pub(crate) fn try_kubectl(args: &[&str]) -> Result<String, String> {
    output(Command::new(from_run("E2E_KUBECTL")).args(args))
}

/// Runs a command until it exits; returns its output, or the error.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if status.success() { Ok(stdout.into_owned()) } else { Err(format!("{status}\n{stdout}{stderr}")) }
}
