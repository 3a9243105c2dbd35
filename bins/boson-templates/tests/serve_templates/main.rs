//! `serve-templates`, as clients of Kubernetes use it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;
mod limits;
mod manifest;
mod replicas;
mod secured;
mod server;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::server::Server;

const BASE: &str = "/apis/template.openshift.io/v1/namespaces/shop";

fn template(name: &str) -> Value {
    json!({
        "kind": "Template", "apiVersion": "template.openshift.io/v1",
        "metadata": {"name": name, "labels": {"tier": name}, "annotations": {"description": "A web server", "boson.cloudfoundry.org/template-syntax": "kubernetes"}},
        "labels": {"app": "$(NAME)"},
        "objects": [{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "$(NAME)"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": "$((PORT))"}]}}],
        "parameters": [{"name": "NAME", "required": true}, {"name": "PORT", "type": "int", "value": "80"}],
    })
}

#[test]
fn the_first_line_is_the_address_and_term_ends_with_0() {
    let server = Server::start(&[]);
    assert!(server.address.starts_with("127.0.0.1:") && !server.address.ends_with(":0"), "{}", server.address);
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!((server.get(path).status, server.get(path).body.as_str()), (200, "ok"));
    }
    // Also while a client watches.
    let mut watching = server.connect("GET", &format!("{BASE}/templates?watch=true"), &[], b"");
    let mut first = [0; 12];
    watching.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn templates_are_processed_and_nothing_is_created() {
    let server = Server::start(&[]);
    let mut web = template("web");
    web["parameters"][0]["value"] = json!("shop");
    let done = server.post(&format!("{BASE}/processedtemplates"), &web);
    assert_eq!(done.status, 201, "{}", done.body);
    let service = json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "shop", "labels": {"app": "shop"}}, "spec": {"selector": {"a": "b", "app": "shop"}, "ports": [{"port": 80}]}});
    let processed = done.json();
    assert_eq!(
        (&processed["kind"], &processed["apiVersion"]),
        (&json!("Template"), &json!("template.openshift.io/v1"))
    );
    assert_eq!(processed["objects"], json!([service]));
    assert_eq!(processed["labels"], json!({"app": "shop"}));
    assert_eq!(processed["parameters"][1], json!({"name": "PORT", "type": "int", "value": "80"}));
    let list = server.post(&format!("{BASE}/processedtemplates?as=list"), &web).json();
    assert_eq!(list, json!({"apiVersion": "v1", "kind": "List", "items": [service]}));
    assert_eq!(server.post(&format!("{BASE}/processedtemplates?as=other"), &web).reason(), (400, "BadRequest".into()));
    assert_eq!(server.get(&format!("{BASE}/templates")).json()["items"], json!([]));
    // YAML is read, and written to who accepts it.
    let yaml =
        "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, mode: 0644, big: 9007199254740993}]\n";
    let headers = ["Content-Type: application/yaml", "Accept: application/yaml"];
    let done = server.send("POST", &format!("{BASE}/processedtemplates?as=list"), &headers, yaml.as_bytes());
    assert!(done.head.contains("content-type: application/yaml"), "{}", done.head);
    assert_eq!(
        done.body,
        "apiVersion: v1\nkind: List\nitems:\n- kind: K\n  apiVersion: v1\n  mode: 420\n  big: 9007199254740993\n"
    );
}

#[test]
fn stored_templates_are_processed_with_parameters() {
    let server = Server::start(&[]);
    assert_eq!(server.post(&format!("{BASE}/templates"), &template("web")).status, 201);
    let parameters = |list: Value| json!({"kind": "Parameters", "apiVersion": "v1", "parameters": list});
    let path = format!("{BASE}/templates/web/processed");
    let done =
        server.post(&path, &parameters(json!([{"name": "NAME", "value": "a"}, {"name": "PORT", "value": "8080"}])));
    assert_eq!((done.status, &done.json()["objects"][0]["spec"]["ports"][0]["port"]), (201, &json!(8080)));
    let list = server.post(&format!("{path}?as=list"), &parameters(json!([{"name": "NAME", "value": "a"}]))).json();
    assert_eq!((&list["kind"], &list["items"][0]["metadata"]["name"]), (&json!("List"), &json!("a")));
    for (values, field) in [
        (
            json!([{"name": "NAME", "value": "a"}, {"name": "PORT", "value": "80"}, {"name": "OTHER", "value": "hunter2"}]),
            "parameters[2].name",
        ),
        (json!([{"name": "NAME", "value": "a"}, {"name": "PORT", "value": "hunter2"}]), "parameters[1].value"),
        (json!([{"name": "PORT", "value": "80"}, {"name": "NAME", "value": ""}]), "parameters[1].value"),
        (json!([{"name": "NAME", "value": "hunter2 is no label"}]), "labels.app"),
        (json!([]), "parameters[0]"),
    ] {
        let failed = server.post(&path, &parameters(values));
        assert_eq!(failed.reason(), (422, "Invalid".into()));
        assert_eq!(failed.fields(), [field]);
        assert!(!failed.body.contains("hunter2") && !failed.body.contains("--param"), "{}", failed.body);
    }
    assert_eq!(server.post(&format!("{BASE}/templates/other/processed"), &parameters(json!([]))).reason().0, 404);
    assert_eq!(server.post(&path, &template("web")).reason().0, 400);
}

#[test]
fn templates_are_kept_with_versions() {
    let server = Server::start(&[]);
    let all = format!("{BASE}/templates");
    let web = format!("{all}/web");
    let created = server.post(&all, &template("web"));
    assert_eq!(created.status, 201);
    let created = created.json();
    for key in ["uid", "resourceVersion", "creationTimestamp"] {
        assert!(created["metadata"][key].as_str().is_some_and(|value| !value.is_empty()), "{created}");
    }
    assert_eq!(created["metadata"]["namespace"], json!("shop"));
    assert_eq!(server.get(&web).json(), created);
    assert_eq!(server.post(&all, &template("web")).reason(), (409, "AlreadyExists".into()));
    assert_eq!(server.get(&format!("{all}/other")).reason(), (404, "NotFound".into()));
    assert_eq!(
        server.get(&format!("{all}/other")).json()["message"],
        json!("templates.template.openshift.io \"other\" not found")
    );
    // Update.
    let put = |body: &Value| server.send("PUT", &web, &["Content-Type: application/json"], body.to_string().as_bytes());
    let mut changed = created.clone();
    changed["message"] = json!("x");
    let updated = put(&changed).json();
    assert_ne!(updated["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(put(&changed).reason(), (409, "Conflict".into()));
    // Patch.
    let patch = |kind: &str, body: &Value| {
        server.send("PATCH", &web, &[&format!("Content-Type: application/{kind}")], body.to_string().as_bytes())
    };
    assert_eq!(
        patch("merge-patch+json", &json!({"message": null, "labels": {"x": "y"}})).json()["labels"],
        json!({"app": "$(NAME)", "x": "y"})
    );
    let operations =
        json!([{"op": "remove", "path": "/labels/x"}, {"op": "add", "path": "/metadata/labels/k", "value": "v"}]);
    let patched = patch("json-patch+json", &operations).json();
    assert_eq!((&patched["labels"], &patched["metadata"]["labels"]["k"]), (&json!({"app": "$(NAME)"}), &json!("v")));
    assert_eq!(patch("apply-patch+yaml", &json!({})).reason(), (415, "UnsupportedMediaType".into()));
    assert_eq!(patch("merge-patch+json", &json!({"objects": 5})).reason(), (422, "Invalid".into()));
    // Lists.
    server.post(&all, &template("db"));
    server.post("/apis/template.openshift.io/v1/namespaces/other/templates", &template("web"));
    let names = |path: &str| -> Vec<String> {
        let list = server.get(path).json();
        assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("TemplateList"), &json!("template.openshift.io/v1")));
        let name = |item: &Value| {
            format!(
                "{}/{}",
                item["metadata"]["namespace"].as_str().unwrap(),
                item["metadata"]["name"].as_str().unwrap()
            )
        };
        list["items"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(names(&all), ["shop/db", "shop/web"]);
    assert_eq!(names("/apis/template.openshift.io/v1/templates"), ["other/web", "shop/db", "shop/web"]);
    assert_eq!(names(&format!("{all}?labelSelector=tier%3Ddb")), ["shop/db"]);
    assert_eq!(names(&format!("{all}?fieldSelector=metadata.name!%3Ddb")), ["shop/web"]);
    for query in ["labelSelector=a%20b", "resourceVersion=abc", "limit=x", "continue=xx"] {
        assert_eq!(server.get(&format!("{all}?{query}")).reason().0, 400, "{query}");
    }
    for (query, code) in [
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Other&resourceVersion=1", 422),
        ("resourceVersionMatch=NotOlderThan&resourceVersion=1", 200),
        ("watch=1&sendInitialEvents=true", 422),
        ("watch=1&resourceVersionMatch=NotOlderThan", 422),
    ] {
        assert_eq!(server.get(&format!("{all}?{query}")).status, code, "{query}");
    }
    // In parts.
    let part = server.get(&format!("{all}?limit=1")).json();
    let rest = part["metadata"]["continue"].as_str().unwrap();
    assert_eq!(
        (&part["items"][0]["metadata"]["name"], &part["metadata"]["remainingItemCount"]),
        (&json!("db"), &json!(1))
    );
    assert_eq!(names(&format!("{all}?limit=1&continue={rest}")), ["shop/web"]);
    // Deletion.
    let delete = |path: &str, body: &[u8]| server.send("DELETE", path, &["Content-Type: application/json"], body);
    assert_eq!(delete(&web, br#"{"preconditions": {"uid": "x"}}"#).reason(), (409, "Conflict".into()));
    assert_eq!(delete(&format!("{web}?dryRun=All"), b"").status, 200);
    let deleted = delete(&web, br#"{"propagationPolicy": "Background"}"#).json();
    assert_eq!(
        (&deleted["kind"], &deleted["status"], &deleted["details"]["name"]),
        (&json!("Status"), &json!("Success"), &json!("web"))
    );
    assert_eq!(delete(&web, b"").reason(), (404, "NotFound".into()));
    assert_eq!(delete(&format!("{all}?labelSelector=tier%3Dnone"), b"").json()["items"], json!([]));
    assert_eq!(delete(&all, br#"{"preconditions": {"uid": "x"}}"#).reason(), (409, "Conflict".into()));
    assert_eq!(delete(&all, b"").json()["items"].as_array().unwrap().len(), 1);
    assert_eq!(names("/apis/template.openshift.io/v1/templates"), ["other/web"]);
}

#[test]
fn templates_are_validated_when_they_are_stored() {
    let server = Server::start(&[]);
    let all = format!("{BASE}/templates");
    let mut wrong = template("web");
    wrong["objects"][0]["spec"]["x"] = json!("$(OTHER)");
    wrong["parameters"][1]["value"] = json!("hunter2");
    wrong["objekts"] = json!([]);
    wrong["metadata"]["name"] = json!("Not a name");
    let failed = server.post(&all, &wrong);
    assert_eq!(failed.reason(), (422, "Invalid".into()));
    assert_eq!(failed.fields(), ["metadata.name", "objekts", "parameters[1]", "objects[0].spec.x"]);
    assert!(!failed.body.contains("hunter2"), "{}", failed.body);
    // A required value may be missing.
    assert_eq!(server.post(&format!("{all}?dryRun=All"), &template("web")).status, 201);
    assert_eq!(server.get(&all).json()["items"], json!([]));
}

#[test]
fn bad_requests_are_refused_and_the_server_lives_on() {
    let server = Server::start(&["--max-body", "1M"]);
    let all = format!("{BASE}/templates");
    let send = |kind: &str, body: &[u8]| server.send("POST", &all, &[&format!("Content-Type: {kind}")], body).reason();
    let json_type = "application/json";
    let bad = (400, "BadRequest".to_owned());
    for body in
        [&b"{"[..], b"", b"[]", b"{\"kind\": \"Pod\", \"apiVersion\": \"v1\"}", b"{\"kind\": \"\xff\"}", b"{} {}"]
    {
        assert_eq!(send(json_type, body), bad, "{}", String::from_utf8_lossy(body));
    }
    let deep = "[".repeat(100_000);
    assert_eq!(send(json_type, deep.as_bytes()), bad);
    assert_eq!(send("application/yaml", deep.as_bytes()), bad);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", "));
    }
    assert_eq!(send("application/yaml", bomb.as_bytes()), bad);
    assert_eq!(
        send(
            "application/yaml",
            b"kind: Template\napiVersion: v1\nobjects: []\n---\nkind: Template\napiVersion: v1\nobjects: []\n"
        ),
        bad
    );
    assert_eq!(send(json_type, &vec![b' '; (1 << 20) + 1]), (413, "RequestEntityTooLarge".into()));
    for kind in ["text/plain", "application/vnd.kubernetes.protobuf"] {
        assert_eq!(send(kind, b"{}"), (415, "UnsupportedMediaType".into()));
    }
    for body in [
        "objects: {}",
        "objects: []\nlabels: []",
        "objects: [{kind: Service, apiVersion: v1, spec: {selector: [a]}}]\nlabels: {a: b}",
    ] {
        let body = format!("kind: Template\napiVersion: v1\nmetadata: {{name: a}}\n{body}\n");
        assert_eq!(send("application/yaml", body.as_bytes()), (422, "Invalid".into()), "{body}");
    }
    for path in [all.as_str(), "/openapi/v2", "/version"] {
        assert_eq!(server.send("GET", path, &["Accept: text/html"], b"").reason().0, 406, "{path}");
    }
    assert_eq!(server.send("PUT", &all, &[], b"{}").reason(), (405, "MethodNotAllowed".into()));
    assert_eq!(server.get("/apis/other/v1").reason(), (404, "NotFound".into()));
    for namespace in ["a.b", "a%2Cb", "A", "a%2Fb"] {
        let path = format!("/apis/template.openshift.io/v1/namespaces/{namespace}/templates");
        assert_eq!(server.get(&path).reason().0, 400, "{namespace}");
    }
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.stop(), Some(0));
}

/// The body of an answer in chunks, as lines of JSON.
struct Lines(BufReader<TcpStream>);

impl Lines {
    fn of(stream: TcpStream) -> Lines {
        let mut lines = Lines(BufReader::new(stream));
        while lines.line() != "" {}
        lines
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The type, and the name of the object of the next event.
    fn event(&mut self) -> (String, String) {
        let event = self.next();
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
        (event["type"].as_str().unwrap().to_owned(), name.to_owned())
    }

    fn next(&mut self) -> Value {
        // Each event is a chunk: its length, the line, and an empty line.
        loop {
            let line = self.line();
            if line.starts_with('{') {
                return serde_json::from_str(&line).unwrap();
            }
        }
    }
}

#[test]
fn changes_are_watched() {
    let server = Server::start(&[]);
    let all = format!("{BASE}/templates");
    server.post(&all, &template("web"));
    let list = server.get(&all).json();
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = |query: &str| Lines::of(server.connect("GET", &format!("{all}?watch=1&{query}"), &[], b""));
    let mut present = watch("");
    let mut since = watch(&format!("resourceVersion={version}"));
    let mut selected = watch(&format!("resourceVersion={version}&labelSelector=k%3Dv"));
    assert_eq!(present.event(), ("ADDED".into(), "web".into()));
    server.post(&all, &template("db"));
    let patch = |body: &str| {
        server.send("PATCH", &format!("{all}/web"), &["Content-Type: application/merge-patch+json"], body.as_bytes())
    };
    patch(r#"{"metadata": {"labels": {"k": "v"}}}"#);
    patch(r#"{"metadata": {"labels": {"k": null}}}"#);
    server.post("/apis/template.openshift.io/v1/namespaces/other/templates", &template("other"));
    server.send("DELETE", &format!("{all}/db"), &[], b"");
    for lines in [&mut present, &mut since] {
        for (kind, name) in [("ADDED", "db"), ("MODIFIED", "web"), ("MODIFIED", "web"), ("DELETED", "db")] {
            assert_eq!(lines.event(), (kind.into(), name.into()));
        }
    }
    // An object that becomes selected is new, and one that is not any more is gone.
    assert_eq!(selected.event(), ("ADDED".into(), "web".into()));
    assert_eq!(selected.event(), ("DELETED".into(), "web".into()));
    assert_eq!(server.get(&format!("{all}?watch=1&resourceVersion=5")).reason(), (410, "Expired".into()));
    // The present state and its end.
    let mut bookmarked = watch("sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan");
    assert_eq!(bookmarked.event(), ("ADDED".into(), "web".into()));
    let bookmark = bookmarked.next();
    assert_eq!(
        (&bookmark["type"], &bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"]),
        (&json!("BOOKMARK"), &json!("true"))
    );
    // A watch has a time limit.
    let ended = server.get(&format!("{all}?watch=1&timeoutSeconds=1"));
    assert!(ended.status == 200 && ended.body.contains("\"ADDED\""), "{}", ended.body);
}

#[test]
fn kubectl_finds_resources_and_tables() {
    let server = Server::start(&["--group", "templates.example.com"]);
    let base = "/apis/templates.example.com/v1";
    let all = format!("{base}/namespaces/shop/templates");
    assert_eq!(server.get("/apis").json()["groups"][0]["name"], json!("templates.example.com"));
    assert_eq!(
        server.get("/apis/templates.example.com").json()["preferredVersion"]["groupVersion"],
        json!("templates.example.com/v1")
    );
    let resources = server.get(base).json()["resources"].clone();
    let names: Vec<&str> = resources.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["processedtemplates", "templates", "templates/processed"]);
    assert_eq!(
        server.get("/openapi/v3").json()["paths"]["apis/templates.example.com/v1"]["serverRelativeURL"],
        json!("/openapi/v3/apis/templates.example.com/v1")
    );
    assert!(server.get("/openapi/v3/apis/templates.example.com/v1").json()["components"]["schemas"]["com.example.templates.v1.Template"].is_object());
    assert!(server.get("/openapi/v2").json()["definitions"].is_object());
    let version = server.get("/version").json()["gitVersion"].as_str().unwrap().to_owned();
    assert!(version.starts_with("v1.") && !version.contains([' ', '(']), "{version}");
    // Templates of the proposal have the group of the API.
    let mut web = template("web");
    web["apiVersion"] = json!("v1");
    assert_eq!(server.post(&all, &web).json()["apiVersion"], json!("templates.example.com/v1"));
    let accept = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = server.send("GET", &all, &[accept], b"").json();
    assert_eq!(table["kind"], json!("Table"));
    assert_eq!(table["rows"][0]["cells"], json!(["web", "A web server", "2 (1 blank)", 1]));
    let controllers = "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    let partial = server.send("GET", &all, &[controllers], b"").json();
    assert_eq!(
        (&partial["kind"], &partial["apiVersion"]),
        (&json!("PartialObjectMetadataList"), &json!("meta.k8s.io/v1"))
    );
    let item = &partial["items"][0];
    assert_eq!(
        (&item["kind"], &item["metadata"]["name"], &item["objects"]),
        (&json!("PartialObjectMetadata"), &json!("web"), &Value::Null)
    );
    let watch = format!("{all}?watch=1&resourceVersion=0");
    let event = Lines::of(server.connect("GET", &watch, &[&controllers.replace("List", "")], b"")).next();
    assert_eq!(event["object"], *item);
    let marked = format!("{watch}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan");
    for (accept, kind) in [(controllers.replace("List", ""), "PartialObjectMetadata"), (accept.to_owned(), "Table")] {
        let mut events = Lines::of(server.connect("GET", &marked, &[&accept], b""));
        assert_eq!(events.next()["object"]["kind"], json!(kind));
        let mark = events.next();
        assert_eq!((&mark["type"], &mark["object"]["kind"]), (&json!("BOOKMARK"), &json!(kind)));
        assert_eq!(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], json!("true"));
    }
    let one = server.send("GET", &format!("{all}/web"), &[accept], b"").json();
    assert_eq!(
        (&one["rows"][0]["object"]["metadata"]["name"], one["columnDefinitions"].as_array().unwrap().len()),
        (&json!("web"), 4)
    );
}

#[test]
fn an_annotation_and_a_flag_name_the_syntax() {
    let server = Server::start(&["--syntax", "openshift", "--label", "a=b"]);
    let path = format!("{BASE}/processedtemplates?as=list");
    let mut web = json!({
        "kind": "Template", "apiVersion": "v1", "metadata": {},
        "objects": [{"kind": "K", "apiVersion": "v1", "x": "${A} $(A)", "p": "${P}"}],
        "parameters": [{"name": "A", "value": "v"}, {"name": "P", "generate": "expression", "from": "[a-f]{8}"}],
    });
    let object = server.post(&path, &web).json()["items"][0].clone();
    assert_eq!((&object["x"], &object["metadata"]["labels"]), (&json!("v $(A)"), &json!({"a": "b"})));
    assert!(object["p"].as_str().is_some_and(|value| value.len() == 8), "{object}");
    web["metadata"] = json!({"annotations": {"boson.cloudfoundry.org/template-syntax": "kubernetes"}});
    assert_eq!(server.post(&path, &web).json()["items"][0]["x"], json!("${A} v"));
    web["metadata"] = json!({"annotations": {"boson.cloudfoundry.org/template-syntax": "other"}});
    assert_eq!(server.post(&path, &web).fields(), ["metadata.annotations[\"boson.cloudfoundry.org/template-syntax\"]"]);
}

#[test]
fn the_api_version_names_the_syntax_and_the_other_one_is_warned_about() {
    let server = Server::start(&[]);
    let path = format!("{BASE}/processedtemplates?as=list");
    let template = |version: &str, text: &str| {
        json!({
            "kind": "Template", "apiVersion": version, "metadata": {"name": "db"},
            "objects": [{"kind": "K", "apiVersion": "v1", "x": text}], "parameters": [{"name": "PW", "value": "v"}],
        })
    };
    for (version, text, expected, warning) in [
        ("template.openshift.io/v1", "${PW}", "v", None),
        ("v1", "$(PW)", "v", None),
        (
            "template.openshift.io/v1",
            "$(PW)",
            "$(PW)",
            Some("references in this template are written ${name}; for $(name)"),
        ),
        ("v1", "${PW}", "${PW}", Some("references in this template are written $(name); for ${name}")),
    ] {
        let done = server.post(&path, &template(version, text));
        assert_eq!(done.json()["items"][0]["x"], json!(expected), "{version} {text}");
        let found = done.head.lines().find(|line| line.starts_with("warning: 299 - "));
        assert_eq!(found.is_some(), warning.is_some(), "{}", done.head);
        assert!(warning.is_none_or(|warning| found.unwrap().contains(warning)), "{}", done.head);
    }
    // A stored template keeps the syntax that it was sent with.
    assert_eq!(server.post(&format!("{BASE}/templates"), &template("v1", "$(PW)")).status, 201);
    let none = json!({"kind": "Parameters", "apiVersion": "v1", "parameters": []});
    let done = server.post(&format!("{BASE}/templates/db/processed?as=list"), &none);
    assert_eq!(done.json()["items"][0]["x"], json!("v"));
    // Messages name the parameter, and each apiVersion once.
    let twice = json!([{"name": "PW", "value": "a"}, {"name": "PW", "value": "b"}]);
    let parameters = json!({"kind": "Parameters", "apiVersion": "v1", "parameters": twice});
    let failed = server.post(&format!("{BASE}/templates/db/processed"), &parameters);
    assert!(failed.body.contains("another value is given for the parameter 'PW'"), "{}", failed.body);
    let failed = server.post(&format!("{BASE}/templates/db/processed"), &template("v1", ""));
    assert!(failed.body.contains("expected kind Parameters of template.openshift.io/v1 or v1, not"), "{}", failed.body);
}

#[test]
fn usage() {
    for arguments in [
        &["--insecure", "--listen", "0.0.0.0:0"][..],
        &["--insecure", "--store", "other"],
        &["--insecure", "--store", "secrets"],
        &["--insecure", "--tls-dir", "/tmp"],
        &["--service", "a.b"],
        &["--insecure", "--group", "no-dot"],
        &["--insecure", "--label", "a"],
        &["--insecure", "--label", "a=b c"],
        &["--insecure", "--max-body", "8MB"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_boson-templates"))
            .arg("serve-templates")
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty());
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_boson-templates"))
        .arg("serve-templates")
        .args(["--insecure", "--listen", &address])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(70));
}
