//! Running what is measured, medians and tables.

#![allow(dead_code, reason = "each bench uses a part")]
#![allow(clippy::print_stdout, reason = "what a bench is for")]

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// With this as its first argument, a bench runs the rest as a command and prints the peak memory of its largest process.
const PEAK: &str = "--peak-of";

/// The `main` of a bench.
pub(crate) fn main(bench: fn(&[String]) -> Result<()>) -> ExitCode {
    // Cargo adds this one.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let outcome = match arguments.split_first() {
        Some((first, command)) if first == PEAK => peak(command),
        _ => bench(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            println!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// The executables that are measured: those that cargo has built with this bench's profile, or that `BOSON_E2E_BIN` names.
#[derive(Clone)]
pub(crate) struct Executables(());

impl Executables {
    /// Ends the bench where one is missing or outdated, before anything is measured.
    pub(crate) fn find() -> Executables {
        let _ = (testkit::executable("boson"), testkit::executable("boson-pod"));
        Executables(())
    }

    /// An executable by the name that pods call it by.
    pub(crate) fn command(&self, name: &str) -> Command {
        Command::new(testkit::executable(name))
    }
}

/// Where the input and the output lie: in memory where there is such a file system, as in a pod.
pub(crate) fn scratch() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    println!("input and output lie in {}", directory.display());
    Ok(tempfile::Builder::new().prefix("boson-bench-").tempdir_in(directory)?)
}

/// A directory that is certainly on a disk.
pub(crate) fn disk() -> Result<tempfile::TempDir> {
    Ok(tempfile::Builder::new().prefix("boson-bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

/// Runs a command to its end; from before its start to after its end.
pub(crate) fn timed(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let started = Instant::now();
    let output = command.spawn()?.wait_with_output()?;
    let took = started.elapsed();
    if output.status.success() { Ok(took) } else { Err(failure(command, &output.stderr)) }
}

/// The median of `runs` runs; `command` makes each one's command.
pub(crate) fn median_of(runs: usize, mut command: impl FnMut(usize) -> Result<Command>) -> Result<Duration> {
    let times = (0..runs).map(|run| timed(&mut command(run)?)).collect::<Result<Vec<_>>>()?;
    median(times)
}

pub(crate) fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> Result<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied().ok_or_else(|| "nothing was measured".into())
}

/// Peak memory, in KiB, of the largest process that a command consists of.
pub(crate) fn peak_of(command: &Command) -> Result<u64> {
    // In a small process of its own: a child counts the memory of who started it, until it executes its own program.
    let mut helper = Command::new(std::env::current_exe()?);
    helper.arg(PEAK).arg(command.get_program()).args(command.get_args());
    let output = helper.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| failure(command, &[text.as_bytes(), &output.stderr].concat()))
}

fn peak(command: &[String]) -> Result<()> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).status()?;
    if !status.success() {
        return Err("the command failed".into());
    }
    println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss());
    Ok(())
}

fn failure(command: &Command, stderr: &[u8]) -> Box<dyn Error> {
    format!("{command:?} failed:\n{}", String::from_utf8_lossy(stderr)).into()
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Prints columns, right-aligned, under their heads.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) {
    let width = |i: usize| rows.iter().map(|r| r[i].len()).chain([heads[i].len()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let print = |cells: Vec<&str>| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        println!("| {} |", padded.join(" | "));
    };
    println!();
    print(heads.to_vec());
    let rulers: Vec<String> = widths.iter().map(|w| format!("{}:", "-".repeat(w - 1))).collect();
    print(rulers.iter().map(String::as_str).collect());
    rows.iter().for_each(|row| print(row.iter().map(String::as_str).collect()));
    println!();
}
