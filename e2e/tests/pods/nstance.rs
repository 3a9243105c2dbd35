//! Nstance's templates in a pod: an init container renders, a sidecar follows changes.

use e2e::here;

use crate::cluster::Namespace;

fn result(namespace: &Namespace, path: &str) -> String {
    let path = format!("/run/nstance/{path}");
    let exec = ["exec", "instance", "--container", "app", "--", "cat", &path];
    namespace.try_kubectl(&exec).unwrap_or_default()
}

#[test]
fn a_sidecar_sees_changed_files_and_new_images() {
    let namespace = Namespace::new("nstance");
    namespace.apply(&std::fs::read_to_string(here().join("pods/nstance.yaml")).unwrap());
    namespace.wait_until_ready("instance");
    // The init container: the sidecar would have found these as well.
    assert!(result(&namespace, "args.json").contains("ami-1"));
    assert_eq!(result(&namespace, "files/instance.env"), "ID=instance\nGREETING=hello\n");

    namespace.kubectl(&["patch", "configmap", "ec2", "--patch", r#"{"data": {"image": "ami-2"}}"#]);
    namespace.wait_until("the new image arrives", || result(&namespace, "args.json").contains("ami-2"));

    let config = namespace.get("configmap/nstance")["data"]["config.json"].as_str().unwrap().to_owned();
    let patch = serde_json::json!({"data": {"config.json": config.replace("hello", "good evening")}}).to_string();
    namespace.kubectl(&["patch", "configmap", "nstance", "--patch", &patch]);
    namespace.wait_until("the changed file is rendered", || {
        result(&namespace, "files/instance.env").contains("GREETING=\"good evening\"")
    });
    assert!(result(&namespace, "args.json").contains("ami-2"));
}
