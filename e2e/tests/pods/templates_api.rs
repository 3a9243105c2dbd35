//! Templates as an API of the cluster: `manifests/templates-api.yaml`, as it is but for the image.
//!
//! With `E2E_TEMPLATES_ADDRESS`, an address of this machine that the cluster reaches, the two servers are processes here instead of
//! pods, with the same ServiceAccount: a trial without images.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use e2e::here;
use serde_json::{Value, json};

use crate::cluster::{Namespace, from_run, kubectl, try_kubectl};
use crate::templates::page::{Shell, cluster_block};
use e2e::tls_client::Client;

/// The namespace of the manifest.
const OWN: &str = "boson-templates";
const SERVICE: &str = "templates-api";
const API: &str = "/apis/template.openshift.io/v1";

/// The installed API, until this is dropped.
struct Installed {
    directory: tempfile::TempDir,
    /// Servers on this machine, or the forwarding to one of the pods.
    processes: Vec<Process>,
    /// Addresses of servers.
    addresses: Vec<String>,
}

/// A process that ends with the test.
struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// Starts a command; gives it and the first line that it prints.
    fn start(command: &mut Command) -> (Process, String) {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut process = Process { child, output };
        let mut line = String::new();
        process.output.read_line(&mut line).unwrap();
        (process, line)
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        self.processes.clear();
        let _ = try_kubectl(&["delete", "--ignore-not-found", "--filename", self.manifest().to_str().unwrap()]);
    }
}

impl Installed {
    fn new() -> Installed {
        let directory = tempfile::tempdir().unwrap();
        let mut installed = Installed { directory, processes: Vec::new(), addresses: Vec::new() };
        let manifest = std::fs::read_to_string(here().join("../manifests/templates-api.yaml")).unwrap();
        let address = std::env::var("E2E_TEMPLATES_ADDRESS").ok();
        let manifest = match address {
            None => replaced(&manifest, "registry.example/boson-templates:latest", "boson/boson-templates:latest"),
            Some(_) => {
                let manifest = replaced(&manifest, "replicas: 2", "replicas: 0");
                replaced(&manifest, "  selector:\n    app.kubernetes.io/name: templates-api\n  ports:", "  ports:")
            }
        };
        std::fs::create_dir(installed.path("manifests")).unwrap();
        std::fs::write(installed.manifest(), manifest).unwrap();
        // As on the page; in between the servers start, which the page does not wait for.
        let shell = Shell::new(installed.directory.path());
        let commands = cluster_block("kubectl apply -f manifests/templates-api.yaml");
        shell.run(&commands[0]);
        match address {
            None => installed.forward(),
            Some(address) => installed.serve(&address),
        }
        commands[1..].iter().for_each(|example| shell.run(example));
        installed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn manifest(&self) -> PathBuf {
        self.path("manifests/templates-api.yaml")
    }

    fn write(&self, name: &str, content: &Value) -> String {
        let path = self.path(name);
        std::fs::write(&path, content.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Waits for the pods, and makes one of them reachable from here.
    fn forward(&mut self) {
        kubectl(&["--namespace", OWN, "rollout", "status", "deployment/templates-api", "--timeout=600s"]);
        let mut command = Command::new(from_run("E2E_KUBECTL"));
        let (process, line) =
            Process::start(command.args(["--namespace", OWN, "port-forward", "service/templates-api", ":443"]));
        let address = line.strip_prefix("Forwarding from ").and_then(|line| line.split_whitespace().next()).unwrap();
        self.addresses.push(address.to_owned());
        self.processes.push(process);
    }

    /// Starts two servers here, behind the Service.
    fn serve(&mut self, address: &str) {
        let kubeconfig = self.kubeconfig();
        for number in 0..2 {
            let listen = format!("{address}:0");
            let mut command = Command::new(from_run("E2E_BOSON_TEMPLATES"));
            command.args(["serve-templates", "--listen", &listen, "--kubeconfig", &kubeconfig]);
            let (process, line) = Process::start(command.args(["--namespace", OWN]));
            let found = line.strip_prefix("listening on https://").unwrap().trim_end().to_owned();
            let port: u16 = found.rsplit(':').next().unwrap().parse().unwrap();
            self.processes.push(process);
            self.addresses.push(found);
            let slice = json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": format!("{SERVICE}-{number}"), "namespace": OWN, "labels": {"kubernetes.io/service-name": SERVICE}},
                "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
                "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
            });
            kubectl(&["apply", "--filename", &self.write("slice.json", &slice)]);
        }
    }

    /// The credentials of the ServiceAccount.
    fn kubeconfig(&self) -> String {
        let config = kubectl(&["config", "view", "--raw", "--minify", "--output", "json"]);
        let mut config: Value = serde_json::from_str(&config).unwrap();
        config["users"][0]["user"] = json!({"token": token()});
        self.write("kubeconfig", &config)
    }
}

/// A token of the ServiceAccount.
fn token() -> String {
    kubectl(&["--namespace", OWN, "create", "token", SERVICE]).trim().to_owned()
}

#[track_caller]
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the manifest has no {from:?}");
    text.replace(from, to)
}

fn template(name: &str, message: &str) -> Value {
    json!({
        "kind": "Template", "apiVersion": "template.openshift.io/v1",
        "metadata": {"name": name, "labels": {"tier": name}, "annotations": {"description": "A web server", "boson.cloudfoundry.org/template-syntax": "kubernetes"}},
        "message": message,
        "labels": {"app": "$(NAME)"},
        "objects": [{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "$(NAME)"}, "data": {"replicas": "$(REPLICAS)"}}],
        "parameters": [{"name": "NAME", "required": true}, {"name": "REPLICAS", "type": "int", "value": "3"}],
    })
}

#[test]
fn templates_are_served_behind_the_api_server() {
    let installed = Installed::new();
    let namespace = Namespace::new("templates");
    stored(&installed, &namespace);
    watched(&installed, &namespace);
    processed(&installed, &namespace);
    permitted(&installed, &namespace);
    refused_without_the_api_server(&installed, &namespace);
    measured(&namespace);
    gone_with_the_namespace(&installed);
}

/// `kubectl create|get|apply|replace|patch|delete`.
fn stored(installed: &Installed, namespace: &Namespace) {
    let web = installed.write("web.json", &template("web", "one"));
    assert_eq!(namespace.kubectl(&["create", "--filename", &web]), "template.template.openshift.io/web created\n");
    let again = namespace.try_kubectl(&["create", "--filename", &web]).unwrap_err();
    assert!(again.contains("(AlreadyExists)"), "{again}");
    let table = namespace.kubectl(&["get", "templates"]);
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "DESCRIPTION", "PARAMETERS", "OBJECTS"], "{table}");
    assert_eq!(rows[1].join(" "), "web A web server 2 (1 blank) 1");
    let first = namespace.get("template/web");
    // Applied: taken over, changed, and then the same.
    let apply = |name: &str, message: &str| {
        let file = installed.write(&format!("{name}.json"), &template(name, message));
        namespace.kubectl(&["apply", "--filename", &file])
    };
    assert!(apply("web", "two").contains(" configured"));
    assert!(apply("web", "two").contains(" unchanged"));
    assert!(apply("db", "one").contains(" created"));
    assert_eq!(namespace.get("template/web")["message"], "two");
    // A version that is not the newest one any more.
    let old = installed.write("old.json", &first);
    let conflict = namespace.try_kubectl(&["replace", "--filename", &old]).unwrap_err();
    assert!(conflict.contains("(Conflict)"), "{conflict}");
    namespace.kubectl(&["patch", "template", "db", "--type", "merge", "--patch", r#"{"message": "three"}"#]);
    assert_eq!(namespace.get("template/db")["message"], "three");
    // Lists, also in parts, and by labels.
    let names = |args: &[&str]| namespace.kubectl(&[&["get", "templates", "--output", "name"], args].concat());
    let both = "template.template.openshift.io/db\ntemplate.template.openshift.io/web\n";
    assert_eq!(names(&[]), both);
    assert_eq!(names(&["--chunk-size", "1"]), both);
    assert_eq!(names(&["--selector", "tier=db"]), "template.template.openshift.io/db\n");
    // What is wrong is refused with every field, in whatever namespace there is.
    let mut wrong = template("wrong", "one");
    wrong["objects"][0]["data"]["x"] = json!("$(OTHER)");
    let wrong = namespace.try_kubectl(&["create", "--filename", &installed.write("wrong.json", &wrong)]).unwrap_err();
    assert!(wrong.contains("objects[0].data.x") && wrong.contains("OTHER"), "{wrong}");
    let nowhere = try_kubectl(&["--namespace", "nowhere", "create", "--filename", &web]).unwrap_err();
    assert!(nowhere.contains("namespaces \"nowhere\" not found"), "{nowhere}");
    // They are Secrets of the server.
    let secrets = kubectl(&["--namespace", OWN, "get", "secrets", "--output", "name"]);
    assert!(secrets.contains(&format!("secret/template.{}.web\n", namespace.name)), "{secrets}");
    namespace.kubectl(&["delete", "template", "db"]);
    assert_eq!(names(&[]), "template.template.openshift.io/web\n");
}

/// `kubectl get --watch`: each event, whichever server has made the change.
fn watched(installed: &Installed, namespace: &Namespace) {
    let mut command = Command::new(from_run("E2E_KUBECTL"));
    let watch =
        ["--namespace", &namespace.name, "get", "templates", "--watch", "--output-watch-events", "--output", "json"];
    let (mut process, line) = Process::start(command.args(watch));
    let mut text = line;
    let mut seen = Vec::new();
    for round in 0..6 {
        let name = format!("watched-{round}");
        let file = installed.write("watched.json", &template(&name, "one"));
        namespace.kubectl(&["create", "--filename", &file]);
        namespace.kubectl(&["delete", "template", &name]);
    }
    while seen.len() < 13 {
        let parsed: Result<Value, _> = serde_json::from_str(&text);
        if let Ok(event) = parsed {
            let name = event["object"]["metadata"]["name"].as_str().unwrap().to_owned();
            seen.push((event["type"].as_str().unwrap().to_owned(), name));
            text.clear();
        }
        assert!(seen.len() == 13 || process.output.read_line(&mut text).unwrap() > 0, "{seen:?}");
    }
    let event = |kind: &str, round: usize| (kind.to_owned(), format!("watched-{round}"));
    let mut expected = vec![("ADDED".to_owned(), "web".to_owned())];
    expected.extend((0..6).flat_map(|round| [event("ADDED", round), event("DELETED", round)]));
    assert_eq!(seen, expected);
}

/// `kubectl create --raw`: a template of the client's, and a stored one with a Parameters object.
fn processed(installed: &Installed, namespace: &Namespace) {
    let base = format!("{API}/namespaces/{}", namespace.name);
    let post = |path: &str, body: &Value| {
        let file = installed.write("body.json", body);
        let done = namespace.try_kubectl(&["create", "--raw", &format!("{base}/{path}"), "--filename", &file]);
        done.map(|text| serde_json::from_str::<Value>(&text).unwrap())
    };
    let mut web = template("web", "x");
    web["parameters"][0]["value"] = json!("shop");
    let list = post("processedtemplates?as=list", &web).unwrap();
    let expected = json!({
        "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "shop", "labels": {"app": "shop"}}, "data": {"replicas": "3"},
    });
    assert_eq!(list, json!({"apiVersion": "v1", "kind": "List", "items": [expected]}));
    let values = |list: Value| json!({"kind": "Parameters", "apiVersion": "v1", "parameters": list});
    let given = values(json!([{"name": "NAME", "value": "blue"}, {"name": "REPLICAS", "value": "5"}]));
    let done = post("templates/web/processed", &given).unwrap();
    assert_eq!(done["kind"], "Template");
    assert_eq!(done["objects"][0]["data"]["replicas"], "5");
    let refused =
        post("templates/web/processed", &values(json!([{"name": "REPLICAS", "value": "hunter2"}]))).unwrap_err();
    assert!(refused.contains("parameters[0]") && !refused.contains("hunter2"), "{refused}");
    // The result is what kubectl creates.
    let list = post("templates/web/processed?as=list", &given).unwrap();
    namespace.kubectl(&["apply", "--filename", &installed.write("list.json", &list)]);
    assert_eq!(namespace.get("configmap/blue")["data"]["replicas"], "5");
}

/// Users have the rights that RBAC gives them.
fn permitted(installed: &Installed, namespace: &Namespace) {
    let alice = |args: &[&str]| namespace.try_kubectl(&[&["--as", "alice"], args].concat());
    let bind = |role: &str| {
        namespace.kubectl(&["delete", "rolebinding", "alice", "--ignore-not-found"]);
        namespace.kubectl(&["create", "rolebinding", "alice", "--user", "alice", "--clusterrole", role]);
    };
    let file = installed.write("alice.json", &template("alice", "x"));
    for args in [
        &["get", "templates"][..],
        &["get", "template", "web"],
        &["create", "--filename", &file],
        &["delete", "template", "web"],
    ] {
        let refused = alice(args).unwrap_err();
        assert!(refused.contains("(Forbidden)") && refused.contains("User \"alice\" cannot"), "{args:?}: {refused}");
    }
    // Templates hold passwords: as Secrets, they are not for viewers.
    bind("view");
    assert!(alice(&["get", "templates"]).unwrap_err().contains("(Forbidden)"));
    bind("edit");
    namespace.wait_until("alice may edit templates", || alice(&["get", "templates"]).is_ok());
    alice(&["create", "--filename", &file]).unwrap();
    alice(&["delete", "template", "alice"]).unwrap();
    // In this namespace only.
    let elsewhere = try_kubectl(&["--as", "alice", "--namespace", "default", "get", "templates"]).unwrap_err();
    assert!(elsewhere.contains("(Forbidden)"), "{elsewhere}");
    let all = try_kubectl(&["--as", "alice", "get", "templates", "--all-namespaces"]).unwrap_err();
    assert!(all.contains("(Forbidden)"), "{all}");
    let groups = ["--as", "carol", "--as-group", "system:masters", "get", "templates"];
    namespace.kubectl(&groups);
}

/// Requests that do not come from the API server have the rights of their token, and none without one.
fn refused_without_the_api_server(installed: &Installed, namespace: &Namespace) {
    let decoded = "go-template={{index .data \"tls.crt\" | base64decode}}";
    let authority = kubectl(&["--namespace", OWN, "get", "secret", "templates-api-authority", "--output", decoded]);
    let client = Client::new(&authority, &format!("{SERVICE}.{OWN}.svc"), None);
    let path = format!("{API}/namespaces/{}/templates", namespace.name);
    let forged = ["X-Remote-User: admin", "X-Remote-Group: system:masters"];
    let own = format!("Authorization: Bearer {}", token());
    let admin = kubectl(&["config", "view", "--raw", "--minify", "--output", "jsonpath={.users[0].user.token}"]);
    for address in &installed.addresses {
        let get = |path: &str, headers: &[&str]| client.get(address, path, headers);
        for headers in
            [&[][..], &forged, &["Authorization: Bearer x"], &[&forged[..], &["Authorization: Bearer x"]].concat()]
        {
            let (status, body) = get(&path, headers);
            assert_eq!(status, 401, "{headers:?}: {body}");
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["reason"], "Unauthorized");
        }
        // A token counts, and the headers beside it do not.
        for headers in [&[own.as_str()][..], &[forged[0], forged[1], own.as_str()]] {
            let (status, body) = get(&path, headers);
            assert!(status == 403 && body.contains("system:serviceaccount:boson-templates:templates-api"), "{body}");
        }
        if !admin.is_empty() {
            let (status, body) = get(&path, &[&format!("Authorization: Bearer {admin}")]);
            assert!(status == 200 && body.contains("\"web\""), "{body}");
        }
        assert_eq!(get("/readyz", &[]), (200, "ok".to_owned()));
        assert_eq!(get("/apis/other", &forged).0, 401);
    }
}

/// Rounds that count, after as many that do not.
const ROUNDS: usize = 20;

/// Prints how long a template is processed through the API server, beside a ConfigMap of the same size that is created with
/// `dryRun=All`. Nothing asserts a time.
fn measured(namespace: &Namespace) {
    let mut command = Command::new(from_run("E2E_KUBECTL"));
    let (_proxy, line) = Process::start(command.args(["proxy", "--port", "0"]));
    let address = line.trim_end().rsplit(' ').next().unwrap().to_owned();
    let post = |path: &str, body: &str| {
        let start = Instant::now();
        let mut stream = TcpStream::connect(&address).unwrap();
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
        start.elapsed()
    };
    let processed = format!("{API}/namespaces/{}/processedtemplates", namespace.name);
    let created = format!("/api/v1/namespaces/{}/configmaps?dryRun=All", namespace.name);
    println!(
        "| objects of a template | bytes | processed ms | a ConfigMap ms | ratio |\n| ---: | ---: | ---: | ---: | ---: |"
    );
    for objects in [1, 100, 1000] {
        let mut template = template("measured", "x");
        template["parameters"][0]["value"] = json!("shop");
        template["objects"] = json!(vec![template["objects"][0].clone(); objects]);
        for (number, object) in template["objects"].as_array_mut().unwrap().iter_mut().enumerate() {
            object["metadata"]["name"] = json!(format!("$(NAME)-{number}"));
        }
        let template = template.to_string();
        let map = |size: usize| {
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "measured"}, "data": {"x": "x".repeat(size)}})
                .to_string()
        };
        let map = map(template.len() - map(0).len());
        assert_eq!(map.len(), template.len());
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..2 * ROUNDS {
            times[0].push(post(&processed, &template));
            times[1].push(post(&created, &map));
        }
        let [ours, theirs] = times.map(|mut all| {
            let counted = &mut all[ROUNDS..];
            counted.sort();
            counted[ROUNDS / 2].as_secs_f64() * 1e3
        });
        println!("| {objects} | {} | {ours:.1} | {theirs:.1} | {:.2}x |", template.len(), ours / theirs);
    }
}

/// A namespace that is deleted takes its templates along.
fn gone_with_the_namespace(installed: &Installed) {
    let name = {
        let namespace = Namespace::new("templates-gone");
        namespace.kubectl(&["create", "--filename", &installed.write("web.json", &template("web", "x"))]);
        namespace.name.clone()
    };
    kubectl(&["wait", "--for=delete", &format!("namespace/{name}"), "--timeout=300s"]);
    let secrets = kubectl(&["--namespace", OWN, "get", "secrets", "--output", "name"]);
    assert!(!secrets.contains(&name), "{secrets}");
    assert!(Path::new(&installed.manifest()).exists());
}
