//! Updates of running instances, as a director makes them: one after the other, and no further than a canary that fails.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use e2e::here;
use serde_json::Value;
use testkit::files::write_program;

use crate::cluster::{from_run, output};
use crate::gathered::{Gathered, RESTRICTED};

/// The uids of the pods of NATS, by the indexes of their instances.
fn uids(nats: &Gathered) -> Vec<String> {
    nats.pods("nats").iter().map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
}

/// How many pods of NATS are away, or not ready.
fn away(nats: &Gathered) -> usize {
    let is_ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array();
        pod["metadata"]["deletionTimestamp"].is_null()
            && conditions.is_some_and(|all| all.iter().any(|of| of["type"] == "Ready" && of["status"] == "True"))
    };
    4 - nats.pods("nats").iter().filter(is_ready).count()
}

/// Which positions differ.
fn changed(before: &[String], after: &[String]) -> Vec<usize> {
    (0..before.len()).filter(|position| before[*position] != after[*position]).collect()
}

/// The commands of the guide, with these images in the place of the registry.
struct Shell {
    flags: String,
    directory: tempfile::TempDir,
}

impl Shell {
    fn new(nats: &Gathered) -> Shell {
        let directory = tempfile::tempdir().unwrap();
        fs::copy(nats.manifest(), directory.path().join("nats.yml")).unwrap();
        fs::create_dir(directory.path().join("bin")).unwrap();
        let (boson, kubectl) = (directory.path().join("bin/kubectl-boson"), from_run("E2E_KUBECTL"));
        std::os::unix::fs::symlink(from_run("E2E_BOSON_CLUSTER"), &boson).unwrap();
        let namespace = &nats.namespace.name;
        let script = format!(
            "#!/bin/sh\ncase $1 in\nboson) shift; exec '{}' \"$@\" --namespace {namespace} ;;\n\
             *) exec '{}' --namespace {namespace} \"$@\" ;;\nesac\n",
            boson.display(),
            kubectl.display()
        );
        write_program(&directory.path().join("bin/kubectl"), script, 0o755);
        let flags = nats.images().into_iter().chain(RESTRICTED.map(str::to_owned)).collect::<Vec<_>>().join(" ");
        Shell { flags, directory }
    }

    /// Whether the command succeeds, and what it prints.
    fn run(&self, command: &str) -> (bool, String) {
        let command = command.replace("--registry registry.example/releases", &self.flags);
        let path = format!("{}:{}", self.directory.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(self.directory.path()).env("PATH", path);
        let result = output(&mut shell);
        (result.is_ok(), result.unwrap_or_else(|printed| printed))
    }
}

#[test]
fn commands_that_are_typed_for_bosh_do_the_same() {
    let nats = Gathered::new("bosh-commands", "nats");
    nats.edit("5000-60000", "1000-60000");
    let shell = Shell::new(&nats);
    let variables = format!("PLACE=cluster BOSH='kubectl boson' DEPLOY_FLAGS='{}'", shell.flags);
    let (succeeds, printed) = shell.run(&format!("{variables} {}", here().join("bosh-commands").display()));
    assert!(succeeds, "{printed}");
}

/// Looks, updates, meets a canary that fails, corrects it, goes back, repairs, removes.
#[test]
fn every_command_of_the_guide_for_operators_does_what_the_page_says() {
    let nats = Gathered::new("guide", "nats");
    nats.edit("5000-60000", "1000-20000");
    let shell = Shell::new(&nats);
    let page = fs::read_to_string(here().join("../docs/guides/operate.md")).unwrap();
    let mut before = Vec::new();
    for example in testkit::page::texts(&page, "console").iter().flat_map(|block| testkit::page::examples(block)) {
        let is_update = example.command.starts_with("kubectl boson apply") && !before.is_empty();
        let most = example.command.contains("--max-in-flight 2").then_some(2).filter(|_| is_update);
        let (succeeds, printed) = std::thread::scope(|scope| {
            let run = scope.spawn(|| shell.run(&example.command));
            let mut seen = 0;
            while most.is_some() && !run.is_finished() {
                seen = seen.max(away(&nats));
            }
            assert!(most.is_none_or(|most| seen <= most), "{seen} were away");
            run.join().unwrap()
        });
        let fails = example.output.contains("error:") || example.output.contains("runs an earlier version");
        assert_eq!(succeeds, !fails, "{}: {printed}", example.command);
        let mut rest = printed.as_str();
        for line in example.output.lines().filter(|line| *line != "...") {
            let found = rest.find(line);
            assert!(found.is_some(), "{}: {line:?} is not in {rest}", example.command);
            rest = &rest[found.unwrap_or_default() + line.len()..];
        }
        if example.command.starts_with("kubectl boson delete") {
            break;
        }
        let now = uids(&nats);
        if example.output.contains("keeps the earlier version") {
            assert_eq!(changed(&before, &now), [0]);
        }
        if example.command.contains("recreate") {
            assert_eq!(changed(&before, &now), [2]);
        }
        before = now;
    }
}

#[test]
fn instances_are_made_anew_as_far_as_disruption_budgets_allow_it() {
    let nats = Gathered::new("recreate", "nats");
    nats.edit("5000-60000", "1000-15000");
    // Kubernetes replaces the pods of a run that does not wait; a run that waits replaces them itself from then on.
    let strategy = || nats.namespace.get("statefulset/nats-nats-z1")["spec"]["updateStrategy"].clone();
    nats.kubectl_boson_apply(&["--ready-timeout", "0"]).unwrap();
    assert_eq!(strategy()["type"], "RollingUpdate");
    nats.kubectl_boson_apply(&[]).unwrap();
    assert_eq!(strategy(), serde_json::json!({"type": "OnDelete"}));
    let first = uids(&nats);
    nats.namespace.kubectl(&[
        "create",
        "poddisruptionbudget",
        "mine",
        "--selector",
        "quarks.cloudfoundry.org/instance-group-name=nats",
        "--min-available",
        "4",
    ]);
    let kept = nats.kubectl_boson(&["recreate", "nats/2"]).unwrap_err();
    assert!(kept.starts_with("exit status: 69\n"), "{kept}");
    assert!(kept.contains("nats/2 (pod nats-nats-z2-0) cannot be replaced now: "), "{kept}");
    assert!(kept.contains("PodDisruptionBudget"), "{kept}");
    assert_eq!(uids(&nats), first);
    nats.namespace.kubectl(&["delete", "poddisruptionbudget", "mine"]);
    // The instance that is left is known: any run goes on.
    nats.kubectl_boson_apply(&[]).unwrap();
    assert_eq!(changed(&first, &uids(&nats)), [2]);
    let before = uids(&nats);
    nats.kubectl_boson(&["recreate", "nats/0", "nats/3", "--max-in-flight", "2"]).unwrap();
    assert_eq!(changed(&before, &uids(&nats)), [0, 3]);
    assert_eq!(uids(&nats).iter().collect::<BTreeSet<_>>().len(), 4);
    nats.delete();
}
