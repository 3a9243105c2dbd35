//! docs/cli-cluster.md matches the executable.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::Path;

#[test]
fn the_page_matches_help() {
    let introduction =
        "What `--help` prints, of `boson-cluster` (`kubectl boson`) and each verb. A test compares this page with it.";
    let text = e2e::command_line(Path::new(env!("CARGO_BIN_EXE_boson-cluster")), "boson-cluster", introduction);
    e2e::check(&e2e::here().join("../docs/cli-cluster.md"), &text).unwrap();
}
