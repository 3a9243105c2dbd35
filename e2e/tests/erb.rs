//! The examples of `docs/dialects/erb.md` are rendered, and each library that it names is used, without
//! `require` and with it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

use e2e::{Outcome, here, run};

const PAGE: &str = "docs/dialects/erb.md";

fn page() -> String {
    fs::read_to_string(here().join("..").join(PAGE)).unwrap()
}

/// The rows of all tables with this head, each with its number in the page.
fn rows(page: &str, head: &str) -> Vec<(usize, Vec<String>)> {
    let lines: Vec<&str> = page.lines().collect();
    let mut rows = Vec::new();
    for (start, _) in lines.iter().enumerate().filter(|(_, line)| **line == head) {
        for (i, line) in lines.iter().enumerate().skip(start + 2).take_while(|(_, line)| line.starts_with('|')) {
            rows.push((i + 1, cells(line)));
        }
    }
    assert!(!rows.is_empty(), "{PAGE} has no table {head}");
    rows
}

/// The cells of a row; `\|` in one is `|`.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{1}");
    inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The text in backquotes of a cell that contains nothing else.
fn code(cell: &str) -> String {
    cell.strip_prefix('`').and_then(|c| c.strip_suffix('`')).unwrap_or(cell).replace('⏎', "\n")
}

const MANIFEST: &str = "\
name: shop
releases: [{name: shop, version: 1}]
instance_groups:
- {name: storage, instances: 1, azs: [z1], jobs: [{name: database, release: shop}]}
- {name: front, instances: 3, azs: [z1, z2], jobs: [{name: web, release: shop, properties: {password: correct-horse}}]}
";

const DATABASE: &str = "\
name: database
provides: [{name: db, type: database, properties: [port]}]
properties: {port: {default: 5432}}
";

/// Renders these templates as the page describes: the result of each is in `jobs/web/<its number>`.
fn render(work: &Path, page: &str, templates: &[String]) -> Outcome {
    let (_, rest) = page.split_once("```yaml\nname: web\n").expect("the spec of the job web");
    let mut spec = format!("name: web\n{}templates:\n", rest.split("```").next().unwrap());
    let jobs = work.join("jobs-src/shop");
    fs::create_dir_all(jobs.join("web/templates")).unwrap();
    fs::create_dir_all(jobs.join("database")).unwrap();
    for (i, template) in templates.iter().enumerate() {
        spec.push_str(&format!("  {i}.erb: '{i}'\n"));
        fs::write(jobs.join(format!("web/templates/{i}.erb")), template).unwrap();
    }
    fs::write(jobs.join("web/spec"), spec).unwrap();
    fs::write(jobs.join("database/spec"), DATABASE).unwrap();
    fs::write(work.join("manifest.yml"), MANIFEST).unwrap();
    let environment =
        [("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "."), ("KUBE_NAMESPACE", "ns"), ("LC_ALL", "C")];
    let plan = run(&["plan", "ig-resolved", "-g", "front", "-o", "output.json"], &environment, work);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let json = fs::read_to_string(work.join("output.json")).unwrap();
    let resolved = handoff::output::decode(&json, handoff::output::PROPERTIES_YAML, "output.json").unwrap();
    fs::write(work.join("properties.yaml"), resolved).unwrap();
    let environment = [
        ("INSTANCE_GROUP_NAME", "front"),
        ("BOSH_MANIFEST_PATH", "properties.yaml"),
        ("JOBS_DIR", "."),
        ("OUTPUT_DIR", "jobs"),
        ("AZ_INDEX", "2"),
        ("POD_ORDINAL", "0"),
        ("POD_IP", "10.0.0.7"),
        ("LC_ALL", "C"),
        ("TZ", "JST-9"),
    ];
    run(&["render-jobs"], &environment, work)
}

#[test]
fn the_examples_render_as_documented() {
    let page = page();
    let rows = rows(&page, "| template | becomes |");
    let work = tempfile::tempdir().unwrap();
    let templates: Vec<String> = rows.iter().map(|(_, cells)| code(&cells[0])).collect();
    let outcome = render(work.path(), &page, &templates);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mut wrong = Vec::new();
    for (i, (line, cells)) in rows.iter().enumerate() {
        let came = fs::read(work.path().join(format!("jobs/web/{i}"))).unwrap();
        let came = String::from_utf8_lossy(&came);
        if came != code(&cells[1]) {
            wrong.push(format!("{PAGE}:{line}: {} becomes {came:?}", cells[0]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_examples_fail_as_documented() {
    let page = page();
    let rows = rows(&page, "| template | fails with |");
    let work = tempfile::tempdir().unwrap();
    let templates: Vec<String> = rows.iter().map(|(_, cells)| code(&cells[0])).collect();
    let outcome = render(work.path(), &page, &templates);
    assert_eq!(outcome.code, Some(66), "{}", outcome.stderr);
    for (i, (line, cells)) in rows.iter().enumerate() {
        let head = format!("- Error filling in template '{i}.erb' (line ");
        let message = outcome.stderr.lines().find_map(|l| l.trim().strip_prefix(&head)).unwrap_or("(nothing)");
        let message = message.split_once(": ").map_or(message, |(_, after)| after).trim_end_matches(')');
        assert_eq!(message, code(&cells[1]).trim_end_matches(')'), "{PAGE}:{line}");
    }
}

#[test]
fn every_library_is_available_with_and_without_require() {
    let page = page();
    let mut uses = Vec::new();
    for (line, cells) in rows(&page, "| library | what is there without `require` |") {
        let library = code(&cells[0]);
        for expression in cells[1].split('`').skip(1).step_by(2) {
            uses.push((line, library.clone(), format!("<%= {expression} %>")));
        }
    }
    assert!(uses.len() > 70, "{} uses of libraries", uses.len());
    // Each in its own process: a library loaded by one template must not be visible to the next one.
    let alone = |template: &str| format!("<% $alone = true %>{template}");
    let without = uses.iter().map(|(_, _, expression)| alone(expression));
    let with = uses.iter().map(|(_, library, expression)| alone(&format!("<% require '{library}' %>{expression}")));
    let work = tempfile::tempdir().unwrap();
    let templates: Vec<String> = without.chain(with).collect();
    let outcome = render(work.path(), &page, &templates);
    let failed: Vec<String> = (0..templates.len())
        .filter(|i| outcome.stderr.contains(&format!("template '{i}.erb'")))
        .map(|i| format!("{PAGE}:{}: {}", uses[i % uses.len()].0, templates[i]))
        .collect();
    assert!(failed.is_empty() && outcome.code == Some(0), "{}\n{}", failed.join("\n"), outcome.stderr);
    let empty = (0..templates.len()).find(|i| fs::read(work.path().join(format!("jobs/web/{i}"))).unwrap().is_empty());
    assert_eq!(empty.map(|i| &templates[i]), None, "nothing came of it");
}
