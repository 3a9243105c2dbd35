//! The examples of docs/dialects/brokerpak.md.

use std::path::Path;

#[test]
fn the_examples_of_the_page_are_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/brokerpak.md");
    let work = tempfile::tempdir().expect("a directory");
    let brokerpak = Path::new(env!("CARGO_BIN_EXE_boson-brokerpak"));
    assert!(testkit::page::check(&page, &[("brokerpak", brokerpak)], work.path()) >= 1);
}
