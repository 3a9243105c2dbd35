//! `write-secrets` and `deploy` against an API server without controllers: what they write, refuse and report.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

#[path = "deploys/failures.rs"]
mod failures;
#[path = "deploys/files.rs"]
mod files;
#[path = "deploys/jobs.rs"]
mod jobs;
#[path = "deploys/looks.rs"]
mod looks;
#[path = "deploys/random.rs"]
mod random;
#[path = "deploys/repairs.rs"]
mod repairs;
#[path = "deploys/runs.rs"]
mod runs;
#[path = "deploys/updates.rs"]
mod updates;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use handoff::deployment::PersistentDisk;
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, PROPERTIES_YAML, encode};
use serde_json::{Value, json};
use testkit::api_server::controllers::make_ready;
use testkit::api_server::{ApiServer, Request, Store, failure};

/// The documents of the demo's NATS, and a cluster.
struct Cluster {
    server: ApiServer,
    directory: tempfile::TempDir,
}

/// What one run printed.
struct Printed {
    code: i32,
    out: String,
    err: String,
}

impl Cluster {
    /// A cluster in which `write-secrets` has run.
    fn new() -> Cluster {
        let cluster = Cluster { server: ApiServer::start(), directory: tempfile::tempdir().unwrap() };
        cluster.server.write_kubeconfig(&cluster.path("kubeconfig"));
        let source = e2e::here().join("scenarios/nats/3-output");
        cluster.put("deployment", DEPLOYMENT_YAML, &fs::read_to_string(source.join("deployment.yaml")).unwrap());
        for group in ["nats", "smoke-tests"] {
            for (kind, key) in [("ig-resolved", PROPERTIES_YAML), ("bpm", BPM_YAML)] {
                let text = fs::read_to_string(source.join(group).join(format!("{kind}.yaml"))).unwrap();
                cluster.put(&format!("{group}/{kind}"), key, &text);
            }
        }
        cluster.server.set_hook(Box::new(|request, store| {
            make_ready(request, store);
            None
        }));
        cluster.write_secrets();
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, directory: &str, key: &str, text: &str) {
        let directory = self.path("output").join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("output.json"), encode(key, text)).unwrap();
    }

    /// Changes the document of the deployment, and writes it.
    fn edit_deployment(&self, edit: impl Fn(&mut handoff::deployment::Deployment)) {
        self.plan(edit);
        self.write_secrets();
    }

    /// Changes the document of the deployment, as `plan` would.
    fn plan(&self, edit: impl Fn(&mut handoff::deployment::Deployment)) {
        let text = fs::read_to_string(e2e::here().join("scenarios/nats/3-output/deployment.yaml")).unwrap();
        let mut deployment = handoff::deployment::Deployment::decode(&text, "deployment.yaml").unwrap();
        edit(&mut deployment);
        self.put("deployment", DEPLOYMENT_YAML, &deployment.encode().unwrap());
    }

    fn write_secrets(&self) {
        self.write_secrets_of(&[]);
    }

    /// Writes the documents of a run with these flags of `deploy`.
    fn write_secrets_of(&self, flags: &[&str]) {
        let from = self.path("output");
        let printed = self.run(&[&["write-secrets", "--from", from.to_str().unwrap()][..], &["--"], flags].concat());
        assert_eq!(printed.code, 0, "{}", printed.err);
        self.server.take_writes();
    }

    /// The requests since the last call that have changed something, without those about runs.
    fn written(&self) -> Vec<String> {
        let mut writes = self.server.take_writes();
        writes.retain(|write| !write.ends_with("(dry run)") && !is_about_runs(write) && !write.ends_with("/events"));
        writes
    }

    /// Name and version of each object, without those about runs.
    fn versions(&self) -> Vec<(String, String)> {
        let mut versions = self.server.store().versions();
        versions.retain(|(path, _)| !is_about_runs(path) && !path.contains("/events/"));
        versions
    }

    fn run(&self, arguments: &[&str]) -> Printed {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        // A flag after `--` would not be one.
        let (verb, more) = arguments.split_at(1);
        let Output { status, stdout, stderr } =
            command.args(verb).arg("--kubeconfig").arg(self.path("kubeconfig")).args(more).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Printed { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
    }

    fn deploy(&self, more: &[&str]) -> Printed {
        self.run(&[&["deploy", "-d", "nats", "--image", "nats=r/nats:1"], more].concat())
    }
}

/// Whether a request or an object is about the run itself: its Lease, and what is kept of it.
fn is_about_runs(path: &str) -> bool {
    path.contains("/leases") || path.ends_with("/configmaps/nats-tasks")
}

#[test]
fn a_second_run_writes_nothing() {
    let cluster = Cluster::new();
    let first = cluster.deploy(&[]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(first.out.contains("StatefulSet nats-nats-z1 created\n"), "{}", first.out);
    assert!(first.out.contains("instance group nats is ready\nJob nats-smoke-tests created\n"), "{}", first.out);
    let before = cluster.versions();
    let second = cluster.deploy(&[]);
    assert_eq!((second.code, second.out.as_str()), (0, "instance group nats is ready\n"), "{}", second.err);
    assert_eq!(cluster.versions(), before);
}

#[test]
fn a_trial_and_files_write_nothing() {
    let cluster = Cluster::new();
    let before = cluster.versions();
    let trial = cluster.deploy(&["--dry-run", "--run-errand", "smoke-tests"]);
    assert_eq!(trial.code, 0, "{}", trial.err);
    assert!(trial.out.contains("StatefulSet nats-nats-z1 created\n"), "{}", trial.out);
    let writes = cluster.server.take_writes();
    assert!(writes.iter().all(|write| write.ends_with("(dry run)")), "{writes:?}");
    let objects = cluster.path("objects");
    assert_eq!(cluster.deploy(&["--output-dir", objects.to_str().unwrap()]).code, 0);
    let group = fs::read_to_string(objects.join("group-nats.yaml")).unwrap();
    assert!(group.contains("kind: StatefulSet") && objects.join("shared.yaml").is_file(), "{group}");
    assert_eq!(cluster.written(), [""; 0]);
    assert_eq!(cluster.versions(), before);
}

#[test]
fn what_was_planned_is_checked_before_it_is_written() {
    let cluster = Cluster::new();
    let planned = cluster.path("output");
    let check = || cluster.deploy(&["--check", planned.to_str().unwrap()]);
    let checked = check();
    assert_eq!((checked.code, checked.out.as_str()), (0, ""), "{}", checked.err);
    // Its Secrets are not read: they may not exist yet.
    cluster.server.store().objects.retain(|path, _| !path.contains("/secrets/"));
    assert_eq!(check().code, 0);
    cluster.server.set_hook(Box::new(|request, _| {
        let is_trial = request.path.ends_with("/pods") && request.method == "POST";
        is_trial.then(|| failure(403, "Forbidden", "pods \"x\" is forbidden: violates PodSecurity"))
    }));
    let refused = check();
    assert_eq!(refused.code, 69, "{}", refused.err);
    assert!(refused.err.contains("does not admit the pods of StatefulSet nats-nats-z1"), "{}", refused.err);
    let writes = cluster.server.take_writes();
    assert!(writes.iter().all(|write| write.ends_with("(dry run)")), "{writes:?}");
    fs::remove_dir_all(planned.join("nats")).unwrap();
    let missing = check();
    assert_eq!(missing.code, 65);
    assert!(missing.err.contains("nats/bpm/output.json does not exist"), "{}", missing.err);
}

#[test]
fn what_has_left_the_manifest_is_deleted() {
    let cluster = Cluster::new();
    assert_eq!(cluster.deploy(&[]).code, 0);
    cluster.server.store().put("services/other", json!({"metadata": {"name": "other"}}));
    cluster.edit_deployment(|deployment| deployment.instance_groups.retain(|group| group.name == "nats"));
    let printed = cluster.deploy(&[]);
    assert!(printed.out.contains("Job nats-smoke-tests deleted\n"), "{}{}", printed.out, printed.err);
    assert!(!printed.out.contains("other") && cluster.server.store().get("services/other").is_some());
    assert_eq!(cluster.server.store().names("batch/v1/jobs"), [""; 0]);
}

#[test]
fn objects_of_others_are_not_overwritten() {
    let cluster = Cluster::new();
    let foreign = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nats-nats-0"}, "spec": {}});
    cluster.server.store().put("services/nats-nats-0", foreign);
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 65);
    assert!(
        printed.err.contains("Service nats-nats-0 exists, and does not belong to deployment nats"),
        "{}",
        printed.err
    );
    assert!(printed.err.contains("--force-conflicts"), "{}", printed.err);
    assert_eq!(cluster.written(), [""; 0]);
    assert_eq!(cluster.deploy(&["--force-conflicts"]).code, 0);
}

/// The API server's words name verb, resource and namespace; a quota, a missing storage class and the like are among them.
#[test]
fn what_the_api_server_refuses_is_reported_in_its_words() {
    let cluster = Cluster::new();
    let forbidden =
        "statefulsets.apps is forbidden: User \"u\" cannot list resource \"statefulsets\" in API group \"apps\"";
    cluster.server.set_hook(Box::new(move |request, _| {
        request.path.ends_with("/statefulsets").then(|| failure(403, "Forbidden", forbidden))
    }));
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 70);
    assert!(printed.err.contains("cannot list StatefulSets") && printed.err.contains(forbidden), "{}", printed.err);
    assert!(printed.err.contains("cluster-forbidden"), "{}", printed.err);

    let quota = "pods \"nats-nats-z1-trial\" is forbidden: exceeded quota: small, requested: limits.memory=128Mi";
    cluster.server.set_hook(Box::new(move |request, _| {
        (request.method == "POST" && request.path.ends_with("/pods")).then(|| failure(403, "Forbidden", quota))
    }));
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 69);
    assert!(
        printed.err.contains("StatefulSet nats-nats-z1") && printed.err.contains("exceeded quota: small"),
        "{}",
        printed.err
    );
    assert_eq!(cluster.written(), [""; 0]);
}

/// An errand runs at the end, and again only when it has changed or failed.
#[test]
fn an_errand_runs_once() {
    let cluster = Cluster::new();
    let unknown = cluster.deploy(&["--run-errand", "smoke-test"]);
    assert_eq!(unknown.code, 65);
    assert!(unknown.err.contains("did you mean 'smoke-tests'?"), "{}", unknown.err);
    assert_eq!(cluster.written(), [""; 0]);

    // The Job's controller: what is created ends at once, first with a failure.
    let mut result = "Failed";
    cluster.server.set_hook(Box::new(move |request, store| {
        make_ready(request, store);
        let runs = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("nats-smoke-tests-"));
        if let Some(job) =
            store.objects.get_mut(&request.path).filter(|job| runs(&request.path) && job["status"].is_null())
        {
            job["status"] = json!({"conditions": [{"type": result, "status": "True"}]});
            result = "Complete";
        }
        None
    }));
    let run = || cluster.deploy(&["--run-errand", "smoke-tests"]);
    let failed = run();
    assert_eq!(failed.code, 69);
    assert!(failed.err.contains("Job nats-smoke-tests-") && failed.err.contains(" failed"), "{}", failed.err);
    let again = run();
    assert!(again.out.ends_with("errand smoke-tests has succeeded\n"), "{}{}", again.out, again.err);
    let before = cluster.versions();
    assert_eq!(run().out, "instance group nats is ready\n");
    assert_eq!(cluster.versions(), before);
}

#[test]
fn a_wrong_probe_is_reported_before_anything_is_applied() {
    let cluster = Cluster::new();
    cluster.edit_deployment(|deployment| {
        let healthcheck: Value = json!({"healthcheck": {"natz": {"readiness": {"tcpSocket": {"port": 1}}}, "nats": {"ready": {}, "liveness": 1}}});
        deployment.instance_groups[0].jobs[0].quarks.run = healthcheck;
    });
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 65);
    let path = "instance group 'nats', job 'nats': properties.quarks.run.healthcheck";
    for part in [
        ".natz is not a process of the job",
        "did you mean 'nats'?",
        ".nats.ready: unknown probe 'ready'",
        ".nats.liveness: must be Probe, not an integer",
    ] {
        assert!(printed.err.contains(part) && printed.err.contains(path), "{part}: {}", printed.err);
    }
    assert_eq!(cluster.written(), [""; 0]);
}

#[test]
fn a_storage_class_that_does_not_exist_is_reported_before_anything_is_applied() {
    let cluster = Cluster::new();
    cluster.edit_deployment(|deployment| {
        let disk = PersistentDisk { size: Some(100), disk_type: Some("fast".to_owned()) };
        deployment.instance_groups[0].persistent_disk = Some(disk);
    });
    let class = |answer: (u16, Value)| {
        cluster.server.set_hook(Box::new(move |request, store| {
            make_ready(request, store);
            request.path.ends_with("/storageclasses/fast").then(|| answer.clone())
        }));
    };
    class(failure(404, "NotFound", "storageclasses.storage.k8s.io \"fast\" not found"));
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 65);
    let users = "storage class 'fast' of StatefulSet nats-nats-z1, StatefulSet nats-nats-z2 does not exist";
    assert!(printed.err.contains(users) && printed.err.contains("storage-class-unknown"), "{}", printed.err);
    assert_eq!(cluster.written(), [""; 0]);
    // The account of the gather Job may not see classes unless somebody has granted it.
    class(failure(403, "Forbidden", "storageclasses.storage.k8s.io is forbidden"));
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 0, "{}", printed.err);
}

/// `lifecycle: auto-errand` of Quarks.
#[test]
fn an_auto_errand_runs_at_the_end() {
    let cluster = Cluster::new();
    cluster.edit_deployment(|deployment| deployment.instance_groups[1].runs_at_deploy = true);
    cluster.server.set_hook(Box::new(|request, store| {
        make_ready(request, store);
        let runs = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("nats-smoke-tests-"));
        if let Some(job) = store.objects.get_mut(&request.path).filter(|_| runs(&request.path)) {
            job["status"] = json!({"conditions": [{"type": "Complete", "status": "True"}]});
        }
        None
    }));
    let printed = cluster.deploy(&[]);
    assert!(printed.out.ends_with("errand smoke-tests has succeeded\n"), "{}{}", printed.out, printed.err);
}

/// A serial group that waits for a group behind it does not keep that from being applied.
#[test]
fn groups_may_wait_for_those_behind_them_but_not_for_each_other() {
    let cluster = Cluster::new();
    let named = |deployment: &mut handoff::deployment::Deployment, wait_for: &str| {
        deployment.instance_groups[0].env.settings = json!({"wait_for": [wait_for]});
    };
    for (wait_for, message) in [
        ("nats", "instance groups wait for each other: nats -> nats"),
        ("smoke-tests", "waits for instance group 'smoke-tests', which is an errand or has no instances"),
        ("smoke-test", "did you mean 'smoke-tests'?"),
        ("https://uaa", "wait for the port: tcp:HOST:PORT"),
    ] {
        cluster.edit_deployment(|deployment| named(deployment, wait_for));
        let printed = cluster.deploy(&[]);
        assert_eq!(printed.code, 65);
        assert!(printed.err.contains(message), "{message}: {}", printed.err);
        assert_eq!(cluster.written(), [""; 0]);
    }
}

#[test]
fn an_old_server_is_refused() {
    let cluster = Cluster::new();
    let version = |request: &Request, _: &mut Store| {
        (request.path == "/version").then(|| (200, json!({"major": "1", "minor": "27"})))
    };
    cluster.server.set_hook(Box::new(version));
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 70);
    assert!(printed.err.contains("version 1.27") && printed.err.contains("1.29 or newer"), "{}", printed.err);
    assert_eq!(cluster.written(), [""; 0]);
}

#[test]
fn an_unreachable_server_is_reported_as_such() {
    let cluster = Cluster::new();
    fs::write(cluster.path("kubeconfig"), "not: a kubeconfig").unwrap();
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 70);
    assert!(printed.err.contains("cluster-unreachable"), "{}", printed.err);
}

/// One list of aliases serves several deployments.
#[test]
fn aliases_of_groups_that_are_missing_are_ignored() {
    let cluster = Cluster::new();
    let alias = |domain: &str, target: &str| handoff::deployment::DnsAlias {
        domain: domain.to_owned(),
        targets: vec![target.to_owned()],
    };
    cluster.edit_deployment(|deployment| {
        let gone = (1..=7).map(|number| alias(&format!("gone{number}.internal"), "*.gone.default.nats.bosh"));
        deployment.dns_aliases = gone.collect();
        deployment.dns_aliases.push(alias("link.internal", "nats-nats.default.svc.cluster.local"));
    });
    let strict = cluster.deploy(&["--strict-aliases"]);
    assert_eq!(strict.code, 65);
    assert_eq!(strict.err.matches("no instance answers the DNS alias 'gone").count(), 7, "{}", strict.err);
    assert_eq!(cluster.written(), [""; 0]);
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let warning =
        "7 DNS aliases are ignored, because no instance group of the deployment answers them: gone1.internal, ";
    assert!(printed.err.contains(warning) && !printed.err.contains("gone6"), "{}", printed.err);
    let store = cluster.server.store();
    let corefile = store.get("configmaps/nats-bosh-dns").unwrap()["data"]["Corefile"].as_str().unwrap();
    assert!(corefile.contains("exact link.internal. nats-nats.default.svc.cluster.local."), "{corefile}");
}

/// A stand-in for kubectl prints its arguments and exits with 7.
#[test]
fn a_shell_in_an_instance_is_one_of_kubectl_exec() {
    let cluster = Cluster::new();
    assert_eq!(cluster.deploy(&[]).code, 0);
    let labels = json!({"quarks.cloudfoundry.org/deployment-name": "nats", "quarks.cloudfoundry.org/instance-group-name": "nats"});
    let set = cluster.server.store().get("apps/v1/statefulsets/nats-nats-z1").unwrap().clone();
    let pod =
        json!({"metadata": {"name": "nats-nats-z1-0", "labels": labels}, "spec": set["spec"]["template"]["spec"]});
    cluster.server.store().put("pods/nats-nats-z1-0", pod);
    testkit::files::write_program(&cluster.path("kubectl"), "#!/bin/sh\necho \"$@\"\nexit 7\n", 0o755);
    let ssh = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        command.env("PATH", cluster.directory.path()).env("KUBECONFIG", cluster.path("kubeconfig"));
        let output = command.arg("ssh").args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (code, out, err) = ssh(&["nats/0/nats", "--", "bash", "-c", "a b"]);
    assert_eq!(code, 7, "{err}");
    assert_eq!(out, "exec --namespace test --stdin --container nats-nats nats-nats-z1-0 -- bash -c a b\n");
    let (code, out, _) = ssh(&["--context", "test", "nats-nats-z1-0"]);
    assert!(
        code == 7 && out.starts_with("exec --namespace test --context test --stdin nats-nats-z1-0 -- sh -c "),
        "{out}"
    );
    let (code, _, err) = ssh(&["nats/7"]);
    assert!(code == 65 && err.contains("its instances are: nats/0"), "{err}");
    fs::remove_file(cluster.path("kubectl")).unwrap();
    let (code, _, err) = ssh(&["nats/0"]);
    assert!(code == 70 && err.contains("cannot run kubectl"), "{err}");
}

/// A container may write settings of the kernel only if it is privileged. A script may do without.
#[test]
fn jobs_that_write_settings_of_the_kernel_are_named_before_anything_is_applied() {
    let cluster = Cluster::new();
    let planned = cluster.path("output");
    let check = || cluster.deploy(&["--check", planned.to_str().unwrap()]);
    let with = |run: Value| {
        cluster.edit_deployment(|deployment| {
            deployment.instance_groups[0].jobs[0].sysctls = vec!["kernel.shmmax".to_owned()];
            deployment.instance_groups[0].jobs[0].quarks.run = run.clone();
        });
    };
    with(Value::Null);
    let printed = check();
    let warning =
        "job nats of instance group nats writes kernel.shmmax: needs properties.quarks.run.security_context.privileged";
    assert!(printed.code == 0 && printed.err.contains(warning), "{}", printed.err);
    assert_eq!(cluster.written(), [""; 0]);
    with(json!({"security_context": {"privileged": true}}));
    let printed = check();
    assert!(printed.code == 0 && !printed.err.contains("kernel.shmmax"), "{}", printed.err);
}
