//! The deployment of `e2e/deployments/counter.yml`, as the pods of `e2e/pods/counter.yaml`.

use std::fs;
use std::process::Command;

use e2e::here;
use serde_json::Value;

use crate::cluster::{Namespace, from_run, output};

/// The deployment in a namespace of its own.
pub(crate) struct Counter {
    pub(crate) namespace: Namespace,
}

impl Counter {
    /// Plans and applies it, with these edits of the BOSH manifest or the pods' manifest; waits for nothing.
    pub(crate) fn apply(test: &str, edits: &[(&str, &str)]) -> Counter {
        let namespace = Namespace::new(test);
        let mut manifest = fs::read_to_string(here().join("deployments/counter.yml")).unwrap();
        let mut pods = fs::read_to_string(here().join("pods/counter.yaml")).unwrap();
        for (from, to) in edits {
            assert!(manifest.contains(from) || pods.contains(from), "no manifest has {from:?}");
            (manifest, pods) = (manifest.replace(from, to), pods.replace(from, to));
        }
        let properties = plan(&namespace.name, &manifest);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), properties).unwrap();
        let content = format!("--from-file=properties.yaml={}", file.path().display());
        namespace.kubectl(&["create", "secret", "generic", "counter.ig-resolved-v1", &content]);
        namespace.apply(&pods);
        Counter { namespace }
    }

    /// As [`Counter::apply`], and waits until both instances are ready.
    pub(crate) fn up(test: &str, edits: &[(&str, &str)]) -> Counter {
        let counter = Counter::apply(test, edits);
        counter.wait_until_ready();
        counter
    }

    #[track_caller]
    pub(crate) fn wait_until_ready(&self) {
        ["counter-0", "counter-1"].iter().for_each(|pod| self.namespace.wait_until_ready(pod));
    }

    pub(crate) fn pod(&self, pod: &str) -> Value {
        self.namespace.get(&format!("pod/{pod}"))
    }

    /// The pod, if it exists at the moment.
    pub(crate) fn try_pod(&self, pod: &str) -> Option<Value> {
        self.namespace.try_pod(pod)
    }

    /// An instance's answer to a line, requested from the release's image: boson's image has no shell.
    pub(crate) fn try_ask(&self, pod: &str, address: &str, line: &str) -> Result<String, String> {
        let script = format!("exec 3<>/dev/tcp/{address}/8080; echo {line} >&3; cat <&3");
        self.namespace.try_kubectl(&["exec", pod, "--container", "counter-counter", "--", "/bin/bash", "-ec", &script])
    }

    #[track_caller]
    pub(crate) fn ask(&self, pod: &str, address: &str, line: &str) -> String {
        self.try_ask(pod, address, line).unwrap_or_else(|e| panic!("{pod} asks {address} to {line}: {e}"))
    }

    #[track_caller]
    pub(crate) fn logs(&self, args: &[&str]) -> String {
        self.namespace.kubectl(&[&["logs"], args].concat())
    }

    /// The events of an instance since its volume was created.
    pub(crate) fn journal(&self, pod: &str) -> Vec<String> {
        self.ask(pod, "127.0.0.1", "journal").lines().map(str::to_owned).collect()
    }
}

/// The resolved instance group, by the executable of the image.
fn plan(namespace: &str, manifest: &str) -> String {
    let boson = from_run("E2E_BOSON");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("manifest.yml"), manifest).unwrap();
    let boson = |args: &[&str]| output(Command::new(&boson).args(args).current_dir(dir.path())).unwrap();
    let jobs = here().join("releases/counter/jobs");
    boson(&["copy-jobs", "--from", jobs.to_str().unwrap(), "--to", "jobs-src/counter"]);
    let input = ["--bosh-manifest-path", "manifest.yml", "--base-dir", ".", "--kube-namespace", namespace];
    let group = ["--instance-group-name", "counter", "--output", "output.json"];
    boson(&[&["plan", "ig-resolved"][..], &input, &group].concat());
    let text = fs::read_to_string(dir.path().join("output.json")).unwrap();
    let output: Value = serde_json::from_str(&text).unwrap();
    output["properties.yaml"].as_str().unwrap().to_owned()
}
