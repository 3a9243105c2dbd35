//! The files that terraform runs on: templates, and the values of their variables.
//!
//! One template becomes a module, whose arguments and outputs stand in a file beside it. Several templates are files of one
//! directory, and their values a file of variables.

use std::collections::{BTreeMap, BTreeSet};

use hcl_edit::expr::Expression;
use hcl_edit::structure::Body;
use serde_json::{Map, Value as Json, json};

use crate::pak::Template;

/// The directory of the module.
const MODULE: &str = "brokertemplate";

/// The file of the variables that templates use and do not declare.
const DECLARATIONS: &str = "undeclared-inputs.tf.json";

/// The file of the values of several templates.
pub const VALUES: &str = "terraform.tfvars.json";

/// What a workspace is made of.
#[derive(Debug, Clone)]
pub struct Parts<'p> {
    /// The template.
    pub template: &'p Template,
    /// Values of its variables.
    pub values: &'p Map<String, Json>,
    /// Inputs of the service: those are declared where the template does not do it.
    pub inputs: BTreeSet<String>,
    /// Names of variables that the environment sets (`TF_VAR_name`).
    pub in_environment: BTreeSet<String>,
}

/// The files of a workspace by their paths.
pub fn files(parts: &Parts<'_>) -> BTreeMap<String, String> {
    let sources = &parts.template.sources;
    if sources.is_empty() || sources.contains_key("") { module(parts) } else { flat(parts) }
}

/// Whether the template is files of one directory, as imports need it.
pub fn is_flat(template: &Template) -> bool {
    !template.sources.is_empty() && !template.sources.contains_key("")
}

fn flat(parts: &Parts<'_>) -> BTreeMap<String, String> {
    let mut files = templates(parts, "");
    let names = &parts.template.names;
    let is_known = |name: &str| names.variables.contains(name) || is_undeclared(parts, name);
    let values: Map<String, Json> = parts
        .values
        .iter()
        .filter(|(name, _)| is_known(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    files.insert(VALUES.to_owned(), format!("{:#}", Json::Object(values)));
    files
}

fn module(parts: &Parts<'_>) -> BTreeMap<String, String> {
    let mut files = templates(parts, &format!("{MODULE}/"));
    let names = &parts.template.names;
    let mut arguments = Map::new();
    let mut variables = Map::new();
    for name in names.variables.iter().chain(undeclared(parts)) {
        if let Some(value) = parts.values.get(name) {
            arguments.insert(name.clone(), literal(value));
        } else if parts.in_environment.contains(name) {
            // The environment sets variables of the root only.
            let kind = variable_type(parts.template, name).map_or_else(|| json!({}), |kind| json!({ "type": kind }));
            variables.insert(name.clone(), kind);
            arguments.insert(name.clone(), format!("${{var.{name}}}").into());
        }
    }
    arguments.insert("source".to_owned(), format!("./{MODULE}").into());
    let outputs: Map<String, Json> = names
        .outputs
        .iter()
        .map(|name| (name.clone(), json!({ "value": format!("${{module.instance.{name}}}"), "sensitive": true })))
        .collect();
    let mut root = json!({ "module": { "instance": arguments } });
    if !variables.is_empty() {
        root["variable"] = variables.into();
    }
    if !outputs.is_empty() {
        root["output"] = outputs.into();
    }
    files.insert("instance.tf.json".to_owned(), format!("{root:#}"));
    files
}

/// The templates, and the declarations that they lack.
fn templates(parts: &Parts<'_>, directory: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (name, text) in &parts.template.sources {
        let name = if name.is_empty() { "definition" } else { name };
        files.insert(format!("{directory}{name}.tf"), text.clone());
    }
    if files.is_empty() {
        files.insert(format!("{directory}definition.tf"), String::new());
    }
    let declarations: Map<String, Json> = undeclared(parts)
        .map(|name| {
            let is_set = parts.values.contains_key(name) || parts.in_environment.contains(name);
            (name.clone(), if is_set { json!({}) } else { json!({ "default": null }) })
        })
        .collect();
    if !declarations.is_empty() {
        files.insert(format!("{directory}{DECLARATIONS}"), format!("{:#}", json!({ "variable": declarations })));
    }
    files
}

/// Inputs that the template uses without declaring them.
fn undeclared<'p>(parts: &'p Parts<'_>) -> impl Iterator<Item = &'p String> {
    parts.template.names.used.iter().filter(|name| is_undeclared(parts, name))
}

fn is_undeclared(parts: &Parts<'_>, name: &str) -> bool {
    let names = &parts.template.names;
    names.used.contains(name) && !names.variables.contains(name) && parts.inputs.contains(name)
}

/// A value of a file `.tf.json`, in which texts and keys are templates.
fn literal(value: &Json) -> Json {
    match value {
        Json::String(text) => Json::String(escaped(text)),
        Json::Array(items) => items.iter().map(literal).collect(),
        Json::Object(map) => Json::Object(map.iter().map(|(key, value)| (escaped(key), literal(value))).collect()),
        scalar => scalar.clone(),
    }
}

/// A text that stays as it is where terraform evaluates templates.
pub(crate) fn escaped(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// The type that a template declares for a variable.
fn variable_type(template: &Template, name: &str) -> Option<String> {
    template.sources.values().find_map(|text| {
        let body = hcl_edit::parser::parse_body(text).ok()?;
        let block =
            body.get_blocks("variable").find(|block| block.labels.first().is_some_and(|l| l.as_str() == name))?;
        Some(block.body.get_attribute("type")?.value.to_string().trim().to_owned())
    })
}

/// The template with `prevent_destroy = false` in all resources.
pub fn destroyable(template: &Template) -> Template {
    let mut template = template.clone();
    for text in template.sources.values_mut() {
        if !text.contains("prevent_destroy") {
            continue;
        }
        if let Ok(mut body) = hcl_edit::parser::parse_body(text) {
            allow_destroying(&mut body);
            *text = body.to_string();
        }
    }
    template
}

fn allow_destroying(body: &mut Body) {
    for resource in body.get_blocks_mut("resource") {
        for lifecycle in resource.body.get_blocks_mut("lifecycle") {
            if let Some(mut attribute) = lifecycle.body.get_attribute_mut("prevent_destroy") {
                let value = attribute.value_mut();
                let mut new = Expression::from(false);
                // Comments and white space stay.
                std::mem::swap(hcl_edit::Decorate::decor_mut(&mut new), hcl_edit::Decorate::decor_mut(value));
                *value = new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template;

    fn template(sources: &[(&str, &str)]) -> Template {
        let mut template = Template::default();
        for (name, text) in sources {
            let names = template::names(text).unwrap();
            template.names.variables.extend(names.variables);
            template.names.outputs.extend(names.outputs);
            template.names.used.extend(names.used);
            template.sources.insert((*name).to_owned(), (*text).to_owned());
        }
        template
    }

    fn made(sources: &[(&str, &str)], values: Json, in_environment: &[&str]) -> BTreeMap<String, String> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let values = values.as_object().cloned().unwrap();
        let (inputs, in_environment) = (names(&["a", "b", "c", "d"]), names(in_environment));
        files(&Parts { template: &template(sources), values: &values, inputs, in_environment })
    }

    #[test]
    fn one_template_is_a_module_and_texts_stay_texts() {
        let source =
            "variable a {}\nvariable b { type = list(string) }\noutput o { value = \"${var.a}${var.c}${var.x}\" }\n";
        let values = json!({ "a": "${file(\"x\")} %{ if } $${", "c": { "${1 + 1}": ["%{"] }, "z": 1 });
        let files = made(&[("", source)], values, &["b"]);
        assert_eq!(files["brokertemplate/definition.tf"], source);
        let root: Json = serde_json::from_str(&files["instance.tf.json"]).unwrap();
        let expected = json!({
            "module": { "instance": {
                "a": "$${file(\"x\")} %%{ if } $$${",
                "b": "${var.b}",
                "c": { "$${1 + 1}": ["%%{"] },
                "source": "./brokertemplate",
            } },
            "variable": { "b": { "type": "list(string)" } },
            "output": { "o": { "value": "${module.instance.o}", "sensitive": true } },
        });
        assert_eq!(root, expected);
        let declared: Json = serde_json::from_str(&files["brokertemplate/undeclared-inputs.tf.json"]).unwrap();
        assert_eq!(declared, json!({ "variable": { "c": {} } }), "x is not an input");
    }

    #[test]
    fn several_templates_are_one_directory() {
        let sources = [("main", "output o { value = var.a }"), ("variables", "variable b {}")];
        let files = made(&sources, json!({ "b": "${x}", "z": 1 }), &[]);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["main.tf", VALUES, DECLARATIONS, "variables.tf"]);
        assert_eq!(files[VALUES], "{\n  \"b\": \"${x}\"\n}");
        assert_eq!(files[DECLARATIONS], "{\n  \"variable\": {\n    \"a\": {\n      \"default\": null\n    }\n  }\n}");
        let both = made(&[("", "variable a {}"), ("more", "")], json!({}), &[]);
        let names: Vec<&str> = both.keys().map(String::as_str).collect();
        assert_eq!(names, ["brokertemplate/definition.tf", "brokertemplate/more.tf", "instance.tf.json"]);
    }

    #[test]
    fn nothing_prevents_destroying() {
        let text = "resource \"a\" \"b\" {\n  x = \"prevent_destroy = true\" # c\n  lifecycle {\n    prevent_destroy = true # why\n  }\n}\n";
        let free = destroyable(&template(&[("", text)]));
        assert_eq!(free.sources[""], text.replace("destroy = true #", "destroy = false #"));
    }
}
