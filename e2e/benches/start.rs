//! What a process with Ruby in it costs before it does anything: against `ruby -e 1`.
//!
//! `cargo bench -p e2e --bench start`; `BOSON_E2E_BIN=$PWD/target/static` measures what `make static` has built.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod measure;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use measure::{Executables, Result, median, ms, table, timed};

const RUNS: usize = 101;

/// Variants of a job: what they are called, and its templates.
const JOBS: [(&str, &[(&str, &str)]); 3] = [
    ("no template", &[]),
    ("one template", &[("a", "<%= spec.index %> <%= p('port') %>\n")]),
    ("one template that dumps YAML and JSON", &[("a", "<%= YAML.dump(p('map')) %><%= JSON.dump(p('map')) %>\n")]),
];

/// What it is called, and the command of each run.
type Measured = (String, Box<dyn Fn(usize) -> Command>);

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_: &[String]) -> Result<()> {
    let executables = Executables::find();
    let scratch = measure::scratch()?;
    let mut commands: Vec<Measured> = vec![
        ("ruby -e 1".to_owned(), Box::new(|_| ruby(&[]))),
        ("ruby --disable-gems -e 1".to_owned(), Box::new(|_| ruby(&["--disable-gems"]))),
    ];
    for (i, (name, templates)) in JOBS.into_iter().enumerate() {
        let work = scratch.path().join(i.to_string());
        prepare(&executables, &work, templates)?;
        let executables = executables.clone();
        commands.push((format!("render-jobs, {name}"), Box::new(move |run| render(&executables, &work, run))));
    }
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); commands.len()];
    for run in 0..RUNS {
        // By turns, so that whatever else the machine does meets all.
        for ((_, command), times) in commands.iter().zip(&mut times) {
            times.push(timed(&mut command(run))?);
        }
    }
    let medians = times.into_iter().map(median).collect::<Result<Vec<_>>>()?;
    let row = |((name, _), median): (&(String, _), &Duration)| {
        let ratio = |of: usize| format!("{:.2}x", ms(*median) / ms(medians[of]));
        vec![name.clone(), format!("{:.1}", ms(*median)), ratio(0), ratio(1)]
    };
    let rows: Vec<Vec<String>> = commands.iter().zip(&medians).map(row).collect();
    println!("from start to exit (medians of {RUNS} runs; ms); render-jobs without a template starts Ruby and ends");
    table(&["process", "ms", "/ ruby", "/ ruby without gems"], &rows);
    Ok(())
}

fn ruby(flags: &[&str]) -> Command {
    let mut command = Command::new("ruby");
    command.args(flags).args(["-e", "1"]);
    command
}

fn render(executables: &Executables, work: &Path, run: usize) -> Command {
    let mut command = executables.command("render-jobs");
    command.args(["-g", "g", "-m", "properties.yaml", "-j", ".", "--pod-ordinal", "0", "-d"]);
    command.arg(format!("jobs-{run}")).current_dir(work);
    command
}

/// A deployment of one job, planned.
fn prepare(executables: &Executables, work: &Path, templates: &[(&str, &str)]) -> Result<()> {
    let job = work.join("jobs-src/r/j");
    fs::create_dir_all(job.join("templates"))?;
    let mut spec = "name: j\nproperties:\n  port: {default: 80}\n  map: {default: {a: 1}}\ntemplates:".to_owned();
    spec.push_str(if templates.is_empty() { " {}\n" } else { "\n" });
    for (name, text) in templates {
        spec.push_str(&format!("  {name}.erb: {name}\n"));
        fs::write(job.join("templates").join(format!("{name}.erb")), text)?;
    }
    fs::write(job.join("spec"), spec)?;
    fs::write(
        work.join("manifest.yml"),
        "name: d\nreleases: [{name: r, version: 1}]\ninstance_groups:\n- name: g\n  instances: 1\n  \
         jobs: [{name: j, release: r}]\n",
    )?;
    let mut plan = executables.command("plan");
    plan.args(["ig-resolved", "-g", "g", "-m", "manifest.yml", "-b", ".", "-o", "output.json"]).current_dir(work);
    timed(&mut plan)?;
    let output: serde_json::Value = serde_json::from_slice(&fs::read(work.join("output.json"))?)?;
    fs::write(work.join("properties.yaml"), output["properties.yaml"].as_str().unwrap_or_default())?;
    Ok(())
}
