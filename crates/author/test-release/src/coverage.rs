//! Which lines and branches of a release's templates no case renders.

mod formats;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use dialect_erb::coverage::{Branch, Coverage};
use dialect_erb::trace::Trace;
use job_templates::templates;
use jobs_src::{JobRef, JobsSrc};
use problem::{IoContext, Problem, Problems, Result};
use render_release::JobSources;
use ruby::Vm;
use startup::write_stdout;
use template::Source;

use crate::options::{CoverageFormat, CoverageOptions, Format};

/// A template, and what cases reach in it.
struct Template {
    job: String,
    /// Its path, as messages name it.
    file: String,
    coverage: Coverage,
}

/// What cases reach in the templates of jobs.
pub(crate) struct Report(Vec<Template>);

/// Numbers of what is reached, and of what there is.
#[derive(Clone, Copy, Default)]
struct Counts {
    lines: [usize; 2],
    branches: [usize; 2],
}

impl Report {
    /// The report about all templates of some jobs.
    ///
    /// # Errors
    /// Specs and templates that cannot be read.
    pub(crate) fn new<'t>(
        vm: &Vm,
        release: &JobSources,
        jobs: &BTreeSet<&str>,
        traces: impl Iterator<Item = &'t Trace>,
    ) -> Result<Report> {
        let sources = sources(vm, release, jobs)?;
        let texts: Vec<&Source> = sources.iter().map(|(_, source)| source).collect();
        let coverage = Coverage::of(vm, &texts)?;
        let mut all: BTreeMap<&str, Template> = BTreeMap::new();
        for ((job, source), coverage) in sources.iter().zip(coverage) {
            let file = source.file.strip_prefix("./").unwrap_or(&source.file).to_owned();
            all.insert(&source.file, Template { job: job.clone(), file, coverage });
        }
        for trace in traces {
            all.get_mut(trace.file.as_str()).into_iter().for_each(|template| template.coverage.add(trace));
        }
        Ok(Report(all.into_values().collect()))
    }

    /// Prints or writes the report; returns whether it reaches the minimum.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn deliver(&self, options: &CoverageOptions, format: Format) -> Result<bool> {
        let text = match options.coverage_format {
            CoverageFormat::Human => self.human(),
            CoverageFormat::Lcov => formats::lcov(&self.0),
            CoverageFormat::Cobertura => formats::cobertura(&self.0, &self.total()),
        };
        match &options.output {
            Some(path) => std::fs::write(path, &text).io("write", path)?,
            None => write_stdout(|out| out.write_all(text.as_bytes()))?,
        }
        if options.output.is_some() && format == Format::Human {
            let total = self.summary();
            write_stdout(|out| out.write_all(total.as_bytes()))?;
        }
        let total = self.total();
        let minimum = options.minimum.unwrap_or_default();
        let is_enough = total.reaches(minimum);
        if !is_enough {
            let message = format!("the coverage of {} is below the minimum of {minimum}%", total.percent());
            startup::print(&Problem::input(message).hint("--coverage lists what no case renders").into());
        }
        Ok(is_enough)
    }

    fn total(&self) -> Counts {
        self.0.iter().fold(Counts::default(), |total, template| total.plus(Counts::of(&template.coverage)))
    }

    fn summary(&self) -> String {
        let total = self.total();
        let Counts { lines: [lines, all_lines], branches: [branches, all_branches] } = total;
        format!("coverage {}: lines {lines}/{all_lines}, branches {branches}/{all_branches}\n", total.percent())
    }

    /// A line for each place that no case renders, as compilers name places, and the numbers.
    fn human(&self) -> String {
        let mut text = String::new();
        for Template { file, coverage, .. } in &self.0 {
            let mut places: BTreeMap<(u32, usize), String> = BTreeMap::new();
            for [first, last] in unreached(coverage) {
                let lines = if first == last { "this line".to_owned() } else { format!("the lines {first} to {last}") };
                places.insert((first, 0), format!("no case renders {lines}"));
            }
            for (index, branch) in coverage.branches.iter().enumerate() {
                // A branch that is not reached is among the lines.
                if branch.ways.iter().any(|way| way.count > 0) {
                    let missing = branch.ways.iter().enumerate().filter(|(_, way)| way.count == 0);
                    let missing: Vec<String> = missing.map(|(way, _)| missing_way(branch, way)).collect();
                    if !missing.is_empty() {
                        places.insert((branch.line, index + 1), missing.join(", "));
                    }
                }
            }
            for ((line, _), what) in places {
                let _ = writeln!(text, "{file}:{line}: {what}");
            }
        }
        text + &self.summary()
    }
}

/// Source and job of each template of jobs; one that a job lists twice is there once.
fn sources(vm: &Vm, release: &JobSources, jobs: &BTreeSet<&str>) -> Result<Vec<(String, Source)>> {
    let jobs_src = JobsSrc::apart([(release.name.clone(), release.directory.clone())].into());
    let reference = |job: &&str| JobRef { release: release.name.clone(), job: (*job).to_owned() };
    let references: Vec<JobRef> = jobs.iter().map(reference).collect();
    let specs = jobs_src.specs(vm, &references, |_| None)?;
    let (mut sources, mut problems) = (Vec::new(), Vec::new());
    for (job, spec) in references.iter().zip(specs) {
        let templates = templates(&jobs_src, job, &spec.templates, &mut problems);
        sources.extend(templates.into_iter().map(|template| (job.job.clone(), template.source)));
    }
    Problems::check(problems)?;
    sources.sort_by(|(_, one), (_, other)| one.file.cmp(&other.file));
    sources.dedup_by(|(_, one), (_, other)| one.file == other.file);
    Ok(sources)
}

/// First and last line of what is not reached; lines that have nothing to reach do not divide it.
fn unreached(coverage: &Coverage) -> Vec<[u32; 2]> {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    let mut is_open = false;
    for (line, count) in &coverage.lines {
        match ranges.last_mut() {
            Some(range) if is_open && *count == 0 => range[1] = *line,
            _ if *count == 0 => ranges.push([*line, *line]),
            _ => {}
        }
        is_open = *count == 0;
    }
    ranges
}

/// What is missing if a way of a branch was never taken.
fn missing_way(branch: &Branch, index: usize) -> String {
    let name = branch.name.as_ref().map(|name| format!(" {}", name.escape_debug())).unwrap_or_default();
    let kind = &branch.kind;
    match branch.ways[index].label {
        "when" => format!("no case takes the `when` of line {}", branch.ways[index].line),
        "else" => format!("no case takes the `else` of `{kind}`"),
        "found" => format!("`{kind}`{name} is never found"),
        "absent" => format!("`{kind}`{name} is never absent"),
        "items" => format!("`{kind}` never has an item"),
        "no items" => format!("`{kind}` always has items"),
        label => format!("the condition of `{kind}` is never {label}"),
    }
}

impl Counts {
    fn of(coverage: &Coverage) -> Counts {
        let ways = || coverage.branches.iter().flat_map(|branch| &branch.ways);
        Counts {
            lines: [coverage.lines.values().filter(|count| **count > 0).count(), coverage.lines.len()],
            branches: [ways().filter(|way| way.count > 0).count(), ways().count()],
        }
    }

    fn plus(self, other: Counts) -> Counts {
        let sum = |one: [usize; 2], other: [usize; 2]| [one[0] + other[0], one[1] + other[1]];
        Counts { lines: sum(self.lines, other.lines), branches: sum(self.branches, other.branches) }
    }

    /// Lines and branches together, in tenths of a percent, rounded down.
    fn tenths(&self) -> usize {
        let [reached, all] = [0, 1].map(|i| self.lines[i] + self.branches[i]);
        (reached * 1000).checked_div(all).unwrap_or(1000)
    }

    fn percent(&self) -> String {
        format!("{}.{}%", self.tenths() / 10, self.tenths() % 10)
    }

    fn reaches(&self, minimum: u8) -> bool {
        self.tenths() >= usize::from(minimum) * 10
    }
}
