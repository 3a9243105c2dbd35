//! Holds the workspace to the tables of `docs/architecture.md`, and `docs/dependencies.md` to the workspace.

use std::collections::BTreeSet;
use std::path::Path;

use xtask::architecture::{Architecture, DOCUMENT, EXECUTABLES, Names, SUBJECTS};
use xtask::dependencies;
use xtask::graph::Graph;
use xtask::sources::{code, names, rust};

/// Set (to anything), it makes the tests write the pages instead of comparing them.
const UPDATE: &str = "BOSON_UPDATE";

#[test]
fn every_crate_has_a_line() {
    let graph = Graph::load(None).unwrap();
    let members: BTreeSet<&str> = graph.members().map(|member| member.name.as_str()).collect();
    let architecture = Architecture::load().unwrap();
    let listed: BTreeSet<&str> = architecture.crates.iter().map(|line| line.name.as_str()).collect();
    let missing: Vec<&&str> = members.difference(&listed).collect();
    let unknown: Vec<&&str> = listed.difference(&members).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "no page lists {missing:?}, and pages list {unknown:?}");
}

#[test]
fn every_crate_is_in_the_directory_of_its_subject() {
    let graph = Graph::load(None).unwrap();
    let architecture = Architecture::load().unwrap();
    for member in graph.members().filter(|member| member.name != "e2e") {
        let line = architecture.crates.iter().find(|line| line.name == member.name).unwrap();
        let parent =
            if line.subject == EXECUTABLES { EXECUTABLES.to_owned() } else { format!("crates/{}", line.subject) };
        assert_eq!(member.path(), Path::new(&parent).join(&member.name));
    }
    let overview = xtask::read("crates/README.md").unwrap();
    for subject in SUBJECTS {
        assert!(overview.contains(&format!("]({subject}/README.md)")), "crates/README.md does not list {subject}");
    }
}

#[test]
fn the_page_of_dependencies_is_up_to_date() {
    let page = dependencies::page(&Architecture::load().unwrap(), &Graph::load(None).unwrap());
    let path = xtask::root().join(dependencies::PAGE);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = page.lines().find(|line| !committed.lines().any(|known| known == *line));
    assert_eq!(committed, page, "{} is out of date ({UPDATE}=1 writes it), from {differing:?} on", dependencies::PAGE);
}

#[test]
fn no_crate_depends_on_a_forbidden_crate() {
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
fn no_source_contains_a_forbidden_name() {
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
                Names::AllBut { names: paths, .. } => !paths.iter().any(|p| file.path.starts_with(p.as_str())),
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
fn every_executable_that_ships_has_one_line_about_trust() {
    let text = xtask::read(DOCUMENT).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with("Trust boundaries")).unwrap();
    let first = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let mut listed: Vec<String> = section.lines().filter_map(first).collect();
    listed.sort();
    let mut shipped: Vec<String> = Architecture::load().unwrap().executables.into_iter().map(|e| e.name).collect();
    shipped.sort();
    assert_eq!(listed, shipped);
}

#[test]
fn planned_crates_do_not_exist_yet() {
    let graph = Graph::load(None).unwrap();
    let text = xtask::read(DOCUMENT).unwrap().replace('\n', " ");
    let here: Vec<&str> = graph
        .members()
        .map(|member| member.name.as_str())
        .filter(|name| text.contains(&format!("`{name}` (to come)")))
        .collect();
    assert!(here.is_empty(), "{DOCUMENT} calls {here:?} to come");
}

#[test]
fn every_name_in_a_rule_about_crates_exists_or_is_foreign() {
    let architecture = Architecture::load().unwrap();
    let graph = Graph::load(None).unwrap();
    let members: BTreeSet<&str> = graph.members().map(|m| m.name.as_str()).collect();
    for rule in &architecture.dependency_rules {
        let who = match &rule.who {
            Names::Of(subjects) => {
                let unknown = subjects.iter().find(|subject| !SUBJECTS.contains(&subject.as_str()));
                assert_eq!(unknown, None, "{DOCUMENT}: a rule is about a subject that does not exist");
                continue;
            }
            Names::Every(_, names) | Names::AllBut { names, .. } | Names::These(names) => names,
        };
        for name in who {
            assert!(members.contains(name.as_str()), "{DOCUMENT}: a rule is about `{name}`, which does not exist");
        }
    }
}
