//! Every dependency that is declared is used.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use toml::Table;
use xtask::sources::{Source, all, code, names, rust};

/// The manifests of the workspace and of the workspaces inside it, with their paths.
fn manifests() -> Vec<(String, Table)> {
    let files = all().unwrap().into_iter().filter(|file| file.path.ends_with("Cargo.toml"));
    let parse = |file: Source| {
        let table = file.text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.path));
        (file.path, table)
    };
    files.map(parse).collect()
}

fn keys<'a>(table: &'a Table, section: &str) -> Vec<&'a str> {
    let section = table.get(section).and_then(toml::Value::as_table);
    section.into_iter().flat_map(Table::keys).map(String::as_str).collect()
}

#[test]
fn every_workspace_dependency_is_used_by_a_crate() {
    let manifests = manifests();
    let root = &manifests.iter().find(|(path, _)| path == "Cargo.toml").unwrap().1;
    let declared = keys(root["workspace"].as_table().unwrap(), "dependencies");
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let used: BTreeSet<&str> =
        manifests.iter().flat_map(|(_, table)| sections.map(|section| keys(table, section))).flatten().collect();
    let unused: Vec<&&str> = declared.iter().filter(|name| !used.contains(*name)).collect();
    assert!(declared.len() > 20, "the list of the workspace's dependencies was not found");
    assert!(unused.is_empty(), "Cargo.toml: no crate depends on {unused:?}: remove them from [workspace.dependencies]");
}

#[test]
fn every_dependency_of_a_crate_is_named_in_its_sources() {
    let sources = rust().unwrap();
    let mut unused = Vec::new();
    for (path, table) in manifests().iter().filter(|(_, table)| table.contains_key("package")) {
        let directory = path.trim_end_matches("Cargo.toml");
        let own: Vec<(&str, &Source)> =
            sources.iter().filter_map(|file| Some((file.path.strip_prefix(directory)?, file))).collect();
        let is_test = |file: &str| file.starts_with("tests/") || file.starts_with("benches/");
        for (section, belongs) in [
            ("dependencies", &(|file: &str| !is_test(file) && file != "build.rs") as &dyn Fn(&str) -> bool),
            ("dev-dependencies", &|file| file != "build.rs"),
            ("build-dependencies", &|file| file == "build.rs"),
        ] {
            for name in keys(table, section) {
                let identifier = name.replace('-', "_");
                let is_named = own.iter().filter(|(file, _)| belongs(file)).any(|(_, source)| match section {
                    "dependencies" => names(&code(&source.text), &identifier),
                    // The tests at the end of a file, too, which are not the product's code.
                    _ => source.text.split("#[cfg(test)]\nmod ").any(|part| names(&code(part), &identifier)),
                });
                if !is_named {
                    unused.push(format!("{path}: {name} in [{section}]"));
                }
            }
        }
    }
    assert!(unused.is_empty(), "declared, but named in no source:\n{}", unused.join("\n"));
}
