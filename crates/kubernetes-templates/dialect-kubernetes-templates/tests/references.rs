//! References: where they are replaced, and by what.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{PARAMETERS, field, messages, mode, outcome, processed, x};
use dialect_kubernetes_templates::Mode::{Compat, Strict};
use dialect_kubernetes_templates::{Format, Options, write};

#[test]
fn a_text_with_references() {
    for (text, expected) in [
        ("$(A)", r#""a""#),
        ("x$(A)y$(A)", r#""xaya""#),
        ("$(I)", r#""8080""#),
        ("$(O)", r#""""#),
        ("$((I))", "8080"),
        ("$((B))", "true"),
        ("$((S))", r#""5""#),
        ("$((D))", r#""MQ==""#),
        ("$((M))", "12"),
        // Beside other text, the whole is a scalar if it is one.
        ("1$((I))", "18080"),
        ("$((M))$((M))", "1212"),
        ("$((M))e$((M))", "12e12"),
        ("\\\"$((A))\\\"".replace('\\', "").as_str(), r#""a""#),
        // Quotes of one reference quote the whole.
        ("$((M))$(M)", r#""1212""#),
        ("$((M))$(O)", r#""12""#),
        // Escapes and other text in parentheses.
        ("$$(A) $$$(A) $(a b) $() $", r#""$(A) $a $(a b) $() $""#),
        ("$$((M))", r#""$((M))""#),
        ("cost: 5$$", r#""cost: 5$""#),
    ] {
        assert_eq!(x(&processed(&field(text), &[], &mode(Strict))), expected, "{text}");
    }
}

#[test]
fn the_examples_of_the_proposal() {
    let template = |text: &str| {
        format!(
            "kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: '{text}'}}]\nparameters: [{{name: FOO, value: BAR}}]"
        )
    };
    for (text, expected) in [
        ("$(FOO)", "BAR"),
        ("$((FOO))", "BAR"),
        ("prefix_$(FOO)_suffix", "prefix_BAR_suffix"),
        ("prefix_$((FOO))_suffix", "prefix_BAR_suffix"),
        ("prefix_$((FOO))_$(FOO)_suffix", "prefix_BAR_BAR_suffix"),
    ] {
        for mode in [mode(Strict), mode(Compat)] {
            assert_eq!(x(&processed(&template(text), &[], &mode)), format!("\"{expected}\""), "{text}");
        }
    }
    // Without quotes, BAR is text nevertheless, which a typing mistake could be.
    let warnings = outcome(&template("$((FOO))"), &[], &mode(Strict)).warnings;
    let message = "objects[0].x: $((FOO)) gives text: the value is not a JSON scalar (a number, true, false or null)";
    assert_eq!(warnings.iter().map(|warning| warning.message.as_str()).collect::<Vec<_>>(), [message]);
}

#[test]
fn an_untyped_value_without_quotes_is_the_scalar_that_it_spells() {
    for (value, expected) in [
        ("null", "null"),
        ("true", "true"),
        ("1.0", "1.0"),
        ("9007199254740993", "9007199254740993"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("1e3", "1e3"),
        ("\"7\"", "\"7\""),
    ] {
        assert_eq!(x(&processed(&field("$((A))"), &[("A", value)], &mode(Strict))), expected, "{value}");
    }
    let (messages, code) = messages(&field("$((A))"), &[("A", "")], &mode(Strict));
    assert_eq!(messages, ["4:32: objects[0].x: $((A)) must be a JSON scalar, but its value is empty"]);
    assert_eq!((messages.len(), code), (1, 65));
    for value in ["abc", "True", "yes", "007", "0x1", " 1", "1 ", "[1]", "{}", "1e999", "~", "'a'", "1,2"] {
        let text = write(&dialect_kubernetes_templates::Node::string(value), Format::Json);
        for (mode, warnings) in [(mode(Strict), 1), (mode(Compat), 0)] {
            let outcome = outcome(&field("$((A))"), &[("A", value)], &mode);
            assert_eq!(outcome.warnings.len(), warnings, "{value}");
            assert!(outcome.warnings.iter().all(|warning| !warning.message.contains("abc")));
            assert_eq!(x(&outcome.result.unwrap()), text.trim_end());
        }
    }
}

#[test]
fn an_optional_int_without_value_fails_without_quotes() {
    let (found, code) = messages(&field("$((P))"), &[], &mode(Strict));
    assert_eq!(found, ["4:32: objects[0].x: $((P)) is an integer of 64 bits, as in 8080, but its value is empty"]);
    assert_eq!(code, 66);
    for beside in ["$((P))0", "1$((P))", "p-$((P))"] {
        let (found, code) = messages(&field(beside), &[], &mode(Strict));
        assert!(found.len() == 1 && found[0].ends_with("but its value is empty"), "{found:?}");
        assert_eq!(code, 66);
    }
    assert_eq!(x(&processed(&field("1$((P))"), &[], &mode(Compat))), "1");
    assert_eq!(x(&processed(&field("$((P))"), &[], &mode(Compat))), r#""""#);
    assert_eq!(x(&processed(&field("$(P)"), &[], &mode(Strict))), r#""""#);
}

#[test]
fn text_beside_a_reference_without_quotes_that_is_no_scalar_stays_with_a_warning() {
    let outcome = outcome(&field("a-$((M))-$((A))"), &[("A", "hunter2")], &Options::default());
    assert_eq!(x(&outcome.result.unwrap()), r#""a-12-hunter2""#);
    let warnings: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "warning: objects[0].x: stays text, although it has $((M)) and $((A)): the whole is not a JSON scalar\n  --> t.yaml:4:32"
        ]
    );
}

#[test]
fn values_are_never_scanned() {
    for value in ["$(A)", "$((A))", "$$", "${A}", "$(B"] {
        let text = write(&dialect_kubernetes_templates::Node::string(format!("{value}-{value}")), Format::Json);
        assert_eq!(x(&processed(&field("$(A)-$(A)"), &[("A", value)], &mode(Strict))), text.trim_end());
    }
    assert_eq!(x(&processed(&field("$(A)$(S)"), &[("A", "$(S)")], &mode(Strict))), r#""$(S)5""#);
}

#[test]
fn every_string_of_an_object_has_references_and_nothing_else() {
    let template = format!(
        "kind: Template
apiVersion: v1
metadata: {{name: $(A), annotations: {{x: $(A)}}}}
message: $(A)
labels: {{$(A): $(A)}}
objects:
- kind: $(A)K
  apiVersion: $(A)/v1
  metadata: {{namespace: $(A), annotations: {{$(A): x, c: [$(A), {{d: $(A)}}]}}}}
  $((M)): [1, true, null, 1.50]
{PARAMETERS}"
    );
    let template = processed(&template, &[], &Options::default()).into_template();
    let text = write(&template, Format::Yaml);
    let expected = "kind: Template
apiVersion: v1
metadata:
  name: $(A)
  annotations:
    x: $(A)
message: $(A)
labels:
  a: a
objects:
- kind: aK
  apiVersion: a/v1
  metadata:
    namespace: a
    annotations:
      a: x
      c:
      - a
      - d: a
    labels:
      a: a
  \"12\":
  - 1
  - true
  - null
  - 1.50
parameters:
";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn keys_that_become_equal_are_an_error() {
    let template = |map: &str| {
        format!("kind: Template\napiVersion: v1\nobjects:\n- {{kind: K, apiVersion: v1, x: {map}}}\n{PARAMETERS}")
    };
    for (map, keys) in [
        ("{$(A): 1, $((A)): 2}", "keys '$(A)' and '$((A))'"),
        // The other key is the value.
        ("{a: 1, $(A): 2}", "key '$(A)' and another one"),
        ("{$(A): 1, a: 2}", "key '$(A)' and another one"),
    ] {
        let expected = format!("objects[0].x: the {keys} are equal after substitution");
        let (found, code) = messages(&template(map), &[], &mode(Compat));
        assert!(found.len() == 1 && found[0].ends_with(&expected), "{found:?}");
        assert_eq!(code, 66);
    }
    let (found, code) = messages(&template("{$(A): 1, secret: 2}"), &[("A", "secret")], &mode(Strict));
    assert_eq!((found.len(), code, found[0].contains("secret")), (1, 65, false));
    // Given values in other keys of the map do not count.
    let (found, code) = messages(&template("{$(O): 0, $(A): 1, a: 2}"), &[("O", "o")], &mode(Strict));
    assert_eq!((found.len(), code), (1, 66));
    // As many as a document may have, in a time that nobody notices.
    let keys: Vec<String> = (0..30_000).map(|n| format!("k{n}$(A): 1, k{n}$((A)): 1")).collect();
    let (found, _) = messages(&template(&format!("{{{}}}", keys.join(", "))), &[], &mode(Strict));
    assert_eq!(found.len(), 1_001);
    // Keys keep their places.
    let text = x(&processed(&template("{z: 1, $(A): 2, b: 3}"), &[], &mode(Strict)));
    assert_eq!(text.split_whitespace().collect::<String>(), r#"{"z":1,"a":2,"b":3}"#);
}

#[test]
fn undeclared_references_are_errors_with_the_nearest_name() {
    let parameters = "parameters: [{name: PASSWORD, value: x}]";
    let template = |text: &str| {
        format!("kind: Template\napiVersion: v1\nobjects:\n- kind: K\n  apiVersion: v1\n  x: [{text}]\n{parameters}")
    };
    let found = common::problems(&template("a, $(PASWORD), $((ZZZ)), {$(QQQ): 1}"), &[], &mode(Strict)).to_string();
    assert_eq!(
        found,
        "error: objects[0].x[1]: $(PASWORD): no parameter has the name 'PASWORD'
  --> t.yaml:6:10
  hint: did you mean 'PASSWORD'?
error: objects[0].x[2]: $((ZZZ)): no parameter has the name 'ZZZ'
  --> t.yaml:6:22
  hint: declare it, or write $$((ZZZ)) for the text $((ZZZ))
error: objects[0].x[3].$(QQQ): no parameter has the name 'QQQ'
  --> t.yaml:6:33
  hint: declare it, or write $$(QQQ) for the text $(QQQ)"
            .replace("x[3].$(QQQ): no", "x[3].$(QQQ): $(QQQ): no")
    );
    // A name that differs in case.
    let text = "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, x: $(password)}]\n";
    let found = common::problems(&format!("{text}{parameters}"), &[], &mode(Strict)).to_string();
    assert!(found.ends_with("hint: did you mean 'PASSWORD'?"), "{found}");
    let kept = x(&processed(&template("'$(PASWORD) $((ZZZ)) $$'"), &[], &mode(Compat)));
    assert_eq!(kept.split_whitespace().collect::<Vec<_>>(), ["[", "\"$(PASWORD)", "$((ZZZ))", "$\"", "]"]);
}
