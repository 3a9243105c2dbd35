//! Each keyword: what it accepts, and BOSH's messages for the rest, which are json_schemer's.

#![allow(clippy::unwrap_used, reason = "a test")]

use properties_schema::{DRAFT, Facts, Schema, SchemaError, report};
use serde_json::{Value as Json, json};
use value::{Map, Value};

/// Stands in for Ruby: a pattern is the beginning that a text must have.
struct Beginnings;

impl Facts for Beginnings {
    fn matches(&self, pattern: &str, text: &Value) -> Result<bool, String> {
        let beginning = pattern.strip_prefix('^').ok_or_else(|| format!("no pattern: {pattern}"))?;
        Ok(text.as_str().unwrap_or_default().starts_with(beginning))
    }

    fn has_format(&self, format: &str, text: &Value) -> Result<bool, String> {
        Ok(format != "ipv4" || text.as_str() == Some("10.0.0.1"))
    }

    fn is_certificate(&self, text: &Value) -> Result<bool, String> {
        Ok(text.as_str() == Some("a certificate"))
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap()), Value::Int),
        Json::String(text) => Value::str(text.clone()),
        Json::Array(items) => Value::array(items.iter().map(value)),
        Json::Object(object) => Value::map(object.iter().map(|(k, v)| (k.as_str(), value(v)))),
    }
}

fn schema(mut rules: Json) -> Result<Schema, SchemaError> {
    rules["$schema"] = DRAFT.into();
    Schema::new(rules)
}

/// The messages for these properties.
fn messages(rules: Json, properties: &Value) -> Vec<String> {
    schema(rules).unwrap().validate(properties, &Beginnings).unwrap().into_iter().map(|v| v.text).collect()
}

/// The rules hold for `x`: the good ones pass, of the bad one exactly these messages are reported.
fn check(rules: Json, good: &[Json], bad: Json, texts: &[&str]) {
    let of = |x: &Json| messages(json!({"properties": {"x": rules.clone()}}), &value(&json!({"x": x})));
    for x in good {
        assert_eq!(of(x), [""; 0], "{rules} {x}");
    }
    assert_eq!(of(&bad), texts, "{rules} {bad}");
}

#[test]
fn types() {
    for (name, good, bad, text) in [
        ("null", json!(null), json!(0), "value at `/x` is not null"),
        ("boolean", json!(false), json!("false"), "value at `/x` is not a boolean"),
        ("number", json!(1.5), json!("1.5"), "value at `/x` is not a number"),
        ("integer", json!(2.0), json!(2.5), "value at `/x` is not an integer"),
        ("string", json!("s"), json!(1), "value at `/x` is not a string"),
        ("array", json!([]), json!({}), "value at `/x` is not an array"),
        ("object", json!({}), json!([]), "value at `/x` is not an object"),
        ("certificate", json!("a certificate"), json!("none"), "value at `/x` is not a certificate"),
    ] {
        check(json!({"type": name}), &[good], bad, &[text]);
    }
    check(json!({"type": "certificate"}), &[json!("")], json!(1), &["value at `/x` is not a certificate"]);
    let several = ["value at `/x` is not one of the types: [\"string\", \"null\"]"];
    check(json!({"type": ["string", "null"]}), &[json!(null), json!("s")], json!(1), &several);
    check(json!({"type": "unheard-of"}), &[json!(1)], json!("s"), &[]);
}

#[test]
fn symbols_are_not_strings_and_keys_are_texts() {
    let symbol = Value::map([("x", Value::Symbol("s".into()))]);
    assert_eq!(messages(json!({"properties": {"x": {"type": "string"}}}), &symbol), ["value at `/x` is not a string"]);
    let odd: Map = [(Value::Int(80), Value::str("s"))].into_iter().collect();
    let rules = json!({"properties": {"80": {"type": "integer"}}});
    assert_eq!(messages(rules, &Value::Map(odd.into())), ["value at `/80` is not an integer"]);
}

#[test]
fn enumerations() {
    check(
        json!({"enum": ["a", 1, null]}),
        &[json!("a"), json!(1.0), json!(null)],
        json!("b"),
        &["value at `/x` is not one of: [\"a\", 1, nil]"],
    );
    check(
        json!({"const": {"a": [1]}}),
        &[json!({"a": [1.0]})],
        json!({"a": [2]}),
        &["value at `/x` is not: {\"a\"=>[1]}"],
    );
    check(json!({"const": "on"}), &[json!("on")], json!("off"), &["value at `/x` is not: on"]);
}

#[test]
fn numbers() {
    for (rules, good, bad, text) in [
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35), "number at `/x` is not a multiple of: 0.1"),
        (json!({"maximum": 3}), json!(3), json!(3.5), "number at `/x` is greater than: 3"),
        (json!({"exclusiveMaximum": 3}), json!(2), json!(3), "number at `/x` is greater than or equal to: 3"),
        (json!({"minimum": 1.0}), json!(1), json!(0), "number at `/x` is less than: 1.0"),
        (json!({"exclusiveMinimum": 1}), json!(2), json!(1), "number at `/x` is less than or equal to: 1"),
    ] {
        check(rules, &[good, json!("no number")], bad, &[text]);
    }
}

#[test]
fn strings() {
    check(
        json!({"maxLength": 2}),
        &[json!("éé"), json!(123)],
        json!("abc"),
        &["string length at `/x` is greater than: 2"],
    );
    check(json!({"minLength": 2}), &[json!("éé")], json!("é"), &["string length at `/x` is less than: 2"]);
    check(
        json!({"pattern": "^ab"}),
        &[json!("abc"), json!(1)],
        json!("ba"),
        &["string at `/x` does not match pattern: ^ab"],
    );
    check(
        json!({"format": "ipv4"}),
        &[json!("10.0.0.1"), json!(1)],
        json!("x"),
        &["value at `/x` does not match format: ipv4"],
    );
}

#[test]
fn arrays() {
    check(
        json!({"maxItems": 1}),
        &[json!([1]), json!("ab")],
        json!([1, 2]),
        &["array size at `/x` is greater than: 1"],
    );
    check(json!({"minItems": 1}), &[json!([1])], json!([]), &["array size at `/x` is less than: 1"]);
    check(
        json!({"uniqueItems": true}),
        &[json!([1, 1.0, "1"]), json!([{"a": 1}, {"a": 2}])],
        json!([[1], [1]]),
        &["array items at `/x` are not unique"],
    );
    check(json!({"uniqueItems": false}), &[json!([1, 1])], json!([1, 1]), &[]);
    check(
        json!({"items": {"type": "string"}}),
        &[json!(["a"]), json!({})],
        json!(["a", 1, "b", 2]),
        &["value at `/x/1` is not a string", "value at `/x/3` is not a string"],
    );
    let tuple = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    check(
        tuple,
        &[json!(["a", 1, 2]), json!([])],
        json!([1, "a"]),
        &["value at `/x/0` is not a string", "value at `/x/1` is not an integer"],
    );
    check(
        json!({"prefixItems": [{}], "items": false}),
        &[json!([1])],
        json!([1, 2]),
        &["value at `/x/1` does not match schema"],
    );
    check(
        json!({"contains": {"type": "string"}}),
        &[json!([1, "a"])],
        json!([1, 2]),
        &["array at `/x` does not contain enough items that match `contains` schema"],
    );
    let some = json!({"contains": {"type": "string"}, "minContains": 2, "maxContains": 2});
    check(
        some.clone(),
        &[json!(["a", "b", 1])],
        json!(["a"]),
        &[
            "array at `/x` does not contain enough items that match `contains` schema",
            "number of array items at `/x` matching `contains` schema is less than: 2",
        ],
    );
    check(
        some,
        &[],
        json!(["a", "b", "c"]),
        &["number of array items at `/x` matching `contains` schema is greater than: 2"],
    );
    check(json!({"minContains": 2}), &[json!([])], json!([1]), &[]);
}

#[test]
fn objects() {
    check(
        json!({"required": ["a", "b", "c"]}),
        &[json!({"a": null, "b": 1, "c": 1}), json!(1)],
        json!({"b": 1}),
        &["object at `/x` is missing required properties: a, c"],
    );
    check(
        json!({"maxProperties": 1}),
        &[json!({"a": 1})],
        json!({"a": 1, "b": 1}),
        &["object size at `/x` is greater than: 1"],
    );
    check(json!({"minProperties": 1}), &[json!({"a": 1})], json!({}), &["object size at `/x` is less than: 1"]);
    let closed = json!({"properties": {"a": {}}, "patternProperties": {"^p": {"type": "integer"}}, "additionalProperties": false});
    check(
        closed,
        &[json!({"a": 1, "port": 2})],
        json!({"port": "s", "x/y~z": 1}),
        &[
            "value at `/x/port` is not an integer",
            "object property at `/x/x~1y~0z` is not defined and schema does not allow additional properties",
        ],
    );
    check(
        json!({"additionalProperties": {"type": "string"}}),
        &[json!({"a": "s"})],
        json!({"a": 1}),
        &["value at `/x/a` is not a string"],
    );
    check(
        json!({"properties": {"a": false}}),
        &[json!({})],
        json!({"a": 1}),
        &["value at `/x/a` does not match schema"],
    );
    check(
        json!({"propertyNames": {"maxLength": 2}}),
        &[json!({"ab": 1})],
        json!({"abc": 1}),
        &["string length at `/x` is greater than: 2"],
    );
    check(
        json!({"dependentRequired": {"a": ["b"]}}),
        &[json!({"b": 1}), json!({"a": 1, "b": 1})],
        json!({"a": 1}),
        &["object at `/x/a` is missing required `dependentRequired` properties"],
    );
    check(
        json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
        &[json!({})],
        json!({"a": 1}),
        &["object at `/x` is missing required properties: b"],
    );
}

#[test]
fn combinations() {
    let string = json!({"type": "string"});
    check(
        json!({"allOf": [string, {"minLength": 2}]}),
        &[json!("ab")],
        json!("a"),
        &["string length at `/x` is less than: 2"],
    );
    check(
        json!({"anyOf": [string, {"type": "integer"}]}),
        &[json!("a"), json!(1)],
        json!(null),
        &["value at `/x` is not a string", "value at `/x` is not an integer"],
    );
    check(json!({"anyOf": []}), &[], json!(1), &["value at `/x` does not match any `anyOf` schemas"]);
    check(
        json!({"oneOf": [string, {"type": "integer"}]}),
        &[json!("a")],
        json!(null),
        &["value at `/x` is not a string", "value at `/x` is not an integer"],
    );
    check(
        json!({"oneOf": [string, {"minLength": 1}]}),
        &[json!("")],
        json!("ab"),
        &["value at `/x` does not match exactly one `oneOf` schema"],
    );
    check(json!({"not": string}), &[json!(1)], json!("a"), &["value at `/x` matches `not` schema"]);
    let conditional = json!({"if": string, "then": {"minLength": 2}, "else": false});
    check(conditional.clone(), &[json!("ab")], json!("a"), &["string length at `/x` is less than: 2"]);
    check(conditional, &[], json!(1), &["value at `/x` does not match conditional `else` schema"]);
    check(json!({"then": false}), &[json!(1)], json!("a"), &[]);
}

#[test]
fn unevaluated() {
    let rules = json!({
        "allOf": [{"properties": {"a": {}}}],
        "anyOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}, true],
        "if": {"properties": {"c": {"const": 1}}, "required": ["c"]},
        "unevaluatedProperties": false
    });
    check(
        rules,
        &[json!({"a": 1, "b": "s", "c": 1})],
        json!({"a": 1, "b": 1, "c": 2}),
        &["value at `/x/b` does not match schema", "value at `/x/c` does not match schema"],
    );
    let rules = json!({"prefixItems": [{}], "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}});
    check(rules, &[json!([1, "a", null])], json!([1, "a", 2]), &["value at `/x/2` is not null"]);
    check(json!({"allOf": [{"items": {}}], "unevaluatedItems": false}), &[json!([1, 2])], json!([]), &[]);
}

#[test]
fn references() {
    let port = json!({"type": "integer", "maximum": 65535});
    let of = |reference: &str| json!({"$defs": {"port": port, "p": {"$anchor": "named", "type": "null"}}, "properties": {"x": {"$ref": reference}}});
    let bad = value(&json!({"x": "s"}));
    assert_eq!(messages(of("#/$defs/port"), &bad), ["value at `/x` is not an integer"]);
    assert_eq!(messages(of("#named"), &bad), ["value at `/x` is not null"]);
    let embedded = json!({
        "$id": "https://example.com/root",
        "properties": {"x": {"$ref": "item"}, "y": {"$ref": "item#/$defs/deep"}},
        "$defs": {"any": {"$id": "item", "type": "array", "items": {"$ref": "#/$defs/deep"}, "$defs": {"deep": {"type": "null"}}}}
    });
    assert_eq!(
        messages(embedded, &value(&json!({"x": [1], "y": 2}))),
        ["value at `/x/0` is not null", "value at `/y` is not null",]
    );
    let tree =
        json!({"$dynamicAnchor": "node", "properties": {"next": {"$dynamicRef": "#node"}}, "required": ["name"]});
    assert_eq!(
        messages(tree, &value(&json!({"name": 1, "next": {"next": {"name": 2}}}))),
        ["object at `/next` is missing required properties: name",]
    );
    for (reference, why) in [
        ("#/$defs/none", "the reference #/$defs/none leads nowhere (nothing is fetched)"),
        ("https://example.com/far", "the reference https://example.com/far leads nowhere (nothing is fetched)"),
        ("#/properties/x/$ref", "the reference #/properties/x/$ref leads to something that is not a schema"),
    ] {
        assert_eq!(schema(of(reference)).unwrap().validate(&bad, &Beginnings), Err(SchemaError(why.into())));
    }
    let endless = Err(SchemaError("the schema refers to itself without end".into()));
    assert_eq!(schema(json!({"$ref": "#"})).unwrap().validate(&bad, &Beginnings), endless);
}

#[test]
fn the_authors_own_texts() {
    let own = json!({"type": "string", "x-error": "use a name (%{instanceLocation}), not %{instance}"});
    check(own, &[], json!("4711-secret".len()), &["use a name (/x), not <redacted>"]);
    let by_keyword = json!({"type": "integer", "maximum": 1, "x-error": {"maximum": "too many", "*": "wrong"}});
    check(by_keyword.clone(), &[], json!(2), &["too many"]);
    check(by_keyword, &[], json!("s"), &["wrong"]);
}

#[test]
fn all_violations_are_in_boshs_report() {
    let rules = json!({
        "required": ["c"],
        "properties": {"number_prop": {"type": "number"}, "string_prop": {"type": "string"}},
        "additionalProperties": false
    });
    let properties = value(&json!({"string_prop": 1, "number_prop": "1", "other": 1}));
    let violations = schema(rules).unwrap().validate(&properties, &Beginnings).unwrap();
    assert_eq!(violations[0].path, ["number_prop".into()]);
    assert_eq!(
        report("foobar", &violations),
        "Error validating properties for foobar
value at `/number_prop` is not a number
value at `/string_prop` is not a string
object property at `/other` is not defined and schema does not allow additional properties
object at root is missing required properties: c"
    );
}

#[test]
fn only_2020_12_is_accepted() {
    let undeclared = "You must declare your $schema draft version";
    let supported = "Only https://json-schema.org/draft/2020-12/schema schema is currently supported";
    for (document, text) in [
        (json!({"type": "object"}), undeclared),
        (json!({"$schema": " "}), undeclared),
        (json!({"$schema": "https://json-schema.org/draft/2019-09/schema"}), supported),
        (json!([]), "the schema must be a JSON object"),
    ] {
        assert_eq!(Schema::new(document).unwrap_err(), SchemaError(text.into()));
    }
}

#[test]
fn an_invalid_schema_is_reported_with_its_place() {
    for (rules, text) in [
        (json!({"properties": []}), "the schema has a `properties` that is not an object of schemas"),
        (
            json!({"properties": {"a": {"required": "b"}}}),
            "the schema at /properties/a has a `required` that is not a list of names",
        ),
        (json!({"allOf": [1]}), "the schema at /allOf/0 is neither an object nor a boolean"),
    ] {
        assert_eq!(schema(rules).unwrap_err(), SchemaError(text.into()));
    }
    let broken = schema(json!({"properties": {"a": {"pattern": "("}}})).unwrap();
    assert_eq!(broken.validate(&Value::map([]), &Beginnings), Err(SchemaError("no pattern: (".into())));
}
