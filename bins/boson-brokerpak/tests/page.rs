//! The examples of docs/dialects/brokerpak.md.

use std::path::Path;

#[test]
fn the_examples_of_the_page_are_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/brokerpak.md");
    let work = tempfile::tempdir().expect("a directory");
    let brokerpak = Path::new(env!("CARGO_BIN_EXE_boson-brokerpak"));
    assert!(testkit::page::check(&page, &[("brokerpak", brokerpak)], work.path()) >= 1);
}

#[test]
fn the_page_begins_with_a_result() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/brokerpak.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let first = text.split("\n## ").nth(1).expect("a heading");
    assert!(first.starts_with("In five minutes\n") && first.contains("make build"), "{first}");
    assert!(first.contains("\n```json request.json\n") && first.contains("\n```console\n$ brokerpak"), "{first}");
}

/// Where the tests of the page's last table are.
const PLACES: [&str; 4] = [
    "bins/boson-brokerpak/tests",
    "crates/brokerpak/brokerpak/src/build",
    "crates/brokerpak/brokerpak-model/tests",
    "crates/brokerpak/hil/tests",
];

#[test]
fn the_tests_that_the_page_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/dialects/brokerpak.md")).expect("the page");
    let (_, table) = page.split_once("## The specification, heading by heading").expect("the heading");
    let named: Vec<&str> = table.split('`').filter(|word| word.contains("::")).collect();
    assert!(named.len() > 30, "{}", named.len());
    for name in named {
        let (file, test) = name.split_once("::").expect("a file and a test");
        let sources =
            PLACES.iter().filter_map(|place| std::fs::read_to_string(root.join(place).join(format!("{file}.rs"))).ok());
        let has_it = sources.into_iter().any(|source| source.contains(&format!("fn {test}()")));
        assert!(has_it, "{name} is not a test");
    }
}
