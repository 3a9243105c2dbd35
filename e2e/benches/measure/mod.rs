//! Building what is measured, running it, medians and tables.

#![allow(dead_code, reason = "each bench uses a part")]
#![allow(clippy::print_stdout, reason = "what a bench is for")]

use std::error::Error;
use std::path::{Path, PathBuf};
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

/// The executables that are measured, optimised as they are shipped.
#[derive(Clone)]
pub(crate) struct Executables(PathBuf);

impl Executables {
    /// Builds them, unless `BOSON_BENCH_BIN` names a directory that has them.
    pub(crate) fn build() -> Result<Executables> {
        if let Some(given) = std::env::var_os("BOSON_BENCH_BIN") {
            return Ok(Executables(std::path::absolute(given)?));
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--release", "--locked", "-p", "plan", "-p", "render-jobs", "-p", "copy-jobs"]);
        if !build.current_dir(env!("CARGO_MANIFEST_DIR")).status()?.success() {
            return Err("the executables cannot be built".into());
        }
        // A bench lies in target/release/deps.
        let here = std::env::current_exe()?;
        Ok(Executables(here.ancestors().nth(2).unwrap_or(Path::new(".")).to_path_buf()))
    }

    /// The static executable that runs in release images, built unless `BOSON_BENCH_BIN` has it.
    pub(crate) fn boson_pod() -> Result<PathBuf> {
        if let Some(given) = std::env::var_os("BOSON_BENCH_BIN") {
            return Ok(Path::new(&given).join("boson-pod"));
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        if !Command::new(root.join("images/build")).arg("boson-pod").status()?.success() {
            return Err("boson-pod cannot be built".into());
        }
        // A bench lies in target/release/deps.
        let here = std::env::current_exe()?;
        Ok(here.ancestors().nth(3).unwrap_or(Path::new(".")).join("static/boson-pod"))
    }

    /// A verb: an executable of its own, or else one of boson's.
    pub(crate) fn command(&self, name: &str) -> Command {
        let own = self.0.join(name);
        if own.exists() {
            return Command::new(own);
        }
        let mut command = Command::new(self.0.join("boson"));
        command.arg(name);
        command
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
