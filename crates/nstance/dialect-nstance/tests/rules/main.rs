//! The rules of configurations, levels, args, userdata and files, one by one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod configuration;
mod images;
mod levels;
mod rendering;

use std::time::Duration;

use dialect_nstance::{Configuration, Images, Inputs, Instance, Rendered, Settings, render};

const SETTINGS: Settings =
    Settings { missing_is_error: true, timeout: Duration::ZERO, output_limit: 1 << 20, inflated_limit: 1 << 20 };

fn render_with(
    configuration: &str,
    instance: &str,
    images: &Images,
    settings: Settings,
) -> Result<Rendered, problem::Problems> {
    let (configuration, _) = Configuration::read("c.json", configuration.as_bytes())?;
    let (instance, _) = Instance::read("i.json", instance.as_bytes())?;
    let inputs = Inputs { instance: &instance, images, download: &|_| None, settings };
    render(&configuration, configuration.group(&instance)?, inputs)
}

fn rendered(configuration: &str, instance: &str) -> Rendered {
    render_with(configuration, instance, &Images::new(), SETTINGS).unwrap_or_else(|problems| panic!("{problems}"))
}

fn file(rendered: &Rendered, path: &str) -> String {
    let file = rendered.files.iter().find(|file| file.path == path);
    String::from_utf8(file.unwrap_or_else(|| panic!("no {path}")).content.clone()).unwrap()
}

/// A rendered file of the group g.
fn of_g(configuration: &str, path: &str) -> String {
    file(&rendered(configuration, r#"{"group": "g"}"#), path)
}

/// Without the layout: numbers, strings and order count.
fn compact(text: &str) -> String {
    let node = dialect_nstance::document::parse("result", "result", text.as_bytes()).unwrap();
    dialect_nstance::json::compact(node.as_object().unwrap())
}

fn problems(configuration: &str, instance: &str) -> String {
    let result = render_with(configuration, instance, &Images::new(), SETTINGS);
    result.err().unwrap_or_else(|| panic!("no problem in {configuration}")).to_string()
}

fn warnings(configuration: &str, instance: &str) -> Vec<String> {
    let (_, mut warnings) = Configuration::read("c.json", configuration.as_bytes()).unwrap();
    warnings.extend(Instance::read("i.json", instance.as_bytes()).unwrap().1);
    warnings.extend(rendered(configuration, instance).warnings);
    warnings.iter().map(ToString::to_string).collect()
}

fn with_file(name: &str, file: &str) -> String {
    format!(
        r#"{{"certificates": {{"server": {{}}}}, "vars": {{"V": "a b"}},
  "templates": {{"t": {{"files": {{"{name}": {file}}}}}}}, "groups": {{"g": {{"template": "t"}}}}}}"#
    )
}
