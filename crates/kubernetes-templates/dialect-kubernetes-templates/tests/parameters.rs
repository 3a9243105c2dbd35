//! Parameters: their declarations, types and values.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{messages, mode, outcome, problems, processed, x};
use dialect_kubernetes_templates::Mode::{Compat, Strict};
use dialect_kubernetes_templates::{Document, Format, Options, Syntax, UserValues, process, write};

fn template(parameters: &str, text: &str) -> String {
    format!(
        "kind: Template\napiVersion: v1\nparameters: {parameters}\nobjects: [{{kind: K, apiVersion: v1, x: '{text}'}}]"
    )
}

#[test]
fn a_given_value_beats_the_default_even_if_empty() {
    let template = template("[{name: X, value: default}]", "<$(X)>");
    assert_eq!(x(&processed(&template, &[], &mode(Strict))), r#""<default>""#);
    assert_eq!(x(&processed(&template, &[("X", "given")], &mode(Strict))), r#""<given>""#);
    assert_eq!(x(&processed(&template, &[("X", "")], &mode(Strict))), r#""<>""#);
}

#[test]
fn a_required_parameter_is_not_empty() {
    for (parameters, given) in [
        ("[{name: X, required: true}]", None),
        ("[{name: X, required: true, value: ''}]", None),
        ("[{name: X, required: true, value: null}]", None),
        ("[{name: X, required: true, value: default}]", Some(("X", ""))),
    ] {
        for mode in [mode(Strict), mode(Compat)] {
            // Nothing refers to it.
            let (found, code) = messages(&template(parameters, "x"), given.as_slice(), &mode);
            // It is where the empty value was given.
            let place = if given.is_some() { "" } else { "3:21: " };
            assert_eq!(found, [format!("{place}parameters[0]: the parameter 'X' is required, but its value is empty")]);
            assert_eq!(code, 65);
        }
    }
    // Nothing is reported for what depends on it.
    let missing = template("[{name: X, required: true}]", "$((X))");
    assert_eq!(messages(&missing, &[], &mode(Strict)).0.len(), 1);
    // A check needs no values.
    let check = Options { check_only: true, ..Options::default() };
    assert!(outcome(&missing, &[], &check).result.is_ok());
    assert!(outcome(&missing, &[("X", "")], &check).result.is_err());
}

/// What `--ask` and the schema say, and what processing does.
#[test]
fn a_value_is_needed_exactly_where_processing_fails_without() {
    let mut needed = Vec::new();
    for syntax in [Syntax::Kubernetes, Syntax::Openshift] {
        for required in [false, true] {
            for default in ["", ", value: ''", ", value: x"] {
                for generate in ["", ", generate: expression, from: '[a]{3}'"] {
                    let template = template(&format!("[{{name: X, required: {required}{default}{generate}}}]"), "x");
                    let document = Document::read(template.as_bytes(), "t.yaml").unwrap();
                    let parameter = document.parameters(syntax).unwrap().remove(0);
                    for given in [None, Some(("X", "")), Some(("X", "x"))] {
                        let options = Options { syntax, ..Options::default() };
                        let fails = outcome(&template, given.as_slice(), &options).result.is_err();
                        let case = format!("{syntax:?} {required} {default} {generate} {given:?}");
                        assert_eq!(parameter.needs_value(given.map(|(_, value)| value), syntax), fails, "{case}");
                        needed.extend(fails.then_some(case));
                    }
                    let schema = write(&document.schema(syntax).unwrap(), Format::Json);
                    let is_required = schema.contains("\"required\": [\n    \"X\"");
                    assert_eq!(is_required, parameter.needs_value(None, syntax), "{template}\n{schema}");
                }
            }
        }
    }
    assert_eq!(needed.len(), 18, "{needed:#?}");
}

#[test]
fn what_could_not_be_read_has_no_further_problems() {
    let text = template(
        "[{name: LOST, required: true}, {name: P, type: int}, {name: X, required: true}, {name: I, type: int}]",
        "$((LOST))$((P))",
    );
    let read = |lines: &[u8]| UserValues::from_lines(lines, "v.env").0;
    let found = |given: &UserValues| {
        let document = Document::read(text.as_bytes(), "t.yaml").unwrap();
        let result = process(document, given, &mode(Strict), &|_| ()).result;
        result.err().map_or(Vec::new(), |error| error.iter().map(|problem| problem.message.clone()).collect())
    };
    // Of a name, nothing else is.
    assert_eq!(
        found(&read(b"LOST=\xff\nP=\xff\nI=secret\nQ=\xff")),
        [
            "a value is given for 'Q', which is not a parameter",
            "parameters[2]: the parameter 'X' is required, but its value is empty",
            "parameters[3]: the value given for the parameter 'I' has the wrong type: must be an integer of 64 bits, as in 8080"
        ]
    );
    // Of any name, no parameter is missing, and what has been read is checked.
    let mut given = read(b"X=");
    given.replace_with(read(b"lost\nI=secret"));
    assert_eq!(
        found(&given),
        [
            "parameters[3]: the value given for the parameter 'I' has the wrong type: must be an integer of 64 bits, as in 8080"
        ]
    );
    // Nothing replaces the values of the last source.
    given.replace_with(read(b"X=\nI=5"));
    assert_eq!(found(&given), ["parameters[2]: the parameter 'X' is required, but its value is empty"]);
}

#[test]
fn types_are_checked_even_where_nothing_refers_to_the_parameter() {
    for field in ["type", "parameterType"] {
        for (kind, good, bad) in
            [("int", "5", "5.0"), ("bool", "false", "no"), ("base64", "aGk=", "hi there"), ("string", "x", "")]
        {
            let parameters = format!("[{{name: X, {field}: {kind}, value: '{bad}'}}]");
            let both = |given: &[(&str, &str)]| outcome(&template(&parameters, "x"), given, &mode(Compat)).result;
            if kind != "string" {
                let problems = both(&[]).map(|done| done.into_list()).unwrap_err();
                let message = problems.to_string();
                assert!(message.contains("the default for the parameter 'X' has the wrong type"), "{message}");
                assert_eq!(problems.exit_code(), 66);
                let given = both(&[("X", "secret one")]).map(|done| done.into_list()).unwrap_err();
                assert_eq!(given.exit_code(), 65);
                assert!(!given.to_string().contains("secret"), "{given}");
            }
            // Only the value that is used.
            assert!(both(&[("X", good)]).is_ok(), "{kind}");
        }
    }
}

#[test]
fn declarations_that_are_wrong() {
    for (parameters, message) in [
        ("[{name: a-b}]", "parameters[0].name: Invalid value: \"a-b\": does not match ^[a-zA-Z0-9_]+$"),
        ("[{name: ''}]", "parameters[0].name: Required value: the name is empty"),
        ("[{value: x}]", "parameters[0].name: Required value: the parameter has no name"),
        ("[{name: 5}]", "parameters[0].name: must be a string, not a number"),
        ("[{name: X}, {name: X}]", "parameters[1].name: the parameter 'X' is declared twice"),
        ("[{name: X, type: inte}]", "parameters[0].type: unknown type 'inte': must be string, int, bool or base64"),
        (
            "[{name: X, parameterType: object}]",
            "parameters[0].parameterType: unknown type 'object': must be string, int, bool or base64",
        ),
        ("[{name: X, type: 5}]", "parameters[0].type: must be a string, not a number"),
        ("[{name: X, type: int, parameterType: bool}]", "parameters[0].parameterType: is 'bool', but type is 'int'"),
        ("[{name: X, value: 8086}]", "parameters[0].value: must be a string, not a number"),
        ("[{name: X, value: true}]", "parameters[0].value: must be a string, not a boolean"),
        ("[{name: X, value: [a]}]", "parameters[0].value: must be a string, not a list"),
        ("[{name: X, required: 'yes'}]", "parameters[0].required: must be true or false, not a string"),
        ("[X]", "parameters[0]: must be a map, not a string"),
        ("{X: 5}", "parameters: must be a list, not a map"),
    ] {
        for mode in [mode(Strict), mode(Compat)] {
            let (found, code) = messages(&template(parameters, "x"), &[], &mode);
            let is_named = parameters.starts_with("[{name: X, ");
            let message = format!("{message}{}", if is_named { " (parameter X)" } else { "" });
            assert!(found.len() == 1 && found[0].ends_with(&message), "{parameters}: {found:?}");
            assert_eq!(code, 66);
        }
    }
    let hint = problems(&template("[{name: X, value: 8086}]", "x"), &[], &mode(Strict)).to_string();
    assert!(hint.ends_with("hint: put the value in quotes"), "{hint}");
}

#[test]
fn values_for_unknown_names_are_errors_in_both_modes() {
    for mode in [mode(Strict), mode(Compat)] {
        let found = problems(&template("[{name: PASSWORD}]", "x"), &[("PASWORD", "hunter2")], &mode);
        assert_eq!(
            found.to_string(),
            "error: a value is given for 'PASWORD', which is not a parameter\n  --> --param PASWORD\n  hint: did you mean 'PASSWORD'?"
        );
        assert_eq!(found.exit_code(), 65);
        let ignores = Options { ignore_unknown: true, ..mode };
        assert!(outcome(&template("[{name: PASSWORD}]", "x"), &[("PASWORD", "x")], &ignores).result.is_ok());
    }
}

#[test]
fn unknown_fields_of_a_template_are_errors_in_strict_mode() {
    let template = "kind: Template\napiVersion: v1\nobjects: []\nparamters: []\nobjectLabels: {}\n";
    let found = problems(template, &[], &mode(Strict)).to_string();
    assert_eq!(
        found,
        "error: a Template has no field 'paramters'\n  --> t.yaml:4:1\n  hint: did you mean 'parameters'?\n\
         error: a Template has no field 'objectLabels'\n  --> t.yaml:5:1\n  hint: did you mean 'labels'?"
    );
    let kept = write(&processed(template, &[], &mode(Compat)).into_template(), Format::Yaml);
    assert!(kept.contains("paramters: []\nobjectLabels: {}\n"), "{kept}");
}

#[test]
fn unknown_fields_of_a_parameter_are_warnings() {
    for mode in [mode(Strict), mode(Compat)] {
        let outcome = outcome(&template("[{name: X, requierd: true, x: z}]", "x"), &[], &mode);
        let text = write(&outcome.result.unwrap().into_template(), Format::Yaml);
        assert!(text.contains("- name: X\n  requierd: true\n  x: z\n"), "{text}");
        let warnings: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            warnings,
            [
                "warning: parameters[0]: a parameter has no field 'requierd', which has no effect (did you mean 'required'?) (parameter X)\n  --> t.yaml:3:24",
                "warning: parameters[0]: a parameter has no field 'x', which has no effect (parameter X)\n  --> t.yaml:3:40",
            ]
        );
    }
}

#[test]
fn all_problems_of_a_run_are_reported() {
    let template = "kind: Template
apiVersion: v2
objects:
- {kind: K, apiVersion: v1, x: $(Z)}
- {kind: K}
- 5
labels: {-x: y}
parameters:
- {name: X, required: true}
- {name: Y, type: int, value: secret}
";
    let (found, code) = messages(template, &[("W", "secret")], &mode(Strict));
    let found = found.join("\n");
    for part in
        ["apiVersion", "objects[0].x", "objects[1]", "objects[2]", "labels.-x", "parameters[0]", "parameters[1]", "'W'"]
    {
        assert!(found.contains(part), "{part} in {found}");
    }
    assert_eq!(found.lines().count(), 8, "{found}");
    assert!(!found.contains("secret"));
    assert_eq!(code, 65);
}

#[test]
fn the_template_has_the_values_that_were_used() {
    let template =
        template("[{name: A, value: a, x: kept}, {name: B, required: true}, {name: C}, {name: D, value: d}]", "x");
    let text = write(&processed(&template, &[("B", "b"), ("D", "")], &mode(Strict)).into_template(), Format::Yaml);
    let expected = "parameters:\n- name: A\n  value: a\n  x: kept\n- name: B\n  required: true\n  value: b\n- name: C\n- name: D\n  value: \"\"\nobjects:\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn messages_about_fields_of_a_parameter_name_it() {
    let template = "kind: Template\napiVersion: v1\nobjects: []\nparameters: [{name: A, value: 5, typo: x}, {name: B, type: integer}, {name: C, required: 'yes'}]";
    let outcome = common::outcome(template, &[], &Options::default());
    let problems = outcome.result.map(|done| done.into_list()).unwrap_err();
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "parameters[0].value: must be a string, not a number (parameter A)",
            "parameters[1].type: unknown type 'integer': must be string, int, bool or base64 (parameter B)",
            "parameters[2].required: must be true or false, not a string (parameter C)"
        ]
    );
    assert!(outcome.warnings[0].message.ends_with("(parameter A)"), "{:?}", outcome.warnings);
}
