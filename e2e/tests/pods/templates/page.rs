//! The examples of docs/dialects/kubernetes-templates.md that need a cluster, and its excerpts. The commands of its section
//! "Installation" are run by the tests of the API, because a cluster has one at a time.

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::here;
use serde_json::{Value, json};
use testkit::page::{Example, examples, texts};

use super::Templates;
use super::job::{FILES, SHOW};
use crate::cluster::{from_run, kubectl, output};

fn text() -> String {
    std::fs::read_to_string(here().join("../docs/dialects/kubernetes-templates.md")).unwrap()
}

/// The commands of the block `console cluster` whose first command begins like this.
pub(crate) fn cluster_block(start: &str) -> Vec<Example> {
    let blocks = texts(&text(), "console cluster").into_iter().map(|block| examples(&block));
    let mut blocks = blocks.filter(|block| block.first().is_some_and(|first| first.command.starts_with(start)));
    let block = blocks.next().unwrap_or_else(|| panic!("the page has no block with the command '{start}'"));
    assert!(blocks.next().is_none(), "several blocks of the page begin with '{start}'");
    block
}

/// The single text of the page with this first line.
fn single(info: &str) -> String {
    let texts = texts(&text(), info);
    assert_eq!(texts.len(), 1, "blocks `{info}` of the page");
    texts.into_iter().next().unwrap()
}

/// Where commands of the page are run: `kubectl` is that of the tests, and has the plugins of an installation.
pub(crate) struct Shell {
    bin: tempfile::TempDir,
    directory: PathBuf,
    kubeconfig: Option<PathBuf>,
}

impl Shell {
    /// In this directory.
    pub(crate) fn new(directory: &Path) -> Shell {
        let bin = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(from_run("E2E_BOSON_TEMPLATES"), bin.path().join("boson-templates")).unwrap();
        output(Command::new(here().join("../images/links")).arg(bin.path())).unwrap();
        let path = from_run("E2E_KUBECTL");
        // A name alone is found on the PATH.
        if path.components().count() > 1 {
            std::os::unix::fs::symlink(path.canonicalize().unwrap(), bin.path().join("kubectl")).unwrap();
        }
        Shell { bin, directory: directory.to_owned(), kubeconfig: None }
    }

    /// In a namespace that no command names.
    fn in_namespace(mut self, namespace: &str) -> Shell {
        let config = kubectl(&["config", "view", "--raw", "--flatten", "--minify", "--output", "json"]);
        let mut config: Value = serde_json::from_str(&config).unwrap();
        config["contexts"][0]["context"]["namespace"] = json!(namespace);
        let path = self.bin.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).unwrap();
        self.kubeconfig = Some(path);
        self
    }

    /// Runs a command, which succeeds; its output is that of the page if the page shows one.
    #[track_caller]
    pub(crate) fn run(&self, example: &Example) {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec 2>&1\n{}", example.command)]).current_dir(&self.directory);
        command.env("PATH", format!("{}:{path}", self.bin.path().display()));
        command.envs(self.kubeconfig.as_ref().map(|path| ("KUBECONFIG", path)));
        let printed = output(&mut command).unwrap_or_else(|e| panic!("{}: {e}", example.command));
        if !example.output.is_empty() {
            assert_eq!(printed, example.output, "{}", example.command);
        }
    }
}

#[test]
fn the_page_applies_and_deletes_an_instance() {
    let templates = Templates::new("page");
    templates.write("web.yaml", &single("yaml web.yaml"));
    let shell = Shell::new(templates.directory.path()).in_namespace(&templates.namespace.name);
    let commands = cluster_block("kubectl boson apply-template");
    assert!(commands.iter().all(|example| !example.output.is_empty()), "the page shows every output");
    shell.run(&commands[0]);
    templates.namespace.get("deployment/shop");
    commands[1..].iter().for_each(|example| shell.run(example));
    assert!(templates.namespace.try_kubectl(&["get", "deployment/shop"]).is_err());
}

#[test]
fn no_block_of_the_page_is_left_out() {
    let blocks = texts(&text(), "console cluster");
    assert_eq!(blocks.len(), 2, "one of this file, and the installation: {blocks:#?}");
    cluster_block("kubectl boson apply-template");
    cluster_block("kubectl apply -f manifests/templates-api.yaml");
}

#[test]
fn the_init_container_of_the_page_writes_files() {
    let templates = Templates::new("excerpt");
    let namespace = &templates.namespace;
    // The page's template makes no files.
    let web = templates.write("web.yaml", FILES);
    let show = templates.write("show.yaml", SHOW);
    let files = [&web, &show].map(|path| format!("--from-file={}", path.display()));
    namespace.kubectl(&["create", "configmap", "template", &files[0], &files[1]]);
    namespace.kubectl(&["create", "secret", "generic", "parameters", "--from-literal=VALUE=1"]);
    let excerpt: Value = serde_yaml::from_str(&single("yaml")).unwrap();
    let mut init = excerpt["initContainers"].clone();
    for container in init.as_array_mut().unwrap() {
        // The nodes have the image.
        container["imagePullPolicy"] = json!("IfNotPresent");
    }
    let command =
        ["process-template", "--template", "/template/show.yaml", "--values", "/work/config", "--format", "json"];
    let main = json!({
        "name": "main", "image": init[0]["image"], "imagePullPolicy": "IfNotPresent", "command": command,
        "volumeMounts": init[0]["volumeMounts"],
    });
    let pod = json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web"},
        "spec": {
            "restartPolicy": "Never", "automountServiceAccountToken": false, "initContainers": init, "containers": [main],
            "volumes": [
                {"name": "template", "configMap": {"name": "template"}}, {"name": "parameters", "secret": {"secretName": "parameters"}},
                {"name": "work", "emptyDir": {}},
            ],
        },
    });
    namespace.apply(&pod.to_string());
    let phase = || namespace.try_pod("web").map(|pod| pod["status"]["phase"].clone());
    namespace
        .wait_until("the pod has ended", || phase().is_some_and(|phase| phase == "Succeeded" || phase == "Failed"));
    let log = namespace.kubectl(&["logs", "web", "--container", "main"]);
    let list: Value = serde_json::from_str(&log).unwrap_or_else(|e| panic!("{e}: {log}"));
    assert_eq!(list["items"][0]["data"], json!({"conf": "value=1", "other": "same", "seen": ""}));
}
