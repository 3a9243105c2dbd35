//! Imports: resources that exist become a template of their own.
//!
//! terraform's state has their attributes, and its schema says which of them can be set and which are blocks. What the definition
//! deletes, maps to variables and adds is done with this structure, never with text.

use std::collections::BTreeMap;

use hcl_edit::expr::{Expression, TraversalOperator};
use serde_json::{Map, Value as Json};

use crate::definition::{Action, Mapping};
use crate::pak::Template;
use crate::state::{State, dynamic};
use crate::template;
use crate::workspace::escaped;

/// The blocks of resources by type, as `providers schema -json` has them (`block` of a resource's schema).
pub type Schemas = BTreeMap<String, Json>;

/// What an import makes.
#[derive(Debug, Clone, Default)]
pub struct Rewritten {
    /// The template with the imported resources.
    pub template: Template,
    /// Values of variables that replace attributes: those that the resources have.
    pub values: Map<String, Json>,
}

/// The body of a resource or of a block.
type Body = Vec<(String, Item)>;

enum Item {
    Value(Json),
    Expression(String),
    Blocks(Vec<(Option<String>, Body)>),
}

/// Rewrites the template of an action for the resources of a state.
///
/// # Errors
/// A type without a schema; a path or an expression of the definition that is wrong.
pub fn rewrite(action: &Action, template: &Template, state: &State, schemas: &Schemas) -> Result<Rewritten, String> {
    let mut values = Map::new();
    let mut text = String::new();
    for resource in &state.resources {
        let schema =
            schemas.get(&resource.kind).ok_or_else(|| format!("the provider has no schema of {}", resource.kind))?;
        let mut body = body(schema, &resource.attributes, true);
        let own = format!("{}.{}.", resource.kind, resource.name);
        for path in &action.import_parameters_to_delete {
            if let Some(path) = path.strip_prefix(&own) {
                delete(&mut body, path);
            }
        }
        for mapping in &action.import_parameters_to_add {
            if let Some(name) = mapping.tf_variable.strip_prefix(&own) {
                body.retain(|(key, _)| key != name);
                body.insert(0, (name.to_owned(), Item::Expression(expression(mapping)?)));
            }
        }
        for mapping in &action.import_parameter_mappings {
            map(&mut body, mapping, &own, &mut values)?;
        }
        text.push_str(&format!("resource {} {} {{\n", quoted(&resource.kind), quoted(&resource.name)));
        print(&body, 1, &mut text);
        text.push_str("}\n\n");
    }
    Ok(Rewritten { template: replaced(template, state, text)?, values })
}

/// The template as files of one directory. `main` is replaced as a whole; the only template keeps all but the resources.
fn replaced(template: &Template, state: &State, text: String) -> Result<Template, String> {
    let mut new = Template::default();
    for (name, source) in &template.sources {
        if !name.is_empty() && name != "main" {
            new.sources.insert(name.clone(), source.clone());
        }
    }
    let mut main = String::new();
    if let Some(source) = template.sources.get("") {
        let mut body = hcl_edit::parser::parse_body(source).map_err(|_| "the template is not HCL".to_owned())?;
        let is_imported = |kind: &str, name: &str| state.resources.iter().any(|r| r.kind == kind && r.name == name);
        let mut index = 0;
        while index < body.len() {
            let block = body.get(index).and_then(|structure| structure.as_block());
            let labels: Vec<&str> =
                block.map_or_else(Vec::new, |block| block.labels.iter().map(|l| l.as_str()).collect());
            let is_resource = block.is_some_and(|block| block.ident.as_str() == "resource");
            match labels.as_slice() {
                [kind, name] if is_resource && is_imported(kind, name) => drop(body.remove(index)),
                _ => index += 1,
            }
        }
        main = format!("{}\n", body.to_string().trim_end());
    }
    main.push_str(&text);
    new.sources.insert("main".to_owned(), main);
    read_names(&mut new)?;
    Ok(new)
}

/// Reads what the sources of a template declare and use.
///
/// # Errors
/// A source that is not HCL.
pub fn read_names(template: &mut Template) -> Result<(), String> {
    template.names = template::Names::default();
    for (name, source) in &template.sources {
        let names =
            template::names(source).map_err(|(line, column)| format!("{name}.tf:{line}:{column}: invalid HCL"))?;
        template.names.variables.extend(names.variables);
        template.names.outputs.extend(names.outputs);
        template.names.used.extend(names.used);
    }
    Ok(())
}

/// Attributes that can be set and have a value, then blocks.
fn body(schema: &Json, attributes: &Json, is_resource: bool) -> Body {
    let mut body = Body::new();
    for (name, rule) in schema["attributes"].as_object().into_iter().flatten() {
        let is = |key: &str| rule[key].as_bool().unwrap_or(false);
        // Every resource has an id, which cannot be set even where the schema says that it is optional.
        let is_id = is_resource && name == "id" && is("computed");
        let value = if rule["type"] == "dynamic" { dynamic(&attributes[name]) } else { &attributes[name] };
        if !value.is_null() && !is_id && (is("optional") || is("required")) {
            body.push((name.clone(), Item::Value(value.clone())));
        }
    }
    for (name, rule) in schema["block_types"].as_object().into_iter().flatten() {
        let inner = |value: &Json| self::body(&rule["block"], value, false);
        let blocks: Vec<(Option<String>, Body)> = match (&attributes[name], rule["nesting_mode"].as_str()) {
            (Json::Array(items), _) => items.iter().map(|item| (None, inner(item))).collect(),
            (Json::Object(map), Some("map")) => {
                map.iter().map(|(key, item)| (Some(key.clone()), inner(item))).collect()
            }
            (single @ Json::Object(_), _) => vec![(None, inner(single))],
            _ => Vec::new(),
        };
        if !blocks.is_empty() {
            body.push((name.clone(), Item::Blocks(blocks)));
        }
    }
    body
}

/// Removes an attribute or a block by its path.
fn delete(body: &mut Body, path: &str) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let Some(rest) = rest else {
        body.retain(|(name, _)| name != first);
        return;
    };
    for (_, item) in body.iter_mut().filter(|(name, _)| name == first) {
        match item {
            Item::Blocks(blocks) => blocks.iter_mut().for_each(|(_, inner)| delete(inner, rest)),
            Item::Value(value) => delete_key(value, rest),
            Item::Expression(_) => {}
        }
    }
}

fn delete_key(value: &mut Json, path: &str) {
    match (value, path.split_once('.')) {
        (Json::Object(map), None) => drop(map.remove(path)),
        (Json::Object(map), Some((first, rest))) => {
            if let Some(value) = map.get_mut(first) {
                delete_key(value, rest);
            }
        }
        (Json::Array(items), _) => items.iter_mut().for_each(|item| delete_key(item, path)),
        _ => {}
    }
}

/// Replaces an attribute by an expression: that of the resource, or where it has none of this name, those of its blocks. A
/// path with the resource before it is about this resource alone.
fn map(body: &mut Body, mapping: &Mapping, own: &str, values: &mut Map<String, Json>) -> Result<(), String> {
    let name = mapping.tf_variable.strip_prefix(own).unwrap_or(&mapping.tf_variable);
    let expression = expression(mapping)?;
    let is_here = |body: &Body| body.iter().any(|(key, item)| key == name && !matches!(item, Item::Blocks(_)));
    if is_here(body) {
        replace(body, name, &expression, values);
        return Ok(());
    }
    for (_, item) in body.iter_mut() {
        if let Item::Blocks(blocks) = item {
            for (_, inner) in blocks {
                map(inner, mapping, own, values)?;
            }
        }
    }
    Ok(())
}

fn replace(body: &mut Body, name: &str, expression: &str, values: &mut Map<String, Json>) {
    for (_, item) in body.iter_mut().filter(|(key, _)| key == name) {
        if let Item::Value(value) = item
            && let Some(variable) = variable(expression)
            && !value.is_object()
            && !value.is_array()
        {
            values.entry(variable).or_insert_with(|| value.clone());
        }
        *item = Item::Expression(expression.to_owned());
    }
}

/// The name of the variable that an expression is.
fn variable(expression: &str) -> Option<String> {
    let Ok(Expression::Traversal(traversal)) = hcl_edit::parser::parse_expr(expression) else { return None };
    let is_var = traversal.expr.as_variable().is_some_and(|name| name.as_str() == "var");
    match traversal.operators.as_slice() {
        [only] if is_var => match only.value() {
            TraversalOperator::GetAttr(name) => Some(name.as_str().to_owned()),
            _ => None,
        },
        _ => None,
    }
}

fn expression(mapping: &Mapping) -> Result<String, String> {
    let text = mapping.parameter_name.trim();
    match hcl_edit::parser::parse_expr(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("the parameter_name of {} is not an expression", mapping.tf_variable)),
    }
}

fn print(body: &Body, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for (name, item) in body {
        match item {
            Item::Value(value) => text.push_str(&format!("{indent}{name} = {}\n", hcl(value, depth))),
            Item::Expression(expression) => text.push_str(&format!("{indent}{name} = {expression}\n")),
            Item::Blocks(blocks) => {
                for (label, inner) in blocks {
                    let label = label.as_deref().map(|label| format!(" {}", quoted(label))).unwrap_or_default();
                    text.push_str(&format!("{indent}{name}{label} {{\n"));
                    print(inner, depth + 1, text);
                    text.push_str(&format!("{indent}}}\n"));
                }
            }
        }
    }
}

/// A value as HCL writes it.
fn hcl(value: &Json, depth: usize) -> String {
    let indent = "  ".repeat(depth + 1);
    let end = "  ".repeat(depth);
    match value {
        Json::String(text) => quoted(text),
        Json::Array(items) if items.is_empty() => "[]".to_owned(),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| format!("{indent}{},\n", hcl(item, depth + 1))).collect();
            format!("[\n{}{end}]", items.concat())
        }
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let entry =
                |(key, value): (&String, &Json)| format!("{indent}{} = {}\n", quoted(key), hcl(value, depth + 1));
            format!("{{\n{}{end}}}", map.iter().map(entry).collect::<String>())
        }
        scalar => scalar.to_string(),
    }
}

/// A text in quotes, which terraform does not evaluate.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in escaped(text).chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The resources that a plan (`show -json`) destroys or replaces.
///
/// # Errors
/// A document that is not a plan.
pub fn destroyed(plan: &[u8]) -> Result<Vec<String>, String> {
    let plan: Json = serde_json::from_slice(plan).map_err(|_| "the plan is not JSON".to_owned())?;
    if plan["format_version"].as_str().is_none() {
        return Err("it is not a plan".to_owned());
    }
    let changes = plan["resource_changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_destroyed = |change: &&Json| {
        change["change"]["actions"].as_array().is_some_and(|actions| actions.iter().any(|action| action == "delete"))
    };
    Ok(changes.iter().filter(is_destroyed).filter_map(|change| change["address"].as_str()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
