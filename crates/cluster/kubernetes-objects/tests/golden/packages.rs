//! Packages on a volume of the pod.

use handoff::deployment::ForeignPackage;
use kubernetes_objects::ScriptsAs;

use crate::{all, documents, settings, workloads};

/// A package of another release is copied out of its image, and mounted where the image would have it.
#[test]
fn packages_of_other_releases_are_mounted_at_their_paths() {
    let (mut deployment, infos) = documents();
    let package = ForeignPackage { name: "jq".to_owned(), release: "tools".to_owned() };
    deployment.instance_groups[0].jobs[0].foreign_packages = vec![package];
    let mut settings = settings(ScriptsAs::Vcap);
    settings.release_images.insert("tools".to_owned(), "registry.example/tools:1".to_owned());
    let objects = all(&workloads(&deployment, &infos, 1, &settings));
    let set = objects.iter().find(|object| object["kind"] == "StatefulSet").unwrap();
    let spec = &set["spec"]["template"]["spec"];
    let init = spec["initContainers"].as_array().unwrap();
    let copy = init.iter().find(|container| container["name"] == "copy-packages-tools").unwrap();
    assert_eq!(copy["image"], "registry.example/tools:1");
    let program = "/var/vcap/all-releases/.boson/bin/copy-packages";
    assert_eq!(copy["command"], serde_json::json!([program, "--package", "jq"]));
    let mount = serde_json::json!({
        "mountPath": "/var/vcap/packages/jq", "name": "foreign-packages", "readOnly": true, "subPath": "jq",
    });
    assert!(spec["containers"][0]["volumeMounts"].as_array().unwrap().contains(&mount), "{}", spec["containers"][0]);
    let volumes = spec["volumes"].as_array().unwrap();
    assert!(volumes.contains(&serde_json::json!({"emptyDir": {}, "name": "foreign-packages"})), "{volumes:?}");
    let is_before = |a: &str, b: &str| {
        let at = |name: &str| init.iter().position(|container| container["name"] == name).unwrap();
        at(a) < at(b)
    };
    assert!(is_before("install", "copy-packages-tools") && is_before("copy-packages-tools", "pre-start-nats"));
}

/// A shared package is copied out of its image once, and all containers of the pod write to that copy.
#[test]
fn shared_packages_are_writable_in_all_containers() {
    let (mut deployment, infos) = documents();
    let release = deployment.instance_groups[0].jobs[0].release.clone();
    deployment.instance_groups[0].jobs[0].quarks.run = serde_json::json!({"shared_packages": ["rootfs"]});
    let objects = all(&workloads(&deployment, &infos, 1, &settings(ScriptsAs::Root)));
    let set = objects.iter().find(|of| of["kind"] == "StatefulSet").unwrap();
    let spec = &set["spec"]["template"]["spec"];
    let containers = |kind: &str| spec[kind].as_array().unwrap().clone();
    let copy = containers("initContainers").into_iter().find(|of| of["name"] == format!("copy-packages-{release}"));
    assert_eq!(copy.unwrap()["command"].as_array().unwrap()[1..], ["--package", "rootfs"]);
    let mount = serde_json::json!({
        "mountPath": "/var/vcap/packages/rootfs", "name": "foreign-packages", "subPath": "rootfs",
    });
    let has = |of: &serde_json::Value| of["volumeMounts"].as_array().is_some_and(|mounts| mounts.contains(&mount));
    let pre_start = containers("initContainers").into_iter().find(|of| of["name"] == format!("pre-start-{release}"));
    assert!(has(&pre_start.unwrap()));
    assert!(containers("containers").iter().filter(|of| of["name"] != "tail-logs").all(has), "{spec}");
}
