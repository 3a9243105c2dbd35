//! Objects and fields of others.

use super::Templates;

const TWO: &str = "kind: Template
apiVersion: v1
parameters: [{name: VALUE, value: a}]
objects:
- {kind: ConfigMap, apiVersion: v1, metadata: {name: first}, data: {key: $(VALUE)}}
- {kind: ConfigMap, apiVersion: v1, metadata: {name: second}, data: {key: $(VALUE)}}
";

#[test]
fn objects_of_others_are_refused_before_anything_is_applied() {
    let templates = Templates::new("owners");
    let namespace = &templates.namespace;
    templates.write("two.yaml", TWO);
    namespace.kubectl(&["create", "configmap", "second", "--from-literal=key=mine"]);
    let before = templates.names();
    let message = templates.refused(65, "one", &["--template", "two.yaml"]);
    assert!(message.contains("ConfigMap second exists, and does not belong to the instance one"), "{message}");
    assert_eq!(templates.names(), before);
    namespace.kubectl(&["delete", "configmap", "second"]);
    templates.apply("one", &["--template", "two.yaml"]);

    // Another instance.
    let message = templates.refused(65, "two", &["--template", "two.yaml"]);
    assert_eq!(message.matches("exists, and belongs to another instance").count(), 2, "{message}");
    assert!(namespace.try_kubectl(&["get", "secret/template.two"]).is_err());
    templates.apply("two", &["--template", "two.yaml", "--force-conflicts"]);
    // They are the second one's now.
    let deleted = templates.apply("one", &["--delete"]);
    assert_eq!(deleted, "instance one deleted\n");
    namespace.kubectl(&["get", "configmap/first", "configmap/second"]);

    // A Secret of this name that is not an instance's.
    namespace.kubectl(&["create", "secret", "generic", "template.three"]);
    let message = templates.refused(65, "three", &["--template", "two.yaml"]);
    assert!(message.contains("Secret template.three exists"), "{message}");
}

#[test]
fn fields_of_other_managers_are_refused() {
    let templates = Templates::new("fields");
    let namespace = &templates.namespace;
    templates.write("two.yaml", TWO);
    templates.apply("one", &["--template", "two.yaml"]);
    let patch = ["patch", "configmap/second", "--type=merge", "--patch", r#"{"data":{"key":"mine"}}"#];
    namespace.kubectl(&[&patch[..], &["--field-manager=somebody"]].concat());
    let arguments = ["--template", "two.yaml", "--param", "VALUE=secret-b"];
    let message = templates.refused(70, "one", &arguments);
    assert!(message.contains("somebody") && message.contains("--force-conflicts takes them over"), "{message}");
    assert!(!message.contains("secret-b"), "{message}");
    // The first one has not changed either.
    assert_eq!(namespace.get("configmap/first")["data"]["key"], "a");
    let forced = templates.apply("one", &[&arguments[..], &["--force-conflicts"]].concat());
    assert!(forced.contains("ConfigMap second changed"), "{forced}");
    assert_eq!(namespace.get("configmap/second")["data"]["key"], "secret-b");
}

#[test]
fn generated_values_are_made_once() {
    let templates = Templates::new("once");
    let template = TWO.replace("value: a", "generate: expression, from: '[a-z]{20}'");
    templates.write("two.yaml", &template);
    // Two first runs at the same time: one value is made, and both objects have it.
    std::thread::scope(|scope| {
        let run = || templates.boson(&["apply-template", "--name", "one", "--template", "two.yaml"]);
        let runs = [scope.spawn(run), scope.spawn(run)];
        let codes: Vec<i32> = runs.map(|run| run.join().unwrap().code).into();
        assert!(codes.contains(&0) && codes.iter().all(|code| [0, 70, 65].contains(code)), "{codes:?}");
    });
    templates.apply("one", &["--template", "two.yaml"]);
    let namespace = &templates.namespace;
    let stored = namespace.kubectl(&["get", "secret/template.one", "-o=go-template={{.data.VALUE | base64decode}}"]);
    assert_eq!(stored.len(), 20);
    for object in ["configmap/first", "configmap/second"] {
        assert_eq!(namespace.get(object)["data"]["key"], stored);
    }
}
