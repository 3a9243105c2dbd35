//! `boson test`: golden tests that a release keeps in `tests/JOB/CASE`.

mod case;
mod init;
mod options;
mod outcome;
mod report;

use std::time::Instant;

use dialect_erb::Renderer;
pub use options::Options;
use plan::Examples;
use problem::{Problem, Problems, Result, code};
use render_release::{JobRun, Releases};
use ruby::Vm;
use startup::Common;

use crate::case::Case;
use crate::report::Ran;

/// One line for `--help`.
pub const ABOUT: &str = "Run the golden tests of a release";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let mut problems = Vec::new();
    let settings = options.rendering.check(&mut problems);
    Problems::check(problems)?;
    let is_good = Vm::beside(|vm| test(&options, vm, &Renderer::new(vm, settings)?))?;
    Ok(u8::from(!is_good))
}

/// Runs the cases; returns whether all pass.
fn test(options: &Options, vm: &Vm, renderer: &Renderer) -> Result<bool> {
    let (release, patterns) = options.subject();
    let releases = Releases::open(&[release.display().to_string()], true)?;
    let Releases(all) = &releases;
    let [sources] = all.as_slice() else {
        return Err(Problem::usage(format!("{} contains several releases", release.display())).into());
    };
    let run = JobRun { vm, renderer, releases: &releases, examples: Examples::Ignored };
    if options.init {
        return init::run(&run, &release, sources, patterns);
    }
    let cases = case::find(&release, &sources.jobs, patterns)?;
    if cases.is_empty() {
        return Err(Problem::input(format!("{} has no tests", release.display()))
            .code(code::INPUT_FILE)
            .hint("`boson test --init` makes a first case for each job in tests/JOB/default")
            .into());
    }
    let mut ran = Vec::new();
    for case in &cases {
        let start = Instant::now();
        let outcome = outcome::run(&with_examples(&run, case), case, options.update)?;
        ran.push(Ran { case, outcome, time: start.elapsed() });
    }
    report::print(options.format, &sources.name, &ran)?;
    Ok(report::failures(&ran) == 0)
}

/// The run with examples, if the case wants them.
fn with_examples<'a>(run: &JobRun<'a>, case: &Case) -> JobRun<'a> {
    let examples = if case.settings.has_examples { Examples::AsDefaults } else { Examples::Ignored };
    JobRun { vm: run.vm, renderer: run.renderer, releases: run.releases, examples }
}
