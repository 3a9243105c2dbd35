//! The documentation of a pak's services, in Markdown.

use serde_json::Value as Json;

use crate::configuration::go_json;
use crate::definition::{Action, Variable};
use crate::pak::{Pak, Service};

/// The documentation of all services.
pub fn document(pak: &Pak) -> String {
    let mut out = format!("# {} {}\n", pak.manifest.name, pak.manifest.version);
    for (name, description) in &pak.manifest.parameters {
        out.push_str(&format!("\n* Parameter `{name}`: {}\n", line(description)));
    }
    pak.services.iter().for_each(|service| self::service(&mut out, service));
    out
}

fn service(out: &mut String, service: &Service) {
    let definition = &service.definition;
    let json = &definition.json;
    let text = |key: &str| line(json[key].as_str().unwrap_or_default());
    out.push_str(&format!("\n## {}\n\n{}\n\n", text("display_name"), text("description")));
    for (what, value) in [
        ("Name", format!("`{}`", definition.name.value)),
        ("ID", format!("`{}`", definition.id.value)),
        ("Documentation", text("documentation_url")),
        ("Support", text("support_url")),
        ("Plan updateable", json["plan_updateable"].as_bool().unwrap_or(false).to_string()),
    ] {
        out.push_str(&format!("* {what}: {value}\n"));
    }
    out.push_str("\n### Plans\n");
    for (number, plan) in definition.plans.iter().enumerate() {
        let written = &json["plans"][number];
        let description = line(written["description"].as_str().unwrap_or_default());
        out.push_str(&format!("\n* **`{}`** (`{}`): {description}\n", plan.name.value, plan.id.value));
        for bullet in written["bullets"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            out.push_str(&format!("  * {}\n", line(bullet)));
        }
        for (name, value) in &plan.properties {
            out.push_str(&format!("  * `{name}`: `{}`\n", code(value)));
        }
    }
    for (title, action) in [("Provision", &definition.provision), ("Bind", &definition.bind)] {
        self::action(out, title, action);
    }
    examples(out, service);
}

fn action(out: &mut String, title: &str, action: &Action) {
    for (what, variables) in [("parameters", &action.user_inputs), ("outputs", &action.outputs)] {
        out.push_str(&format!("\n### {title}: {what}\n\n"));
        if variables.is_empty() {
            out.push_str("None.\n");
        }
        variables.iter().for_each(|variable| self::variable(out, variable));
    }
}

fn variable(out: &mut String, variable: &Variable) {
    let kind = if variable.kind.value.is_empty() { "any" } else { &variable.kind.value };
    let required = if variable.required { ", required" } else { "" };
    let fixed = if variable.prohibit_update { ", cannot be updated" } else { "" };
    let (name, details) = (&variable.field_name.value, line(&variable.details));
    out.push_str(&format!("* **`{name}`** ({kind}{required}{fixed}): {details}\n"));
    if let Some(default) = &variable.default {
        out.push_str(&format!("  * Default: `{}`\n", code(default)));
    }
    for (value, description) in &variable.values {
        out.push_str(&format!("  * Value `{}`: {}\n", code(value), line(description)));
    }
    for (rule, value) in &variable.constraints {
        out.push_str(&format!("  * `{rule}`: `{}`\n", code(value)));
    }
}

fn examples(out: &mut String, service: &Service) {
    out.push_str("\n### Examples\n");
    let definition = &service.definition;
    for example in definition.json["examples"].as_array().into_iter().flatten() {
        let text = |key: &str| line(example[key].as_str().unwrap_or_default());
        let plan = definition.plan(example["plan_id"].as_str().unwrap_or_default());
        let plan = plan.map_or("PLAN", |plan| plan.name.value.as_str());
        // Quotes of the shell, in which nothing is special but themselves.
        let quoted = |value: &Json| {
            let value = if value.is_null() { "{}".to_owned() } else { go_json(value) };
            format!("'{}'", value.replace('\'', "'\\''"))
        };
        let (provision, bind) = (quoted(&example["provision_params"]), quoted(&example["bind_params"]));
        let name = &definition.name.value;
        out.push_str(&format!("\n#### {}\n\n{}\n\n", text("name"), text("description")));
        out.push_str(&format!("```sh\ncf create-service {name} {plan} my-instance -c {provision}\n"));
        out.push_str(&format!("cf bind-service my-app my-instance -c {bind}\n```\n"));
    }
}

/// A text on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value between backquotes.
fn code(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| go_json(value), str::to_owned);
    line(&text.replace('`', "'"))
}
