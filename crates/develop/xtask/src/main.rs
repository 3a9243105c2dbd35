//! `cargo run -p xtask -- deny`: checks dependencies against `deny.toml`, without a network. `sizes [DIR]` looks at the
//! executables that ship. `notices DIR FOREIGN CREATED EXECUTABLE...` writes their notices.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xtask::graph::Graph;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["deny"] => deny(),
        ["sizes"] => sizes(&default_directory()),
        ["sizes", directory] => sizes(Path::new(directory)),
        ["notices", directory, foreign, created, executables @ ..] => {
            xtask::notices::write(Path::new(directory), executables, Path::new(foreign), created).map(|()| true)
        }
        _ => {
            eprintln!("usage: xtask deny | xtask sizes [DIR] | xtask notices DIR FOREIGN CREATED EXECUTABLE...");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(70)
        }
    }
}

fn deny() -> Result<bool, String> {
    let report = xtask::deny::check()?;
    report.warnings.iter().for_each(|w| println!("warning: {w}"));
    report.errors.iter().for_each(|e| println!("error: {e}"));
    println!("advisories: not checked, they need a network: `cargo deny check advisories`");
    println!("{} packages, {} errors", report.packages, report.errors.len());
    Ok(report.errors.is_empty())
}

/// The output directory of `images/build`.
fn default_directory() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    xtask::root().join(target).join("static")
}

fn sizes(directory: &Path) -> Result<bool, String> {
    let graph = Graph::load(None)?;
    let members: Vec<&str> = graph.members().map(|member| member.name.as_str()).collect();
    let report = xtask::sizes::check(directory, &members)?;
    let head = ["executable", "bytes", "at most", "start", "linked"].map(str::to_owned);
    let lines: Vec<&[String; 5]> = std::iter::once(&head).chain(&report.table).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2), width(3)];
    for [name, bytes, at_most, start, linked] in lines {
        let [a, b, c, d] = widths;
        println!("{name:a$}  {bytes:>b$}  {at_most:>c$}  {start:>d$}  {linked}");
    }
    report.errors.iter().for_each(|error| println!("error: {error}"));
    Ok(report.errors.is_empty())
}
