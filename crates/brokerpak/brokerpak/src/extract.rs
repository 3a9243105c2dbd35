//! `extract`: the executables and providers of one platform, as terraform looks for them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::num::NonZero;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use brokerpak_model::layout::{self, Copy};
use brokerpak_model::manifest::Manifest;
use brokerpak_model::pak::{MANIFEST, Pak};
use brokerpak_model::report::Report;
use clap::Args;
use problem::{IoContext, Problem, Problems, Result};
use zip_archive::{Archive, Entry};

use crate::paks::{self, Packed};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Unpack a platform's executables and providers";

/// The most files that are written at once.
const WORKERS: usize = 4;

/// The arguments of `extract`.
#[derive(Debug, Args)]
#[command(
    long_about = "Unpack the executables of one platform from a .brokerpak, in the layout that terraform reads with \
        -plugin-dir: DIR/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/FILE for providers, DIR/versions/VERSION/terraform (or tofu) \
        for terraform, DIR/FILE for the others. Files that exist are replaced; nothing outside DIR is written.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak extract my-services-1.0.0.brokerpak bin --platform linux/amd64\n\
        \x20\x20brokerpak extract my-services-1.0.0.brokerpak /pak --as-pak\n\n\
        Exit codes: 0 done; 2 usage; 65 the pak is wrong or does not have the platform; 70 a file could not be read or \
        written."
)]
pub(crate) struct Options {
    /// The .brokerpak
    #[arg(value_name = "PAK")]
    pak: PathBuf,
    /// The directory to unpack into; it is created
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The platform (default: that of this machine)
    #[arg(long, value_name = "OS/ARCH")]
    platform: Option<String>,
    /// Maximum bytes to unpack; K, M or G multiply by 1,024; 0 means no limit [default: 20 times the size of the pak, at least
    /// 256M]
    #[arg(long, value_name = "SIZE", value_parser = startup::parse_size)]
    limit: Option<u64>,
    /// Unpack manifest, definitions and the platform's files as they are: DIR is a PAK for the other verbs then
    #[arg(long)]
    as_pak: bool,
}

/// Runs `extract`; gives the exit code.
///
/// # Errors
/// A pak that is wrong, files that it does not have, failures of the machine.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let platform = options.platform.clone().unwrap_or_else(current);
    let packed = Packed::open(&options.pak)?;
    let mut report = Report::default();
    let pak = Pak::read(&packed, MANIFEST, &mut report);
    paks::checked(&report)?;
    let archive = packed.into_archive();
    let names: Vec<String> = files(&archive);
    let (copies, problems) = plan(&pak.manifest, &platform, &names)?;
    Problems::check(problems)?;
    let copies = if options.as_pak { unpacked(&platform, &archive, &copies) } else { executable(copies) };
    let limit = options.limit.map_or_else(|| default_limit(&options.pak), Ok)?;
    check_size(&archive, copies.iter().map(|(from, ..)| from.as_str()), limit)?;
    write_all(&options.pak, &archive, &options.directory, copies)?;
    Ok(0)
}

/// How much is unpacked of a pak by default. Executables are some three to five times larger than their archives.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn default_limit(pak: &Path) -> Result<u64> {
    const FACTOR: u64 = 20;
    const LEAST: u64 = 256 << 20;
    Ok(fs::metadata(pak).io("read", pak)?.len().saturating_mul(FACTOR).max(LEAST))
}

/// Checks the total size of the files of an archive before any of them is written; 0 means no limit.
///
/// # Errors
/// More bytes than the limit.
pub(crate) fn check_size<'f>(archive: &Archive, files: impl Iterator<Item = &'f str>, limit: u64) -> Result<()> {
    let sizes: HashMap<&str, u64> = archive.entries().iter().map(|entry| (entry.name.as_str(), entry.size)).collect();
    let total = files.map(|file| sizes.get(file).copied().unwrap_or_default()).fold(0, u64::saturating_add);
    if limit == 0 || total <= limit {
        return Ok(());
    }
    let message = format!("the pak's files have {total} bytes, more than the limit of {limit}");
    Err(Problem::input(message).hint("`brokerpak extract --limit` raises it for a pak that you trust").into())
}

/// The names of an archive's files.
pub(crate) fn files(archive: &Archive) -> Vec<String> {
    archive.entries().iter().filter(|entry| !entry.is_directory).map(|entry| entry.name.clone()).collect()
}

/// Writes all files, the largest first, on as many processors as there are.
fn write_all(pak: &Path, archive: &Archive, directory: &Path, mut copies: Vec<(String, String, u32)>) -> Result<()> {
    let size = |name: &str| archive.entries().iter().find(|entry| entry.name == name).map_or(0, |entry| entry.size);
    copies.sort_by_cached_key(|(from, ..)| Reverse(size(from)));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(WORKERS).min(copies.len());
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        // Each one reads at a place of its own.
        let mut archive = Packed::open(pak)?.into_archive();
        while let Some((from, to, mode)) = copies.get(next.fetch_add(1, Ordering::Relaxed)) {
            write(&mut archive, from, directory, to, *mode)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let failed = || Problem::internal("a thread has panicked");
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| failed())?)
    })
}

fn executable(copies: Vec<Copy>) -> Vec<(String, String, u32)> {
    copies.into_iter().map(|(from, to)| (from, to, 0o755)).collect()
}

/// The documents and all files of a platform at their own places.
fn unpacked(platform: &str, archive: &Archive, executables: &[Copy]) -> Vec<(String, String, u32)> {
    let directory = format!("{}/", layout::directory(platform));
    let is_of = |name: &str| name == MANIFEST || name.starts_with("definitions/") || name.starts_with(&directory);
    let files = archive.entries().iter().filter(|entry| !entry.is_directory && is_of(&entry.name));
    let mode = |entry: &Entry| {
        let is_executable = entry.mode & 0o111 != 0 || executables.iter().any(|(from, _)| *from == entry.name);
        if is_executable && entry.name.starts_with(&directory) { 0o755 } else { 0o644 }
    };
    files.map(|entry| (entry.name.clone(), entry.name.clone(), mode(entry))).collect()
}

/// This machine's platform in Go's words.
pub(crate) fn current() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        other => other,
    };
    let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    format!("{os}/{arch}")
}

/// What is written where, and what the pak does not have.
///
/// # Errors
/// A platform that the manifest does not list.
pub(crate) fn plan(manifest: &Manifest, platform: &str, names: &[String]) -> Result<(Vec<Copy>, Vec<Problem>)> {
    if !manifest.platforms.iter().any(|own| own == platform) {
        let name = &manifest.name;
        let message =
            format!("the package {name:?} doesn't contain binaries compatible with the current platform {platform:?}");
        let hint = format!("its platforms are {}", manifest.platforms.join(", "));
        return Err(Problem::input(message).hint(hint).into());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (copies, wrong) = layout::executables(manifest, platform, &names);
    Ok((copies, wrong.into_iter().map(Problem::input).collect()))
}

/// Writes a file beside its place, and renames it.
pub(crate) fn write(archive: &mut Archive, from: &str, directory: &Path, to: &str, mode: u32) -> Result<()> {
    let path = directory.join(to);
    let parent = path.parent().unwrap_or(directory);
    fs::create_dir_all(parent).io("create", parent)?;
    let new = parent.join(format!(".{}.new", path.file_name().unwrap_or_default().to_string_lossy()));
    // What an earlier run left: never written through, it may be a link.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).io("remove", &new),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&new).io("create", &new)?;
    if let Err(error) = archive.copy(from, &mut file) {
        let _ = fs::remove_file(&new);
        let problem = match error.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                Problem::input(format!("couldn't extract file {from:?}: {error}"))
            }
            _ => Problem::internal(format!("couldn't extract file {from:?}")).because(error),
        };
        return Err(problem.into());
    }
    fs::rename(&new, &path).io("write", &path)
}
