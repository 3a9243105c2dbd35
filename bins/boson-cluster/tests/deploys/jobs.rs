//! The Jobs of runs: the containers that use the API server are executed, with the documents of the test in place of those that `plan`
//! would write.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use testkit::api_server::ApiServer;

use super::Cluster;

const JOBS: &str = "/apis/batch/v1/namespaces/test/jobs/";
/// Containers that are executed; `plan` and those before it need Ruby and images.
const EXECUTED: [&str; 3] = ["check", "write-secrets", "deploy"];
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// Executes Jobs until it is dropped.
pub(super) struct Jobs {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Where Jobs are executed.
struct Node {
    server: ApiServer,
    kubeconfig: PathBuf,
    output: PathBuf,
    ends: Arc<AtomicBool>,
}

impl Jobs {
    pub(super) fn start(cluster: &Cluster) -> Jobs {
        let ends = Arc::new(AtomicBool::new(false));
        let node = Node {
            server: cluster.server.clone(),
            kubeconfig: cluster.path("kubeconfig"),
            output: cluster.path("output"),
            ends: Arc::clone(&ends),
        };
        Jobs { ends, thread: Some(std::thread::spawn(move || node.run())) }
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

impl Node {
    fn run(&self) {
        while !self.ends.load(Ordering::Relaxed) {
            let next = {
                let store = self.server.store();
                let is_run = |job: &Value| {
                    let kind = &job["metadata"]["labels"]["quarks.cloudfoundry.org/kind"];
                    (kind == "gather" || kind == "preview") && job["status"].is_null()
                };
                store
                    .objects
                    .iter()
                    .find(|(path, job)| path.starts_with(JOBS) && is_run(job))
                    .map(|(_, job)| job.clone())
            };
            match next {
                Some(job) => self.execute(&job),
                None => std::thread::sleep(INTERVAL),
            }
        }
    }

    fn execute(&self, job: &Value) {
        let job_name = job["metadata"]["name"].as_str().unwrap();
        let pod_spec = &job["spec"]["template"]["spec"];
        let list = |key: &str| pod_spec[key].as_array().cloned().unwrap_or_default();
        let (mut init, mut main, mut is_done) = (Vec::new(), Vec::new(), true);
        let pod = format!("{job_name}-pod");
        for (container, is_init) in list("initContainers")
            .iter()
            .map(|one| (one, true))
            .chain(list("containers").iter().map(|one| (one, false)))
        {
            let name = container["name"].as_str().unwrap();
            if !EXECUTED.contains(&name) {
                continue;
            }
            let words = container["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let words: Vec<&str> =
                words.map(|word| if word == "/mnt/quarks" { self.output.to_str().unwrap() } else { word }).collect();
            let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
            command.arg(words[0]).arg("--kubeconfig").arg(&self.kubeconfig).args(&words[1..]);
            let output = command.env("GATHER_JOB", job_name).env("HOSTNAME", &pod).output().unwrap();
            let code = output.status.code().unwrap_or(137);
            let log = String::from_utf8(output.stdout).unwrap();
            let message = String::from_utf8(output.stderr).unwrap();
            let path = format!("/api/v1/namespaces/test/pods/{pod}/log");
            let end =
                json!({"exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" }, "message": message});
            let status = json!({"name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": end}});
            if is_init {
                init.push(status)
            } else {
                main.push(status)
            }
            is_done = code == 0;
            if !is_init || !is_done {
                self.server.store().objects.insert(path, log.into());
            }
            if !is_done {
                break;
            }
        }
        self.end(job, &pod, (init, main), is_done);
    }

    /// Puts the pod and the end of its Job into the store, unless the Job was deleted meanwhile.
    fn end(&self, job: &Value, pod: &str, (init, main): (Vec<Value>, Vec<Value>), is_done: bool) {
        let mut store = self.server.store();
        let metadata = &job["metadata"];
        let path = format!("{JOBS}{}", metadata["name"].as_str().unwrap());
        let is_same = |present: &&mut Value| present["metadata"]["uid"] == metadata["uid"];
        let Some(present) = store.objects.get_mut(&path).filter(is_same) else { return };
        let condition = if is_done { "Complete" } else { "Failed" };
        present["status"] = json!({"conditions": [{"type": condition, "status": "True"}]});
        let mut labels = job["spec"]["template"]["metadata"]["labels"].clone();
        labels["batch.kubernetes.io/job-name"] = metadata["name"].clone();
        labels["batch.kubernetes.io/controller-uid"] = metadata["uid"].clone();
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]});
        let containers: Vec<Value> = job["spec"]["template"]["spec"]["containers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| json!({"name": one["name"]}))
            .collect();
        let phase = if is_done { "Succeeded" } else { "Failed" };
        store.put(
            &format!("pods/{pod}"),
            json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": pod, "labels": labels, "ownerReferences": [owner]},
                "spec": {"nodeName": "node-a", "containers": containers},
                "status": {"phase": phase, "initContainerStatuses": init, "containerStatuses": main}}),
        );
    }
}
