//! A deployment of cf-deployment's shape whose processes sleep: one command generates its variables and brings it up; it is updated,
//! repaired and deleted.

use std::fs;
use std::path::Path;
use std::process::Command;

use e2e::here;
use serde_json::Value;

use crate::aliases::resolve;
use crate::cluster::{from_run, output};
use crate::gathered::{Gathered, RESTRICTED};
use crate::generate::foundation::{self, Foundation, MISSING};

const GROUPS: usize = 17;
const IMAGE: &str = "boson-e2e/foundation:latest";

/// Makes an image of all jobs, which stands for those of all releases, and loads it onto the nodes.
fn load_image(foundation: &Foundation, directory: &Path) {
    let release = directory.join("release");
    fs::create_dir_all(release.join("jobs")).unwrap();
    for of in fs::read_dir(foundation.input.base.join("jobs-src")).unwrap() {
        for job in fs::read_dir(of.unwrap().path()).unwrap() {
            output(Command::new("cp").arg("-r").arg(job.unwrap().path()).arg(release.join("jobs"))).unwrap();
        }
    }
    let images = from_run("E2E_IMAGES");
    let archive = directory.join("foundation.tar");
    let mut build = Command::new(here().join("../images/release/build"));
    build.arg("--release").arg(release).arg("--base").arg(images.join("e2e/stemcell.tar"));
    build.arg("--boson").arg(images.join("images/boson.tar")).args(["--tag", IMAGE]).arg("--output").arg(&archive);
    build.env("IMAGE_STORE", directory.join("store")).env("TMPDIR", directory);
    output(&mut build).unwrap();
    let load = from_run("E2E_LOAD");
    let mut loader = Command::new("sh");
    loader.args(["-c", &format!("{} \"$1\"", load.display()), "load"]).arg(archive);
    output(loader.current_dir(here().join(".."))).unwrap();
}

/// `kubectl boson apply`, with everything that its operators give.
fn apply(sleepers: &Gathered, foundation: &Foundation, more: &[&str]) -> Result<String, String> {
    let flags = foundation.flags();
    let mut images = sleepers.images();
    let releases = (0..foundation.input.releases).map(|number| format!("release-{number}"));
    for release in releases.chain(["bosh-dns-aliases".to_owned()]) {
        images.extend(["--image".to_owned(), format!("{release}={IMAGE}")]);
    }
    let manifest = foundation.input.manifest.to_str().unwrap();
    let texts = flags.iter().chain(&images).map(String::as_str);
    let arguments: Vec<&str> =
        ["apply", manifest].into_iter().chain(texts).chain(RESTRICTED).chain(more.iter().copied()).collect();
    sleepers.kubectl_boson(&arguments)
}

fn group(number: usize) -> String {
    format!("group-0-{number}")
}

/// The name and the uid of each pod, for each group.
fn identities(sleepers: &Gathered) -> Vec<Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let identity = |pod: &Value| (text(&pod["metadata"]["name"]), text(&pod["metadata"]["uid"]));
    (0..GROUPS).map(|number| sleepers.pods(&group(number)).iter().map(identity).collect()).collect()
}

/// The groups whose pods are not the same.
fn changed(before: &[Vec<(String, String)>], after: &[Vec<(String, String)>]) -> Vec<usize> {
    (0..GROUPS).filter(|number| before[*number] != after[*number]).collect()
}

/// Where processes of the first pod of a group run: the pod, a container, its job.
fn place(sleepers: &Gathered, number: usize) -> [String; 3] {
    let pod = &sleepers.pods(&group(number))[0];
    let container = pod["spec"]["containers"][0]["name"].as_str().unwrap();
    // The process has the name of the job.
    let job = &container[..(container.len() - 1) / 2];
    [pod["metadata"]["name"].as_str().unwrap(), container, job].map(str::to_owned)
}

#[test]
fn a_deployment_of_cf_deployments_shape_comes_up_and_is_updated_repaired_and_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let foundation = foundation::write_sleepers(directory.path()).unwrap();
    load_image(&foundation, directory.path());
    let manifest = fs::read_to_string(&foundation.input.manifest).unwrap();
    let sleepers = Gathered::of_release("foundation", "generated", "foundation", &manifest);

    comes_up(&sleepers, &foundation, &manifest);
    let updated = is_updated(&sleepers, &foundation, directory.path());
    is_repaired(&sleepers, &foundation, &updated);

    let shown = sleepers.kubectl_boson(&["delete"]).unwrap_err();
    assert!(shown.contains("StatefulSet generated-group-0-16-z1\n"), "{shown}");
    sleepers.delete();
}

/// One command generates what the manifest defines, and waits until all instances are ready.
fn comes_up(sleepers: &Gathered, foundation: &Foundation, manifest: &str) {
    fs::remove_file(&foundation.vars_store).unwrap();
    let printed = apply(sleepers, foundation, &[]).unwrap();
    for number in 0..GROUPS {
        assert!(printed.contains(&format!("instance group {} is ready\n", group(number))), "{number}: {printed}");
    }
    assert!(printed.contains(&format!("{MISSING} DNS aliases are ignored")), "{printed}");
    let store = fs::read_to_string(&foundation.vars_store).unwrap();
    let defined = manifest.lines().filter(|line| line.starts_with("- name: variable_")).count();
    let generated = store.lines().filter(|line| line.starts_with("variable_")).count();
    assert!(defined > 20 && generated == defined, "{generated} of {defined}");

    let pods = identities(sleepers);
    // The ops file has made three of the tenth group.
    let instances = [1, 1, 1, 2, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1];
    assert_eq!(pods.iter().map(Vec::len).collect::<Vec<_>>(), instances);
    sleepers.kubectl_boson(&["status"]).unwrap();

    // The alias of a link's address, and one of all instances of a group, as processes see them.
    let [pod, container, _] = place(sleepers, 5);
    let resolve = |name: &str| resolve(&sleepers.namespace, &pod, &container, name);
    let ips: Vec<String> = (0..GROUPS)
        .flat_map(|number| sleepers.pods(&group(number)))
        .map(|pod| pod["status"]["podIP"].as_str().unwrap().to_owned())
        .collect();
    sleepers.namespace.wait_until("the link's address is answered", || {
        let found = resolve("link.service.cf.internal");
        !found.is_empty() && found.iter().all(|ip| ips.contains(ip))
    });
    assert_eq!(resolve("group-9.service.cf.internal").len(), 3);
    assert_eq!(resolve("missing-0.service.cf.internal"), [""; 0]);
}

/// A property of one group restarts only its instances. Gives the ops file.
fn is_updated(sleepers: &Gathered, foundation: &Foundation, directory: &Path) -> String {
    let before = identities(sleepers);
    let change = directory.join("change.yml");
    let path = format!("/instance_groups/name={}/jobs/0/properties/sleep?/seconds", group(5));
    fs::write(&change, format!("- {{type: replace, path: {path}, value: 2000000}}\n")).unwrap();
    let change = change.display().to_string();
    apply(sleepers, foundation, &["--ops-file", &change]).unwrap();
    let after = identities(sleepers);
    assert_eq!(changed(&before, &after), [5], "{before:?} {after:?}");
    let [pod, container, job] = place(sleepers, 5);
    let file = format!("/var/vcap/jobs/{job}/config/bpm.yml");
    let text = sleepers.namespace.kubectl(&["exec", &pod, "--container", &container, "--", "/bin/cat", &file]);
    assert!(text.contains("2000000"), "{text}");
    change
}

/// The same manifest restores what was deleted and edited by hand, and restarts nothing else.
fn is_repaired(sleepers: &Gathered, foundation: &Foundation, change: &str) {
    let kubectl = |arguments: &[&str]| sleepers.namespace.kubectl(arguments);
    let before = identities(sleepers);
    kubectl(&["delete", "statefulset", "generated-group-0-3-z1"]);
    kubectl(&["scale", "statefulset", "generated-group-0-8-z1", "--replicas", "0"]);
    kubectl(&["delete", "service", "generated-group-0-7", "generated-group-0-9-2"]);
    kubectl(&["patch", "service", "generated-group-0-2", "--patch", r#"{"spec": {"selector": {"app": "other"}}}"#]);
    let status = sleepers.kubectl_boson(&["status"]).unwrap_err();
    for line in [
        "StatefulSet generated-group-0-3-z1 is missing\n",
        "Service generated-group-0-7 is missing\n",
        "Service generated-group-0-9-2 is missing\n",
        "StatefulSet generated-group-0-8-z1 differs from the documents of the present run\n",
        "Service generated-group-0-2 differs from the documents of the present run\n",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    // A document that pods mount when they start.
    kubectl(&["delete", "secret", "ig-resolved.group-0-4-v1"]);

    apply(sleepers, foundation, &["--ops-file", change]).unwrap();
    let after = identities(sleepers);
    assert_eq!(changed(&before, &after), [3, 8], "{before:?} {after:?}");
    assert!(before.iter().zip(&after).all(|(before, after)| before.len() == after.len()), "{after:?}");
    sleepers.kubectl_boson(&["status"]).unwrap();
    kubectl(&["get", "secret", "ig-resolved.group-0-4-v1"]);
}
