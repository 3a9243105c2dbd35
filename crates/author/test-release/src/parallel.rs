//! Running cases on all processors.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use dialect_erb::{Processes, Renderer, Settings};
use plan::Examples;
use problem::{Problem, Result};
use render_release::{JobRun, Releases};
use ruby::Vm;

use crate::case::Case;
use crate::outcome;
use crate::report::Ran;

/// The stack of a thread: enough for values that are nested as deeply as documents may be.
const STACK: usize = 64 << 20;

/// What is common to the cases of a run.
pub(crate) struct Shared<'a> {
    pub(crate) vm: &'a Vm,
    pub(crate) settings: &'a Settings,
    pub(crate) releases: &'a Releases,
    /// Whether expected files are written.
    pub(crate) is_update: bool,
    /// Whether it is noted how templates render.
    pub(crate) has_traces: bool,
}

/// Runs the cases; the results are in their order.
///
/// # Errors
/// Files that cannot be read or written: those of the first case that has some.
pub(crate) fn run<'c>(shared: &Shared, cases: &'c [Case]) -> Result<Vec<Ran<'c>>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(cases.len());
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let processes = Renderer::new(shared.vm, shared.settings.clone())?.processes();
    let work = || work(shared, &processes, cases, (&next, &is_over));
    let mut results = thread::scope(|scope| {
        let start = |_| thread::Builder::new().name("case".into()).stack_size(STACK).spawn_scoped(scope, work);
        let threads: Vec<_> = (0..threads).map(start).collect();
        let mut results = Results::new();
        for thread in threads {
            let thread = thread.map_err(|e| Problem::internal("cannot start a thread").because(e))?;
            results.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        Result::Ok(results)
    })?;
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The results of one thread, with the indexes of their cases.
type Results<'c> = Vec<(usize, Result<Ran<'c>>)>;

/// Runs cases until none is left or one cannot be run.
fn work<'c>(
    shared: &Shared,
    processes: &Processes,
    cases: &'c [Case],
    (next, is_over): (&AtomicUsize, &AtomicBool),
) -> Results<'c> {
    // Each thread waits for its own templates.
    let renderer = processes.renderer(Settings { workers: 1, ..shared.settings.clone() });
    let renderer = if shared.has_traces { renderer.recording(shared.vm) } else { renderer };
    let mut results = Results::new();
    while let Some((index, case)) = take(cases, next).filter(|_| !is_over.load(Ordering::Relaxed)) {
        let result = run_case(shared, &renderer, case);
        is_over.fetch_or(result.is_err(), Ordering::Relaxed);
        results.push((index, result));
    }
    results
}

fn take<'c>(cases: &'c [Case], next: &AtomicUsize) -> Option<(usize, &'c Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

fn run_case<'c>(shared: &Shared, renderer: &Renderer, case: &'c Case) -> Result<Ran<'c>> {
    let start = Instant::now();
    let run = JobRun { vm: shared.vm, renderer, releases: shared.releases, examples: examples(case) };
    let outcome = outcome::run(&run, case, shared.is_update)?;
    Ok(Ran { case, outcome, time: start.elapsed(), traces: renderer.take_traces() })
}

/// Whether a case wants examples.
pub(crate) fn examples(case: &Case) -> Examples {
    if case.settings.has_examples { Examples::AsDefaults } else { Examples::Ignored }
}
