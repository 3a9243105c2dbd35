//! Holds the workspace to the tables of `docs/architecture.md`.

use std::collections::{BTreeMap, BTreeSet};

use xtask::architecture::{Architecture, DOCUMENT, Names, with_dependencies};
use xtask::graph::Graph;
use xtask::sources::{code, names, rust};

/// Set (to anything), it makes the tests write what they would compare.
const UPDATE: &str = "BOSON_UPDATE";

#[test]
fn every_crate_has_a_line_with_what_it_is_linked_with() {
    let graph = Graph::load(None).unwrap();
    let direct: BTreeMap<String, BTreeSet<String>> =
        graph.members().map(|m| (m.name.clone(), graph.direct(m).into_iter().map(str::to_owned).collect())).collect();
    if std::env::var_os(UPDATE).is_some() {
        let text = with_dependencies(&xtask::read(DOCUMENT).unwrap(), &direct);
        std::fs::write(xtask::root().join(DOCUMENT), text).unwrap();
    }
    let said: BTreeMap<String, BTreeSet<String>> =
        Architecture::load().unwrap().crates.into_iter().map(|(name, c)| (name, c.depends_on)).collect();
    let mut wrong = Vec::new();
    for (name, dependencies) in &direct {
        match said.get(name) {
            None => wrong.push(format!("`{name}` has no line")),
            Some(listed) if listed != dependencies => {
                wrong.push(format!("`{name}` is linked with {dependencies:?}, the document says {listed:?}"));
            }
            Some(_) => {}
        }
    }
    wrong.extend(said.keys().filter(|name| !direct.contains_key(*name)).map(|name| format!("there is no `{name}`")));
    assert!(wrong.is_empty(), "{DOCUMENT} is not true ({UPDATE}=1 corrects the lists):\n{}", wrong.join("\n"));
}

#[test]
fn nobody_depends_on_what_the_rules_forbid() {
    let architecture = Architecture::load().unwrap();
    let graph = Graph::load(None).unwrap();
    let mut broken = Vec::new();
    for rule in &architecture.dependency_rules {
        for member in graph.members().filter(|m| architecture.means(&rule.who, &m.name)) {
            for (name, way) in graph.reached(member) {
                if architecture.means(&rule.never, name) {
                    broken.push(way.join(" -> "));
                }
            }
        }
    }
    assert!(architecture.dependency_rules.len() >= 5, "the table of rules was not found");
    assert!(broken.is_empty(), "{DOCUMENT} forbids:\n{}", broken.join("\n"));
}

#[test]
fn no_source_contains_what_the_rules_forbid() {
    let architecture = Architecture::load().unwrap();
    let graph = Graph::load(None).unwrap();
    let mut broken = Vec::new();
    // The fuzz targets are a workspace of their own.
    for file in rust().unwrap().into_iter().filter(|f| !f.path.starts_with("fuzz/")) {
        let owner = graph.members().find(|m| file.path.starts_with(&format!("{}/", m.path().display())));
        let owner = owner.unwrap_or_else(|| panic!("{} belongs to no crate", file.path));
        // Tests of pure crates may read their corpus.
        let shipped = file.path.contains("/src/");
        let code = code(&file.text);
        for rule in &architecture.source_rules {
            let meant = match &rule.who {
                Names::AllBut(paths) => !paths.iter().any(|p| file.path.starts_with(p.as_str())),
                who => shipped && architecture.means(who, &owner.name),
            };
            let Names::These(forbidden) = &rule.never else { panic!("{DOCUMENT}: a rule for sources lists words") };
            for word in forbidden.iter().filter(|word| meant && names(&code, word)) {
                broken.push(format!("{}: {word}", file.path));
            }
        }
    }
    assert!(architecture.source_rules.len() >= 2, "the table of rules was not found");
    assert!(broken.is_empty(), "{DOCUMENT} forbids:\n{}", broken.join("\n"));
}

#[test]
fn every_name_in_a_rule_about_crates_exists_or_is_foreign() {
    let architecture = Architecture::load().unwrap();
    let graph = Graph::load(None).unwrap();
    let members: BTreeSet<&str> = graph.members().map(|m| m.name.as_str()).collect();
    for rule in &architecture.dependency_rules {
        let who = match &rule.who {
            Names::Every(_, names) | Names::AllBut(names) | Names::These(names) => names,
        };
        for name in who {
            assert!(members.contains(name.as_str()), "{DOCUMENT}: a rule is about `{name}`, which does not exist");
        }
    }
}
