//! The Open Service Broker API over the state directory of `run`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::waiting::wait_for;

use crate::harness::{Place, binding, executable, wait_for_file};

const SERVICE: &str = "00000000-0000-0000-0000-000000000000";
const SMALL: &str = "00000000-0000-0000-0000-000000000001";
const LARGE: &str = "00000000-0000-0000-0000-000000000002";

const ACTIONS: &str = r#"provision:
  user_inputs:
  - {field_name: a, type: string, details: d, constraints: {maxLength: 200}}
  - {field_name: wait, type: string, details: d, default: ''}
  - {field_name: size, type: integer, details: d}
  template: |-
    variable a { type = string }
    variable wait { type = string }
    variable size { type = number }
    resource terraform_data x {
      input = "${var.a} ${var.size}"
      triggers_replace = [var.wait]
      provisioner local-exec { command = var.wait == "" ? "true" : "touch ${var.wait}; while [ -e ${var.wait}.wait ]; do sleep 0.05; done" }
      lifecycle {
        precondition {
          condition = var.a != "fail-please"
          error_message = "cannot use ${var.a}"
        }
      }
    }
    output o { value = terraform_data.x.output }
    output status { value = "made" }
  outputs: [{field_name: o, type: string, details: d}]
bind:
  computed_inputs: [{name: who, default: '${json.marshal(request.x_broker_api_originating_identity)} ${request.app_guid}', overwrite: true}]
  template: |-
    resource terraform_data y { input = var.who }
    output c { value = terraform_data.y.output }
  outputs: [{field_name: c, type: string, details: d}]
"#;

struct Broker {
    child: Child,
    address: String,
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Broker {
    fn start(place: &Place) -> Broker {
        let mut command = place.command();
        command.args(["serve", "pak", "--listen", "127.0.0.1:0", "--terraform"]).arg(executable("tofu"));
        command.env("SECURITY_USER_NAME", "broker").env("SECURITY_USER_PASSWORD", "pass:word");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        Broker { child, address }
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: b\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let headers = format!(
            "Authorization: Basic {}\r\nX-Broker-API-Version: 2.17\r\nX-Broker-API-Originating-Identity: cf {}\r\n",
            STANDARD.encode("broker:pass:word"),
            STANDARD.encode("{\"user_id\": \"u\"}")
        );
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, &headers, &body)
    }

    /// Polls until an operation has ended.
    fn end(&self, path: &str, operation: &str) -> (u16, Value) {
        wait_for("the end of the operation", || {
            let (status, body) =
                self.call("GET", &format!("{path}/last_operation?operation={operation}"), &Value::Null);
            (body["state"] != "in progress").then_some((status, body))
        })
    }
}

fn provision(parameters: &Value) -> Value {
    json!({
        "service_id": SERVICE, "plan_id": SMALL, "organization_guid": "o", "space_guid": "s",
        "context": { "platform": "cloudfoundry", "instance_name": "n" }, "parameters": parameters,
    })
}

const INSTANCE: &str = "/v2/service_instances/i";
const BINDING: &str = "/v2/service_instances/i/service_bindings/b";

fn accepted(operation: &str) -> (u16, Value) {
    (202, json!({ "operation": operation }))
}

#[test]
fn a_life_through_the_api() {
    let place = Place::new("tofu", ACTIONS);
    let broker = Broker::start(&place);
    let (status, catalog) = broker.call("GET", "/v2/catalog", &Value::Null);
    assert_eq!((status, &catalog["services"][0]["id"]), (200, &json!(SERVICE)));
    let request = provision(&json!({ "a": "one" }));
    let incomplete = format!("{INSTANCE}?accepts_incomplete=true");
    let (status, body) = broker.call("PUT", INSTANCE, &request);
    assert_eq!((status, &body["error"]), (422, &json!("AsyncRequired")));
    assert_eq!(broker.call("PUT", &incomplete, &request), accepted("provision"));
    let (status, end) = broker.end(INSTANCE, "provision");
    assert_eq!((status, end), (200, json!({ "state": "succeeded", "description": "made" })));
    assert_eq!(broker.call("PUT", &incomplete, &request).0, 200, "the same again");
    assert_eq!(broker.call("PUT", &incomplete, &provision(&json!({ "a": "other" }))).0, 409);
    let (status, fetched) = broker.call("GET", INSTANCE, &Value::Null);
    assert_eq!(
        (status, fetched),
        (200, json!({ "service_id": SERVICE, "plan_id": SMALL, "parameters": { "a": "one" } }))
    );

    let bind =
        json!({ "service_id": SERVICE, "plan_id": SMALL, "bind_resource": { "app_guid": "app" }, "context": {} });
    let credentials =
        json!({ "credentials": { "o": "one 1", "c": "{\"platform\":\"cf\",\"value\":{\"user_id\":\"u\"}} app" } });
    assert_eq!(broker.call("PUT", BINDING, &bind), (201, credentials.clone()), "bind may be waited for");
    assert_eq!(broker.call("PUT", BINDING, &bind), (200, credentials.clone()));
    let (status, fetched) = broker.call("GET", BINDING, &Value::Null);
    assert_eq!((status, &fetched["credentials"]), (200, &credentials["credentials"]));
    // `run` sees the same.
    assert_eq!(
        place.ok("bind", &json!({ "instance_id": "i", "binding_id": "b", "app_guid": "app" }))["credentials"],
        credentials["credentials"]
    );

    let update = json!({
        "service_id": SERVICE, "plan_id": LARGE, "parameters": { "a": "two" },
        "previous_values": { "plan_id": SMALL, "organization_id": "o" },
    });
    assert_eq!(broker.call("PATCH", &incomplete, &update), accepted("update"));
    assert_eq!(broker.end(INSTANCE, "update").1["state"], "succeeded");
    assert_eq!(broker.call("GET", INSTANCE, &Value::Null).1["plan_id"], LARGE);

    let query = format!("service_id={SERVICE}&plan_id={LARGE}");
    let deprovision = format!("{INSTANCE}?accepts_incomplete=true&{query}");
    let (status, body) = broker.call("DELETE", &deprovision, &Value::Null);
    assert_eq!(status, 400, "{body}");
    assert!(body["description"].as_str().unwrap().contains("has bindings: b"), "{body}");
    assert_eq!(
        broker.call("DELETE", &format!("{BINDING}?accepts_incomplete=true&{query}"), &Value::Null),
        accepted("unbind")
    );
    assert_eq!(broker.end(BINDING, "unbind").0, 410);
    assert_eq!(broker.call("DELETE", &format!("{BINDING}?{query}"), &Value::Null).0, 410);
    assert_eq!(broker.call("DELETE", &deprovision, &Value::Null), accepted("deprovision"));
    assert_eq!(broker.end(INSTANCE, "deprovision").0, 410);
    assert_eq!(broker.call("DELETE", &deprovision, &Value::Null).0, 410);
    assert_eq!(broker.call("GET", INSTANCE, &Value::Null).0, 404);
    place.assert_empty();
}

#[test]
fn requests_that_are_wrong() {
    let place = Place::new("tofu", ACTIONS);
    let broker = Broker::start(&place);
    let authorized = format!("Authorization: Basic {}\r\n", STANDARD.encode("broker:pass:word"));
    let version = "X-Broker-API-Version: 2.17\r\n";
    let wrong = format!("Authorization: Basic {}\r\n{version}", STANDARD.encode("broker:wrong"));
    for (headers, status) in [
        (version.to_owned(), 401),
        (wrong, 401),
        (authorized.clone(), 412),
        (format!("{authorized}X-Broker-API-Version: 1.0\r\n"), 412),
        (format!("{authorized}{version}"), 200),
    ] {
        assert_eq!(broker.send("GET", "/v2/catalog", &headers, "").0, status, "{headers}");
    }
    let incomplete = format!("{INSTANCE}?accepts_incomplete=true");
    let unknown = json!({ "service_id": SERVICE, "plan_id": "none" });
    for (method, path, body, status) in [
        ("GET", "/v2/other", Value::Null, 404),
        ("POST", INSTANCE, Value::Null, 405),
        ("PUT", &incomplete, json!([]), 400),
        ("PUT", &incomplete, json!({}), 400),
        ("PUT", &incomplete, json!({ "service_id": "none", "plan_id": SMALL }), 400),
        ("PUT", &incomplete, unknown, 400),
        ("PUT", &incomplete, provision(&json!({ "unknown": 1 })), 400),
        ("PUT", &incomplete, provision(&json!({ "a": "x".repeat(201) })), 400),
        ("PATCH", &incomplete, provision(&json!({})), 404),
        ("PUT", BINDING, provision(&json!({})), 404),
        ("GET", BINDING, Value::Null, 404),
        ("GET", "/v2/service_instances/i/last_operation", Value::Null, 404),
        ("DELETE", &incomplete, Value::Null, 400),
    ] {
        let (found, answer) = broker.call(method, path, &body);
        assert_eq!(found, status, "{method} {path}: {answer}");
        assert!(answer["description"].is_string(), "{answer}");
    }
    place.assert_empty();
    let (_, answer) = broker.call("PUT", &incomplete, &provision(&json!({ "a": "fail-please" })));
    assert_eq!(answer["operation"], "provision");
    let (_, end) = broker.end(INSTANCE, "provision");
    let description = end["description"].as_str().unwrap();
    assert_eq!(end["state"], "failed");
    assert!(description.contains("cannot use ***") && !description.contains("fail-please"), "{description}");
}

#[test]
fn what_the_end_of_the_server_interrupts_has_failed_and_can_be_repeated() {
    let place = Place::new("tofu", ACTIONS);
    let mut broker = Broker::start(&place);
    let running = place.path("running");
    fs::write(place.path("running.wait"), "").unwrap();
    let request = provision(&json!({ "a": "one", "wait": running.display().to_string() }));
    let incomplete = format!("{INSTANCE}?accepts_incomplete=true");
    assert_eq!(broker.call("PUT", &incomplete, &request), accepted("provision"));
    wait_for_file(&running);
    assert_eq!(broker.call("PUT", &incomplete, &request), accepted("provision"), "the same again");
    let (status, body) = broker.call("PUT", &incomplete, &provision(&json!({ "a": "two" })));
    assert_eq!((status, &body["error"]), (422, &json!("ConcurrencyError")));
    assert_eq!(broker.call("GET", &format!("{INSTANCE}/last_operation"), &Value::Null).1["state"], "in progress");
    let _ = broker.child.kill();
    broker.child.wait().unwrap();
    // terraform goes on, and so does the operation.
    let broker = Broker::start(&place);
    assert_eq!(broker.call("GET", &format!("{INSTANCE}/last_operation"), &Value::Null).1["state"], "in progress");
    fs::remove_file(place.path("running.wait")).unwrap();
    let (_, end) = broker.end(INSTANCE, "provision");
    assert_eq!(end, json!({ "state": "failed", "description": "provision was interrupted and can be repeated" }));
    assert_eq!(broker.call("PUT", &incomplete, &request), accepted("provision"));
    assert_eq!(broker.end(INSTANCE, "provision").1["state"], "succeeded");
    // The end by a signal waits for terraform, and the operation has failed.
    fs::write(place.path("running2.wait"), "").unwrap();
    let update =
        json!({ "service_id": SERVICE, "parameters": { "wait": place.path("running2").display().to_string() } });
    assert_eq!(broker.call("PATCH", &incomplete, &update), accepted("update"));
    wait_for_file(&place.path("running2"));
    let mut broker = broker;
    kill(Pid::from_raw(broker.child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(broker.child.wait().unwrap().code(), Some(0));
    let broker = Broker::start(&place);
    let (_, end) = broker.end(INSTANCE, "update");
    assert_eq!(end["state"], "failed");
    assert!(end["description"].as_str().unwrap().contains("it was interrupted"), "{end}");
    drop(broker);
    fs::remove_file(place.path("running2.wait")).unwrap();
    place.ok("update", &json!({ "instance_id": "i" }));
    place.ok("unbind", &binding());
    place.ok("deprovision", &binding());
}
