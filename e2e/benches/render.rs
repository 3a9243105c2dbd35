//! `render-jobs` as a whole process, against one `ruby` process per template and against one warm Ruby process that
//! evaluates all of them BOSH's way. What they render is compared before anything is printed.
//!
//! `cargo bench -p e2e --bench render [-- SIZE...]`, or `-- --input DIR SIZE` or `-- --real-input DIR COPIES` to only write an
//! input and look at it.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod generate;
mod measure;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use generate::{Input, one_group, real};
use measure::{Executables, Result, median, median_of, ms, peak_of, table, timed};

const SIZES: [usize; 4] = [10, 40, 100, 1000];
/// Copies of the group of real-looking jobs.
const COPIES: [usize; 2] = [1, 3];
/// So many processes at most are really started for the comparison with one process per template.
const MOST_PROCESSES: usize = 100;
const GROUP: &str = "bench";
const IP: &str = "10.0.0.7";

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(arguments: &[String]) -> Result<()> {
    if let [first, directory, size] = arguments
        && first == "--input"
    {
        return Case::new(&Executables::find(), Path::new(directory), size.parse()?, 1).map(|_| ());
    }
    if let [first, directory, copies] = arguments
        && first == "--real-input"
    {
        return Case::real(&Executables::find(), Path::new(directory), copies.parse()?).map(|_| ());
    }
    let asked: Vec<usize> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let only_real = arguments.iter().any(|argument| argument == "real");
    let sizes = if asked.is_empty() && !only_real { SIZES.as_slice() } else { &asked };
    let executables = Executables::find();
    let scratch = measure::scratch()?;
    let mut rows = Vec::new();
    for size in sizes {
        let case = Case::new(&executables, &scratch.path().join(format!("templates-{size}")), *size, 1)?;
        rows.push(against_ruby(&case, *size)?);
    }
    if only_real || asked.is_empty() {
        for copies in COPIES {
            let case = Case::real(&executables, &scratch.path().join(format!("real-{copies}")), copies)?;
            let mut row = against_ruby(&case, case.templates.len())?;
            row[0].insert_str(0, "real, ");
            rows.push(row);
        }
    }
    println!("render-jobs, start to exit, against Ruby evaluating the same templates (medians; ms)");
    let heads = [
        "templates",
        "boson",
        "ruby each",
        "ratio",
        "two at a time",
        "ratio",
        "warm ruby",
        "ratio",
        "boson peak KiB",
        "warm ruby peak KiB",
    ];
    table(&heads, &rows);
    if asked.is_empty() && !only_real {
        on_disk(&executables)?;
        many_instances(&executables, scratch.path())?;
    }
    Ok(())
}

/// An input and what is measured with it.
struct Case<'a> {
    executables: &'a Executables,
    directory: PathBuf,
    base: PathBuf,
    resolved: PathBuf,
    templates: Vec<Template>,
}

struct Template {
    job: String,
    destination: String,
    path: PathBuf,
}

impl<'a> Case<'a> {
    /// Generates a deployment and plans it.
    fn new(executables: &'a Executables, directory: &Path, templates: usize, instances: usize) -> Result<Case<'a>> {
        let input = generate::write(directory, one_group(templates, instances))?;
        Case::planned(executables, directory, &input, templates)
    }

    /// Plans so many copies of jobs in the manner of public releases.
    fn real(executables: &'a Executables, directory: &Path, copies: usize) -> Result<Case<'a>> {
        let input = real::write(directory, copies)?;
        Case::planned(executables, directory, &input, copies * real::TEMPLATES_PER_COPY)
    }

    fn planned(executables: &'a Executables, directory: &Path, input: &Input, templates: usize) -> Result<Case<'a>> {
        let mut plan = executables.command("plan");
        plan.arg("--bosh-manifest-path").arg(&input.manifest).arg("--base-dir").arg(&input.base);
        timed(plan.arg("--output-dir").arg(directory.join("plan")))?;
        let output = fs::read(directory.join("plan").join(GROUP).join("ig-resolved/output.json"))?;
        let output: BTreeMap<String, String> = serde_json::from_slice(&output)?;
        let resolved = directory.join("properties.yaml");
        fs::write(&resolved, output.get("properties.yaml").ok_or("plan wrote no properties.yaml")?)?;
        let mut case = Case {
            executables,
            directory: directory.to_path_buf(),
            base: input.base.clone(),
            resolved,
            templates: vec![],
        };
        case.find_templates()?;
        assert_eq!(case.templates.len(), templates, "the input has another number of templates");
        Ok(case)
    }

    fn find_templates(&mut self) -> Result<()> {
        let document: serde_yaml::Value = serde_yaml::from_slice(&fs::read(&self.resolved)?)?;
        let jobs = document["instance_groups"][0]["jobs"].as_sequence().ok_or("no jobs")?;
        let mut list = String::new();
        for job in jobs {
            let text = |key: &str| job[key].as_str().unwrap_or_default().to_owned();
            let directory = self.base.join("jobs-src").join(text("release")).join(text("name"));
            let spec: serde_yaml::Value = serde_yaml::from_slice(&fs::read(directory.join("spec"))?)?;
            let mut add = |destination: &str, path: PathBuf| {
                list.push_str(&format!("{}\t{destination}\t{}\n", text("name"), path.display()));
                self.templates.push(Template { job: text("name"), destination: destination.to_owned(), path });
            };
            add("monit", directory.join("monit"));
            for (source, destination) in spec["templates"].as_mapping().into_iter().flatten() {
                let (source, destination) =
                    (source.as_str().unwrap_or_default(), destination.as_str().unwrap_or_default());
                add(destination, directory.join("templates").join(source));
            }
        }
        Ok(fs::write(self.directory.join("templates.list"), list)?)
    }

    fn render_jobs(&self, output: &Path) -> Command {
        let mut command = self.executables.command("render-jobs");
        command.args(["--instance-group-name", GROUP, "--az-index", "1", "--pod-ordinal", "0", "--pod-ip", IP]);
        command.arg("--bosh-manifest-path").arg(&self.resolved).arg("--jobs-dir").arg(&self.base);
        command.arg("--output-dir").arg(output);
        command
    }

    /// Into a directory of its own each time, as in a new pod.
    fn rendered(&self, runs: usize) -> Result<Duration> {
        median_of(runs, |run| Ok(self.render_jobs(&self.directory.join(format!("jobs-{run}")))))
    }

    fn one_process(&self, template: &Template, output: &Path) -> Command {
        let mut command = ruby("one.rb");
        command.arg(&self.resolved).arg(GROUP).arg(&template.job).arg(&template.path).arg(output).arg(IP);
        command
    }

    fn warm(&self, output: &Path) -> Command {
        let mut command = ruby("warm.rb");
        command.arg(&self.resolved).arg(GROUP).arg(self.directory.join("templates.list")).arg(output).arg(IP);
        command
    }
}

/// The warm Ruby process; it makes a pass on request.
struct Warm {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Warm {
    fn start(mut command: Command) -> Result<Warm> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let answers = BufReader::new(process.stdout.take().ok_or("no output")?);
        Ok(Warm { process, answers })
    }

    /// Milliseconds.
    fn pass(&mut self) -> Result<f64> {
        writeln!(self.process.stdin.as_mut().ok_or("no input")?)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }

    fn end(mut self) -> Result<()> {
        drop(self.process.stdin.take());
        if self.process.wait()?.success() { Ok(()) } else { Err("the warm Ruby process failed".into()) }
    }
}

/// Ruby as everybody starts it.
fn ruby(script: &str) -> Command {
    let mut command = Command::new("ruby");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/ruby").join(script));
    command
}

/// By turns, so that whatever else the machine does meets all of them.
fn against_ruby(case: &Case, size: usize) -> Result<Vec<String>> {
    let runs = if size > 200 { 7 } else { 21 };
    let jobs = case.directory.join("jobs-0");
    let warm_output = case.directory.join("warm");
    let each = case.directory.join("each");
    fs::create_dir_all(&each)?;
    let step = case.templates.len().div_ceil(MOST_PROCESSES);
    let chosen: Vec<(usize, &Template)> = case.templates.iter().enumerate().step_by(step).collect();
    let mut warm = Warm::start(case.warm(&warm_output))?;
    let (mut boson, mut passes) = (Vec::new(), Vec::new());
    let (mut sequential, mut parallel) = (Duration::ZERO, Duration::ZERO);
    for run in 0..runs {
        boson.push(ms(timed(&mut case.render_jobs(&case.directory.join(format!("jobs-{run}"))))?));
        passes.push(warm.pass()?);
        let share = &chosen[run * chosen.len() / runs..(run + 1) * chosen.len() / runs];
        for (i, template) in share {
            sequential += timed(&mut case.one_process(template, &each.join(i.to_string())))?;
        }
        parallel += two_at_a_time(case, share, &each)?;
    }
    warm.end()?;
    for (i, template) in &chosen {
        same(&each.join(i.to_string()), &jobs.join(&template.job).join(&template.destination))?;
    }
    for template in &case.templates {
        let path = Path::new(&template.job).join(&template.destination);
        same(&warm_output.join(&path), &jobs.join(&path))?;
    }
    let (boson, warm) = (median(boson)?, median(passes)?);
    let (sequential, parallel) = (ms(sequential) * step as f64, ms(parallel) * step as f64);
    let approximate = if step > 1 { "~" } else { "" };
    Ok(vec![
        size.to_string(),
        format!("{boson:.1}"),
        format!("{approximate}{sequential:.0}"),
        format!("{:.0}x", sequential / boson),
        format!("{approximate}{parallel:.0}"),
        format!("{:.0}x", parallel / boson),
        format!("{warm:.1}"),
        format!("{:.2}x", warm / boson),
        peak_of(&case.render_jobs(&case.directory.join("jobs-peak")))?.to_string(),
        peak_of(&case.warm(&warm_output))?.to_string(),
    ])
}

fn two_at_a_time(case: &Case, chosen: &[(usize, &Template)], each: &Path) -> Result<Duration> {
    let started = Instant::now();
    for pair in chosen.chunks(2) {
        let children = pair.iter().map(|(i, template)| case.one_process(template, &each.join(i.to_string())).spawn());
        for child in children.collect::<std::io::Result<Vec<_>>>()? {
            child.wait_with_output()?;
        }
    }
    Ok(started.elapsed())
}

/// A fast renderer that renders something else has not won.
fn same(ruby: &Path, boson: &Path) -> Result<()> {
    if fs::read(ruby)? == fs::read(boson)? {
        return Ok(());
    }
    Err(format!("Ruby and boson render different bytes: {} and {}", ruby.display(), boson.display()).into())
}

/// The same on a disk, where the commit has to be flushed.
fn on_disk(executables: &Executables) -> Result<()> {
    let scratch = measure::disk()?;
    let case = Case::new(executables, scratch.path(), 100, 1)?;
    println!("100 templates on a disk, flushed: {:.1} ms\n", ms(case.rendered(11)?));
    Ok(())
}

/// One pod of a group with many instances: the others should cost no more than reading them.
fn many_instances(executables: &Executables, scratch: &Path) -> Result<()> {
    let mut rows = Vec::new();
    for instances in [10, 1000] {
        let case = Case::new(executables, &scratch.join(format!("instances-{instances}")), 40, instances)?;
        let mut plan = executables.command("plan");
        plan.args(["ig-resolved", "-g", GROUP, "--bosh-manifest-path"]).arg(case.directory.join("manifest.yml"));
        plan.arg("--base-dir").arg(&case.base).arg("--output").arg(case.directory.join("output.json"));
        let planned = median((0..7).map(|_| timed(&mut plan)).collect::<Result<Vec<_>>>()?)?;
        rows.push(vec![
            instances.to_string(),
            format!("{:.1}", ms(planned)),
            peak_of(&plan)?.to_string(),
            format!("{:.1}", ms(case.rendered(11)?)),
            peak_of(&case.render_jobs(&case.directory.join("jobs-peak")))?.to_string(),
            (fs::metadata(&case.resolved)?.len() / 1024).to_string(),
        ]);
    }
    println!("A group of many instances with 40 templates (medians; ms)");
    table(
        &["instances", "plan", "plan peak KiB", "render in one pod", "render peak KiB", "properties.yaml KiB"],
        &rows,
    );
    Ok(())
}
