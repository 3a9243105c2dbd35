//! Resolution: from a request to the variables of its template, in the order of the specification.

use std::collections::BTreeMap;

use go_strconv::quote::quoted;
use hil::{Expression, Scope, Value, Variable as Known};
use problem::{Place, Problem};
use serde_json::{Map, Value as Json};

use crate::cast::cast;
use crate::configuration::{Configuration, Host, Machine};
use crate::definition::{Action, Variable};
use crate::object::Placed;
use crate::pak::Template;
use crate::request::{Operation, Request};
use crate::{constants, schema};

/// What a request resolves to.
#[derive(Debug, Clone, Default)]
pub struct Resolved {
    /// All variables.
    pub variables: Map<String, Json>,
    /// Those that the template has.
    pub terraform: Map<String, Json>,
}

/// Values that are collected, by name, with what went wrong.
struct Builder<'r> {
    variables: Map<String, Json>,
    constants: BTreeMap<String, Value>,
    /// The properties of the plan.
    properties: &'r Map<String, Json>,
    host: Host<'r>,
    file: &'r str,
    problems: Vec<Problem>,
    /// Names of variables that could not be computed: they are not missing, too.
    failed: Vec<String>,
}

/// Resolves a request.
///
/// # Errors
/// All that is wrong: parameters that are not allowed, expressions that fail, values that the inputs do not allow.
pub fn resolve(
    request: &Request<'_>,
    configuration: &Configuration,
    machine: &mut dyn Machine,
) -> Result<Resolved, Vec<Problem>> {
    let definition = &request.service.definition;
    let is_binding = request.operation.is_binding();
    let (action, template) = if is_binding {
        (&definition.bind, &request.service.bind)
    } else {
        (&definition.provision, &request.service.provision)
    };
    let mut problems = check_parameters(request, action, configuration);
    let mut builder = Builder {
        variables: Map::new(),
        constants: constants::constants(request, configuration),
        properties: &request.plan.properties,
        host: Host::new(configuration, machine),
        file: &definition.file,
        problems: Vec::new(),
        failed: Vec::new(),
    };
    let name = &definition.name.value;
    if is_binding {
        builder.merge_defaults(configuration, &format!("service.{name}.bind.defaults"));
    } else {
        builder.merge_defaults(configuration, "provision.defaults");
        builder.merge_defaults(configuration, &format!("service.{name}.provision.defaults"));
    }
    if request.operation != Operation::Provision && request.operation != Operation::Bind {
        builder.variables.extend(request.stored_parameters.clone());
    }
    builder.variables.extend(request.parameters.clone());
    let plan = request.plan;
    builder.variables.extend(if is_binding { plan.bind_overrides.clone() } else { plan.provision_overrides.clone() });
    // On bind, only the properties count that are inputs of the plan.
    let counts = |name: &str| !is_binding || action.plan_inputs.iter().any(|input| input.field_name.value == name);
    for input in &action.user_inputs {
        // A property would replace it.
        let name = &input.field_name.value;
        if !(plan.properties.contains_key(name) && counts(name)) {
            builder.add_default(input);
        }
    }
    if is_binding {
        builder.set_plan_inputs(action, &plan.properties);
    } else {
        builder.variables.extend(plan.properties.clone());
    }
    for computed in &action.computed_inputs {
        let Some(default) = &computed.default else { continue };
        let key = &computed.name.value;
        if computed.overwrite || !builder.variables.contains_key(key) {
            builder.set(key, &default.value, &computed.kind.value, &default.place);
        }
    }
    let binding = if is_binding { request.text("binding_id") } else { "" };
    builder.variables.insert("tf_id".to_owned(), format!("tf:{}:{binding}", request.text("instance_id")).into());
    problems.append(&mut builder.problems);
    let required: &[Variable] = if is_binding { &action.plan_inputs } else { &[] };
    let inputs = action.user_inputs.iter().chain(required);
    let inputs: Vec<Variable> =
        inputs.filter(|input| !builder.failed.contains(&input.field_name.value)).cloned().collect();
    let errors = schema::check(&inputs, &builder.variables);
    problems.extend(errors.into_iter().map(|error| Problem::input(error).at(Place::file(&definition.file))));
    if problems.is_empty() { Ok(resolved(builder.variables, template)) } else { Err(problems) }
}

fn resolved(variables: Map<String, Json>, template: &Template) -> Resolved {
    let names = &template.names;
    let is_in_template = |name: &String| names.variables.contains(name) || names.used.contains(name);
    let terraform = variables.iter().filter(|(name, _)| is_in_template(name));
    let terraform = terraform.map(|(name, value)| (name.clone(), value.clone())).collect();
    Resolved { variables, terraform }
}

/// The checks of a request's parameters.
fn check_parameters(request: &Request<'_>, action: &Action, configuration: &Configuration) -> Vec<Problem> {
    let is_disabled = configuration
        .variable("CSB_DISABLE_REQUEST_PROPERTY_VALIDATION")
        .is_some_and(|value| hil::parse_bool(value) == Some(true));
    let mut problems = Vec::new();
    let keys: Vec<&str> = request.parameters.keys().map(String::as_str).collect();
    let mut refuse = |message: &str, mut names: Vec<&str>, hint: Option<String>| {
        if names.is_empty() {
            return;
        }
        names.sort_unstable();
        let mut problem = Problem::input(format!("{message}: {}", names.join(", ")));
        problem.hint = hint;
        problems.push(problem);
    };
    let inputs: Vec<&str> = action.user_inputs.iter().map(|input| input.field_name.value.as_str()).collect();
    if !is_disabled {
        let fixed = keys.iter().copied().filter(|key| request.plan.properties.contains_key(*key)).collect();
        refuse("plan defined properties cannot be changed", fixed, None);
        let is_known = |key: &str| {
            // What exists is imported once.
            let imports = action.import_inputs.iter().filter(|_| request.operation == Operation::Provision);
            inputs.contains(&key) || key == "vacant" || imports.into_iter().any(|input| input.0 == key)
        };
        let unknown: Vec<&str> =
            keys.iter().copied().filter(|key| !is_known(key) && !request.plan.properties.contains_key(*key)).collect();
        let hints: Vec<&str> =
            unknown.iter().filter_map(|key| problem::did_you_mean(key, inputs.iter().copied())).collect();
        let hint = (!hints.is_empty()).then(|| format!("did you mean {}?", hints.join(", ")));
        refuse("additional properties are not allowed", unknown, hint);
    }
    if request.operation == Operation::Update {
        let fixed = action
            .user_inputs
            .iter()
            .filter(|input| input.prohibit_update)
            .map(|input| input.field_name.value.as_str());
        let fixed = fixed.filter(|name| keys.contains(name)).collect();
        let message = "attempt to update parameter that may result in service instance re-creation and data loss";
        refuse(message, fixed, None);
    }
    problems
}

impl Builder<'_> {
    /// Sets the operator's defaults: an object, or its JSON.
    fn merge_defaults(&mut self, configuration: &Configuration, key: &str) {
        let defaults = match configuration.get_exact(key) {
            None => return,
            Some(Json::String(text)) => serde_json::from_str(&text).unwrap_or(Json::Null),
            Some(value) => value,
        };
        match defaults {
            Json::Object(map) => self.variables.extend(map),
            _ => self.problems.push(Problem::input(format!("failed unmarshaling config value {key}"))),
        }
    }

    /// Sets an input's default if nothing has set it.
    fn add_default(&mut self, input: &Variable) {
        let (name, Some(default)) = (&input.field_name.value, &input.default) else { return };
        if !self.variables.contains_key(name) {
            self.set(name, default, &input.kind.value, &input.field_name.place);
        }
    }

    /// Sets the inputs of the plan that a bind template has, cast to their types. They replace parameters.
    fn set_plan_inputs(&mut self, action: &Action, properties: &Map<String, Json>) {
        for input in &action.plan_inputs {
            let Placed { value: name, place } = &input.field_name;
            let kind = &input.kind.value;
            let result = match (properties.get(name), &input.default) {
                (Some(value), _) if schema::has_type(value, kind) => Ok(value.clone()),
                // As an expression sees it.
                (Some(value), _) => cast(Value::from_yaml(value).to_json(), kind),
                (None, Some(_)) => {
                    self.add_default(input);
                    continue;
                }
                // The reference evaluates this expression.
                (None, None) => {
                    let template = quoted(&format!("${{request.plan_properties[{}]}}", quoted(name)));
                    Err(format!(
                        "template: {template}, key {} does not exist in map request.plan_properties",
                        quoted(name)
                    ))
                }
            };
            match result {
                Ok(value) => drop(self.variables.insert(name.clone(), value)),
                Err(why) => {
                    let message = format!("couldn't compute the value for {}, {why}", quoted(name));
                    let problem = Problem::input(message).at(place.clone());
                    let is_missing = !properties.contains_key(name);
                    let hint = "the plan needs a property of this name, or the input a default";
                    self.failed.push(name.clone());
                    self.problems.push(if is_missing { problem.hint(hint) } else { problem });
                }
            }
        }
    }

    /// Sets a value; a text is evaluated and cast.
    fn set(&mut self, name: &str, value: &Json, kind: &str, place: &Place) {
        let Json::String(text) = value else {
            self.variables.insert(name.to_owned(), value.clone());
            return;
        };
        let mut variables = crate::configuration::variables(&self.variables);
        for (name, value) in self.properties.iter().filter(|(name, value)| self.variables.get(*name) == Some(value)) {
            variables.insert(name.clone(), Value::from_yaml(value));
        }
        let scope = Names { constants: &self.constants, variables };
        self.host.begin(name);
        let evaluated = Expression::parse(text).and_then(|tree| tree.evaluate(&scope, &mut self.host));
        let result = evaluated.map_err(|error| error.message).and_then(|value| cast(value.to_json(), kind));
        match result {
            Ok(value) => {
                self.variables.insert(name.to_owned(), value);
            }
            Err(why) => {
                let message =
                    format!("couldn't compute the value for {}, template: {}, {why}", quoted(name), quoted(text));
                let place = if place.file.is_empty() { Place::file(self.file) } else { place.clone() };
                self.failed.push(name.to_owned());
                self.problems.push(Problem::template(message).at(place));
            }
        }
    }
}

/// The constants of the request before the variables.
struct Names<'c> {
    constants: &'c BTreeMap<String, Value>,
    variables: BTreeMap<String, Value>,
}

impl Scope for Names<'_> {
    fn variable(&self, name: &str) -> Option<Known<'_>> {
        self.constants.get(name).or(self.variables.get(name)).map(Known::Known)
    }
}
