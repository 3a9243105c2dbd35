//! OpenShift's syntax.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{messages, openshift, processed};
use dialect_kubernetes_templates::Mode::{Compat, Strict};
use dialect_kubernetes_templates::{Document, Format, Options, Syntax, write};

const PARAMETERS: &str = "parameters:
- {name: VALUE, value: '1'}
- {name: INT_1, value: '1'}
- {name: BIG, value: '9007199254740993'}
- {name: STRING_1, value: string1}
- {name: STRING_2, value: string2}
- {name: MAP, value: '{\"a\": [1, {\"b\": null}]}'}
- {name: BAD_MAP, value: '{\"a\": }'}
- {name: ARRAY, value: '[1, \"x\"]'}
- {name: BAD_ARRAY, value: '[1,'}
- {name: EMPTY}
- {name: NOTHING, value: 'null'}
- {name: REFERENCE, value: '${VALUE}'}
";

fn x(text: &str, given: &[(&str, &str)]) -> String {
    let template =
        format!("kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: '{text}'}}]\n{PARAMETERS}");
    common::x(&processed(&template, given, &openshift(Compat))).split_whitespace().collect()
}

#[test]
fn rows_of_the_reference() {
    for (text, expected) in [
        ("v${VALUE}", r#""v1""#),
        ("${VALUE}", r#""1""#),
        ("$${VALUE}", r#""$1""#),
        ("${{INT_1}}", "1"),
        ("${{BIG}}", "9007199254740993"),
        ("${{STRING_1}}", r#""string1""#),
        ("${STRING_1}_${STRING_1}", r#""string1_string1""#),
        ("${STRING_1}_${STRING_2}", r#""string1_string2""#),
        ("a${{INT_1}}", r#""a${{INT_1}}""#),
        ("${{INT_1}}a", r#""${{INT_1}}a""#),
        ("${{INVALID_PARAMETER}}", r#""${{INVALID_PARAMETER}}""#),
        ("${{INVALID PARAMETER}}", r#""${{INVALIDPARAMETER}}""#),
        ("${{MAP}}", r#"{"a":[1,{"b":null}]}"#),
        ("${{BAD_MAP}}", r#""{\"a\":}""#),
        ("${{ARRAY}}", r#"[1,"x"]"#),
        ("${{BAD_ARRAY}}", r#""[1,""#),
        ("${{NOTHING}}", "null"),
        ("${{EMPTY}}", r#""""#),
        // Values are not scanned.
        ("${REFERENCE}${VALUE}", r#""${VALUE}1""#),
        ("$(VALUE) $((VALUE)) $$", r#""$(VALUE)$((VALUE))$$""#),
    ] {
        assert_eq!(x(text, &[]), expected, "{text}");
    }
    assert_eq!(x("${{INT_1}}", &[("INT_1", " 7 ")]), "7");
}

#[test]
fn undeclared_references_are_errors_in_strict_mode() {
    let template = "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, x: '${VERSIONS} a${{X}}'}]\n";
    let (found, code) = messages(template, &[], &openshift(Strict));
    assert!(found.len() == 1 && found[0].ends_with("no parameter has the name 'VERSIONS'"), "{found:?}");
    assert_eq!(code, 66);
}

#[test]
fn namespaces_groups_and_the_message() {
    let template = format!(
        "kind: Template
apiVersion: v1
message: The key is ${{STRING_1}}, ${{{{INT_1}}}}
objects:
- {{kind: Route, apiVersion: v1, metadata: {{namespace: literal, name: a}}}}
- {{kind: BuildConfig, apiVersion: v1, metadata: {{namespace: '${{STRING_1}}'}}}}
- {{kind: Service, apiVersion: v1, metadata: {{namespace: '${{{{STRING_1}}}}'}}}}
- {{kind: Role, apiVersion: rbac.authorization.k8s.io/v1}}
- {{kind: List, apiVersion: v1, items: [{{kind: ImageStream, apiVersion: v1, metadata: {{namespace: x}}}}]}}
{PARAMETERS}"
    );
    let text = write(&processed(&template, &[], &openshift(Strict)).into_template(), Format::Yaml);
    assert!(
        text.contains("message: The key is string1, ${{INT_1}}\n")
            || text.contains("message: \"The key is string1, ${{INT_1}}\"\n"),
        "{text}"
    );
    let objects = "objects:
- kind: Route
  apiVersion: route.openshift.io/v1
  metadata:
    name: a
- kind: BuildConfig
  apiVersion: build.openshift.io/v1
  metadata:
    namespace: string1
- kind: Service
  apiVersion: v1
  metadata: {}
- kind: Role
  apiVersion: rbac.authorization.k8s.io/v1
- kind: List
  apiVersion: v1
  items:
  - kind: ImageStream
    apiVersion: image.openshift.io/v1
    metadata: {}
parameters:
";
    assert!(text.contains(objects), "{text}");
}

#[test]
fn values_are_generated() {
    let template = |parameter: &str| {
        format!(
            "kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: '${{P}}'}}]\nparameters: [{{name: P, {parameter}}}]"
        )
    };
    let x = |parameter: &str, given: &[(&str, &str)]| {
        common::x(&processed(&template(parameter), given, &openshift(Strict)))
    };
    // The random bytes of these tests are zeros.
    assert_eq!(x("generate: expression, from: 'u[A-Z]{3}[0-9]{2}'", &[]), "\"uAAA00\"");
    assert_eq!(x("generate: expression, from: '[A-Z]{3}', required: true", &[]), "\"AAA\"");
    assert_eq!(x("generate: expression, from: '[A-Z]{3}', value: default", &[]), "\"default\"");
    assert_eq!(x("generate: expression, from: '[A-Z]{3}'", &[("P", "")]), "\"\"");
    for (parameter, message) in [
        (
            "generate: other, from: x",
            "template.parameters[0]: Invalid value: \"other\": Unknown generator name 'other' for parameter P",
        ),
        (
            "generate: expression, from: '[Z-A]{3}'",
            "template.parameters[0]: Invalid value: \"expression\": invalid range specified: Z-A (parameter P)",
        ),
        (
            "generate: expression, from: '[a-z]{300}'",
            "template.parameters[0]: Invalid value: \"expression\": range must be within [1-255] characters (300) (parameter P)",
        ),
        (
            "generate: expression, from: secret",
            "template.parameters[0]: Invalid value: \"expression\": the expression for parameter P always generates the same value",
        ),
        (
            "generate: expression",
            "template.parameters[0]: Invalid value: \"expression\": the expression for parameter P always generates the same value",
        ),
        (
            "generate: expression, from: '[ABC'",
            "template.parameters[0]: Invalid value: \"expression\": malformed expresion syntax: [ABC (parameter P)",
        ),
    ] {
        let (found, code) = messages(&template(parameter), &[], &openshift(Strict));
        assert!(found.len() == 1 && found[0].ends_with(message), "{found:?}");
        assert_eq!(code, 66);
    }
    // Kubernetes' syntax leaves generation to others.
    let (found, _) =
        messages(&template("generate: expression, from: '[a]{1}', required: true"), &[], &Default::default());
    assert!(found[0].ends_with("the parameter 'P' is required, but its value is empty"), "{found:?}");
}

#[test]
fn messages_of_openshift() {
    let template = "kind: Template\napiVersion: v1\nobjects: []\nparameters: [{name: P, required: true}]";
    let (found, code) = messages(template, &[("Q", "x")], &openshift(Strict));
    assert_eq!(
        found,
        [
            "unknown parameter name \"Q\"",
            "4:21: template.parameters[0]: Required value: template.parameters[0]: parameter P is required and must be specified"
        ]
    );
    assert_eq!(code, 65);
    for (template, message) in [
        ("kind: Pod\napiVersion: v1", "unable to parse \"t.yaml\", not a valid Template but Pod"),
        (
            "kind: Template\napiVersion: v1\nobjects: [{apiVersion: v1}]",
            "item[0].objects: Invalid value: unable to handle object: Object 'Kind' is missing",
        ),
        (
            "kind: Template\napiVersion: v1\nlabels: {a: b}\nobjects: [{kind: K, apiVersion: v1}, {kind: K, apiVersion: v1, metadata: {labels: secret}}]",
            "item[1].labels: Invalid value: label could not be applied: objects[1].metadata.labels: must be a map, not a string",
        ),
        (
            "kind: Template\napiVersion: v1\nobjects: []\nparameters: [{name: b@d}]",
            "parameters[0].name: Invalid value: \"b@d\": does not match ^[a-zA-Z0-9_]+$",
        ),
    ] {
        let (found, code) = messages(template, &[], &openshift(Compat));
        assert!(found.len() == 1 && found[0].ends_with(message), "{found:?}");
        assert_eq!(code, 66);
    }
}

#[test]
fn labels_and_the_message_are_text() {
    let template = "kind: Template\napiVersion: v1\nmessage: '${{NUM}}'\nlabels: {a: '${{NUM}}', '${NUM}': '${NUM}'}\nobjects: [{kind: K, apiVersion: v1}]\nparameters: [{name: NUM, value: '5'}]";
    let text = write(&processed(template, &[], &openshift(Strict)).into_template(), Format::Yaml);
    assert!(text.contains("message: \"5\"\nlabels:\n  a: \"5\"\n  \"5\": \"5\"\n"), "{text}");
}

/// The syntax of a template, and the warnings of processing it in this syntax.
fn syntax_and_warnings(template: &str) -> (Syntax, Vec<String>) {
    let syntax = Document::read(template.as_bytes(), "t.yaml").unwrap().syntax().unwrap();
    let options = Options { syntax, ..Options::default() };
    let warnings = common::outcome(template, &[], &options).warnings;
    (syntax, warnings.into_iter().map(|warning| warning.message).collect())
}

#[test]
fn the_api_version_decides_the_syntax_unless_an_annotation_does() {
    let template = |head: &str, text: &str| {
        format!(
            "kind: Template\n{head}\nobjects: [{{kind: K, apiVersion: v1, x: '{text}'}}]\nparameters: [{{name: PW, value: secret}}]"
        )
    };
    let (own, openshift) = ("apiVersion: v1", "apiVersion: template.openshift.io/v1");
    let annotated = |head: &str, name: &str| {
        format!("{head}\nmetadata: {{annotations: {{boson.cloudfoundry.org/template-syntax: {name}}}}}")
    };
    assert_eq!(syntax_and_warnings(&template(own, "$(PW)")), (Syntax::Kubernetes, vec![]));
    assert_eq!(syntax_and_warnings(&template(openshift, "${PW}")), (Syntax::Openshift, vec![]));
    assert_eq!(syntax_and_warnings(&template(&annotated(openshift, "kubernetes"), "$(PW)")).0, Syntax::Kubernetes);
    assert_eq!(syntax_and_warnings(&template(&annotated(own, "openshift"), "${PW}")).0, Syntax::Openshift);
    let wrong = template(&annotated(own, "other"), "");
    let error = Document::read(wrong.as_bytes(), "t.yaml").unwrap().syntax().unwrap_err();
    assert!(error.to_string().contains("must be kubernetes or openshift\n  --> t.yaml:3:"), "{error}");
    // References of the other syntax, and none of its own.
    let warning = |reference: &str, own: &str, other: &str, version: &str, name: &str| {
        format!(
            "objects[0].x: {reference} stays as it is: references in this template are written {own}; for {other}, set apiVersion {version} or use --syntax {name}"
        )
    };
    for (head, text, expected) in [
        (own, "a ${PW}", Some(warning("${PW}", "$(NAME)", "${NAME}", "template.openshift.io/v1", "openshift"))),
        (own, "${{PW}}", Some(warning("${{PW}}", "$(NAME)", "${NAME}", "template.openshift.io/v1", "openshift"))),
        (openshift, "a $((PW))", Some(warning("$((PW))", "${NAME}", "$(NAME)", "v1", "kubernetes"))),
        (own, "${HOME} $PW", None),
        (own, "${PW} $(PW)", None),
        (openshift, "${PW} $(PW) $(HOME)", None),
    ] {
        assert_eq!(syntax_and_warnings(&template(head, text)).1, Vec::from_iter(expected), "{text}");
    }
}
