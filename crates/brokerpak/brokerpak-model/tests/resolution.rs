//! Requests and the variables that they resolve to.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use brokerpak_model::configuration::{Configuration, Machine};
use brokerpak_model::report::Report;
use brokerpak_model::request::Request;
use brokerpak_model::resolve::resolve;
use common::{MANIFEST, SERVICE, read, shown};
use serde_json::{Value as Json, json};

const ACTIONS: &str = r#"provision:
  plan_inputs:
  - {field_name: fixed, type: integer, details: d}
  user_inputs:
  - {field_name: name, type: string, details: d, default: 'n-${request.instance_id}', constraints: {maxLength: 8}}
  - {field_name: size, type: integer, details: d, default: 5, prohibit_update: true}
  - {field_name: over, type: string, details: d, default: default}
  - {field_name: double, type: integer, details: d, default: '${size * 2}'}
  - {field_name: fixed, type: integer, details: d, default: '${unknown}'}
  - {field_name: maybe, type: string, details: d}
  - {field_name: list, type: array, details: d, default: '["a"]'}
  computed_inputs:
  - {name: labels, default: '${json.marshal(request.default_labels)}', overwrite: true, type: object}
  - {name: org, default: '${request.default_labels.pcf-organization-guid}'}
  - {name: size, default: 99}
  - {name: sum, default: '${fixed + 1}', type: integer}
  template: |
    variable name {}
    variable maybe {}
    variable double {}
    output o {value = "${var.labels}"}
  outputs: [{field_name: o, type: string, details: d}]
bind:
  plan_inputs:
  - {field_name: fixed, type: string, details: d, required: true}
  user_inputs:
  - {field_name: bound, type: string, details: d}
  - {field_name: app, type: string, details: d, default: '${request.app_guid}'}
  computed_inputs:
  - {name: mail, default: '${instance.details["mail"]} of ${instance.name}'}
  - {name: flags, default: '${request.plan_properties["fixed"]}'}
"#;

struct Fixed;

impl Machine for Fixed {
    fn time_nano(&mut self) -> i128 {
        7
    }

    fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
        Ok(vec![0; count])
    }
}

fn resolved_with(request: Json, config: Json, environment: &[(&str, &str)]) -> Result<Json, Vec<String>> {
    let (mut pak, mut report) = read(&[("manifest.yml", MANIFEST), ("s.yml", &format!("{SERVICE}{ACTIONS}"))]);
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let configuration = Configuration::new(config, environment, &BTreeMap::new());
    pak.add_plans(&configuration, &mut report);
    assert_eq!(shown(&report.problems()), [] as [&str; 0]);
    let request =
        Request::read(request.as_object().unwrap().clone(), None, &pak, "request.json").map_err(|e| shown(&e))?;
    let resolved = resolve(&request, &configuration, &mut Fixed).map_err(|problems| shown(&problems))?;
    Ok(json!({ "variables": resolved.variables, "terraform": resolved.terraform }))
}

fn resolved(request: Json) -> Result<Json, Vec<String>> {
    resolved_with(request, Json::Null, &[])
}

fn provision(parameters: Json) -> Json {
    json!({ "operation": "provision", "plan": "small", "instance_id": "i", "parameters": parameters,
            "context": { "organization_guid": "o!!1", "space_guid": "s" } })
}

#[test]
fn sources_are_combined_in_the_order_of_the_specification() {
    let config = json!({ "provision": { "defaults": { "maybe": "global", "over": "global", "Other": 1 } } });
    let environment = [("GSB_SERVICE_S_PROVISION_DEFAULTS", r#"{"maybe": "service", "size": 1}"#)];
    let found = resolved_with(provision(json!({ "size": 2 })), config, &environment).unwrap();
    assert_eq!(
        found,
        json!({
            "variables": {
                "maybe": "service", "over": "plan", "Other": 1, "size": 2, "name": "n-i", "double": 4, "list": ["a"],
                "fixed": 1, "flag": true, "sum": 2, "org": "o_1", "tf_id": "tf:i:",
                "labels": { "pcf-organization-guid": "o_1", "pcf-space-guid": "s", "pcf-instance-id": "i" },
            },
            "terraform": { "maybe": "service", "name": "n-i", "double": 4,
                "labels": { "pcf-organization-guid": "o_1", "pcf-space-guid": "s", "pcf-instance-id": "i" } },
        })
    );
}

#[test]
fn what_nobody_set_stays_unset_and_defaults_that_a_property_replaces_are_not_evaluated() {
    let found = resolved(provision(json!({}))).unwrap();
    assert_eq!(found["terraform"].get("maybe"), None);
    assert_eq!((&found["variables"]["size"], &found["variables"]["double"]), (&json!(5), &json!(10)));
}

#[test]
fn updates_merge_parameters_and_keep_labels() {
    let request = json!({ "operation": "update", "service": "s", "plan": "00000000-0000-0000-0000-000000000001",
        "instance_id": "i", "stored_parameters": { "size": 3, "name": "old" }, "parameters": { "name": "new" },
        "previous_values": { "organization_id": "before", "space_id": "x" } });
    let found = resolved(request).unwrap();
    let variables = &found["variables"];
    assert_eq!(
        (&variables["size"], &variables["name"], &variables["org"]),
        (&json!(3), &json!("new"), &json!("before"))
    );
}

#[test]
fn bindings_have_properties_outputs_and_the_instances_name() {
    let request = json!({ "operation": "bind", "plan": "small", "instance_id": "i", "binding_id": "b", "app_guid": "app",
        "context": { "instance_name": "db" }, "instance": { "outputs": { "mail": "m" } } });
    let environment = [("GSB_SERVICE_S_BIND_DEFAULTS", r#"{"bound": "operator", "extra": true}"#)];
    let found = resolved_with(request, Json::Null, &environment).unwrap();
    assert_eq!(
        found["variables"],
        json!({ "bound": "plan", "extra": true, "app": "app", "fixed": "1", "mail": "m of db", "flags": "1", "tf_id": "tf:i:b" })
    );
}

fn bind_with(actions: &str, parameters: Json, environment: &[(&str, &str)]) -> Result<Json, Vec<String>> {
    let (pak, report) = read(&[("manifest.yml", MANIFEST), ("s.yml", &format!("{SERVICE}{actions}"))]);
    assert_eq!(shown(&report.problems()), [] as [&str; 0]);
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let configuration = Configuration::new(Json::Null, environment, &BTreeMap::new());
    let request = json!({ "operation": "bind", "plan": "small", "instance_id": "i", "binding_id": "b", "parameters": parameters });
    let request = Request::read(request.as_object().unwrap().clone(), None, &pak, "r.json").map_err(|e| shown(&e))?;
    resolve(&request, &configuration, &mut Fixed).map(|resolved| resolved.variables.into()).map_err(|e| shown(&e))
}

#[test]
fn a_bind_input_of_the_plan_has_a_property_or_a_default() {
    let input =
        |more: &str| format!("bind:\n  plan_inputs: [{{field_name: absent, type: string, details: d{more}}}]\n");
    let missing = "couldn't compute the value for \"absent\", template: \"${request.plan_properties[\\\"absent\\\"]}\", key \"absent\" does not exist in map request.plan_properties @18 (the plan needs a property of this name, or the input a default)";
    for more in ["", ", required: true"] {
        assert_eq!(bind_with(&input(more), json!({}), &[]).unwrap_err(), [missing], "{more}");
        // Nobody but the plan gives it.
        let operator = [("GSB_SERVICE_S_BIND_DEFAULTS", r#"{"absent": "x"}"#)];
        assert_eq!(bind_with(&input(more), json!({}), &operator).unwrap_err(), [missing], "{more}");
    }
    let found = bind_with(&input(", default: 'd-${request.binding_id}'"), json!({}), &[]).unwrap();
    assert_eq!(found["absent"], "d-b");
}

#[test]
fn on_bind_only_the_properties_count_that_are_inputs_of_the_plan() {
    let actions = "bind:
  plan_inputs: [{field_name: flag, type: boolean, details: d, required: true}]
  user_inputs:
  - {field_name: flag, type: boolean, details: d, default: false}
  - {field_name: fixed, type: integer, details: d, default: 7}
";
    assert_eq!(
        bind_with(actions, json!({}), &[]).unwrap(),
        json!({ "bound": "plan", "flag": true, "fixed": 7, "tf_id": "tf:i:b" })
    );
    // A parameter beats a property that is no input of the plan, and never one that is. Both are refused by default.
    let parameters = json!({ "fixed": 8, "flag": false });
    assert_eq!(
        bind_with(actions, parameters.clone(), &[]).unwrap_err(),
        ["plan defined properties cannot be changed: fixed, flag @"]
    );
    let unchecked = [("CSB_DISABLE_REQUEST_PROPERTY_VALIDATION", "true")];
    assert_eq!(
        bind_with(actions, parameters, &unchecked).unwrap(),
        json!({ "bound": "plan", "flag": true, "fixed": 8, "tf_id": "tf:i:b" })
    );
}

#[test]
fn import_inputs_are_inputs_of_provision_alone() {
    let actions = "provision:\n  import_inputs: [{field_name: existing, type: string, details: d, tf_resource: a.b}]\n";
    let (pak, _) = read(&[("manifest.yml", MANIFEST), ("s.yml", &format!("{SERVICE}{actions}"))]);
    let configuration = Configuration::new(Json::Null, BTreeMap::new(), &BTreeMap::new());
    let resolved = |operation: &str| {
        let request =
            json!({ "operation": operation, "plan": "small", "instance_id": "i", "parameters": { "existing": "x" } });
        let request = Request::read(request.as_object().unwrap().clone(), None, &pak, "r.json").unwrap();
        resolve(&request, &configuration, &mut Fixed).map(|_| ()).map_err(|problems| shown(&problems))
    };
    assert_eq!(resolved("provision"), Ok(()));
    assert_eq!(resolved("update"), Err(vec!["additional properties are not allowed: existing @".to_owned()]));
}

#[test]
fn empty_parameters_are_an_empty_map() {
    let (pak, _) = read(&[("manifest.yml", MANIFEST), ("s.yml", &format!("{SERVICE}{ACTIONS}"))]);
    let parameters = |own: Json, given: Option<&str>| {
        let request = provision(own).as_object().unwrap().clone();
        Request::read(request, given, &pak, "r.json").map(|request| request.parameters.len()).map_err(|e| shown(&e))
    };
    for own in [Json::Null, json!(""), json!({})] {
        assert_eq!(parameters(own, None), Ok(0));
    }
    for given in ["", " \n", "null", "{}"] {
        assert_eq!(parameters(json!({ "size": 1 }), Some(given)), Ok(0), "{given:?}");
    }
    for given in ["[]", "x", "\"\""] {
        assert!(parameters(Json::Null, Some(given)).is_err(), "{given:?}");
    }
}

#[test]
fn all_errors_are_reported_together() {
    assert_eq!(
        resolved(provision(json!({ "nam": 1, "fixed": 2, "name": "much too long", "size": "x" }))).unwrap_err(),
        [
            "plan defined properties cannot be changed: fixed @",
            "additional properties are not allowed: nam @ (did you mean name?)",
            "couldn't compute the value for \"double\", template: \"${size * 2}\", __builtin_StringToInt: strconv.ParseInt: parsing \"x\": invalid syntax @24",
            "name: String length must be less than or equal to 8 @",
            "size: Invalid type. Expected: integer, given: string @",
        ]
    );
    let update = json!({ "operation": "update", "plan": "small", "instance_id": "i", "parameters": { "size": 5 } });
    assert_eq!(
        resolved(update).unwrap_err(),
        ["attempt to update parameter that may result in service instance re-creation and data loss: size @"]
    );
}

#[test]
fn requests_are_checked() {
    let request = json!({ "operation": "provison", "servic": "s", "plan": "smal", "parameters": [1], "context": "x" });
    assert_eq!(
        resolved(request).unwrap_err(),
        [
            "the request has an unknown field: servic @ (did you mean service?)",
            "the request's context is not an object @",
            "unknown operation: provison @ (did you mean provision?)",
            "unknown plan: smal @ (did you mean small?)",
            "User supplied parameters must be in the form of a valid JSON map. @",
        ]
    );
    assert_eq!(
        resolved(json!({ "operation": "bind", "plan": "small", "instance_id": "i" })).unwrap_err(),
        ["the request has no binding_id, which bind needs @"]
    );
}

#[test]
fn operators_add_plans_and_global_labels() {
    let plans = json!([{ "name": "own", "id": "p-9", "fixed": 8, "display_name": "Own", "provision_overrides": { "over": "own" } }]);
    let mut request = provision(json!({}));
    request["plan"] = "own".into();
    let environment = [
        ("GSB_SERVICE_S_PLANS", plans.to_string()),
        ("GSB_BROKERPAK_CONFIG", json!({ "global_labels": [{ "key": "team", "value": "t" }] }).to_string()),
    ];
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let found = resolved_with(request, Json::Null, &environment).unwrap();
    let variables = &found["variables"];
    assert_eq!((&variables["fixed"], &variables["over"], &variables["sum"]), (&json!(8), &json!("own"), &json!(9)));
    assert_eq!(variables["display_name"], json!("Own"), "unknown keys of a plan are properties");
    assert_eq!(variables["labels"]["team"], json!("t"));
    let broken = [("GSB_SERVICE_S_PLANS", r#"[{"name": "x"}]"#)];
    let (mut pak, _) = read(&[("manifest.yml", MANIFEST), ("s.yml", SERVICE)]);
    let environment = broken.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut report = Report::default();
    pak.add_plans(&Configuration::new(Json::Null, environment, &BTreeMap::new()), &mut report);
    assert_eq!(shown(&report.problems()), ["s custom plan x is missing an id: service.s.plans[0] @"]);
}
