//! `copy-packages`: copies packages of a release image into a volume, for the containers of another release.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use clap::Args;
use problem::{IoContext, Problem, Problems, Result, code, did_you_mean};
use startup::Common;
use vcap::Vcap;
use walkdir::WalkDir;

use crate::destination::Destination;
use crate::interrupt::{Interrupt, Stop};
use crate::item::{Item, kind_of};
use crate::source::Source;
use crate::stage::Stage;
use crate::{copy, unwritable};

/// One line for `--help`.
pub const ABOUT: &str = "Copy packages of a release image into a volume";

/// Where the volume with packages of other releases is.
const FOREIGN_PACKAGES: &str = "/var/vcap/foreign-packages";

/// The flags of `copy-packages`.
#[derive(Debug, Args)]
#[command(
    long_about = "Copy packages of a release image into a volume, as an init container of a pod in which jobs of another release \
        use them. Each package is whole or absent. Links are kept as they are.",
    after_long_help = "Example:\n\
        \x20\x20copy-packages --package cf-cli --package jq\n\n\
        Exit codes: 0 copied; 2 usage; 65 the image does not have a package; 70 the destination cannot be written."
)]
pub struct Options {
    /// A package; repeatable
    #[arg(long = "package", value_name = "NAME", required = true)]
    pub packages: Vec<String>,
    /// Directory with the image's packages [default: /var/vcap/packages]
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Directory for the copies; other packages in it stay [default: /var/vcap/foreign-packages]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// All packages that the image does not have, before anything is copied; failures of the file system.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let from = options.from.unwrap_or_else(|| Vcap::under(&common.root).packages());
    let to = common.path(options.to.as_deref(), FOREIGN_PACKAGES);
    let mut problems = Vec::new();
    for package in &options.packages {
        problems.extend(unknown(package, &from));
    }
    Problems::check(problems)?;
    let sources = options.packages.iter().map(|package| Ok((package, source(&from.join(package))?)));
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let interrupt = Interrupt::hold();
    for (package, source) in sources {
        match copy_package(&source, &to.join(package), common, &interrupt) {
            Ok(()) => tracing::info!(package = %package, to = %to.display(), "copied the package"),
            Err(Stop::Failed(problems)) => return Err(problems),
            Err(Stop::Signal(signal)) => return Ok(interrupt.end(signal)),
        }
    }
    Ok(0)
}

fn unknown(package: &str, from: &Path) -> Option<Problem> {
    let is_name = !package.is_empty() && !package.starts_with('.') && !package.contains('/');
    if is_name && from.join(package).is_dir() {
        return None;
    }
    let problem = Problem::input(format!("there is no package '{}' in {}", package.escape_debug(), from.display()));
    let known: Vec<String> = from
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let near = did_you_mean(package, known.iter().map(String::as_str)).map(|near| format!("did you mean '{near}'?"));
    Some(near.into_iter().fold(problem.code(code::PACKAGE_MISSING), Problem::hint))
}

/// The tree of a package. Its links may lead anywhere: they mean the same in another container.
fn source(package: &Path) -> Result<Source> {
    let root = package.canonicalize().io("read", package)?;
    let mut items = Vec::new();
    let (mut problems, base) = (Vec::new(), root.clone());
    for entry in WalkDir::new(&root).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|error| {
            Problem::internal(format!("cannot read {}", root.display())).code(code::IO).because(error)
        })?;
        match kind_of(entry.file_type(), entry.path()) {
            Ok(kind) => {
                let path = entry.path().strip_prefix(&base).unwrap_or(entry.path()).to_path_buf();
                items.push(Item { path, kind });
            }
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(problems)?;
    Ok(Source { root, items })
}

fn copy_package(source: &Source, to: &Path, common: &Common, interrupt: &Interrupt) -> std::result::Result<(), Stop> {
    let destination = Destination::resolve(Some(to), None, common)?;
    let (parent, made) = destination.open_parent()?;
    destination.check_replaceable(parent.as_fd())?;
    let stage = Stage::new(parent.as_fd(), &destination.name).map_err(|e| unwritable(&destination, &e))?;
    copy::copy(source, stage.dir(), interrupt)?;
    interrupt.check()?;
    stage.swap_in().map_err(|e| unwritable(&destination, &e))?;
    made.keep();
    Ok(())
}
