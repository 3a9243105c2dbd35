//! Interpolation of an input of cf-deployment's size: 3,000 lines, 30 ops files, 200 variables; and whether its time is linear
//! in the number of operations.
//!
//! `cargo bench -p e2e --bench interpolate`; `BOSON_E2E_BIN=$PWD/target/static` measures what `make static` has built.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod measure;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::process::ExitCode;

use measure::{Executables, Result, median_of, ms, table};

const RUNS: usize = 31;
const GROUPS: usize = 30;
const JOBS: usize = 4;
/// Lines of properties of each job.
const PROPERTIES: usize = 20;
const VARIABLES: usize = 200;
const OPS_FILES: usize = 30;
/// Operations of each file, of which each measurement has twice as many as the one before.
const OPERATIONS: [usize; 4] = [10, 20, 40, 80];

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_: &[String]) -> Result<()> {
    let executables = Executables::find();
    let scratch = measure::scratch()?;
    let directory = scratch.path();
    let manifest = manifest();
    fs::write(directory.join("manifest.yml"), &manifest)?;
    fs::write(directory.join("vars.yml"), variables())?;
    let start = median_of(RUNS, |_| {
        let mut command = executables.command("boson");
        command.args(["interpolate", "--version"]);
        Ok(command)
    })?;
    let mut rows = vec![vec!["none: the start of the process".to_owned(), format!("{:.1}", ms(start)), String::new()]];
    for operations in OPERATIONS {
        for file in 0..OPS_FILES {
            fs::write(directory.join(format!("ops-{file}.yml")), operations_of(file, operations))?;
        }
        let took = median_of(RUNS, |_| Ok(command(&executables, directory)))?;
        let count = OPS_FILES * operations;
        let per_operation = (ms(took) - ms(start)) * 1000.0 / count as f64;
        rows.push(vec![count.to_string(), format!("{:.1}", ms(took)), format!("{per_operation:.1}")]);
    }
    println!(
        "boson interpolate, whole process (medians of {RUNS} runs): {} lines, {OPS_FILES} ops files, {VARIABLES} variables",
        manifest.lines().count()
    );
    table(&["operations", "ms", "us / operation"], &rows);
    Ok(())
}

fn command(executables: &Executables, directory: &Path) -> Command {
    let mut command = executables.command("boson");
    command.args(["interpolate", "manifest.yml", "-l", "vars.yml", "--var-errs"]).current_dir(directory);
    for file in 0..OPS_FILES {
        command.args(["-o", &format!("ops-{file}.yml")]);
    }
    command
}

/// A manifest of some 3,000 lines.
fn manifest() -> String {
    let mut text = "name: large\nreleases:\n- name: r\n  version: 1.0.0\ninstance_groups:\n".to_owned();
    for group in 0..GROUPS {
        let _ = writeln!(text, "- name: group-{group}\n  instances: 2\n  azs: [z1, z2]\n  jobs:");
        for job in 0..JOBS {
            let _ = writeln!(text, "  - name: job-{job}\n    release: r\n    properties:");
            for property in 0..PROPERTIES {
                let variable = (group * JOBS * PROPERTIES + job * PROPERTIES + property) % VARIABLES;
                let value = match property % 4 {
                    0 => format!("((variable-{variable}))"),
                    1 => format!("https://host-{property}.example.com/((variable-{variable}))"),
                    2 => "a text of average length, as manifests have many".to_owned(),
                    _ => property.to_string(),
                };
                let _ = writeln!(text, "      property-{property}: {value}");
            }
        }
    }
    text
}

fn variables() -> String {
    (0..VARIABLES).map(|variable| format!("variable-{variable}: value-of-{variable}\n")).collect()
}

/// Operations as cf-deployment's: replacements deep in the manifest, new jobs, removals of what was added.
fn operations_of(file: usize, count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let group = (file * 7 + number) % GROUPS;
        let job = format!("/instance_groups/name=group-{group}/jobs/name=job-{}", number % JOBS);
        let _ = match number % 5 {
            0 => writeln!(
                text,
                "- type: replace\n  path: {job}/properties/added-{file}-{number}?\n  value: ((variable-{number}))"
            ),
            1 => writeln!(
                text,
                "- type: replace\n  path: {job}/properties/property-{}\n  value: {{a: [1, 2, 3], b: text}}",
                number % PROPERTIES
            ),
            2 => writeln!(
                text,
                "- type: replace\n  path: /instance_groups/name=group-{group}/jobs/-\n  value: {{name: new-{file}-{number}, release: r}}"
            ),
            3 => writeln!(text, "- type: remove\n  path: /instance_groups/name=group-{group}/jobs/name=absent?"),
            _ => writeln!(text, "- type: test\n  path: {job}/release\n  value: r"),
        };
    }
    text
}
