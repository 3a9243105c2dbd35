//! docs/cli-templates.md matches the executable.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::Path;

#[test]
fn the_page_matches_help() {
    let introduction = "What `--help` prints, of `boson-templates` and each verb. A test compares this page with it.";
    let text = e2e::command_line(Path::new(env!("CARGO_BIN_EXE_boson-templates")), "boson-templates", introduction);
    e2e::check(&e2e::here().join("../docs/cli-templates.md"), &text).unwrap();
}
