//! `plan` of a deployment of cf-deployment's size, and of multiples of it.
//!
//! `cargo bench -p e2e --bench plan`, or `-- --input DIR FACTOR` or `-- --small-input DIR FACTOR` to only write an input and look
//! at it.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod generate;
mod measure;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use generate::{Input, cf_like};
use measure::{Executables, Result, median_of, ms, peak_of, table};

const FACTORS: [usize; 4] = [1, 2, 5, 10];
/// The group that is planned alone.
const GROUP: &str = "group-0-6";

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(arguments: &[String]) -> Result<()> {
    if let [first, directory, factor] = arguments
        && first == "--input"
    {
        return generate::write(Path::new(directory), cf_like(factor.parse()?)).map(|_| ());
    }
    if let [first, directory, factor] = arguments
        && first == "--small-input"
    {
        return generate::small::write(Path::new(directory), factor.parse()?).map(|_| ());
    }
    let executables = Executables::find();
    let scratch = measure::scratch()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut first = None;
    for factor in FACTORS {
        let directory = scratch.path().join(factor.to_string());
        let input = generate::write(&directory, cf_like(factor))?;
        let runs = if factor > 2 { 7 } else { 15 };
        let all = |run: usize| whole(&executables, &input, &directory.join(format!("out-{run}")));
        let took = ms(median_of(runs, |run| Ok(all(run)))?);
        let one = ms(median_of(runs, |run| Ok(alone(&executables, &input, &directory.join(format!("one-{run}")))))?);
        let base: f64 = *first.get_or_insert(took);
        rows.push(vec![
            format!("{factor}x"),
            input.jobs.to_string(),
            fs::read_to_string(&input.manifest)?.lines().count().to_string(),
            format!("{took:.0}"),
            format!("{:.2}x", took / base / factor as f64),
            peak_of(&all(runs))?.to_string(),
            format!("{one:.0}"),
            peak_of(&alone(&executables, &input, &directory.join("one")))?.to_string(),
        ]);
    }
    println!(
        "plan of a deployment of cf-deployment's size: all groups, and one group in a process of its own (medians; ms)"
    );
    let heads =
        ["size", "jobs", "manifest lines", "all groups", "per size, of 1x", "peak KiB", "one group alone", "peak KiB"];
    table(&heads, &rows);
    small(&executables, scratch.path())
}

/// Many small templates, and ten times as many.
fn small(executables: &Executables, scratch: &Path) -> Result<()> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut first = None;
    for factor in [1, 10] {
        let directory = scratch.join(format!("small-{factor}"));
        let input = generate::small::write(&directory, factor)?;
        let all = |run: usize| whole(executables, &input, &directory.join(format!("out-{run}")));
        let took = ms(median_of(if factor > 1 { 5 } else { 15 }, |run| Ok(all(run)))?);
        let base: f64 = *first.get_or_insert(took);
        rows.push(vec![
            format!("{factor}x"),
            input.jobs.to_string(),
            generate::small::renderings(factor).to_string(),
            format!("{took:.0}"),
            format!("{:.1}x", took / base),
        ]);
    }
    println!("plan of many small templates in groups of four instances (medians; ms)");
    table(&["size", "jobs", "templates times instances", "all groups", "of 1x"], &rows);
    Ok(())
}

fn plan(executables: &Executables, input: &Input) -> Command {
    let mut command = executables.command("plan");
    command.arg("--bosh-manifest-path").arg(&input.manifest).arg("--base-dir").arg(&input.base);
    command
}

fn whole(executables: &Executables, input: &Input, output: &Path) -> Command {
    let mut command = plan(executables, input);
    command.arg("--output-dir").arg(output);
    command
}

fn alone(executables: &Executables, input: &Input, output: &Path) -> Command {
    let mut command = plan(executables, input);
    command.args(["ig-resolved", "-g", GROUP, "--output"]).arg(output);
    command
}
