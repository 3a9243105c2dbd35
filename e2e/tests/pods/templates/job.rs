//! Templates in pods: the Job of `manifests/apply-template.yaml`, an init container, a sidecar, and references that the kubelet
//! resolves.

use e2e::here;
use serde_json::Value;

use super::Templates;
use crate::cluster::Namespace;

/// The documents of the manifest, with the image that the nodes have.
fn manifest() -> String {
    let text = std::fs::read_to_string(here().join("../manifests/apply-template.yaml")).unwrap();
    text.replace("registry.example/boson-templates:latest", "boson/boson-templates:latest")
}

fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text);
    documents.map(|document| serde::Deserialize::deserialize(document).unwrap()).collect()
}

#[test]
fn a_job_applies_a_template_and_may_do_nothing_else() {
    let templates = Templates { namespace: Namespace::new("job"), directory: tempfile::tempdir().unwrap() };
    let namespace = &templates.namespace;
    let manifest = manifest();
    let find = |kind: &str| documents(&manifest).into_iter().find(|of| of["kind"] == kind).unwrap();
    templates.write("web.yaml", find("ConfigMap")["data"]["web.yaml"].as_str().unwrap());
    let printed = templates.boson(&["apply-template", "--name", "web", "--template", "web.yaml", "--rbac"]);
    let mut roles = documents(&printed.out);
    assert_eq!(roles.len(), 1, "{}{}", printed.out, printed.err);
    assert_eq!(roles[0]["metadata"].as_object_mut().unwrap().remove("namespace").unwrap(), namespace.name.as_str());
    assert_eq!(roles[0], find("Role"));

    namespace.apply(&manifest);
    namespace.wait_until("the Job has ended", || namespace.ended("apply-template-web").is_some());
    let log = namespace.kubectl(&["logs", "job/apply-template-web"]);
    assert_eq!(
        log,
        "Secret web created\nConfigMap web created\nService web created\n\
        instance web: 3 created, 0 changed, 0 deleted, 0 unchanged\n"
    );
    assert_eq!(namespace.get("configmap/web")["data"]["message"], "hello");
    // From outside, it is the same instance.
    let values = ["--template", "web.yaml", "--param", "MESSAGE=hello"];
    assert!(templates.apply("web", &values).ends_with("0 created, 0 changed, 0 deleted, 3 unchanged\n"));
    templates.apply("web", &["--delete"]);
    namespace.get("configmap/web-template");
}

/// Its parameters are the files of [`FILES`], and what the kubelet has resolved.
pub(super) const SHOW: &str = "kind: Template
apiVersion: v1
parameters: [{name: conf, required: true}, {name: other, required: true}, {name: seen}]
objects: [{kind: ConfigMap, apiVersion: v1, data: {conf: $(conf), other: $(other), seen: $(seen)}}]
";

pub(super) const FILES: &str = "kind: Template
apiVersion: v1
parameters: [{name: VALUE, type: int, required: true}]
objects: [{kind: ConfigMap, apiVersion: v1, data: {conf: 'value=$(VALUE)', other: same}}]
";

/// A pod whose init container and sidecar process mounted values, and whose main container processes their files. `$$` leaves
/// references to the kubelet, even where the template has a parameter of the name.
const POD: &str = "kind: Template
apiVersion: v1
parameters: [{name: GREETING, value: of the template}, {name: IMAGE, value: 'boson/boson:latest'}]
objects:
- kind: Pod
  apiVersion: v1
  metadata: {name: watching}
  spec:
    terminationGracePeriodSeconds: 5
    automountServiceAccountToken: false
    initContainers:
    - {name: init, image: $(IMAGE), imagePullPolicy: IfNotPresent, command: [process-template], env: &env [{name: BOSON_TEMPLATE, value: /template/files.yaml},
        {name: BOSON_VALUES, value: /values}, {name: BOSON_AS, value: files}, {name: BOSON_OUTPUT_DIR, value: /work/files}],
        volumeMounts: &mounts [{name: template, mountPath: /template}, {name: values, mountPath: /values}, {name: work, mountPath: /work}]}
    - {name: watch, image: $(IMAGE), imagePullPolicy: IfNotPresent, restartPolicy: Always, env: *env, volumeMounts: *mounts,
        command: [process-template, --watch, --watch-interval, 200ms,
          --check-command, 'process-template --check --template /template/show.yaml --values {}']}
    containers:
    - name: main
      image: $(IMAGE)
      imagePullPolicy: IfNotPresent
      env: [{name: HELLO, value: hello}, {name: GREETING, value: $$(HELLO) $(HELLO)}]
      command: [process-template, --watch, --watch-interval, 200ms, --template, /template/show.yaml, --values, /work/files, --as, files,
        --output-dir, /work/seen, --param, 'seen=$$(GREETING) $$$$(HELLO)']
      volumeMounts: *mounts
    volumes:
    - {name: template, configMap: {name: templates}}
    - {name: values, secret: {secretName: values}}
    - {name: work, emptyDir: {medium: Memory}}
";

#[test]
fn pods_process_mounted_values_and_see_when_they_change() {
    let templates = Templates::new("mounted");
    let namespace = &templates.namespace;
    templates.write("show.yaml", SHOW);
    templates.write("files.yaml", FILES);
    let files = format!("--from-file={}", templates.directory.path().display());
    namespace.kubectl(&["create", "configmap", "templates", &files]);
    namespace.kubectl(&["create", "secret", "generic", "values", "--from-literal=VALUE=1"]);
    templates.write("pod.yaml", POD);
    templates.apply("watching", &["--template", "pod.yaml"]);
    namespace.wait_until_ready("watching");
    let seen = || {
        let show =
            ["exec", "watching", "--container", "main", "--", "process-template", "--template", "/template/show.yaml"];
        let text = namespace.try_kubectl(&[&show[..], &["--values", "/work/seen", "--format", "json"]].concat());
        let list: Value = text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        ["conf", "other", "seen"].map(|key| list["items"][0]["data"][key].as_str().unwrap_or_default().to_owned())
    };
    let expected = |conf: &str| [conf, "same", "hello hello $(HELLO)"].map(str::to_owned);
    namespace.wait_until("the main container has processed the files", || seen() == expected("value=1"));

    // A wrong value leaves the last good files; the next good one replaces them.
    let set = |value: &str| {
        let patch = serde_json::json!({"stringData": {"VALUE": value}}).to_string();
        namespace.kubectl(&["patch", "secret/values", "--type=merge", "--patch", &patch]);
    };
    let log = || namespace.try_kubectl(&["logs", "watching", "--container", "watch"]).unwrap_or_default();
    set("secret");
    let refused = "the value given for the parameter 'VALUE' has the wrong type";
    namespace.wait_until("the wrong value is refused", || log().contains(refused));
    assert_eq!(seen(), expected("value=1"));
    set("2");
    namespace.wait_until("the files have the new value", || seen() == expected("value=2"));
    assert!(!log().contains("secret"), "{}", log());
    templates.apply("watching", &["--delete"]);
}
