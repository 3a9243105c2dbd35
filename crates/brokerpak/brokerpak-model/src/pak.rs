//! A pak: its manifest and services, with their templates.

use indexmap::IndexMap;
use problem::Place;
use serde_json::{Map, Value as Json};

use crate::configuration::Configuration;
use crate::definition::{Action, Definition, Plan};
use crate::manifest::Manifest;
use crate::object::Placed;
use crate::report::Report;
use crate::template::{self, Names};
use crate::yaml;

/// The files of a pak.
pub trait Files {
    /// The content of a file by its path in the pak.
    ///
    /// # Errors
    /// Why it cannot be read, as the system says it.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
    /// The path as messages show it.
    fn shown(&self, path: &str) -> String;
}

/// A service with its templates.
#[derive(Debug, Clone)]
pub struct Service {
    /// The path of the definition in the pak.
    pub path: String,
    /// The definition.
    pub definition: Definition,
    /// The names of the provision template.
    pub provision: Template,
    /// The names of the bind template.
    pub bind: Template,
}

/// A template, or several.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Contents by name; the only one of `template` has an empty name.
    pub sources: IndexMap<String, String>,
    /// What they declare and use.
    pub names: Names,
}

/// A pak.
#[derive(Debug, Clone, Default)]
pub struct Pak {
    /// The manifest.
    pub manifest: Manifest,
    /// The services, in the manifest's order.
    pub services: Vec<Service>,
}

/// The name of the manifest's file.
pub const MANIFEST: &str = "manifest.yml";

impl Pak {
    /// Reads a pak, and reports all that is wrong with it.
    pub fn read(files: &dyn Files, manifest: &str, report: &mut Report) -> Pak {
        let mut pak = Pak::default();
        let Some(node) = document(files, manifest, report) else { return pak };
        pak.manifest = Manifest::read(&node, &files.shown(manifest), report);
        let base = manifest.rsplit_once('/').map_or("", |(base, _)| base);
        for (number, path) in pak.manifest.service_definitions.clone().into_iter().enumerate() {
            if !stays_inside(&path.value) {
                report.error(format!("invalid value: {}", path.value), "service_definitions", path.place);
                continue;
            }
            let mut own = Report::default();
            let parameters: Vec<&str> = pak.manifest.parameters.iter().map(|parameter| parameter.0.as_str()).collect();
            let service = service(files, base, &join(base, &path.value), &parameters, &mut own);
            report.service(number, own);
            pak.services.extend(service);
        }
        pak.check_ids(report);
        pak
    }

    /// A service by its name or id.
    pub fn service(&self, name_or_id: &str) -> Option<&Service> {
        let is_it = |service: &&Service| {
            service.definition.id.value == name_or_id || service.definition.name.value == name_or_id
        };
        self.services.iter().find(is_it)
    }

    /// Adds the operator's plans.
    pub fn add_plans(&mut self, configuration: &Configuration, report: &mut Report) {
        for service in &mut self.services {
            add_plans(&mut service.definition, configuration, report);
        }
    }

    /// Names of services and ids of services and plans are unique in the pak.
    fn check_ids(&self, report: &mut Report) {
        let (mut names, mut ids) = (Vec::new(), Vec::new());
        for (number, service) in self.services.iter().enumerate() {
            let definition = &service.definition;
            crate::rules::unique(&mut names, &definition.name, format!("services[{number}].Name"), report);
            crate::rules::unique(&mut ids, &definition.id, format!("services[{number}].ID"), report);
            let mut own: Vec<&str> = Vec::new();
            for plan in &definition.plans {
                // Doubled ids of one service are reported with the service.
                if own.contains(&plan.id.value.as_str()) {
                    continue;
                }
                own.push(&plan.id.value);
                crate::rules::unique(&mut ids, &plan.id, format!("services[{number}].{}.ID", plan.path), report);
            }
        }
    }
}

/// Reads a definition alone; references are relative to it.
pub fn read_definition(files: &dyn Files, path: &str, report: &mut Report) -> Option<Service> {
    service(files, path.rsplit_once('/').map_or("", |(base, _)| base), path, &[], report)
}

pub(crate) fn join(base: &str, path: &str) -> String {
    if base.is_empty() { path.to_owned() } else { format!("{base}/{path}") }
}

/// Whether a path does not lead out of its directory.
pub(crate) fn stays_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(['\\', '\0'])
        && path.split('/').all(|part| part != "..")
}

fn document(files: &dyn Files, path: &str, report: &mut Report) -> Option<yaml::Node> {
    let shown = files.shown(path);
    let text = match files.read(path) {
        Ok(text) => text,
        Err(why) => {
            report.error(format!("couldn't read {shown}: {why}"), "", Place::file(shown));
            return None;
        }
    };
    match yaml::read(&text) {
        Ok(node) => Some(node),
        Err((message, place)) => {
            let (line, column) = (place.map(|place| place.0), place.map(|place| place.1));
            report.error(message, "", Place { line, column, ..Place::file(shown) });
            None
        }
    }
}

/// Reads a service; `parameters` are the names of the manifest's.
fn service(files: &dyn Files, base: &str, path: &str, parameters: &[&str], report: &mut Report) -> Option<Service> {
    let node = document(files, path, report)?;
    let definition = Definition::read(&node, &files.shown(path), report);
    let mut load = |action: &Action, name: &str| {
        let (template, is_valid) = load(files, base, action, name, report);
        if is_valid {
            compare(action, &template.names, name, &definition.place, parameters, report);
        }
        template
    };
    let (provision, bind) = (load(&definition.provision, "provision"), load(&definition.bind, "bind"));
    Some(Service { path: path.to_owned(), definition, provision, bind })
}

/// Reads the templates of an action; gives whether all of them are valid, too.
fn load(files: &dyn Files, base: &str, action: &Action, name: &str, report: &mut Report) -> (Template, bool) {
    let mut template = Template::default();
    let mut is_valid = true;
    let own = (!action.template.value.is_empty()).then_some((String::new(), &action.template));
    let inline = own.into_iter().chain(action.templates.iter().map(|(name, text)| (name.clone(), text)));
    let mut sources: Vec<(String, String, Placed<String>)> =
        inline.map(|(name, text)| (name, text.value.clone(), text.clone())).collect();
    let own = (!action.template_ref.value.is_empty()).then_some((String::new(), &action.template_ref));
    let references = own.into_iter().chain(action.template_refs.iter().map(|(name, path)| (name.clone(), path)));
    for (key, reference) in references {
        let path = join(base, &reference.value);
        let text = if stays_inside(&reference.value) {
            files.read(&path).and_then(|text| String::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned()))
        } else {
            Err("the path leads out of the pak".to_owned())
        };
        match text {
            Ok(text) => {
                let place = Placed { value: String::new(), place: Place::file(files.shown(&path)) };
                sources.retain(|source| source.0 != key);
                sources.push((key, text, place));
            }
            Err(why) => {
                is_valid = false;
                let message = format!("couldn't load {name} template {}: {why}", reference.value);
                report.error(message, "", reference.place.clone());
            }
        }
    }
    for (key, text, source) in sources {
        match template::names(&text) {
            Ok(names) => {
                template.names.variables.extend(names.variables);
                template.names.outputs.extend(names.outputs);
                template.names.used.extend(names.used);
            }
            Err((line, column)) => {
                is_valid = false;
                let path = if key.is_empty() { format!("{name}.template") } else { format!("{name}.templates.{key}") };
                // A line of the template, if it is a file; else that of the key.
                let is_file = source.place.line.is_none();
                let place = if is_file {
                    Place { line: Some(line), column: Some(column), ..source.place }
                } else {
                    source.place
                };
                report.error("invalid HCL", path, place);
            }
        }
        if !stays_inside(&key) && !key.is_empty() || key.contains('/') {
            report.error(format!("invalid value: {key}"), format!("{name}.templates"), action.template.place.clone());
        }
        template.sources.insert(key, text);
    }
    (template, is_valid)
}

/// Compares the names of an action's templates with its inputs and outputs.
fn compare(action: &Action, names: &Names, name: &str, place: &Place, parameters: &[&str], report: &mut Report) {
    let inputs = action.plan_inputs.iter().chain(&action.user_inputs).map(|variable| &variable.field_name);
    let known: Vec<&str> = inputs
        .chain(action.computed_inputs.iter().map(|computed| &computed.name))
        .map(|name| name.value.as_str())
        .collect();
    let place = [&action.template, &action.template_ref]
        .into_iter()
        .find(|source| !source.value.is_empty())
        .map_or_else(|| place.clone(), |source| source.place.clone());
    for variable in names.variables.iter().filter(|variable| !known.contains(&variable.as_str())) {
        // The reference has the rule for each variable, whatever sets it.
        let is_set = parameters.iter().any(|parameter| parameter.strip_prefix("TF_VAR_") == Some(variable));
        let hint = is_set.then(|| {
            format!("TF_VAR_{variable} is a parameter of the manifest; its variable must be an input, too: add it to user_inputs")
        });
        let message = "fields used but not declared".to_owned();
        report.error_with_hint(message, format!("{name}.template.{variable}"), place.clone(), hint);
    }
    let found: Vec<&str> = names.outputs.iter().map(String::as_str).filter(|output| *output != "status").collect();
    let mut declared: Vec<&str> = action.outputs.iter().map(|output| output.field_name.value.as_str()).collect();
    declared.retain(|output| *output != "status");
    declared.sort_unstable();
    declared.dedup();
    if found != declared {
        let list = |names: &[&str]| format!("[{}]", names.join(" "));
        let message = format!("template outputs {} must match declared outputs {}", list(&found), list(&declared));
        report.error(message, format!("{name}.template"), place);
    }
}

/// Adds the plans that the configuration has for a service: flat maps, whose other keys are properties.
fn add_plans(definition: &mut Definition, configuration: &Configuration, report: &mut Report) {
    let name = definition.name.value.clone();
    let key = format!("service.{name}.plans");
    let place = Place::file("configuration");
    let plans = match configuration.get_exact(&key) {
        None => return,
        Some(Json::String(text)) => serde_json::from_str(&text).unwrap_or(Json::Null),
        Some(value) => value,
    };
    let Json::Array(plans) = plans else {
        report.error(format!("failed unmarshaling config value {key}"), "", place);
        return;
    };
    for (number, plan) in plans.into_iter().enumerate() {
        let path = format!("{key}[{number}]");
        let Json::Object(mut plan) = plan else {
            report.error(format!("failed unmarshaling config value {key}"), path, place.clone());
            continue;
        };
        let mut text =
            |key: &str| plan.remove(key).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
        let plan_name = text("name");
        let id = [text("id"), text("guid")].into_iter().find(|id| !id.is_empty()).unwrap_or_default();
        for (what, value) in [("an id", &id), ("a name", &plan_name)] {
            if value.is_empty() {
                report.error(format!("{name} custom plan {plan_name} is missing {what}"), path.clone(), place.clone());
            }
        }
        let mut values = |key: &str| plan.remove(key).and_then(|value| value.as_object().cloned()).unwrap_or_default();
        let (provision_overrides, bind_overrides) = (values("provision_overrides"), values("bind_overrides"));
        for key in ["description", "bullets", "free", "metadata", "schemas", "maintenance_info"] {
            plan.remove(key);
        }
        let inputs = definition.provision.plan_inputs.iter().chain(&definition.bind.plan_inputs);
        for input in inputs.filter(|input| input.required && !plan.contains_key(&input.field_name.value)) {
            let message =
                format!("{name} custom plan {plan_name} is missing required property {}", input.field_name.value);
            report.error(message, path.clone(), place.clone());
        }
        let placed = |value: String| Placed { value, place: place.clone() };
        let properties: Map<String, Json> = plan;
        definition.plans.push(Plan {
            name: placed(plan_name),
            id: placed(id),
            properties,
            provision_overrides,
            bind_overrides,
            path,
        });
    }
}
