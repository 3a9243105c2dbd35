//! A deployment of `e2e/deployments` that `boson gather` brings up in a namespace of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;

use e2e::here;
use serde_json::Value;

use crate::cluster::{Namespace, from_run, output};

/// Scripts without root, as the namespaces of the tests want it.
pub(crate) const RESTRICTED: [&str; 2] = ["--run-hooks-as", "vcap"];

/// A deployment.
pub(crate) struct Gathered {
    pub(crate) namespace: Rc<Namespace>,
    directory: tempfile::TempDir,
    name: &'static str,
    /// The release of which it has an image.
    release: &'static str,
    /// Further arguments of each `boson gather`.
    arguments: Vec<String>,
}

impl Gathered {
    /// A deployment whose release has its name. Applies nothing yet.
    pub(crate) fn new(test: &str, name: &'static str) -> Gathered {
        let manifest = fs::read_to_string(here().join(format!("deployments/{name}.yml"))).unwrap();
        Gathered::of(Rc::new(Namespace::new(test)), name, name, &manifest)
    }

    /// The deployment of this manifest, whose jobs are of this release. Applies nothing yet.
    pub(crate) fn of_release(test: &str, name: &'static str, release: &'static str, manifest: &str) -> Gathered {
        Gathered::of(Rc::new(Namespace::new(test)), name, release, manifest)
    }

    /// Another deployment of the same release in the same namespace.
    pub(crate) fn beside(&self, name: &'static str, manifest: &str) -> Gathered {
        Gathered::of(self.namespace.clone(), name, self.release, manifest)
    }

    fn of(namespace: Rc<Namespace>, name: &'static str, release: &'static str, manifest: &str) -> Gathered {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("manifest.yml"), manifest).unwrap();
        Gathered { namespace, directory, name, release, arguments: Vec::new() }
    }

    /// Applies this ops file to its manifest.
    pub(crate) fn with_ops_file(mut self, text: &str) -> Gathered {
        let path = self.path("ops.yml");
        fs::write(&path, text).unwrap();
        self.arguments.extend(["--ops-file".to_owned(), path.display().to_string()]);
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The manifest, before ops files.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.path("manifest.yml")
    }

    /// Replaces a text of the manifest.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let path = self.path("manifest.yml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "the manifest has no {from:?}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// What `boson gather` and `deploy` need to know about the images.
    pub(crate) fn images(&self) -> Vec<String> {
        let release = format!("{0}=boson-e2e/{0}:latest", self.release);
        let mut flags =
            vec!["--image".to_owned(), release, "--boson-image".to_owned(), "boson/boson:latest".to_owned()];
        if let Ok(image) = std::env::var("E2E_DNS_IMAGE") {
            flags.extend(["--dns-image".to_owned(), image]);
        }
        flags
    }

    /// What `boson gather` prints.
    pub(crate) fn objects(&self, more: &[&str]) -> String {
        let mut gather = Command::new(from_run("E2E_BOSON"));
        gather.arg("gather").args(self.images()).args(&self.arguments);
        gather.arg("--vars-store").arg(self.path("creds.yml"));
        output(gather.args(more).arg(self.path("manifest.yml"))).unwrap()
    }

    /// What `boson gather` prints for the manifest without ops files and variables, which keeps its comments.
    pub(crate) fn objects_as_they_are(&self, more: &[&str]) -> String {
        let mut gather = Command::new(from_run("E2E_BOSON"));
        output(gather.arg("gather").args(self.images()).args(more).arg(self.path("manifest.yml"))).unwrap()
    }

    /// `boson gather | kubectl apply -f -`; gives the name of the Job.
    pub(crate) fn apply(&self, more: &[&str]) -> String {
        self.apply_objects(&self.objects(more))
    }

    /// `kubectl apply -f -` of what `boson gather` has printed; gives the name of the Job.
    pub(crate) fn apply_objects(&self, objects: &str) -> String {
        self.namespace.apply(objects);
        let prefix = format!("  name: {}-gather-", self.name);
        let mut names = objects.lines().filter(|line| line.starts_with(&prefix));
        names.next_back().unwrap().trim().trim_start_matches("name: ").to_owned()
    }

    /// The state of a Job: `Complete`, `Failed` or nothing yet.
    pub(crate) fn ended(&self, job: &str) -> Option<String> {
        self.namespace.ended(job)
    }

    /// As [`Gathered::apply`], and waits until the Job has ended.
    pub(crate) fn run(&self, more: &[&str]) -> String {
        let job = self.apply(more);
        self.namespace.wait_until(&format!("{job} has ended"), || self.ended(&job).is_some());
        job
    }

    /// The pods of an instance group.
    pub(crate) fn pods(&self, group: &str) -> Vec<Value> {
        let selector = format!("quarks.cloudfoundry.org/instance-group-name={group}");
        let list = self.namespace.kubectl(&["get", "pods", "--selector", &selector, "--output", "json"]);
        serde_json::from_str::<Value>(&list).unwrap()["items"].as_array().unwrap().clone()
    }

    /// `kubectl boson`.
    pub(crate) fn kubectl_boson(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(from_run("E2E_BOSON_CLUSTER"));
        output(command.args(arguments).args(["--namespace", &self.namespace.name]))
    }

    /// The arguments of `kubectl boson apply`.
    pub(crate) fn apply_arguments(&self, more: &[&str]) -> Vec<String> {
        let mut all = vec!["apply".to_owned(), self.manifest().display().to_string()];
        all.extend(self.images());
        all.extend(RESTRICTED.iter().chain(more).map(|&text| text.to_owned()));
        all
    }

    /// `kubectl boson apply`.
    pub(crate) fn kubectl_boson_apply(&self, more: &[&str]) -> Result<String, String> {
        let arguments = self.apply_arguments(more);
        self.kubectl_boson(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[track_caller]
    pub(crate) fn assert_complete(&self, job: &str) {
        let state = self.ended(job);
        let status = || self.kubectl_boson(&["status"]).unwrap_or_else(|error| error);
        assert_eq!(state.as_deref(), Some("Complete"), "{}\n{}", status(), self.messages(job));
    }

    /// The termination messages of a Job's containers.
    pub(crate) fn messages(&self, job: &str) -> String {
        let path = "-o=jsonpath={.items[*].status.initContainerStatuses[*].state.terminated.message} \
                    {.items[*].status.containerStatuses[*].state.terminated.message}";
        self.namespace.kubectl(&["get", "pods", "--selector", &format!("job-name={job}"), path])
    }

    /// Deletes it, except its disks, and waits until it is gone.
    pub(crate) fn delete(&self) {
        self.kubectl_boson(&["delete", "--yes"]).unwrap();
        let selector = format!("quarks.cloudfoundry.org/deployment-name={}", self.name);
        let kinds = "pods,statefulsets,jobs,services,secrets,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets";
        self.namespace.wait_until("everything is deleted", || {
            self.namespace.kubectl(&["get", kinds, "--selector", &selector, "--output", "name"]).is_empty()
        });
    }
}
