//! Instances come and go.

use e2e::here;

use super::{PART_OF, Templates};
use crate::cluster::{kubectl, try_kubectl};

const WEB: &str = "kind: Template
apiVersion: v1
parameters:
- {name: NAME, required: true}
- {name: PASSWORD, generate: expression, from: '[a-zA-Z0-9]{20}'}
objects:
- {kind: Service, apiVersion: v1, metadata: {name: $(NAME)}, spec: {selector: {app: $(NAME)}, ports: [{port: 80}]}}
- {kind: Secret, apiVersion: v1, metadata: {name: $(NAME)}, stringData: {password: $(PASSWORD)}}
- {kind: ConfigMap, apiVersion: v1, metadata: {name: $(NAME)}, data: {url: 'db://u:$(PASSWORD)@h'}}
";

#[test]
fn two_instances_of_the_proposals_example_are_independent() {
    let templates = Templates::new("proposal");
    let example = here().join("corpus/kubernetes-templates/render/example-of-the-proposal/template.json");
    let example = std::fs::read_to_string(example).unwrap();
    // The Service of the proposal lacks its port, which the API server wants.
    templates.write("lacking.json", &example);
    let refused = templates.refused(70, "one", &["--template", "lacking.json", "--param", "MONGODB_PASSWORD=secret-1"]);
    assert!(refused.contains("spec.ports[0].port"), "{refused}");
    templates.write("example.json", &example.replace("\"targetPort\":", "\"port\": 27017, \"targetPort\":"));
    let arguments = |name: &str| {
        let name = format!("DATABASE_SERVICE_NAME={name}");
        ["--template", "example.json", "--param", &name, "--param", "MONGODB_PASSWORD=secret-1"].map(str::to_owned)
    };
    let apply = |name: &str| {
        let arguments = arguments(name);
        templates.apply(name, &arguments.each_ref().map(String::as_str))
    };
    let first = apply("one");
    assert!(first.contains("Service one created\nReplicationController one created\n"), "{first}");
    let namespace = &templates.namespace;
    let has_pods = |name: &str| namespace.get(&format!("rc/{name}"))["status"]["replicas"] == 1;
    namespace.wait_until("the first has its pod", || has_pods("one"));
    let before = templates.names();
    apply("two");
    namespace.wait_until("the second has its pod", || has_pods("two"));
    assert!(templates.names().len() > before.len());

    // A second run changes nothing.
    let versions = || ["service/one", "secret/template.one"].map(|object| templates.version(object));
    let known = versions();
    let again = apply("one");
    assert_eq!(again, "instance one: 0 created, 0 changed, 0 deleted, 2 unchanged\n");
    assert_eq!(versions(), known);

    // One goes without trace, with its pods and all that follows them.
    let deleted = templates.apply("two", &["--delete"]);
    assert!(deleted.ends_with("Service two deleted\ninstance two deleted\n"), "{deleted}");
    namespace.wait_until("the second is gone", || templates.names() == before);
    assert_eq!(namespace.get("rc/one")["status"]["replicas"], 1);
    assert_eq!(templates.apply("two", &["--delete"]), "the instance two does not exist\n");
}

#[test]
fn what_left_the_template_is_deleted_and_nothing_else() {
    let templates = Templates::new("prune");
    let namespace = &templates.namespace;
    templates.write("web.yaml", WEB);
    let arguments = ["--template", "web.yaml", "--param", "NAME=web"];
    let first = templates.apply("shop", &arguments);
    assert_eq!(
        first,
        "Secret web created\nConfigMap web created\nService web created\n\
        instance shop: 3 created, 0 changed, 0 deleted, 0 unchanged\n"
    );
    let password = namespace.get("secret/web")["data"]["password"].clone();
    assert_eq!(namespace.get("secret/template.shop")["data"]["PASSWORD"], password);
    let parent = namespace.get("secret/template.shop");
    let kinds = &parent["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"];
    assert_eq!(kinds, "ConfigMap,Secret,Service");
    let id = parent["metadata"]["labels"]["applyset.kubernetes.io/id"].as_str().unwrap().to_owned();
    assert_eq!(namespace.get("service/web")["metadata"]["labels"][PART_OF], id.as_str());

    // Objects of others that have the label, as whoever copies labels makes them, are not the instance's.
    let label = format!("{PART_OF}={id}");
    namespace.kubectl(&["create", "configmap", "copy"]);
    namespace.kubectl(&["label", "configmap/copy", &label]);
    // The Endpoints of the Service have its labels.
    let copied = "-o=jsonpath={.metadata.labels}";
    namespace.wait_until("endpoints", || {
        namespace.try_kubectl(&["get", "endpoints", "web", copied]).is_ok_and(|labels| labels.contains(&id))
    });
    let endpoints = "- {kind: Endpoints, apiVersion: v1, metadata: {name: other}}\n";
    templates.write("web.yaml", &format!("{WEB}{endpoints}"));
    assert!(templates.apply("shop", &arguments).contains("Endpoints other created\n"));

    // Kinds that left the template, too: only a ConfigMap is left.
    let (head, _) = WEB.split_once("- {kind: Service").unwrap();
    let map = "- {kind: ConfigMap, apiVersion: v1, metadata: {name: new}, data: {p: $(PASSWORD)}}\n";
    templates.write("web.yaml", &format!("{head}{map}").replace("{name: NAME, required: true}", "{name: NAME}"));
    let third = templates.apply("shop", &arguments);
    for line in [
        "ConfigMap new created",
        "Endpoints other deleted",
        "Service web deleted",
        "ConfigMap web deleted",
        "Secret web deleted",
    ] {
        assert!(third.contains(&format!("{line}\n")), "{line}: {third}");
    }
    assert!(!third.contains("copy") && third.contains("1 created, 0 changed, 4 deleted"), "{third}");
    namespace.kubectl(&["get", "configmap/copy"]);
    let kinds = namespace.get("secret/template.shop")["metadata"]["annotations"].to_string();
    assert!(kinds.contains(r#""applyset.kubernetes.io/contains-group-kinds":"ConfigMap""#), "{kinds}");
    // The generated value is the first one.
    let stored = ["get", "secret/template.shop", "-o=go-template={{.data.PASSWORD | base64decode}}"];
    assert_eq!(namespace.get("configmap/new")["data"]["p"], namespace.kubectl(&stored));
    assert_eq!(namespace.get("secret/template.shop")["data"]["PASSWORD"], password);

    templates.apply("shop", &["--delete"]);
    // The Service that left the template goes when what it owns has gone.
    let is_of_instance = |name: &String| ["web", "new", "template."].iter().any(|part| name.contains(part));
    namespace.wait_until("all is gone", || !templates.names().iter().any(is_of_instance));
    namespace.kubectl(&["get", "configmap/copy"]);
}

#[test]
fn a_template_brings_its_namespace_and_its_kinds() {
    let templates = Templates::new("kinds");
    let (other, group) =
        (format!("{}-other", templates.namespace.name), format!("{}.example.com", templates.namespace.name));
    templates.write(
        "kinds.yaml",
        &format!(
            "kind: Template
apiVersion: v1
objects:
- kind: List
  apiVersion: v1
  items:
  - {{kind: Widget, apiVersion: {group}/v1, metadata: {{name: first}}, size: 5}}
- {{kind: Widget, apiVersion: {group}/v1, metadata: {{name: second, namespace: {other}}}, size: 6}}
- {{kind: ConfigMap, apiVersion: v1, metadata: {{name: config, namespace: {other}}}}}
- kind: CustomResourceDefinition
  apiVersion: apiextensions.k8s.io/v1
  metadata: {{name: widgets.{group}}}
  spec:
    group: {group}
    scope: Namespaced
    names: {{kind: Widget, plural: widgets, singular: widget}}
    versions:
    - name: v1
      served: true
      storage: true
      schema: {{openAPIV3Schema: {{type: object, properties: {{size: {{type: integer}}}}}}}}
- {{kind: Namespace, apiVersion: v1, metadata: {{name: {other}}}}}
"
        ),
    );
    let template = ["--template", "kinds.yaml"];
    let trial = templates.apply("all", &["--template", "kinds.yaml", "--dry-run"]);
    assert!(trial.ends_with("instance all: 5 created, 0 changed, 0 deleted, 0 unchanged (dry run)\n"), "{trial}");
    assert!(try_kubectl(&["get", "namespace", &other]).is_err());
    let first = templates.apply("all", &template);
    let expected = format!(
        "Namespace {other} created\nCustomResourceDefinition widgets.{group} created\nConfigMap {other}/config created\n\
        Widget first created\nWidget {other}/second created\ninstance all: 5 created, 0 changed, 0 deleted, 0 unchanged\n"
    );
    assert_eq!(first, expected);
    assert!(templates.apply("all", &template).contains("5 unchanged"));
    let parent = templates.namespace.get("secret/template.all");
    assert_eq!(parent["metadata"]["annotations"]["applyset.kubernetes.io/additional-namespaces"], other.as_str());
    // Without the definition its objects go, too; then a kind is unknown that the Secret still names.
    let deleted = templates.apply("all", &["--delete"]);
    assert!(deleted.contains(&format!("Widget {other}/second deleted\n")), "{deleted}");
    assert!(try_kubectl(&["get", "namespace", &other]).is_err());
    let definitions = kubectl(&["get", "customresourcedefinitions", "--output", "name"]);
    assert!(!definitions.contains(&group), "{definitions}");
}

#[test]
fn a_trial_and_a_diff_change_nothing_and_show_no_secrets() {
    let templates = Templates::new("diff");
    let namespace = &templates.namespace;
    templates.write("web.yaml", WEB);
    let arguments = ["--template", "web.yaml", "--param", "NAME=web"];
    let before = templates.names();
    let trial = templates.apply("shop", &[&arguments[..], &["--dry-run"]].concat());
    assert!(trial.contains("Secret web created (dry run)\n") && trial.contains("3 created"), "{trial}");
    assert_eq!(templates.names(), before);
    templates.apply("shop", &arguments);

    let diff = |more: &[&str]| {
        templates.boson(&[&["apply-template", "--name", "shop", "--diff"], &arguments[..], more].concat())
    };
    let none = diff(&[]);
    assert_eq!((none.code, none.out.as_str()), (0, ""), "{}", none.err);
    let password = namespace.get("configmap/web")["data"]["url"].as_str().unwrap().to_owned();
    let password = password.strip_prefix("db://u:").and_then(|rest| rest.strip_suffix("@h")).unwrap().to_owned();
    let some = diff(&["--param", "PASSWORD=hunter22", "--label", "tier=front"]);
    assert_eq!(some.code, 1, "{}", some.err);
    for line in [
        "--- present/",
        "+    tier: front",
        "-  password: '*** (before)'",
        "+  password: '*** (after)'",
        "+  url: '*** (after)'",
    ] {
        assert!(some.out.contains(line), "{line}:\n{}", some.out);
    }
    assert!(!some.out.contains(&password) && !some.out.contains("hunter22"), "{}", some.out);
    assert!(!some.out.contains("aHVudGVyMjI"), "{}", some.out);

    // The API server's message does not show the value that it quotes.
    let printed =
        templates.boson(&["apply-template", "--name", "shop", "--template", "web.yaml", "--param", "NAME=Not_A_Name"]);
    assert_eq!(printed.code, 70, "{}", printed.err);
    assert!(printed.err.contains("(hidden)") && printed.err.matches("error:").count() == 3, "{}", printed.err);
    assert!(templates.apply("shop", &arguments).contains("3 unchanged"));
}
