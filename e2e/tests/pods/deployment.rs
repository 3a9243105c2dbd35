//! A deployment in a cluster, from a manifest: `boson gather`, and everything that the gather Job makes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use e2e::here;
use serde_json::Value;

use crate::cluster::{Namespace, from_run, output, try_kubectl};

/// NATS of `e2e/deployments/nats.yml` with mutual TLS, in a namespace of its own.
struct Nats {
    namespace: Namespace,
    directory: tempfile::TempDir,
}

/// What `boson gather` and `deploy` need to know about the images.
const IMAGES: [&str; 4] = ["--image", "nats=boson-e2e/nats:latest", "--boson-image", "boson/boson:latest"];
/// Scripts without root, as the namespaces of the tests want it.
const RESTRICTED: [&str; 2] = ["--run-hooks-as", "vcap"];

impl Nats {
    fn new(test: &str) -> Nats {
        let nats = Nats { namespace: Namespace::new(test), directory: tempfile::tempdir().unwrap() };
        let read = |name: &str| fs::read_to_string(here().join("deployments").join(name)).unwrap();
        fs::write(nats.path("nats.yml"), read("nats.yml")).unwrap();
        // Certificates are for the names of instances.
        let tls = read("nats-tls.yml").replace("*.default.svc", &format!("*.{}.svc", nats.namespace.name));
        fs::write(nats.path("tls.yml"), tls).unwrap();
        nats
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Replaces a text of the manifest.
    fn edit(&self, from: &str, to: &str) {
        let path = self.path("nats.yml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "the manifest has no {from:?}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// `boson gather | kubectl apply -f -`; gives the name of the Job.
    fn apply(&self, more: &[&str]) -> String {
        let mut gather = Command::new(from_run("E2E_BOSON"));
        gather.arg("gather").args(IMAGES).arg("--ops-file").arg(self.path("tls.yml"));
        gather.arg("--vars-store").arg(self.path("creds.yml"));
        let objects = output(gather.args(more).arg(self.path("nats.yml"))).unwrap();
        self.namespace.apply(&objects);
        let names = objects.lines().filter(|line| line.starts_with("  name: nats-gather-"));
        names.last().unwrap().trim().trim_start_matches("name: ").to_owned()
    }

    /// The state of a Job: `Complete`, `Failed` or nothing yet.
    fn ended(&self, job: &str) -> Option<String> {
        let job = self.namespace.get(&format!("job/{job}"));
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let of = |kind: &str| conditions.iter().any(|of| of["type"] == kind && of["status"] == "True");
        ["Complete", "Failed"].into_iter().find(|kind| of(kind)).map(str::to_owned)
    }

    fn run(&self, more: &[&str]) -> String {
        let job = self.apply(more);
        self.namespace.wait_until(&format!("{job} has ended"), || self.ended(&job).is_some());
        job
    }

    fn pods(&self) -> Vec<Value> {
        let selector = "quarks.cloudfoundry.org/instance-group-name=nats";
        let list = self.namespace.kubectl(&["get", "pods", "--selector", selector, "--output", "json"]);
        serde_json::from_str::<Value>(&list).unwrap()["items"].as_array().unwrap().clone()
    }

    /// Name and uid of each pod.
    fn identities(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        self.pods().iter().map(|pod| (text(&pod["metadata"]["name"]), text(&pod["metadata"]["uid"]))).collect()
    }

    /// Kind, name and version of everything that the deployment has, without the manifest, which each run has its own of.
    fn versions(&self) -> String {
        let selector = "app.kubernetes.io/managed-by=boson,quarks.cloudfoundry.org/kind!=manifest";
        let list = |kinds: &str, version: &str| {
            let path =
                format!("-o=jsonpath={{range .items[*]}}{{.kind}} {{.metadata.name}} {{{version}}}{{\"\\n\"}}{{end}}");
            self.namespace.kubectl(&["get", kinds, "--selector", selector, &path])
        };
        // A controller writes into the status of the latter, which counts for the version of a resource.
        list("configmaps,secrets,services", ".metadata.resourceVersion")
            + &list("statefulsets,poddisruptionbudgets", ".metadata.generation")
    }

    /// A file of an instance.
    fn file(&self, pod: &str, path: &str) -> String {
        self.namespace.kubectl(&["exec", pod, "--container", "nats-nats", "--", "/bin/cat", path])
    }

    fn kubectl_boson(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(from_run("E2E_BOSON_CLUSTER"));
        output(command.args(arguments).args(["--namespace", &self.namespace.name]))
    }

    #[track_caller]
    fn assert_complete(&self, job: &str) {
        let state = self.ended(job);
        let status = || self.kubectl_boson(&["status"]).unwrap_or_else(|error| error);
        assert_eq!(state.as_deref(), Some("Complete"), "{}\n{}", status(), self.messages(job));
    }

    /// The termination messages of a Job's containers.
    fn messages(&self, job: &str) -> String {
        let path = "-o=jsonpath={.items[*].status.initContainerStatuses[*].state.terminated.message} \
                    {.items[*].status.containerStatuses[*].state.terminated.message}";
        self.namespace.kubectl(&["get", "pods", "--selector", &format!("job-name={job}"), path])
    }
}

const CONFIG: &str = "/var/vcap/jobs/nats/config/nats.conf";

#[test]
fn nats_comes_up_from_one_file_and_updates_only_what_changes() {
    let nats = Nats::new("gathers");
    let run = || nats.assert_complete(&nats.run(&RESTRICTED));
    run();
    identities_are_the_specifications(&nats);
    let pods = nats.identities();

    // The errand, through the addresses of the instances.
    let printed = nats.kubectl_boson(&["errand", "smoke-tests"]).unwrap();
    assert!(printed.contains("Job nats-smoke-tests-1"), "{printed}");

    // A run without a change writes nothing.
    let before = nats.versions();
    nats.edit("name: nats\n", "name: nats\ntags: {owner: somebody}\n");
    run();
    assert_eq!(nats.versions(), before);

    // A property of the errand restarts no pod of nats.
    nats.edit("messages: 250", "messages: 251");
    run();
    assert_eq!(nats.identities(), pods);
    let after = nats.versions();
    assert!(after.contains(" ig-resolved.smoke-tests-v2 ") && !after.contains(" ig-resolved.nats-v2 "), "{after}");

    // A property of nats restarts nats, once.
    nats.edit("max_payload: 65536", "max_payload: 131072");
    run();
    let updated = nats.identities();
    assert!(updated.iter().zip(&pods).all(|(new, old)| new.0 == old.0 && new.1 != old.1), "{updated:?} {pods:?}");
    assert!(nats.file("nats-nats-z2-1", CONFIG).contains("131072"));
    nats.kubectl_boson(&["status"]).unwrap();

    roll_back(&nats, &updated);
    delete(&nats);
}

/// Four instances in two zones; each Service selects the pod of the formula, and the pod knows itself under its name.
fn identities_are_the_specifications(nats: &Nats) {
    let pods = nats.pods();
    let names: Vec<&str> = pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["nats-nats-z1-0", "nats-nats-z1-1", "nats-nats-z2-0", "nats-nats-z2-1"]);
    let nodes: Vec<&Value> = pods.iter().map(|pod| &pod["spec"]["nodeName"]).collect();
    assert!(nodes[0] == nodes[1] && nodes[2] == nodes[3] && nodes[1] != nodes[2], "{nodes:?}");
    for (index, pod) in pods.iter().enumerate() {
        let selector = format!("kubernetes.io/service-name=nats-nats-{index}");
        let path = "-o=jsonpath={.items[*].endpoints[*].addresses[*]}";
        let addresses = nats.namespace.kubectl(&["get", "endpointslices", "--selector", &selector, path]);
        assert_eq!(pod["status"]["podIP"], addresses.as_str());
        let address = format!("nats-nats-{index}.{}.svc.cluster.local", nats.namespace.name);
        let spec: Value = serde_json::from_str(&nats.file(names[index], "/var/vcap/bosh/spec.json")).unwrap();
        assert_eq!((&spec["index"], &spec["bootstrap"]), (&index.into(), &(index == 0).into()), "{spec}");
        assert_eq!((&spec["address"], &spec["az"]), (&address.into(), &["z1", "z2"][index / 2].into()), "{spec}");
        assert_eq!(spec["ip"], pod["status"]["podIP"]);
    }
}

/// The documents of the run before are valid again, and `deploy` applies them.
fn roll_back(nats: &Nats, pods: &[(String, String)]) {
    let runs = nats.kubectl_boson(&["versions"]).unwrap();
    assert!(runs.lines().nth(1).is_some_and(|line| line.starts_with("3 ")), "{runs}");
    nats.kubectl_boson(&["rollback"]).unwrap();
    let deploy = [&["deploy", "--deployment-name", "nats"][..], &IMAGES, &RESTRICTED].concat();
    let trial = nats.kubectl_boson(&[&deploy[..], &["--dry-run"]].concat()).unwrap();
    let expected = ["StatefulSet nats-nats-z1 changed", "StatefulSet nats-nats-z2 changed"];
    assert!(expected.iter().all(|line| trial.contains(line)) && !trial.contains("deleted"), "{trial}");
    assert_eq!(nats.identities(), pods);
    let printed = nats.kubectl_boson(&deploy).unwrap();
    assert!(expected.iter().all(|line| printed.contains(line)), "{printed}");
    assert!(nats.file("nats-nats-z1-0", CONFIG).contains("65536"));
    let before = nats.versions();
    assert_eq!(nats.kubectl_boson(&deploy).unwrap(), "instance group nats is ready\n");
    assert_eq!(nats.versions(), before);
}

fn delete(nats: &Nats) {
    let shown = nats.kubectl_boson(&["delete"]).unwrap_err();
    assert!(shown.contains("StatefulSet nats-nats-z1\n") && shown.contains("--yes deletes them"), "{shown}");
    nats.kubectl_boson(&["delete", "--yes"]).unwrap();
    let selector = "quarks.cloudfoundry.org/deployment-name=nats";
    let kinds =
        "pods,statefulsets,jobs,services,secrets,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets";
    nats.namespace.wait_until("everything is deleted", || {
        nats.namespace.kubectl(&["get", kinds, "--selector", selector, "--output", "name"]).is_empty()
    });
}

/// What the account of `boson gather` may do, and what not: RBAC knows kinds and verbs only.
#[test]
fn the_account_may_do_what_the_steps_need_and_no_more() {
    let nats = Nats::new("permits");
    nats.apply(&RESTRICTED);
    let account = format!("system:serviceaccount:{}:nats-gather", nats.namespace.name);
    let may = |verb: &str, kind: &str| {
        let answer = nats.namespace.try_kubectl(&["auth", "can-i", verb, kind, "--as", &account]);
        answer.is_ok_and(|answer| answer.trim() == "yes")
    };
    for (verb, kind) in
        [("create", "secrets"), ("patch", "statefulsets.apps"), ("delete", "jobs.batch"), ("list", "pods")]
    {
        assert!(may(verb, kind), "{verb} {kind}");
    }
    let denied = [
        ("create", "pods/exec"),
        ("create", "pods/portforward"),
        ("get", "pods/log"),
        ("delete", "pods"),
        ("delete", "persistentvolumeclaims"),
        ("create", "serviceaccounts/token"),
        ("create", "serviceaccounts"),
        ("create", "roles.rbac.authorization.k8s.io"),
        ("patch", "rolebindings.rbac.authorization.k8s.io"),
        ("create", "deployments.apps"),
        ("create", "daemonsets.apps"),
        ("deletecollection", "secrets"),
        ("update", "secrets"),
        ("watch", "secrets"),
        ("get", "nodes"),
        ("get", "namespaces"),
        ("impersonate", "serviceaccounts"),
    ];
    for (verb, kind) in denied {
        assert!(!may(verb, kind), "{verb} {kind}");
    }
    let elsewhere = try_kubectl(&["auth", "can-i", "get", "secrets", "--namespace", "kube-system", "--as", &account]);
    assert!(!elsewhere.is_ok_and(|answer| answer.trim() == "yes"));
}

#[test]
fn a_namespace_that_does_not_admit_the_pods_is_reported_before_anything_is_applied() {
    let nats = Nats::new("admits");
    let job = nats.apply(&[]);
    // The Job tries again: an administrator may change the namespace.
    nats.namespace.wait_until("deploy has failed", || nats.messages(&job).contains("does not admit"));
    let message = nats.messages(&job);
    assert!(message.contains("StatefulSet nats-nats-z1") && message.contains("PodSecurity"), "{message}");
    assert!(message.contains("--run-hooks-as vcap"), "{message}");
    assert_eq!(nats.namespace.kubectl(&["get", "statefulsets,services", "--output", "name"]), "");
}

#[test]
fn a_wrong_manifest_changes_nothing_and_is_not_tried_again() {
    let nats = Nats::new("refuses");
    nats.edit(
        "    release: nats\n    properties:\n      nats:",
        "    release: nats\n    consumes: {nats: {from: nobody}}\n    properties:\n      nats:",
    );
    let job = nats.run(&[]);
    assert_eq!(nats.ended(&job).as_deref(), Some("Failed"));
    let message = nats.messages(&job);
    assert!(message.contains("nobody") && message.contains("manifest.yaml:"), "{message}");
    let kept = nats.namespace.kubectl(&[
        "get",
        "statefulsets,services,pods",
        "--selector",
        "quarks.cloudfoundry.org/kind!=gather",
        "--output",
        "name",
    ]);
    assert_eq!(kept, "");
    let secrets = nats.namespace.kubectl(&["get", "secrets", "--output", "name"]);
    assert!(secrets.lines().all(|name| name.contains("-manifest-")), "{secrets}");
}
