//! `manifests/templates-api.yaml` is what the executable needs, and no more.

use std::collections::BTreeMap;

use clap::FromArgMatches;
use serde_json::{Value, json};

use crate::server::Server;

/// The objects by kind and name.
fn objects() -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(e2e::here().join("../manifests/templates-api.yaml")).unwrap();
    let object = |document: &str| {
        let object: Value = serde_yaml::from_str(document).unwrap();
        let name = object["metadata"]["name"].as_str().unwrap();
        (format!("{} {name}", object["kind"].as_str().unwrap()), object)
    };
    let objects: Vec<_> = text.split("\n---\n").map(object).collect();
    assert_eq!(objects[0].0, "Namespace boson-templates", "what is in it comes later");
    let count = objects.len();
    let objects: BTreeMap<_, _> = objects.into_iter().collect();
    assert_eq!(objects.len(), count);
    objects
}

/// The options that arguments and defaults make.
fn options(container: &Value) -> serve_templates::Options {
    let command = container["command"].as_array().unwrap();
    let words: Vec<&str> = command.iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words[..2], ["boson-templates", "serve-templates"]);
    let command = startup::command::<serve_templates::Options>("serve-templates", serve_templates::ABOUT);
    let matches = command.try_get_matches_from(&words[1..]).unwrap();
    serve_templates::Options::from_arg_matches(&matches).unwrap()
}

#[test]
fn the_objects_belong_together() {
    let objects = objects();
    let (service, deployment) = (&objects["Service templates-api"], &objects["Deployment templates-api"]);
    let pod = &deployment["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let options = options(container);
    let own = objects["Namespace boson-templates"]["metadata"]["name"].clone();
    // The API server finds the pods.
    let group = options.group.as_str();
    let api = &objects[&format!("APIService v1.{group}")]["spec"];
    assert_eq!((&api["group"], &api["version"]), (&json!(group), &json!("v1")));
    let port = &service["spec"]["ports"][0];
    assert_eq!(api["service"], json!({"namespace": own, "name": options.service, "port": port["port"]}));
    assert!(api["caBundle"].is_null() && api["insecureSkipTLSVerify"].is_null(), "the server sets its authority");
    assert_eq!(service["metadata"]["name"], json!(options.service));
    assert_eq!(port["targetPort"], container["ports"][0]["name"]);
    assert_eq!(container["ports"][0]["containerPort"], json!(options.listen().port()));
    let labels = &pod["metadata"]["labels"];
    for selector in [
        &service["spec"]["selector"],
        &deployment["spec"]["selector"]["matchLabels"],
        &objects["PodDisruptionBudget templates-api"]["spec"]["selector"]["matchLabels"],
        &pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    ] {
        assert_eq!(selector, labels);
    }
    // Everything of a namespace is in the server's, but for the role that kube-system has for such servers.
    for (name, object) in &objects {
        let namespace = &object["metadata"]["namespace"];
        let expected = if name.ends_with(":authentication-reader") { &json!("kube-system") } else { &own };
        assert!(namespace.is_null() || namespace == expected, "{name}");
        for subject in object["subjects"].as_array().into_iter().flatten() {
            let account = json!({"kind": "ServiceAccount", "name": "templates-api", "namespace": own});
            assert_eq!(*subject, account, "{name}");
        }
    }
    assert_eq!(pod["spec"]["serviceAccountName"], "templates-api");
    // Two replicas, restricted, with probes that need no token.
    assert_eq!(deployment["spec"]["replicas"], 2);
    let (of_pod, of_container) = (&pod["spec"]["securityContext"], &container["securityContext"]);
    assert_eq!((&of_pod["runAsNonRoot"], &of_pod["seccompProfile"]["type"]), (&json!(true), &json!("RuntimeDefault")));
    assert_eq!(
        *of_container,
        json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true})
    );
    let server = Server::start(&[]);
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let get = &container[probe]["httpGet"];
        assert_eq!((&get["scheme"], &get["port"]), (&json!("HTTPS"), &json!("https")));
        assert_eq!(server.get(get["path"].as_str().unwrap()).body, "ok");
    }
}

#[test]
fn roles_permit_what_the_server_does_and_what_users_may() {
    let objects = objects();
    let rules = |name: &str| objects[name]["rules"].clone();
    let secrets = ["get", "list", "watch", "create", "update", "delete"];
    assert_eq!(rules("Role templates-api"), json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": secrets}]));
    assert_eq!(
        rules("ClusterRole templates-api"),
        json!([
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
            {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "resourceNames": ["v1.template.openshift.io"], "verbs": ["get", "patch"]},
        ])
    );
    let bound = |name: &str| objects[name]["roleRef"]["name"].clone();
    assert_eq!(bound("ClusterRoleBinding templates-api:auth-delegator"), "system:auth-delegator");
    let reader = "RoleBinding templates-api:authentication-reader";
    assert_eq!(bound(reader), "extension-apiserver-authentication-reader");
    // Editors may do all that there is.
    let served = Server::start(&[]).get("/apis/template.openshift.io/v1").json()["resources"].clone();
    let edit = rules("ClusterRole templates-api:edit");
    for resource in served.as_array().unwrap() {
        for verb in resource["verbs"].as_array().unwrap() {
            let is_permitted = edit.as_array().unwrap().iter().any(|rule| {
                let has = |key: &str, value: &Value| rule[key].as_array().unwrap().contains(value);
                has("apiGroups", &json!("template.openshift.io"))
                    && has("resources", &resource["name"])
                    && has("verbs", verb)
            });
            assert!(is_permitted, "{resource} {verb}");
        }
    }
    for (role, targets) in [("edit", &["admin", "edit"][..]), ("view", &["view"])] {
        let labels = &objects[&format!("ClusterRole templates-api:{role}")]["metadata"]["labels"];
        for target in targets {
            assert_eq!(labels[format!("rbac.authorization.k8s.io/aggregate-to-{target}")], "true");
        }
    }
}
