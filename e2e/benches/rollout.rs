//! Two runs of a deployment of cf-deployment's size and shape: from `kubectl boson apply` to the last object, without pulling images, starting
//! pods and generating keys.
//!
//! `cargo bench -p e2e --bench rollout`

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod generate;
mod measure;
#[path = "rollout/mod.rs"]
mod rollout;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use generate::foundation;
use measure::{Result, ms, table};
use nix::sys::resource::{UsageWho, getrusage};
use rollout::Rollout;

/// Milliseconds of our own time: the goals for the first and for a second run.
const GOALS: [&str; 2] = ["10000", "2000"];

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_arguments: &[String]) -> Result<()> {
    let scratch = measure::scratch()?;
    let foundation = foundation::write(scratch.path())?;
    let rollout = Rollout::new(scratch.path().join("run"));
    let mut rows = Vec::new();
    for (run, goal) in ["first", "second"].into_iter().zip(GOALS) {
        let (started, used) = (Instant::now(), processor_time()?);
        rollout.apply(&foundation)?;
        let applied = started.elapsed();
        rollout.plan(&foundation)?;
        let planned = started.elapsed();
        let before = rollout.server.store().version();
        rollout.deploy()?;
        let whole = started.elapsed();
        let writes = (rollout.server.store().version() - before).to_string();
        let used = processor_time()? - used;
        let times = [applied, planned - applied, whole - planned, whole, used].map(|took| format!("{:.0}", ms(took)));
        rows.push([vec![run.to_owned()], times.to_vec(), vec![goal.to_owned(), writes]].concat());
    }
    println!("a deployment of cf-deployment's size and shape, against an API server of this machine (ms)");
    table(
        &[
            "run",
            "kubectl boson apply",
            "plan",
            "check to deploy",
            "whole",
            "processor time",
            "goal",
            "objects written",
        ],
        &rows,
    );
    Ok(())
}

/// What all processes of the runs have used of the processors; the API server is not one of them.
fn processor_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let times = [usage.user_time(), usage.system_time()];
    let microseconds: i64 = times.iter().map(|time| time.tv_sec() * 1_000_000 + time.tv_usec()).sum();
    Ok(Duration::from_micros(microseconds.try_into()?))
}
