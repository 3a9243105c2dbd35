//! Warnings about a pak: what the specification demands and the reference does not check.

use std::cmp::Ordering;

use hil::{Expression, Scope, Variable as Known};
use problem::{Place, did_you_mean};
use serde_json::{Map, Value as Json};

use crate::cast::cast;
use crate::definition::{Action, Computed, Example, Plan, Variable};
use crate::manifest::{Manifest, is_platform};
use crate::pak::{Service, Template};
use crate::report::Report;
use crate::version::Version;
use crate::{constants, releases, schema};

/// Warns about a manifest.
pub fn manifest(manifest: &Manifest, file: &str, report: &mut Report) {
    if manifest.terraform.is_empty() && !(manifest.providers.is_empty() && manifest.other_binaries.is_empty()) {
        report.warning("the pak has neither terraform nor tofu", "terraform_binaries", Place::file(file), None);
    }
    for binary in &manifest.terraform {
        let Some(version) = Version::parse(&binary.version) else { continue };
        let is_old = Version::parse(releases::FIRST).is_some_and(|first| version.compare(&first) == Ordering::Less);
        if is_old {
            let message = format!("{} {version} is older than 0.12, the first version that is supported", binary.name);
            report.warning(message, format!("{}.version", binary.path), binary.place.clone(), None);
        }
        // Whoever names an address of their own may have built it.
        if !is_old && binary.url_template.is_empty() {
            for (number, (platform, place)) in manifest.platforms.iter().zip(&manifest.platform_places).enumerate() {
                if is_platform(platform) && !releases::exists(&binary.name, &version, platform) {
                    let message = format!("{} {version} does not exist for {platform}", binary.name);
                    let hint = "url_template names one that was built for it".to_owned();
                    report.warning(message, format!("platforms[{number}]"), place.clone(), Some(hint));
                }
            }
        }
    }
}

/// Warns about a service, with the plans that the operator has added.
pub fn service(service: &Service, report: &mut Report) {
    let definition = &service.definition;
    let missing = |path: &str, report: &mut Report| {
        report.warning("missing field(s)", path, definition.place.clone(), None);
    };
    if definition.plans.is_empty() {
        missing("plans", report);
    }
    if definition.examples.is_empty() {
        missing("examples", report);
    }
    for (name, is_present) in ["provision", "bind"].into_iter().zip(definition.has_actions) {
        if !is_present {
            missing(name, report);
        }
    }
    for example in &definition.examples {
        let id = &example.plan_id;
        if !id.value.is_empty() && definition.plans.iter().all(|plan| plan.id.value != id.value) {
            let ids = definition.plans.iter().map(|plan| plan.id.value.as_str());
            let hint = did_you_mean(&id.value, ids).map(|id| format!("did you mean {id}?"));
            report.warning("no plan has this id", format!("{}.plan_id", example.path), id.place.clone(), hint);
        }
    }
    plans(service, report);
    for example in &definition.examples {
        if let Some(plan) = definition.plans.iter().find(|plan| plan.id.value == example.plan_id.value) {
            let provision = (&definition.provision, &plan.provision_overrides, &example.provision_params);
            parameters(plan, provision, true, &format!("{}.provision_params", example.path), example, report);
            let bind = (&definition.bind, &plan.bind_overrides, &example.bind_params);
            parameters(plan, bind, false, &format!("{}.bind_params", example.path), example, report);
        }
    }
    for (action, template, names) in [
        (&definition.provision, &service.provision, &constants::PROVISION[..]),
        (&definition.bind, &service.bind, &constants::BIND[..]),
    ] {
        self::action(service, action, template, names, report);
    }
}

/// An action, what a plan sets for it, and the parameters of an example.
type Parameters<'p> = (&'p Action, &'p Map<String, Json>, &'p Map<String, Json>);

/// Checks the parameters of an example as a request's are.
fn parameters(
    plan: &Plan,
    (action, overrides, parameters): Parameters<'_>,
    is_provision: bool,
    path: &str,
    example: &Example,
    report: &mut Report,
) {
    let at = |name: &str| format!("{path}.{name}");
    let place = || example.plan_id.place.clone();
    let inputs: Vec<&str> = action.user_inputs.iter().map(|input| input.field_name.value.as_str()).collect();
    for name in parameters.keys() {
        let is_import = is_provision && action.import_inputs.iter().any(|input| input.0 == *name);
        if plan.properties.contains_key(name) {
            report.warning("plan defined properties cannot be changed", at(name), place(), None);
        } else if !inputs.contains(&name.as_str()) && !is_import && name != "vacant" {
            let hint = did_you_mean(name, inputs.iter().copied()).map(|name| format!("did you mean {name}?"));
            report.warning("additional properties are not allowed", at(name), place(), hint);
        }
    }
    for input in &action.user_inputs {
        let name = &input.field_name.value;
        let is_set = input.default.is_some()
            || overrides.contains_key(name)
            || plan.properties.contains_key(name)
            || action.computed_inputs.iter().any(|computed| computed.name.value == *name);
        match parameters.get(name) {
            Some(value) => {
                for error in schema::check_one(input, value) {
                    report.warning(error, at(name), place(), None);
                }
            }
            None if input.required && !is_set => report.warning("missing field(s)", at(name), place(), None),
            None => {}
        }
    }
}

/// Compares the properties of plans with the inputs that plans have.
fn plans(service: &Service, report: &mut Report) {
    let definition = &service.definition;
    let inputs: Vec<&Variable> = definition.provision.plan_inputs.iter().chain(&definition.bind.plan_inputs).collect();
    for plan in &definition.plans {
        let path = |name: &str| format!("{}.properties.{name}", plan.path);
        let place = || plan.name.place.clone();
        for input in &inputs {
            let name = &input.field_name.value;
            // A bind has no other source for it.
            let is_of_bind = definition.bind.plan_inputs.iter().any(|input| input.field_name.value == *name);
            match plan.properties.get(name) {
                None if input.required || is_of_bind && input.default.is_none() => {
                    report.warning("missing field(s)", path(name), place(), None)
                }
                None => {}
                Some(value) => {
                    for error in schema::check_one(input, value) {
                        report.warning(error, path(name), place(), None);
                    }
                }
            }
        }
        let known: Vec<&str> = inputs.iter().map(|input| input.field_name.value.as_str()).collect();
        for name in plan.properties.keys().filter(|name| !known.contains(&name.as_str())) {
            // A property may fix a user's input, too.
            let users = definition.provision.user_inputs.iter().chain(&definition.bind.user_inputs);
            if users.clone().any(|input| input.field_name.value == *name) || name == "subsume" {
                continue;
            }
            let hint = did_you_mean(name, known.iter().copied()).map(|name| format!("did you mean {name}?"));
            report.warning("the property is not declared in plan_inputs", path(name), place(), hint);
        }
    }
}

fn action(service: &Service, action: &Action, template: &Template, constants: &[&str], report: &mut Report) {
    let variables = action.plan_inputs.iter().chain(&action.user_inputs).chain(&action.outputs);
    let kinds = variables.map(|variable| (&variable.kind, &variable.path));
    for (kind, path) in kinds.filter(|(kind, _)| kind.value.is_empty()) {
        report.warning("missing field(s)", format!("{path}.type"), kind.place.clone(), None);
    }
    for (input, path) in action.plan_inputs.iter().chain(&action.user_inputs).map(|input| (input, &input.path)) {
        if !input.required && !input.nullable && input.default.is_none() {
            let hint = Some("an input that is not required needs a default".to_owned());
            report.warning("missing field(s)", format!("{path}.default"), input.field_name.place.clone(), hint);
        }
        constraints(input, report);
    }
    action.outputs.iter().for_each(|output| constraints(output, report));
    let plans = &service.definition.plans;
    let mut known: Vec<&str> = constants.to_vec();
    known.extend(action.plan_inputs.iter().chain(&action.user_inputs).map(|input| input.field_name.value.as_str()));
    known.extend(action.computed_inputs.iter().map(|input| input.name.value.as_str()));
    for plan in plans {
        let maps = if action.path == "bind" {
            vec![&plan.bind_overrides]
        } else {
            vec![&plan.properties, &plan.provision_overrides]
        };
        known.extend(maps.into_iter().flat_map(Map::keys).map(String::as_str));
    }
    let names = Names(&known);
    for input in &action.user_inputs {
        default(input, &names, report);
    }
    for computed in &action.computed_inputs {
        self::computed(computed, &names, report);
    }
    for name in template.names.used.difference(&template.names.variables) {
        let inputs = action.user_inputs.iter().chain(&action.plan_inputs).map(|input| input.field_name.value.as_str());
        let is_input = inputs
            .chain(action.computed_inputs.iter().map(|input| input.name.value.as_str()))
            .any(|input| input == name);
        let message = if is_input {
            "the template uses an input that it does not declare"
        } else {
            "the template uses a variable that is neither declared nor an input"
        };
        let place = [&action.template, &action.template_ref].into_iter().find(|source| !source.value.is_empty());
        let place = place.map_or_else(|| service.definition.place.clone(), |source| source.place.clone());
        report.warning(message, format!("{}.template.{name}", action.path), place, None);
    }
}

/// The constraints that the specification lists.
const CONSTRAINTS: [&str; 15] = [
    "examples",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "propertyNames",
];

/// Warns about constraints that have no effect.
fn constraints(variable: &Variable, report: &mut Report) {
    for key in variable.constraints.keys().filter(|key| !CONSTRAINTS.contains(&key.as_str())) {
        let hint = did_you_mean(key, CONSTRAINTS).map(|name| format!("did you mean {name}?"));
        let path = format!("{}.constraints.{key}", variable.path);
        report.warning("unknown constraint", path, variable.field_name.place.clone(), hint);
    }
}

/// Checks a default: its expression, or its value.
fn default(input: &Variable, names: &Names<'_>, report: &mut Report) {
    let Some(default) = &input.default else { return };
    let path = format!("{}.default", input.path);
    let place = &input.field_name.place;
    let value = match default {
        Json::String(text) if hil::is_expression(text) || Expression::parse(text).is_err() => {
            expression(text, path, place, names, report);
            return;
        }
        Json::String(_) => cast(default.clone(), &input.kind.value),
        other => Ok(other.clone()),
    };
    match value {
        Ok(value) => {
            for error in schema::check_one(input, &value) {
                report.warning(error, path.clone(), place.clone(), None);
            }
        }
        Err(error) => report.warning(error, path, place.clone(), None),
    }
}

fn computed(computed: &Computed, names: &Names<'_>, report: &mut Report) {
    if let Some(default) = &computed.default
        && let Json::String(text) = &default.value
    {
        expression(text, format!("{}.default", computed.path), &default.place, names, report);
    }
}

/// Warns about an expression that fails whatever the values are.
fn expression(text: &str, path: String, place: &Place, names: &Names<'_>, report: &mut Report) {
    let checked = Expression::parse(text).and_then(|expression| expression.check(names));
    if let Err(error) = checked {
        let last = error.message.rsplit(": ").next().unwrap_or_default();
        let mut known: Vec<&str> = names.0.to_vec();
        for function in hil::function_names() {
            known.push(function);
        }
        let hint = did_you_mean(last, known).map(|name| format!("did you mean {name}?"));
        report.warning(format!("the expression can never be evaluated: {}", error.message), path, place.clone(), hint);
    }
}

/// Names whose values are not known.
struct Names<'n>(&'n [&'n str]);

impl Scope for Names<'_> {
    fn variable(&self, name: &str) -> Option<Known<'_>> {
        self.0.contains(&name).then_some(Known::Unknown)
    }
}
