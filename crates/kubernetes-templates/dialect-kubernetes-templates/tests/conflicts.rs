//! References that the kubelet could resolve too.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{messages, mode, processed};
use dialect_kubernetes_templates::Mode::{Compat, Strict};
use dialect_kubernetes_templates::{Format, Options, write};

fn template(container: &str, list: &str) -> String {
    format!(
        "kind: Template\napiVersion: v1\nobjects:\n- kind: Any\n  apiVersion: x/v1\n  spec:\n    deep:\n    - {list}:\n      - {container}\nparameters:\n- {{name: X, value: x}}\n- {{name: NAME, value: X}}\n- {{name: ENV, value: env}}\n"
    )
}

const CONFLICT: &str = "$(X) is a parameter and a variable of the container";

#[test]
fn a_conflict_is_an_error_in_both_modes() {
    for (container, field) in [
        ("{env: [{name: X, value: v}], command: [a, $(X)]}", "command[1]"),
        ("{args: [$(X)], env: [{name: X, value: v}]}", "args[0]"),
        ("{env: [{name: X, valueFrom: {a: b}}], args: ['a=$(X)']}", "args[0]"),
        ("{env: [{name: X, value: v}, {name: Y, value: $(X)}]}", "env[1].value"),
        ("{env: [{name: $(NAME), value: v}], args: [$(X)]}", "args[0]"),
        ("{env: [{name: X, value: $(X)}, {name: X, value: $(X)}]}", "env[1].value"),
        ("{env: [{name: X}], args: [$((X))$(X)]}", "args[0]"),
        ("{$(ENV): [{name: X}], args: [$(X)]}", "args[0]"),
    ] {
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            for mode in [mode(Strict), mode(Compat)] {
                let (found, code) = messages(&template(container, list), &[], &mode);
                let expected = format!("objects[0].spec.deep[0].{list}[0].{field}: {CONFLICT}");
                assert!(found.len() == 1 && found[0].ends_with(&expected), "{container}: {found:?}");
                assert_eq!(code, 66);
            }
        }
    }
    let found = common::problems(&template("{env: [{name: X}], args: [$(X)]}", "containers"), &[], &mode(Strict));
    assert!(found.to_string().contains("hint: write $$(X) for the variable"), "{found}");
}

#[test]
fn no_conflicts() {
    for (container, list) in [
        // The variable's own entry, and entries before it.
        ("{env: [{name: X, value: $(X)}]}", "containers"),
        ("{env: [{name: Y, value: $(X)}, {name: X, value: v}]}", "containers"),
        // Other fields and containers.
        ("{env: [{name: X, value: v}], image: $(X), lifecycle: {postStart: {exec: {command: [$(X)]}}}}", "containers"),
        ("{env: [{name: X, value: v}, {name: $(X), valueFrom: {a: $(X)}}]}", "containers"),
        ("{env: [{name: X, value: v}], args: [$(X)]}", "others"),
        ("{env: [{name: Y, value: v}], args: [$(X)]}", "containers"),
        ("{args: [$(X)]}\n      - {env: [{name: X, value: v}]}", "containers"),
        // The escape, and what the kubelet does not read.
        ("{env: [{name: X, value: v}], args: [$$(X)]}", "containers"),
        ("{env: [{name: X, value: v}], args: [$((X))]}", "containers"),
    ] {
        let options = if container.contains("$((") { mode(Compat) } else { mode(Strict) };
        processed(&template(container, list), &[], &options);
    }
}

#[test]
fn variables_that_are_no_parameters_stay_anywhere_in_their_container() {
    let container =
        "{env: [{name: V, value: $(V)}, {name: W, value: '$(V) $(X)'}], image: $(V), args: ['$(V)$$(X)'], $(V): 1}";
    let list = processed(&template(container, "containers"), &[], &Options::default()).into_list();
    let text = write(&list, Format::Yaml);
    for part in ["value: $(V)\n", "value: $(V) x\n", "image: $(V)\n", "- $(V)$(X)\n", "$(V): 1\n"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Not in another one, and not without quotes.
    for container in ["{env: [{name: V}]}\n      - {args: [$(V)]}", "{env: [{name: V}], args: [$((V))]}"] {
        assert_eq!(messages(&template(container, "containers"), &[], &mode(Strict)).1, 66);
    }
}

#[test]
fn openshift_has_no_conflicts() {
    let container = "{env: [{name: X, value: v}], args: ['${X}', '$(X)']}";
    let list = processed(&template(container, "containers"), &[], &common::openshift(Strict)).into_list();
    assert!(write(&list, Format::Yaml).contains("args:\n        - x\n        - $(X)\n"));
}
