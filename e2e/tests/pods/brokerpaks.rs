//! `brokerpak job`: a service's life as Jobs, with real terraform.

use std::fs;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::{Namespace, from_run, output};

/// An instance of the service of `e2e/brokerpaks/mail`.
struct Mail {
    namespace: Namespace,
    directory: TempDir,
}

/// The Lease of the instance, which names the version of its state.
const LEASE: &str = "lease/brokerpak-box";

impl Mail {
    fn new() -> Mail {
        let namespace = Namespace::new("brokerpak");
        let environment = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mail-environment"},
            "stringData": {"MAIL_DOMAIN": "example.com"}});
        namespace.apply(&environment.to_string());
        Mail { namespace, directory: tempfile::tempdir().unwrap() }
    }

    /// `brokerpak job | kubectl apply -f -`; gives the name of the Job.
    fn apply(&self, operation: &str, request: &Value, flags: &[&str]) -> String {
        let file = self.directory.path().join("request.json");
        fs::write(&file, request.to_string()).unwrap();
        let mut command = Command::new(from_run("E2E_BOSON_BROKERPAK"));
        command.args(["brokerpak", "job", operation, "--image", "boson-e2e/mail:latest", "--request"]).arg(file);
        command.args(["--boson-image", "boson/boson:latest", "--environment", "mail-environment"]);
        let objects = output(command.args(flags)).unwrap();
        self.namespace.apply(&objects);
        let mut documents =
            serde_yaml::Deserializer::from_str(&objects).map(|document| Value::deserialize(document).unwrap());
        let job = documents.find(|object| object["kind"] == "Job").unwrap();
        job["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// Waits until a Job has ended; gives its state, and what its containers said.
    fn end(&self, job: &str) -> (String, String) {
        let mut state = None;
        self.namespace.wait_until(&format!("{job} has ended"), || {
            state = self.namespace.ended(job);
            state.is_some()
        });
        let selector = format!("job-name={job}");
        let log = self.namespace.kubectl(&["logs", "--selector", &selector, "--all-containers", "--tail", "50"]);
        (state.unwrap_or_default(), log)
    }

    /// Runs an operation that succeeds.
    #[track_caller]
    fn ok(&self, operation: &str, request: &Value, flags: &[&str]) {
        let (state, log) = self.end(&self.apply(operation, request, flags));
        assert_eq!(state, "Complete", "{operation}: {log}");
    }

    /// The version of the state that the Lease names.
    fn version(&self) -> u64 {
        let version = &self.namespace.get(LEASE)["metadata"]["annotations"]["brokerpak.boson/state-version"];
        version.as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// The name of the Job's pod whose terraform runs, once there is one that is not about to end.
    fn running(&self, job: &str) -> String {
        let mut name = String::new();
        let selector = format!("job-name={job}");
        self.namespace.wait_until("terraform runs", || {
            let list = self.namespace.kubectl(&["get", "pods", "--selector", &selector, "--output", "json"]);
            let pods: Value = serde_json::from_str(&list).unwrap();
            let runs = |pod: &&Value| {
                let states = pod["status"]["initContainerStatuses"].as_array().cloned().unwrap_or_default();
                pod["metadata"].get("deletionTimestamp").is_none()
                    && states.iter().any(|of| of["name"] == "run" && of["state"].get("running").is_some())
            };
            let pods = pods["items"].as_array().unwrap();
            name = pods
                .iter()
                .find(runs)
                .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
                .unwrap_or_default();
            !name.is_empty()
        });
        name
    }

    /// What an application reads from the Secret of a binding.
    fn read(&self, application: &str, secret: &str) -> String {
        let security = json!({"runAsNonRoot": true, "runAsUser": 1000, "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}});
        let container = json!({"name": "application", "image": "boson-e2e/mail:latest", "imagePullPolicy": "Never",
            "command": ["/bin/sh", "-c", "cat /bindings/mail/type; echo; cat /bindings/mail/uri"],
            "securityContext": security, "volumeMounts": [{"name": "mail", "mountPath": "/bindings/mail"}]});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": application},
            "spec": {"restartPolicy": "Never", "automountServiceAccountToken": false, "containers": [container],
                "volumes": [{"name": "mail", "secret": {"secretName": secret}}]}});
        self.namespace.apply(&pod.to_string());
        self.namespace.wait_until("the application has ended", || {
            self.namespace.get(&format!("pod/{application}"))["status"]["phase"] == "Succeeded"
        });
        self.namespace.kubectl(&["logs", application])
    }

    fn secrets(&self, prefix: &str) -> Vec<String> {
        let names = self.namespace.kubectl(&["get", "secrets", "--output", "name"]);
        let names = names.lines().map(|name| name.trim_start_matches("secret/"));
        names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
    }
}

fn instance(username: &str, seconds: u32) -> Value {
    json!({"service": "mail", "plan": "small", "instance_id": "box",
        "parameters": {"username": username, "seconds": seconds}})
}

fn binding(id: &str) -> Value {
    json!({"service": "mail", "plan": "small", "instance_id": "box", "binding_id": id})
}

#[test]
fn a_service_lives_in_jobs_that_are_killed() {
    let mail = Mail::new();
    mail.ok("provision", &instance("one", 0), &[]);
    mail.ok("bind", &binding("first"), &["--secret", "mail"]);
    assert_eq!(mail.namespace.get("secret/mail")["type"], "servicebinding.io/mail");
    let first = mail.read("reader", "mail");
    assert!(first.starts_with("mail\nsmtp://one@example.com:"), "{first}");

    // An update: its pod is killed at once, then asked to end, both times while terraform makes the mailbox.
    let before = mail.version();
    let job = mail.apply("update", &instance("two", 20), &[]);
    let killed = mail.running(&job);
    mail.namespace.wait_until("terraform has begun", || mail.version() > before);
    mail.namespace.kubectl(&["delete", "pod", &killed, "--grace-period=1"]);
    let asked = mail.running(&job);
    assert_ne!(asked, killed);
    mail.namespace.kubectl(&["delete", "pod", &asked]);
    let (state, log) = mail.end(&job);
    assert_eq!(state, "Complete", "{log}");
    mail.ok("bind", &binding("second"), &["--secret", "mail-2"]);
    let second = mail.read("reader-2", "mail-2");
    assert!(second.starts_with("mail\nsmtp://two@example.com:"), "{second}");
    assert_eq!(mail.read("reader-3", "mail"), first, "the first binding is as it was");

    // What is wrong is not tried again, and changes nothing.
    let (state, log) = mail.end(&mail.apply("provision", &instance("three", 0), &[]));
    assert_eq!(state, "Failed");
    assert!(log.contains("the instance box exists and was requested otherwise"), "{log}");
    let (state, log) = mail.end(&mail.apply("deprovision", &instance("two", 20), &[]));
    assert_eq!(state, "Failed", "bindings have credentials: {log}");

    mail.ok("unbind", &binding("first"), &["--secret", "mail"]);
    mail.ok("unbind", &binding("second"), &["--secret", "mail-2"]);
    assert_eq!(mail.secrets("mail"), ["mail-environment"]);
    // The same request as before, with another description, so that it is another Job.
    mail.ok("deprovision", &instance("two", 21), &[]);
    assert_eq!(mail.secrets("brokerpak-box-v"), [""; 0]);
    assert!(mail.namespace.try_kubectl(&["get", LEASE]).is_err(), "nothing remains");
}
