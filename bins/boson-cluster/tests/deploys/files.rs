//! `objects`: the objects of a deployment as files, without a cluster.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Cluster, Printed};

fn objects(cluster: &Cluster, output: &Path, more: &[&str]) -> Printed {
    // No cluster is asked.
    fs::write(cluster.path("kubeconfig"), "not: a kubeconfig").unwrap();
    let (planned, output) = (cluster.path("output"), output.to_str().unwrap().to_owned());
    let command = [&["objects", planned.to_str().unwrap(), "--output", &output], more].concat();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_boson-cluster")).args(command).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Printed { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// All files below a directory.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries =
        walkdir::WalkDir::new(directory).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file());
    let file = |entry: walkdir::DirEntry| {
        let name = entry.path().strip_prefix(directory).unwrap().display().to_string();
        (name, fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

const FLAGS: [&str; 4] = ["--image", "nats=r/nats:1", "--name-server", "10.96.0.53"];

#[test]
fn objects_are_files_for_kustomize_and_the_same_twice() {
    let cluster = Cluster::new();
    let output = cluster.path("objects");
    let printed = objects(&cluster, &output, &FLAGS);
    assert_eq!(printed.code, 0, "{}", printed.err);
    assert!(
        printed.out.starts_with("6 files for deployment nats; ")
            && printed.out.ends_with("secrets has its passwords\n")
    );
    let first = files(&output);
    let kustomization = String::from_utf8(first["kustomization.yaml"].clone()).unwrap();
    let expected = "# Written by `kubectl boson objects`, which writes it anew: put changes into an overlay.\n\
        apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
    assert!(kustomization.starts_with(expected), "{kustomization}");
    for part in [
        "- group-nats.yaml\n",
        "- properties.yaml=secrets/ig-resolved.nats-v1/properties.yaml\n",
        "  immutable: true\n",
    ] {
        assert!(kustomization.contains(part), "{part}: {kustomization}");
    }
    let group = String::from_utf8(first["group-nats.yaml"].clone()).unwrap();
    for part in ["type: RollingUpdate\n", "secretName: ig-resolved.nats-v1\n", "- 10.96.0.53\n"] {
        assert!(group.contains(part), "{part}: {group}");
    }
    assert!(!group.contains("ownerReferences") && !group.contains("only-for-this-demo"), "{group}");
    let shared = String::from_utf8(first["shared.yaml"].clone()).unwrap();
    assert!(
        shared.contains("clusterIP: 10.96.0.53\n") && shared.contains("quarks.cloudfoundry.org/kind: anchor\n"),
        "{shared}"
    );
    let secret = output.join("secrets/ig-resolved.nats-v1/properties.yaml");
    assert!(fs::read_to_string(&secret).unwrap().contains("only-for-this-demo"));
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);

    // What is left of an earlier run goes, what a person has added stays.
    fs::write(output.join("group-gone.yaml"), "").unwrap();
    fs::write(output.join("README.md"), "mine").unwrap();
    assert_eq!(objects(&cluster, &output, &FLAGS).code, 0);
    let mut second = files(&output);
    assert_eq!(second.remove("README.md").as_deref(), Some(&b"mine"[..]));
    assert_eq!(second, first);
}

#[test]
fn what_is_wrong_is_reported_and_nothing_is_written() {
    let cluster = Cluster::new();
    let output = cluster.path("objects");
    let without_address = objects(&cluster, &output, &FLAGS[..2]);
    assert_eq!(without_address.code, 2, "{}", without_address.err);
    assert!(
        without_address.err.contains("the deployment has DNS aliases") && without_address.err.contains("--name-server")
    );
    let without_image = objects(&cluster, &output, &FLAGS[2..]);
    assert!(without_image.code == 65 && without_image.err.contains("nats"), "{}", without_image.err);
    assert!(!output.exists());
    fs::create_dir(&output).unwrap();
    fs::write(output.join("mine.yaml"), "").unwrap();
    let taken = objects(&cluster, &output, &FLAGS);
    assert_eq!(taken.code, 65);
    assert!(taken.err.contains("has files that boson has not written"), "{}", taken.err);
    assert_eq!(files(&output).len(), 1);
    fs::remove_dir_all(cluster.path("output").join("nats")).unwrap();
    let missing = objects(&cluster, &cluster.path("new"), &FLAGS);
    assert!(missing.code == 65 && missing.err.contains("output.json does not exist"), "{}", missing.err);
}
