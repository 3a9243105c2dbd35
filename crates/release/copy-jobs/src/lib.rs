//! Copies a release image's job sources into the shared volume.
//!
//! The copy is made in a hidden directory beside the destination and swapped in, so a reader sees the old sources or the
//! new ones. Beside them is the list of the image's packages, for `plan`. It keeps permission bits (but not setuid and setgid), times, owners where possible, and links; hard links
//! become files of their own. Nothing is flushed to a disk: the volume lives as long as its pod.

mod beyond;
mod copy;
pub mod copy_packages;
mod destination;
mod interrupt;
mod item;
mod links;
mod package_list;
mod patched_tree;
mod patches;
mod source;
mod stage;

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use clap::Args;
use problem::{Problem, Result, code};
use startup::Common;
use vcap::Vcap;

use destination::Destination;
use interrupt::{Interrupt, Stop};
use patches::Patches;
use source::Source;
use stage::Stage;

/// The flags of `copy-jobs`.
#[derive(Debug, Args)]
#[command(
    long_about = "Copy the sources of jobs that a release image carries in /var/vcap/jobs-src/JOB/ (job.MF, monit, templates/) to \
        where plan and render-jobs read them: as an init container of a pod, once for each release.\n\n\
        The copy is whole or absent: it is made beside the destination and swapped in, so it can be run again at any \
        time, and many can run at once into one volume. Permission bits (without setuid and setgid), times and links are \
        kept. A link that leads out of the job sources is refused; an absolute one that stays inside becomes relative. \
        In the directory jobs of a release, a link to another place of the release (shared_job_templates) is replaced by \
        a copy of its target.\n\n\
        A patch is a unified diff (git diff, diff -u) whose paths begin with jobs/JOB/ or JOB/. All hunks of all patches \
        apply, or nothing is copied. Lines are compared exactly; a hunk whose line numbers are wrong applies where its \
        lines are, if they are at one place only.",
    after_long_help = "Example, in a release image:\n\
        \x20\x20copy-jobs --release nats\n\n\
        Example, on a laptop:\n\
        \x20\x20copy-jobs --from ./nats-release/jobs --to /tmp/all-releases/jobs-src/nats\n\n\
        Exit codes: 0 copied; 2 usage; 65 the job sources are missing or cannot be copied, or a patch does not apply; 70 the \
        destination cannot be written."
)]
pub struct Options {
    /// Directory with the job sources: one directory per job [default: /var/vcap/jobs-src]
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// The whole destination; what is there is replaced [default: /var/vcap/all-releases/jobs-src/RELEASE]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Name of the release; required without --to
    #[arg(long, env = "RELEASE_NAME", value_name = "NAME")]
    pub release: Option<String>,
    /// Apply a unified diff to the copy, or those in a directory, by name; repeatable, in order
    #[arg(long = "patch", value_name = "PATH")]
    pub patches: Vec<PathBuf>,
}

/// One line for `--help`.
pub const ABOUT: &str = "Copy a release image's job sources into a volume";

/// Where a release image has its job sources.
const JOBS_SRC: &str = "/var/vcap/jobs-src";

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let destination = Destination::resolve(options.to.as_deref(), options.release.as_deref(), common)?;
    let default = Vcap::under(&common.root).jobs_src();
    let from = options.from.as_deref().unwrap_or(&default);
    // Links in the default tree may name it without the root's prefix.
    let also_known_as: &[&Path] = if options.from.is_none() { &[Path::new(JOBS_SRC)] } else { &[] };
    let source = Source::read(from, also_known_as)?;
    let patches = Patches::read(&options.patches)?;
    refuse_overlap(&source.root, &destination.path())?;
    if source.items.is_empty() {
        tracing::warn!(from = %from.display(), "there are no job sources to copy");
    }
    // Only an image says which packages a release has in it.
    let packages = options.from.is_none().then(|| Vcap::under(&common.root).packages());
    let interrupt = Interrupt::hold();
    match copy(&source, &patches, packages.as_deref(), &destination, &interrupt) {
        Ok(()) => {
            tracing::info!(from = %from.display(), to = %destination.path().display(), "copied the job sources");
            Ok(0)
        }
        Err(Stop::Failed(problems)) => Err(problems),
        Err(Stop::Signal(signal)) => Ok(interrupt.end(signal)),
    }
}

/// How often a directory above the destination may disappear (another run that failed takes its own away again).
const ATTEMPTS: usize = 5;

fn copy(
    source: &Source,
    patches: &Patches,
    packages: Option<&Path>,
    destination: &Destination,
    interrupt: &Interrupt,
) -> std::result::Result<(), Stop> {
    for attempt in 1.. {
        // A failure removes the stage first, then the directories made for it.
        let (parent, made) = destination.open_parent()?;
        destination.check_replaceable(parent.as_fd())?;
        let stage = match Stage::new(parent.as_fd(), &destination.name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => continue,
            stage => stage.map_err(|e| unwritable(destination, &e))?,
        };
        copy::copy(source, stage.dir(), interrupt)?;
        patches.apply(stage.dir())?;
        if let Some(packages) = packages {
            package_list::write(packages, stage.dir())?;
        }
        interrupt.check()?;
        stage.swap_in().map_err(|e| unwritable(destination, &e))?;
        made.keep();
        break;
    }
    Ok(())
}

fn unwritable(destination: &Destination, e: &io::Error) -> Problem {
    let problem = Problem::internal(format!("cannot write {}", destination.path().display())).code(code::IO).because(e);
    match e.kind() {
        io::ErrorKind::ResourceBusy => problem.hint("a mount point cannot be replaced: name a directory below it"),
        _ => problem,
    }
}

/// Refuses to replace what is being copied, or to copy the copy into itself.
fn refuse_overlap(source: &Path, destination: &Path) -> Result<()> {
    let resolved = destination.parent().and_then(|parent| parent.canonicalize().ok());
    let resolved = resolved.zip(destination.file_name()).map(|(parent, name)| parent.join(name));
    let Some(resolved) = resolved else { return Ok(()) };
    if resolved.starts_with(source) || source.starts_with(&resolved) {
        let both = format!("{} and {} overlap", source.display(), destination.display());
        return Err(Problem::input(format!("cannot copy: {both}"))
            .code(code::OUTPUT_CONFLICT)
            .hint("the destination is replaced as a whole")
            .into());
    }
    Ok(())
}
