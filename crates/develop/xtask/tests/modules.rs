//! No module of a crate is part of a circle, apart from a module and its own children.

use std::collections::BTreeMap;

use xtask::graph::Graph;
use xtask::modules::{Modules, shown};
use xtask::sources::rust;

#[test]
fn modules_use_each_other_in_one_direction() {
    let graph = Graph::load(None).unwrap();
    let members: BTreeMap<String, &str> =
        graph.members().map(|m| (format!("{}/src/", m.path().display()), m.name.as_str())).collect();
    let mut files: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for file in rust().unwrap() {
        let owner = members.iter().find_map(|(dir, name)| Some((*name, file.path.strip_prefix(dir)?.to_owned())));
        if let Some((name, path)) = owner {
            files.entry(name).or_default().push((path, file.text));
        }
    }
    assert!(files.len() > 20, "the crates were not found");
    let mut wrong = Vec::new();
    for (name, files) in &files {
        for circle in Modules::of(files).unwrap().tangles() {
            let modules: Vec<String> = circle.iter().map(|path| shown(path)).collect();
            wrong.push(format!("{name}: these use each other in a circle: {}", modules.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
