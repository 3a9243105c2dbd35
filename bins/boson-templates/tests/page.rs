//! The examples of docs/dialects/kubernetes-templates.md. Those of a block `console kubectl` are run with the machine's kubectl, if there
//! is one; those of a block `console cluster` are run by the tests of pods, on a real cluster.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The address of the server in the page.
const ADDRESS: &str = "127.0.0.1:8080";

/// `serve-templates` as in the page, on a free port.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-templates"));
        command.args(["serve-templates", "--insecure", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on http://").unwrap().trim_end().to_owned();
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has_kubectl() -> bool {
    let output = Command::new("kubectl").args(["version", "--client"]).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn the_examples_of_the_page_are_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/kubernetes-templates.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let work = tempfile::tempdir().unwrap();
    let server = Server::start();
    let copy = work.path().join(".page.md");
    let mut runnable = text.replace(ADDRESS, &server.address);
    let is_complete = has_kubectl();
    if is_complete {
        runnable = runnable.replace("```console kubectl\n", "```console\n");
    } else {
        eprintln!("kubectl is not on the PATH: its examples are not run");
    }
    std::fs::write(&copy, &runnable).unwrap();
    let boson = testkit::executable("boson");
    let home = work.path().to_str().unwrap().to_owned();
    let directory = work.path().join("empty");
    std::fs::create_dir(&directory).unwrap();
    let executables =
        [("boson", boson.as_path()), ("boson-templates", Path::new(env!("CARGO_BIN_EXE_boson-templates")))];
    let ran = testkit::page::check_with(&copy, &executables, &[("HOME", &home)], &directory);
    assert!(ran >= 6, "{ran}");
    if std::env::var_os(testkit::UPDATE).is_some() {
        let mut updated = std::fs::read_to_string(&copy).unwrap().replace(&server.address, ADDRESS);
        if is_complete {
            let block = format!("```console\n$ kubectl --server http://{ADDRESS}");
            updated = updated.replace(&block, &block.replace("```console", "```console kubectl"));
        }
        std::fs::write(&page, updated).unwrap();
    }
}

#[test]
fn the_page_has_the_template_of_the_proposal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/dialects/kubernetes-templates.md")).unwrap();
    let (_, rest) = page.split_once("```json mongodb.json\n").unwrap();
    let (template, _) = rest.split_once("```").unwrap();
    let corpus = root.join("e2e/corpus/kubernetes-templates/render/example-of-the-proposal/template.json");
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(template), read(&std::fs::read_to_string(corpus).unwrap()));
}
