//! docs/cli-cluster.md matches the executable.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::process::Command;

fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
    let output = command.args(arguments).arg("--help").env("COLUMNS", "80").output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{arguments:?}: too wide for a terminal: {wide:#?}");
    text
}

#[test]
fn the_page_matches_help() {
    let list = help(&[]);
    let mut text = "# Command line of boson-cluster\n\nWhat `--help` prints, of `boson-cluster` (`kubectl boson`) and each verb. A test compares this page with it.\n".to_owned();
    let mut page =
        |title: &str, help: &str| text.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", help.trim_end()));
    page("boson-cluster", &list);
    let mut verbs = e2e::help::verbs(&list);
    for topic in e2e::help::topics(&list) {
        let help = help(&["help", &topic]);
        page(&format!("boson-cluster help {topic}"), &help);
        verbs.extend(e2e::help::verbs(&help));
    }
    for verb in verbs {
        page(&format!("boson-cluster {verb}"), &help(&[&verb]));
    }
    let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    e2e::check(&e2e::here().join("../docs/cli-cluster.md"), &text).unwrap();
}
