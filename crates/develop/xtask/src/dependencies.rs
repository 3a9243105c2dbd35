//! `docs/dependencies.md`: what each crate is linked with directly, written from `cargo metadata`.

use std::fmt::Write;

use crate::architecture::Architecture;
use crate::graph::Graph;

/// The page.
pub const PAGE: &str = "docs/dependencies.md";

const HEAD: &str = "\
# Dependencies

What each crate is linked with directly. Dependencies of tests and build scripts do not count. The [subjects' pages](../crates/README.md)
say what each crate is for, [the architecture](architecture.md) what it must never depend on.

This page is generated: `BOSON_UPDATE=1 cargo test -p xtask` writes it, and `cargo test -p xtask` fails where it is out of date.
";

/// The page's text: a table for the executables and for each subject, in the order of their pages.
pub fn page(architecture: &Architecture, graph: &Graph) -> String {
    let mut text = HEAD.to_owned();
    let mut subject = "";
    for line in &architecture.crates {
        let Some(member) = graph.members().find(|member| member.name == line.name) else { continue };
        if line.subject != subject {
            subject = &line.subject;
            let _ = write!(text, "\n## {subject}\n\n| crate | of this workspace | from outside |\n|---|---|---|\n");
        }
        let (own, foreign): (Vec<&str>, Vec<&str>) =
            graph.direct(member).into_iter().partition(|name| graph.members().any(|member| member.name == *name));
        let _ = writeln!(text, "| `{}` | {} | {} |", line.name, ticked(&own), ticked(&foreign));
    }
    text
}

fn ticked(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" ")
}
