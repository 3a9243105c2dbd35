use dialect_kubernetes_templates::{Format, Mode, compact, read};

use super::*;

fn rules() -> Rules {
    let options = Options { mode: Mode::Strict, ..Options::default() };
    Rules { group: "example.com".to_owned(), options, syntax: None, label_selectors: None }
}

fn yaml(text: &str) -> Node {
    read(text.as_bytes(), Format::Yaml).unwrap()
}

fn birth() -> NewIdentity {
    NewIdentity { uid: "u".into(), time: "t".into(), suffix: "abcde".into() }
}

fn fields(failure: &Failure) -> Vec<String> {
    let status = failure.status();
    let causes = status.as_map().unwrap().get("details").unwrap().as_map().unwrap().get("causes").unwrap();
    let Value::List(items) = &causes.value else { panic!("{}", compact(&status)) };
    items.iter().map(|cause| cause.as_map().unwrap().str("field").unwrap_or_default().to_owned()).collect()
}

#[test]
fn created_templates_have_what_the_server_sets() {
    let template =
        "kind: Template\napiVersion: v1\nmetadata: {generateName: web-, uid: mine, managedFields: []}\nobjects: []";
    let template = rules().template(yaml(template)).unwrap();
    let created = rules().created(template, "shop", birth()).unwrap();
    assert_eq!(
        compact(&created),
        r#"{"kind":"Template","apiVersion":"example.com/v1","metadata":{"generateName":"web-","uid":"u","name":"web-abcde","namespace":"shop","creationTimestamp":"t"},"objects":[]}"#
    );
    rules().check(created.clone()).unwrap();
    for metadata in ["{resourceVersion: '5'}", "{namespace: other}", "[]"] {
        let text = format!("kind: Template\napiVersion: v1\nmetadata: {metadata}\nobjects: []");
        let failure = rules().template(yaml(&text)).and_then(|one| rules().created(one, "shop", birth()));
        assert_eq!(failure.unwrap_err().code, 400, "{metadata}");
    }
    for text in ["[]", "kind: Pod\napiVersion: v1", "kind: Template\napiVersion: other/v1", "kind: Template"] {
        assert_eq!(rules().template(yaml(text)).unwrap_err().code, 400, "{text}");
    }
}

#[test]
fn templates_are_checked_when_they_are_stored() {
    let failure = |text: &str| {
        let template = rules().template(yaml(text)).unwrap();
        rules().check(rules().created(template, "shop", birth()).unwrap()).unwrap_err()
    };
    let found = failure(
        "kind: Template\napiVersion: v1\nmetadata: {name: A b, labels: {x: 'y z', '-': a}, annotations: {x: 5}}\nobjects: [{kind: K, apiVersion: v1, a: $(B)}]\nparameters: [{name: A, required: true}]",
    );
    assert_eq!(found.code, 422);
    assert_eq!(
        fields(&found),
        [
            "metadata.name",
            "metadata.labels[\"x\"]",
            "metadata.labels[\"-\"]",
            "metadata.annotations[\"x\"]",
            "objects[0].a"
        ]
    );
    let head = "kind: Template\napiVersion: v1\nobjects: []\nmetadata: ";
    assert_eq!(fields(&failure(&format!("{head}{{}}"))), ["metadata.name"]);
    let syntax = format!("{head}{{name: a, annotations: {{{SYNTAX}: x}}}}");
    assert_eq!(fields(&failure(&syntax)), [format!("metadata.annotations[\"{SYNTAX}\"]")]);
}

#[test]
fn an_annotation_names_the_syntax() {
    let template = |annotations: &str| {
        let text = format!(
            "kind: Template\napiVersion: v1\nmetadata: {{annotations: {annotations}}}\nobjects: [{{kind: K, apiVersion: v1, a: '${{A}}$(A)'}}]\nparameters: [{{name: A, value: x}}]"
        );
        let list = rules().processed(yaml(&text), &UserValues::default(), Form::List).unwrap().node;
        compact(&list)
    };
    assert!(template("{}").contains(r#""a":"${A}x""#));
    assert!(template(&format!("{{{SYNTAX}: openshift}}")).contains(r#""a":"x$(A)""#));
}

#[test]
fn values_come_from_a_parameters_object() {
    let template = yaml(
        "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, a: $(A)}]\nparameters: [{name: A, type: int, required: true}, {name: B, type: int}]",
    );
    let given = |text: &str| rules().parameters(&yaml(&format!("kind: Parameters\napiVersion: v1\n{text}")));
    let processed = |text: &str| {
        given(text)
            .and_then(|given| rules().processed(template.clone(), &given, Form::Template))
            .map(|done| compact(&done.node))
    };
    let done = processed("parameters: [{name: A, value: '5'}]").unwrap();
    assert!(
        done.starts_with(
            r#"{"kind":"Template","apiVersion":"example.com/v1","objects":[{"kind":"K","apiVersion":"v1","a":"5"}]"#
        ),
        "{done}"
    );
    for (text, expected) in [
        ("parameters: [{name: A, value: '5'}, {name: C, value: x}]", vec!["parameters[1].name"]),
        ("parameters: [{name: A, value: '5'}, {name: B, value: secret}]", vec!["parameters[1].value"]),
        (
            "parameters: [{name: A, value: 5}, {value: x}, 5]",
            vec!["parameters[0].value", "parameters[1].name", "parameters[2]"],
        ),
        ("parameters: [{name: A, value: '5'}, {name: A, value: '6'}]", vec!["parameters[1].name"]),
        ("parameters: {}", vec!["parameters"]),
        ("parameters: []", vec!["parameters[0]"]),
        ("", vec!["parameters[0]"]),
    ] {
        let failure = processed(text).unwrap_err();
        assert_eq!(fields(&failure), expected, "{text}");
        assert!(failure.code == 422 && !failure.message.contains("secret"), "{failure:?}");
    }
    assert_eq!(rules().parameters(&yaml("kind: Parameters\napiVersion: v2")).unwrap_err().code, 400);
}
