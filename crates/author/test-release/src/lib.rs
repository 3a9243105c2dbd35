//! `boson test`: golden tests that a release keeps in `tests/JOB/CASE`.

mod case;
mod coverage;
mod init;
mod options;
mod outcome;
mod parallel;
mod report;

use dialect_erb::{Renderer, Settings};
pub use options::Options;
use plan::Examples;
use problem::{Problem, Problems, Result, code};
use render_release::{JobRun, Releases};
use ruby::Vm;
use startup::Common;

use crate::case::Case;
use crate::parallel::Shared;

/// One line for `--help`.
pub const ABOUT: &str = "Run the golden tests of a release";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    options.check()?;
    let mut problems = Vec::new();
    let settings = options.rendering.check(&mut problems);
    Problems::check(problems)?;
    let is_good = Vm::beside(|vm| test(&options, vm, &settings))?;
    Ok(u8::from(!is_good))
}

/// Runs the cases; returns whether all pass.
fn test(options: &Options, vm: &Vm, settings: &Settings) -> Result<bool> {
    let (release, patterns) = options.subject();
    let releases = Releases::open(&[release.display().to_string()], true)?;
    let Releases(all) = &releases;
    let [sources] = all.as_slice() else {
        return Err(Problem::usage(format!("{} contains several releases", release.display())).into());
    };
    if options.init {
        let renderer = Renderer::new(vm, settings.clone())?;
        let run = JobRun { vm, renderer: &renderer, releases: &releases, examples: Examples::Ignored };
        return init::run(&run, &release, sources, patterns);
    }
    let cases = case::find(&release, &sources.jobs, patterns)?;
    if cases.is_empty() {
        return Err(Problem::input(format!("{} has no tests", release.display()))
            .code(code::INPUT_FILE)
            .hint("`boson test --init` makes a first case for each job in tests/JOB/default")
            .into());
    }
    let (is_update, has_traces) = (options.update, options.coverage.is_on());
    let shared = Shared { vm, settings, releases: &releases, is_update, has_traces };
    let ran = parallel::run(&shared, &cases)?;
    report::print(options.format, &sources.name, &ran)?;
    let is_covered = !has_traces || {
        let of_cases = || cases.iter().map(|case| case.job.as_str());
        let jobs =
            if patterns.is_empty() { sources.jobs.iter().map(String::as_str).collect() } else { of_cases().collect() };
        let traces = ran.iter().flat_map(|ran| &ran.traces);
        coverage::Report::new(vm, sources, &jobs, traces)?.deliver(&options.coverage, options.format)?
    };
    Ok(report::failures(&ran) == 0 && is_covered)
}

/// The run with examples, if the case wants them.
fn with_examples<'a>(run: &JobRun<'a>, case: &Case) -> JobRun<'a> {
    JobRun { vm: run.vm, renderer: run.renderer, releases: run.releases, examples: parallel::examples(case) }
}
