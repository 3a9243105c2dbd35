//! `run-process` beside a plain exec and beside `tini`: how long until the process runs, and what stays in memory.
//!
//! `cargo bench -p e2e --bench run_process`

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod measure;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use measure::{Result, median, table};
use nix::libc::{SIGTERM, pid_t};
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// With this as its argument, the bench is the process that is started: it writes the time into a file and ends.
const PROBE: &str = "--probe";
/// How often everything is started.
const RUNS: usize = 201;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(PROBE) {
        return probe(arguments.next());
    }
    measure::main(bench)
}

fn probe(file: Option<String>) -> ExitCode {
    // First of all: what follows is not the start.
    let now = now();
    match file.map(|file| fs::write(file, now.to_string())) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Nanoseconds of a clock that all processes share.
fn now() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| Duration::from(time).as_nanos() as u64)
}

/// One way to start a process.
struct Way {
    name: &'static str,
    /// The executable, without what it starts.
    executable: Option<PathBuf>,
    start: Box<dyn Fn(&Job) -> Command>,
}

/// What is started.
enum Job {
    Probe,
    Sleep,
}

fn bench(_: &[String]) -> Result<()> {
    let boson_pod = testkit::static_executable("boson-pod");
    let scratch = measure::scratch()?;
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))?;
    let stamp = scratch.path().join("var/vcap/data/probe/tmp/stamp");
    let ways = ways(&boson_pod, scratch.path(), &stamp)?;
    let times = start_times(&ways, &stamp)?;
    let plain = times.first().copied().unwrap_or_default();
    let mut rows = Vec::new();
    for (way, time) in ways.iter().zip(&times) {
        let memory = way.executable.as_ref().map(|_| resident(way)).transpose()?;
        let size = way.executable.as_ref().map(|file| file.metadata().map(|meta| meta.len())).transpose()?;
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        rows.push(vec![
            way.name.to_owned(),
            format!("{time:.2}"),
            format!("{:+.2}", time - plain),
            format!("{:.2}x", time / plain),
            or_dash(memory.map(|(resident, _)| resident.to_string())),
            or_dash(memory.map(|(_, private)| private.to_string())),
            or_dash(size.map(|bytes| (bytes / 1024).to_string())),
        ]);
    }
    println!("from before the start until the process runs (median of {RUNS}; ms), and memory while it runs (KiB)");
    let heads = ["", "start", "more than plain exec", "of plain exec", "resident", "of it private", "size"];
    table(&heads, &rows);
    Ok(())
}

fn ways(boson_pod: &Path, root: &Path, stamp: &Path) -> Result<Vec<Way>> {
    let bench = std::env::current_exe()?;
    for (job, line) in [
        ("probe", format!("executable: {}, args: [{PROBE}, {}]", bench.display(), stamp.display())),
        ("sleep", "executable: /bin/sleep, args: [1000]".to_owned()),
    ] {
        let config = root.join("var/vcap/jobs").join(job).join("config");
        fs::create_dir_all(&config)?;
        fs::write(config.join("bpm.yml"), format!("processes: [{{name: {job}, {line}}}]\n"))?;
    }
    fs::create_dir_all(stamp.parent().unwrap_or(root))?;
    let plain = {
        let (bench, stamp) = (bench.clone(), stamp.to_path_buf());
        move |job: &Job| match job {
            Job::Probe => command(&bench, &[PROBE, &stamp.display().to_string()]),
            Job::Sleep => command(Path::new("/bin/sleep"), &["1000"]),
        }
    };
    let mut ways = vec![Way { name: "plain exec", executable: None, start: Box::new(plain.clone()) }];
    match tini() {
        Some(tini) => ways.push(Way {
            name: "tini",
            executable: Some(tini.clone()),
            start: Box::new(move |job| {
                let inner = plain(job);
                let mut outer = command(&tini, &["-s", "--"]);
                outer.arg(inner.get_program()).args(inner.get_args());
                outer
            }),
        }),
        None => println!("tini is not installed (apt-get install tini): left out"),
    }
    let (program, root) = (boson_pod.to_path_buf(), root.display().to_string());
    ways.push(Way {
        name: "run-process",
        executable: Some(program.clone()),
        start: Box::new(move |job| {
            let job = if matches!(job, Job::Probe) { "probe" } else { "sleep" };
            command(&program, &["run-process", "--job", job, "--root", &root])
        }),
    });
    Ok(ways)
}

fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn tini() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("tini")).find(|file| file.is_file())
}

/// Milliseconds from before the start until the process runs, by turns, so that all meet the same machine.
fn start_times(ways: &[Way], stamp: &Path) -> Result<Vec<f64>> {
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..RUNS {
        for (way, times) in ways.iter().zip(&mut times) {
            let _ = fs::remove_file(stamp);
            let started = now();
            let status = (way.start)(&Job::Probe).status()?;
            if !status.success() {
                return Err(format!("{}: {status}", way.name).into());
            }
            let ran: u64 = fs::read_to_string(stamp)?.parse()?;
            times.push(ran.saturating_sub(started) as f64 / 1e6);
        }
    }
    times.into_iter().map(median).collect()
}

/// A supervisor's memory while its process runs: all of it, and its private part.
fn resident(way: &Way) -> Result<(u64, u64)> {
    let child = (way.start)(&Job::Sleep).spawn()?;
    let memory = wait_and_look(&child);
    kill(Pid::from_raw(child.id() as pid_t), Signal::try_from(SIGTERM)?)?;
    let mut child = child;
    child.wait()?;
    memory
}

fn wait_and_look(child: &Child) -> Result<(u64, u64)> {
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let started = Instant::now();
    loop {
        let first = fs::read_to_string(&children)?.split_whitespace().next().map(str::to_owned);
        let sleeps = first.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).ok());
        if sleeps.is_some_and(|name| name.trim() == "sleep") {
            break;
        }
        if started.elapsed() > Duration::from_secs(10) {
            return Err("the process does not start".into());
        }
        sleep(Duration::from_millis(5));
    }
    // It has done its part and waits.
    sleep(Duration::from_millis(200));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let field = |name: &str| -> Result<u64> {
        let line = status.lines().find(|line| line.starts_with(name)).ok_or(format!("no {name}"))?;
        Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
    };
    Ok((field("VmRSS:")?, field("RssAnon:")?))
}
