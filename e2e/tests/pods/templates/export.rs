//! Export, process, apply elsewhere: equal objects.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{PART_OF, Templates};

/// Objects of many kinds, with defaults and without.
const OBJECTS: &str = include_str!("objects.yaml");

/// The kinds of these objects.
const KINDS: &str = "configmaps,secrets,services,serviceaccounts,persistentvolumeclaims,deployments,statefulsets,daemonsets,\
    replicasets,jobs,cronjobs,pods,roles,rolebindings,ingresses,networkpolicies,poddisruptionbudgets,horizontalpodautoscalers";

/// What the cluster adds to objects, by place; written down here once more, lest the test believe what it tests.
fn comparable(mut object: Value, namespace: &str) -> Value {
    let remove = |value: &mut Value, keys: &[&str]| {
        value.as_object_mut().into_iter().for_each(|map| map.retain(|key, _| !keys.contains(&key.as_str())));
    };
    remove(&mut object, &["status"]);
    let metadata = object["metadata"].clone();
    object["metadata"] = serde_json::json!({"name": metadata["name"]});
    for key in ["labels", "annotations"] {
        let mut entries = metadata[key].as_object().cloned().unwrap_or_default();
        entries.retain(|key, _| {
            let of_cluster = [
                PART_OF,
                "kubectl.kubernetes.io",
                "deployment.kubernetes.io",
                "batch.kubernetes.io",
                "controller-uid",
                "job-name",
                "deprecated.daemonset",
                "pv.kubernetes.io",
                "volume.",
            ];
            !of_cluster.iter().any(|beginning| key.starts_with(beginning))
        });
        object["metadata"][key] = entries.into();
    }
    match object["kind"].as_str().unwrap() {
        "Service" => {
            let spec = &mut object["spec"];
            if spec["clusterIP"] != "None" {
                remove(spec, &["clusterIP", "clusterIPs"]);
            }
            spec["ports"].as_array_mut().unwrap().iter_mut().for_each(|port| remove(port, &["nodePort"]));
        }
        "Job" => {
            remove(&mut object["spec"], &["selector"]);
            remove(&mut object["spec"]["template"]["metadata"], &["labels"]);
        }
        "PersistentVolumeClaim" => remove(&mut object["spec"], &["volumeName"]),
        "Pod" => {
            let text = object["spec"].to_string();
            let token = text.split('"').find(|part| part.starts_with("kube-api-access-")).unwrap_or("none").to_owned();
            object["spec"] = serde_json::from_str(&text.replace(&token, "token")).unwrap();
            remove(&mut object["spec"], &["nodeName"]);
        }
        _ => {}
    }
    serde_json::from_str(&object.to_string().replace(namespace, "NAMESPACE")).unwrap()
}

/// The objects that nobody owns and not every namespace has.
fn objects(templates: &Templates) -> BTreeMap<String, Value> {
    let list = templates.namespace.kubectl(&["get", KINDS, "--output", "json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let items = list["items"].as_array().unwrap().iter();
    let own = items.filter(|of| {
        let name = of["metadata"]["name"].as_str().unwrap();
        of["metadata"]["ownerReferences"].is_null() && !["kube-root-ca.crt", "default"].contains(&name) && !name.starts_with("template.")
            // The claims of a StatefulSet come from its template.
            && !name.starts_with("data-")
    });
    let named = own.map(|of| {
        let key = format!("{}/{}", of["kind"].as_str().unwrap(), of["metadata"]["name"].as_str().unwrap());
        (key, comparable(of.clone(), &templates.namespace.name))
    });
    named.collect()
}

#[test]
fn export_process_and_apply_elsewhere_gives_equal_objects() {
    let from = Templates::new("export-from");
    from.namespace.apply(&OBJECTS.replace("NAMESPACE", &from.namespace.name));
    let exported = from.boson(&["export-template", "--all", "--template-name", "all", "--output", "all.yaml"]);
    assert_eq!((exported.code, exported.out.as_str()), (0, ""), "{}", exported.err);
    let text = fs::read_to_string(from.path("all.yaml")).unwrap();
    // Neither secrets nor what the cluster adds, nor defaults.
    let absent = [
        "aHVudGVyMjI=",
        "hunter22",
        "resourceVersion",
        "managedFields",
        "status:",
        "clusterIP: 10.",
        "nodePort:",
        "terminationMessagePath",
        "revisionHistoryLimit",
        "namespace: ",
        "kube-root-ca.crt",
        "last-applied",
        "ReplicaSet",
    ];
    for absent in absent {
        let is_allowed = |line: &&str| absent == "namespace: " && line.contains("$(NAMESPACE)");
        let found: Vec<&str> = text.lines().filter(|line| line.contains(absent) && !is_allowed(line)).collect();
        assert_eq!(found, [""; 0], "{absent}");
    }

    // Without the values it is refused; with them it gives the same objects, in another namespace.
    let to = Templates::new("export-to");
    to.write("all.yaml", &text);
    let message = to.refused(65, "copy", &["--template", "all.yaml"]);
    assert!(message.contains("the parameter 'DB_PASSWORD' is required"), "{message}");
    to.write("values.env", &format!("DB_PASSWORD=aHVudGVyMjI=\nDB_A_FILE=AAEC\nNAMESPACE={}\n", to.namespace.name));
    let arguments = ["--template", "all.yaml", "--values", "values.env"];
    to.apply("copy", &arguments);
    let (before, after) = (objects(&from), objects(&to));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before.len() >= 20, "{:?}", before.keys());
    for (name, object) in &before {
        assert_eq!(object, &after[name], "{name}");
    }
    assert!(to.apply("copy", &arguments).contains("0 changed, 0 deleted"));
    // The export of the copy is that of the original.
    let again = to.boson(&["export-template", "--all", "--template-name", "all"]);
    let own = |text: &str, templates: &Templates| text.replace(&templates.namespace.name, "X");
    assert_eq!(own(&again.out, &to), own(&text, &from));
    to.apply("copy", &["--delete", "--timeout", "0"]);
}

#[test]
fn objects_are_chosen_by_name_and_label() {
    let templates = Templates::new("choice");
    let namespace = &templates.namespace;
    for (name, label) in [("a", "tier=front"), ("b", "tier=back")] {
        namespace.kubectl(&["create", "configmap", name, "--from-literal=k=v"]);
        namespace.kubectl(&["label", "configmap", name, label]);
    }
    let export = |arguments: &[&str]| templates.boson(&[&["export-template"], arguments].concat());
    let names = |arguments: &[&str]| -> Vec<String> {
        let printed = export(&[arguments, &["--format", "json"]].concat());
        assert_eq!(printed.code, 0, "{}", printed.err);
        let template: Value = serde_json::from_str(&printed.out).unwrap();
        let objects = template["objects"].as_array().unwrap().iter();
        objects.map(|of| of["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["cm/b", "ConfigMap/a", "configmaps/a"]), ["a", "b"]);
    assert_eq!(names(&["-l", "tier=back"]), ["b"]);
    let yaml = export(&["configmap/a"]).out;
    let expected = format!(
        "apiVersion: v1\nkind: Template\nmetadata:\n  name: {}\n  annotations:\n    boson.cloudfoundry.org/template-syntax: kubernetes\nparameters: []\nobjects:\n\
        - apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    labels:\n      tier: front\n  data:\n    k: v\n",
        namespace.name
    );
    assert_eq!(yaml, expected);
    let wrong = export(&["cm/absent", "nonsense/a", "node/node-0"]);
    assert_eq!(wrong.code, 65, "{}", wrong.err);
    for part in ["has no ConfigMap 'absent'", "no kind 'nonsense'", "objects of kind Node have no namespace"] {
        assert!(wrong.err.contains(part), "{part}: {}", wrong.err);
    }
    assert_eq!((export(&[]).code, export(&["--all", "cm/a"]).code), (2, 2));
}
