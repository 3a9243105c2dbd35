//! The stages that run on the host before any instance exists.

mod apart;
mod compile;
mod diff;
mod plan;
mod sources;
mod tools;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use problem::{IoContext, Problem, Problems};
use release::Release;
use sandbox::ProcessId;

pub(crate) use compile::{compile, locate};
pub(crate) use diff::{Comparison, diff};
pub(crate) use plan::plan;
pub(crate) use sources::SourceNames;
pub(crate) use tools::lacking as lacking_tools;

use crate::executable::DIES_WITH_PARENT;
use crate::failure::{FailedStage, Failure};
use crate::release_patch::ReleasePatch;
use crate::workspace;
use local_state::Interrupt;
use local_state::Progress;

/// Opens the releases; reports what is wrong with any of them.
pub(crate) fn open_releases(releases: &[PathBuf], interrupt: &Interrupt) -> Result<Vec<Release>, Failure> {
    let opened = opened(releases, &|| interrupt.is_asked());
    if interrupt.is_asked() { Err(Failure::Interrupted) } else { Ok(opened?) }
}

/// Opens releases until `stop` is true.
pub(crate) fn opened(paths: &[PathBuf], stop: &dyn Fn() -> bool) -> Result<Vec<Release>, Problems> {
    let cache = local_state::user_dirs::cache()?;
    let (mut releases, mut problems) = (Vec::<Release>::new(), Vec::new());
    for dir in paths {
        match Release::open_any(dir, &cache, stop) {
            Ok(release) => releases.push(release),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    let mut names = HashSet::new();
    for release in &releases {
        if !names.insert(release.name.as_str()) {
            problems.push(Problem::input(format!("two --release hold the release {}", release.name)));
        }
    }
    Problems::check(problems)?;
    Ok(releases)
}

/// Stages the releases' job sources as release images have them, and copies them into one tree, as pods do.
pub(crate) fn copy_jobs(
    workspace: &Path,
    releases: &[Release],
    patches: &[ReleasePatch],
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let step = progress.step("copying job sources");
    let all_releases = workspace::all_releases(workspace);
    let staging = all_releases.join("staging");
    for release in releases {
        step.at(format!("copying the job sources of {}", release.name));
        let from = staging.join(&release.name);
        fs::create_dir_all(&from).io("make", &from)?;
        release.stage_jobs(&from)?;
        let to = all_releases.join("jobs-src").join(&release.name);
        run("copy-jobs", interrupt, |command| {
            command.arg("--from").arg(&from).arg("--to").arg(&to);
            let patches = patches.iter().filter(|patch| patch.release == release.name);
            command.args(patches.flat_map(|patch| [OsStr::new("--patch"), patch.file.as_os_str()]));
        })?;
    }
    fs::remove_dir_all(&staging).io("remove", &staging)?;
    let names: Vec<&str> = releases.iter().map(|release| release.name.as_str()).collect();
    step.done(&format!("copied the job sources of {}", names.join(", ")));
    Ok(())
}

/// Variables of `copy-jobs` that would change its arguments.
const NOT_FOR_STAGES: [&str; 2] = ["BOSON_ROOT", "RELEASE_NAME"];

/// Runs a verb of this executable on the host to its end.
fn run(verb: &str, interrupt: &Interrupt, arguments: impl FnOnce(&mut Command)) -> Result<(), Failure> {
    let cannot = |e: std::io::Error| Problem::internal(format!("cannot run {verb}")).because(e);
    let mut command = Command::new("/proc/self/exe");
    command.arg(verb).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // A group of its own: Ctrl-C on the terminal is for this process, which then ends the stage.
    command.process_group(0).env(DIES_WITH_PARENT, "1");
    arguments(&mut command);
    for name in NOT_FOR_STAGES {
        command.env_remove(name);
    }
    if interrupt.is_asked() {
        return Err(Failure::Interrupted);
    }
    let child = command.spawn().map_err(cannot)?;
    let process = i32::try_from(child.id()).ok().and_then(ProcessId::of);
    let guard = interrupt.guard(move || {
        if let Some(process) = process {
            process.signal(Signal::SIGTERM);
        }
    });
    let output = child.wait_with_output().map_err(cannot)?;
    drop(guard);
    if output.status.success() {
        return Ok(());
    }
    if interrupt.is_asked() {
        return Err(Failure::Interrupted);
    }
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(70);
    Err(FailedStage { instance: None, verb: verb.to_owned(), output: printed, code }.into())
}
