//! `apply-template` against an API server without controllers: runs that end early, and what is wrong on the command line. The tests of
//! pods have a real API server.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::api_server::{ApiServer, Request, failure};
use testkit::waiting::eventually;

const TEMPLATE: &str = "kind: Template
apiVersion: v1
parameters: [{name: PASSWORD, generate: expression, from: '[a-z]{20}'}, {name: NAME, value: web}]
objects:
- {kind: Service, apiVersion: v1, metadata: {name: $(NAME)}, spec: {ports: [{port: 80}]}}
- {kind: ConfigMap, apiVersion: v1, metadata: {name: $(NAME)}, data: {p: $(PASSWORD)}}
";

struct Cluster {
    server: ApiServer,
    directory: tempfile::TempDir,
}

/// The kinds that the API server has.
fn discovery(request: &Request) -> Option<(u16, Value)> {
    let kind =
        |name: &str, kind: &str| json!({"name": name, "kind": kind, "namespaced": true, "verbs": ["create", "list"]});
    match request.path.as_str() {
        "/api/v1" => Some((
            200,
            json!({"resources": [kind("services", "Service"), kind("configmaps", "ConfigMap"),
            kind("secrets", "Secret"), kind("services/status", "Service")]}),
        )),
        "/apis" => Some((200, json!({"groups": []}))),
        _ => None,
    }
}

impl Cluster {
    fn new() -> Cluster {
        let cluster = Cluster { server: ApiServer::start(), directory: tempfile::tempdir().unwrap() };
        cluster.server.write_kubeconfig(&cluster.directory.path().join("kubeconfig"));
        cluster.write(TEMPLATE);
        cluster.set_hook(|_| None);
        cluster
    }

    fn write(&self, template: &str) {
        fs::write(self.directory.path().join("web.yaml"), template).unwrap();
    }

    fn set_hook(&self, mut hook: impl FnMut(&Request) -> Option<(u16, Value)> + Send + 'static) {
        self.server.set_hook(Box::new(move |request, _| discovery(request).or_else(|| hook(request))));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-templates"));
        command.args(["apply-template", "--kubeconfig", "kubeconfig"]).args(arguments);
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    fn apply(&self) -> (i32, String, String) {
        self.run(&["--name", "shop", "--template", "web.yaml"])
    }
}

fn is_applied(request: &Request, path: &str) -> bool {
    request.method == "PATCH" && request.path.ends_with(path) && !request.query.contains_key("dryRun")
}

#[test]
fn a_run_that_fails_is_completed_by_the_next_one() {
    let cluster = Cluster::new();
    cluster.set_hook(|request| is_applied(request, "/services/web").then(|| failure(403, "Forbidden", "no: services")));
    let (code, out, err) = cluster.apply();
    assert_eq!((code, out.as_str()), (70, "ConfigMap web created\n"), "{err}");
    assert!(err.contains("error: cannot apply Service web\n") && err.contains("no: services"), "{err}");
    let password = cluster.server.store().get("configmaps/web").unwrap()["data"]["p"].clone();
    assert!(!err.contains(password.as_str().unwrap()));

    // What the first run has made is the instance's, even if the template does not have it any more.
    cluster.set_hook(|_| None);
    cluster.write(&TEMPLATE.replace(
        "kind: ConfigMap, apiVersion: v1, metadata: {name: $(NAME)}",
        "kind: ConfigMap, apiVersion: v1, metadata: {name: other}",
    ));
    let trial = cluster.run(&["--name", "shop", "--template", "web.yaml", "--dry-run"]).1;
    assert!(trial.contains("ConfigMap web deleted (dry run)\n"), "{trial}");
    let (code, out, err) = cluster.apply();
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        out,
        "ConfigMap other created\nService web created\nConfigMap web deleted\n\
        instance shop: 2 created, 0 changed, 1 deleted, 0 unchanged\n"
    );
    assert_eq!(cluster.server.store().get("configmaps/other").unwrap()["data"]["p"], password);
    let before = cluster.server.store().versions();
    assert_eq!(cluster.apply().1, "instance shop: 0 created, 0 changed, 0 deleted, 2 unchanged\n");
    assert_eq!(cluster.server.store().versions(), before);
    let (code, out, err) = cluster.run(&["--name", "shop", "--delete"]);
    assert_eq!(
        (code, out.as_str()),
        (0, "Service web deleted\nConfigMap other deleted\ninstance shop deleted\n"),
        "{err}"
    );
    assert!(cluster.server.store().objects.is_empty());
}

#[test]
fn control_c_ends_a_run_and_loses_nothing() {
    let cluster = Cluster::new();
    let child = Arc::new(AtomicI32::new(0));
    let pid = Arc::clone(&child);
    cluster.set_hook(move |request| {
        if is_applied(request, "/services/web") {
            eventually("the process is known", || pid.load(Ordering::SeqCst) != 0);
            kill(Pid::from_raw(pid.load(Ordering::SeqCst)), Signal::SIGINT).unwrap();
            return Some(failure(403, "Forbidden", "too late"));
        }
        None
    });
    let started: Child =
        cluster.command(&["--name", "shop", "--template", "web.yaml"]).stdout(Stdio::null()).spawn().unwrap();
    child.store(i32::try_from(started.id()).unwrap(), Ordering::SeqCst);
    assert_eq!(started.wait_with_output().unwrap().status.signal(), Some(Signal::SIGINT as i32));
    // Everything that exists is found by the instance's Secret.
    let parent = cluster.server.store().get("secrets/template.shop").unwrap().clone();
    let kinds = &parent["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"];
    assert_eq!(kinds, "ConfigMap,Service");
    cluster.set_hook(|_| None);
    let (code, out, err) = cluster.run(&["--name", "shop", "--delete"]);
    assert_eq!((code, out.as_str()), (0, "ConfigMap web deleted\ninstance shop deleted\n"), "{err}");
}

#[test]
fn what_is_wrong_is_reported_before_anything_is_written() {
    let cluster = Cluster::new();
    for (arguments, code, message) in [
        (&["--name", "Shop"][..], 2, "--name: must have lower-case letters"),
        (&["--name", "shop"], 2, "apply-template needs --template FILE or --stored NAME"),
        (
            &["--name", "shop", "--template", "web.yaml", "--stored", "web"],
            2,
            "--template and --stored exclude each other",
        ),
        (&["--name", "shop", "--delete", "--rbac"], 2, "--diff, --rbac and --delete exclude each other"),
        (&["--name", "shop", "--template", "absent.yaml"], 65, "cannot read the template absent.yaml"),
        (&["--name", "shop", "--stored", "absent"], 65, "namespace test has no template 'absent'"),
        (
            &["--name", "shop", "--template", "web.yaml", "--param", "OTHER=secret"],
            65,
            "'OTHER', which is not a parameter",
        ),
    ] {
        let (found, _, err) = cluster.run(arguments);
        assert_eq!(found, code, "{err}");
        assert!(err.contains(message) && !err.contains("secret"), "{message}: {err}");
    }
    cluster.write(
        "kind: Template\napiVersion: v1\nobjects:\n- {kind: Service, apiVersion: v1}\n- {kind: Nonsense, apiVersion: v1, metadata: {name: a}}\n\
        - {kind: List, apiVersion: v1, items: [{kind: ConfigMap, apiVersion: v1, metadata: {name: a}}]}\n\
        - {kind: ConfigMap, apiVersion: v1, metadata: {name: a}}\n",
    );
    let (code, _, err) = cluster.apply();
    assert_eq!(code, 66, "{err}");
    for message in [
        "objects[0]: the Service has no metadata.name",
        "objects[1]: the API server has no kind Nonsense in v1",
        "objects[3]: ConfigMap a occurs twice in the template",
    ] {
        assert!(err.contains(message), "{message}: {err}");
    }
    assert!(cluster.server.store().objects.is_empty());
    assert_eq!(cluster.server.take_writes(), [""; 0]);
}

#[test]
fn stored_templates_are_read_with_their_syntax() {
    let cluster = Cluster::new();
    let template = json!({"kind": "Template", "apiVersion": "example.com/v1",
        "metadata": {"name": "web", "annotations": {"boson.cloudfoundry.org/template-syntax": "openshift"}},
        "parameters": [{"name": "PASSWORD", "generate": "expression", "from": "[a-z]{8}"}],
        "objects": [{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "web"}, "data": {"p": "${PASSWORD} $(X)"}}]});
    cluster.server.store().put("example.com/v1/templates/web", template);
    let arguments = ["--name", "shop", "--stored", "web", "--group", "example.com"];
    let (code, out, err) = cluster.run(&arguments);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("ConfigMap web created\n"), "{out}");
    let text = cluster.server.store().get("configmaps/web").unwrap()["data"]["p"].as_str().unwrap().to_owned();
    assert!(text.len() == 13 && text.ends_with(" $(X)"), "{text}");
    // The value is the instance's, not one of each run.
    assert!(cluster.run(&arguments).1.ends_with("0 created, 0 changed, 0 deleted, 1 unchanged\n"));
}
