//! Labels of objects, selectors and pod templates.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{messages, mode, problems, processed};
use dialect_kubernetes_templates::Mode::{Compat, Strict};
use dialect_kubernetes_templates::{Format, Options, write};

/// A template with the labels `app: web` and `tier: $(T)`, and this object.
fn template(object: &str) -> String {
    format!(
        "kind: Template\napiVersion: v1\nlabels: {{app: web, tier: $(T)}}\nparameters: [{{name: T, value: front}}, {{name: G, value: apps}}]\nobjects:\n- {object}\n"
    )
}

/// The object as one line of JSON.
fn labelled(object: &str, options: &Options) -> String {
    let processed = processed(&template(object), &[], options);
    let json = write(&processed.objects()[0], Format::Json);
    json.split_whitespace().collect::<String>().replace('"', "")
}

/// The same, checked against an expectation in which `L` stands for the labels.
fn check(object: &str, expected: &str) {
    let expected: String = expected
        .replace("{L}", "{app: web, tier: front}")
        .replace(", L", ", app: web, tier: front")
        .split_whitespace()
        .collect();
    assert_eq!(labelled(object, &Options::default()), expected.replace('"', ""), "{object}");
}

#[test]
fn every_object_gets_the_labels_and_equal_keys_are_replaced() {
    check("{kind: K, apiVersion: x/v1}", "{kind: K, apiVersion: x/v1, metadata: {labels: {L}}}");
    check("{kind: K, apiVersion: v1, metadata: null}", "{kind: K, apiVersion: v1, metadata: {labels: {L}}}");
    check(
        "{kind: K, apiVersion: v1, metadata: {name: m, labels: {x: z, app: old}}, spec: {}}",
        "{kind: K, apiVersion: v1, metadata: {name: m, labels: {x: z, L}}, spec: {}}",
    );
}

#[test]
fn the_labels_of_the_user_replace_those_of_the_template() {
    let labels = vec![("tier".to_owned(), "$(T)".to_owned())];
    let options = Options { labels: labels.clone(), ..Options::default() };
    assert_eq!(messages(&template("{kind: K, apiVersion: v1}"), &[], &options).1, 65);
    let options =
        Options { labels: vec![("tier".to_owned(), "back".to_owned()), ("x".into(), String::new())], ..options };
    assert_eq!(
        labelled("{kind: K, apiVersion: v1}", &options),
        "{kind:K,apiVersion:v1,metadata:{labels:{app:web,tier:back,x:}}}"
    );
    let template = processed(&template("{kind: K, apiVersion: v1}"), &[], &options).into_template();
    assert!(write(&template, Format::Yaml).contains("labels:\n  app: web\n  tier: back\n  x: \"\"\n"));
}

#[test]
fn without_labels_objects_stay_as_they_are() {
    let template = "kind: Template\napiVersion: v1\nobjects: [{kind: Service, apiVersion: v1, spec: {selector: 5}}]";
    let text = write(&processed(template, &[], &Options::default()).into_list(), Format::Yaml);
    assert_eq!(
        text,
        "apiVersion: v1\nkind: List\nitems:\n- kind: Service\n  apiVersion: v1\n  spec:\n    selector: 5\n"
    );
}

#[test]
fn the_items_of_lists_get_the_labels() {
    check(
        "{kind: List, apiVersion: v1, metadata: {}, items: [{kind: K, apiVersion: v1},
            {kind: List, apiVersion: v1, items: [{kind: Service, apiVersion: v1, spec: {selector: {a: b}}}]}]}",
        "{kind: List, apiVersion: v1, metadata: {}, items: [{kind: K, apiVersion: v1, metadata: {labels: {L}}},
            {kind: List, apiVersion: v1, items: [{kind: Service, apiVersion: v1, spec: {selector: {a: b, L}}, metadata: {labels: {L}}}]}]}",
    );
    // A List without items has no labels either.
    for items in ["", ", items: []", ", items: null"] {
        let list = format!("{{kind: List, apiVersion: v1{items}}}");
        check(&list, &list);
    }
    let (found, code) = messages(&template("{kind: List, apiVersion: v1, items: {}}"), &[], &mode(Strict));
    assert!(found.len() == 1 && found[0].ends_with("objects[0].items: must be a list, not a map"), "{found:?}");
    assert_eq!(code, 66);
    // A kind of its own whose name ends in List.
    check(
        "{kind: AllowList, apiVersion: x/v1, spec: {}}",
        "{kind: AllowList, apiVersion: x/v1, spec: {}, metadata: {labels: {L}}}",
    );
    // The items of a typed list may leave out what its kind says.
    check(
        "{kind: ServiceList, apiVersion: v1, items: [{spec: {selector: {a: b}}}]}",
        "{kind: ServiceList, apiVersion: v1, items: [{spec: {selector: {a: b, L}}, metadata: {labels: {L}}}]}",
    );
}

#[test]
fn workloads_get_the_labels_in_selector_and_pod_template() {
    for (kind, group) in [
        ("Deployment", "apps/v1"),
        ("Deployment", "extensions/v1beta1"),
        ("ReplicaSet", "apps/v1"),
        ("DaemonSet", "apps/v1"),
        ("StatefulSet", "apps/v1"),
        ("Deployment", "$(G)/v1"),
    ] {
        let head = format!("kind: {kind}, apiVersion: {group}");
        let done = format!("kind: {kind}, apiVersion: {}", group.replace("$(G)", "apps"));
        check(
            &format!(
                "{{{head}, spec: {{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}}}}}}}"
            ),
            &format!(
                "{{{done}, spec: {{selector: {{matchLabels: {{a: b, L}}}}, template: {{metadata: {{labels: {{a: b, L}}}}}}}}, metadata: {{labels: {{L}}}}}}"
            ),
        );
    }
    for head in [
        "kind: ReplicationController, apiVersion: v1",
        "kind: DeploymentConfig, apiVersion: v1",
        "kind: DeploymentConfig, apiVersion: apps.openshift.io/v1",
    ] {
        check(
            &format!("{{{head}, spec: {{selector: {{a: b, app: x}}, template: {{}}}}}}"),
            &format!(
                "{{{head}, spec: {{selector: {{a: b, L}}, template: {{metadata: {{labels: {{L}}}}}}}}, metadata: {{labels: {{L}}}}}}"
            ),
        );
    }
}

#[test]
fn selectors_of_other_kinds() {
    for (head, field) in [
        ("kind: Service, apiVersion: v1", "selector: {a: b~}"),
        ("kind: PodDisruptionBudget, apiVersion: policy/v1", "selector: {matchLabels: {a: b~}}"),
        ("kind: NetworkPolicy, apiVersion: networking.k8s.io/v1", "podSelector: {matchLabels: {a: b~}}"),
        ("kind: PodDisruptionBudget, apiVersion: policy/v1", "selector: {matchExpressions: [{key: a}]^}"),
    ] {
        let (before, after) =
            (field.replace(['~', '^'], ""), field.replace('~', ", L").replace('^', ", matchLabels: {L}"));
        check(
            &format!("{{{head}, spec: {{{before}}}}}"),
            &format!("{{{head}, spec: {{{after}}}, metadata: {{labels: {{L}}}}}}"),
        );
    }
}

#[test]
fn pod_templates_of_jobs() {
    let metadata = "metadata: {labels: {L}}";
    check(
        "{kind: Job, apiVersion: batch/v1, spec: {selector: {matchLabels: {a: b}}, template: {}}}",
        &format!(
            "{{kind: Job, apiVersion: batch/v1, spec: {{selector: {{matchLabels: {{a: b}}}}, template: {{{metadata}}}}}, {metadata}}}"
        ),
    );
    check(
        "{kind: Job, apiVersion: batch/v1, spec: {manualSelector: true, selector: {matchLabels: {a: b}}, template: {}}}",
        &format!(
            "{{kind: Job, apiVersion: batch/v1, spec: {{manualSelector: true, selector: {{matchLabels: {{a: b, L}}}}, template: {{{metadata}}}}}, {metadata}}}"
        ),
    );
    check(
        "{kind: CronJob, apiVersion: batch/v1, spec: {jobTemplate: {spec: {template: {spec: {}}}}}}",
        &format!(
            "{{kind: CronJob, apiVersion: batch/v1, spec: {{jobTemplate: {{spec: {{template: {{spec: {{}}, {metadata}}}}}}}}}, {metadata}}}"
        ),
    );
}

#[test]
fn what_stays_untouched() {
    for (head, spec) in [
        // Absent and empty selectors.
        ("kind: Service, apiVersion: v1", "{}"),
        ("kind: Service, apiVersion: v1", "{selector: {}}"),
        ("kind: Service, apiVersion: v1", "{selector: null}"),
        ("kind: NetworkPolicy, apiVersion: networking.k8s.io/v1", "{podSelector: {}}"),
        ("kind: PodDisruptionBudget, apiVersion: policy/v1", "{selector: {matchLabels: {}, matchExpressions: []}}"),
        // Without a pod template, the selector alone would select nothing.
        ("kind: ReplicationController, apiVersion: v1", "{selector: {a: b}}"),
        // Other kinds and groups.
        ("kind: PersistentVolumeClaim, apiVersion: v1", "{selector: {matchLabels: {a: b}}}"),
        ("kind: Deployment, apiVersion: example.com/v1", "{selector: {matchLabels: {a: b}}, template: {}}"),
        ("kind: Service, apiVersion: serving.knative.dev/v1", "{selector: {a: b}, template: {}}"),
        ("kind: Job, apiVersion: v1", "{template: {}}"),
        // Peers of a policy.
        (
            "kind: NetworkPolicy, apiVersion: networking.k8s.io/v1",
            "{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}",
        ),
    ] {
        check(&format!("{{{head}, spec: {spec}}}"), &format!("{{{head}, spec: {spec}, metadata: {{labels: {{L}}}}}}"));
    }
    let off = Options { label_selectors: false, ..Options::default() };
    assert_eq!(
        labelled("{kind: Service, apiVersion: v1, spec: {selector: {a: b}}}", &off),
        "{kind:Service,apiVersion:v1,spec:{selector:{a:b}},metadata:{labels:{app:web,tier:front}}}"
    );
}

#[test]
fn an_empty_selector_of_a_workload_stays_while_its_pods_get_the_labels() {
    check(
        "{kind: ReplicationController, apiVersion: v1, spec: {selector: {}, template: {}}}",
        "{kind: ReplicationController, apiVersion: v1, spec: {selector: {}, template: {metadata: {labels: {L}}}}, metadata: {labels: {L}}}",
    );
}

#[test]
fn values_of_the_wrong_type() {
    for (object, path) in [
        ("{kind: K, apiVersion: v1, metadata: []}", "objects[0].metadata"),
        ("{kind: K, apiVersion: v1, metadata: {labels: x}}", "objects[0].metadata.labels"),
        ("{kind: Service, apiVersion: v1, spec: 5}", "objects[0].spec"),
        ("{kind: Service, apiVersion: v1, spec: {selector: [a]}}", "objects[0].spec.selector"),
        (
            "{kind: Deployment, apiVersion: apps/v1, spec: {template: {}, selector: {matchLabels: [a]}}}",
            "objects[0].spec.selector.matchLabels",
        ),
        ("{kind: Deployment, apiVersion: apps/v1, spec: {template: x}}", "objects[0].spec.template"),
        ("{kind: List, apiVersion: v1, items: [{kind: K}]}", "objects[0].items[0]"),
        ("null", "objects[0]"),
        ("[]", "objects[0]"),
        ("{kind: '', apiVersion: v1}", "objects[0].kind"),
        ("{kind: K, apiVersion: 1}", "objects[0].apiVersion"),
    ] {
        let (found, code) = messages(&template(object), &[], &mode(Strict));
        assert!(found.len() == 1 && found[0].contains(&format!(": {path}: ")), "{object}: {found:?}");
        assert_eq!(code, 66);
    }
    // Where a value is at fault, it is the mistake of whoever gave it.
    for (object, value) in [
        ("{kind: $(G), apiVersion: v1}", ""),
        ("{kind: K, apiVersion: $((G))}", "null"),
        ("{kind: K, apiVersion: v1, metadata: $((G))}", "5"),
        ("{kind: K, apiVersion: v1, metadata: {labels: $(G)}}", "x"),
    ] {
        let (found, code) = messages(&template(object), &[("G", value)], &mode(Strict));
        assert_eq!((found.len(), code), (1, 65), "{object}: {found:?}");
        let default = template(object).replace("value: apps", &format!("value: '{value}'"));
        assert_eq!(messages(&default, &[], &mode(Strict)).1, 66, "{object}");
    }
}

#[test]
fn labels_are_valid_after_substitution() {
    let template = |labels: &str| {
        format!(
            "kind: Template\napiVersion: v1\nlabels: {labels}\nobjects: []\nparameters: [{{name: V, value: v}}, {{name: I, type: int, value: '5'}}]"
        )
    };
    assert!(common::outcome(&template("{$(V): $(V)-x, a/b: '', n: $(I)}"), &[], &mode(Strict)).result.is_ok());
    for labels in
        ["{a: 5}", "{a: true}", "{a: null}", "{a: $((I))}", "{a: 'b c'}", "{'a b': c}", "{v: x, $(V): y}", "[a]", "x"]
    {
        assert_eq!(messages(&template(labels), &[], &mode(Strict)).1, 66, "{labels}");
    }
    // What nothing declares stays, and is no label.
    for labels in ["{a: $(NOPE), b: c}", "{$(NOPE): c}", "{$(NOPE)-$(V): c}"] {
        let (found, code) = messages(&template(labels), &[], &mode(Compat));
        assert_eq!((found.len(), code), (1, 66), "{found:?}");
        assert_eq!(messages(&template(labels), &[], &mode(Strict)).0.len(), 1);
    }
    let found = problems(&template("{a: $(V)}"), &[("V", "not a label")], &mode(Strict));
    assert_eq!(found.exit_code(), 65);
    assert!(!found.to_string().contains("not a label"), "{found}");
}
