//! `extract`: the executables and providers of one platform, as terraform looks for them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use dialect_brokerpak::manifest::{Binary, Manifest};
use dialect_brokerpak::pak::{MANIFEST, Pak};
use dialect_brokerpak::report::Report;
use problem::{IoContext, Problem, Problems, Result};
use zip_archive::Archive;

use crate::paks::{self, Packed};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Unpack a platform's executables and providers";

/// The arguments of `extract`.
#[derive(Debug, Args)]
#[command(
    long_about = "Unpack the executables of one platform from a .brokerpak, in the layout that terraform reads with \
        -plugin-dir: DIR/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/FILE for providers, DIR/versions/VERSION/terraform (or tofu) \
        for terraform, DIR/FILE for the others. Files that exist are replaced; nothing outside DIR is written.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak extract my-services-1.0.0.brokerpak bin --platform linux/amd64\n\n\
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
}

/// A file of the archive, and where it is written.
type Copy = (String, String);

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
    let mut archive = packed.into_archive();
    let copies = plan(&pak.manifest, &platform, &archive)?;
    for (from, to) in &copies {
        write(&mut archive, from, &options.directory, to)?;
    }
    Ok(0)
}

/// This machine's platform in Go's words.
fn current() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        other => other,
    };
    let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    format!("{os}/{arch}")
}

/// What is written where.
fn plan(manifest: &Manifest, platform: &str, archive: &Archive) -> Result<Vec<Copy>> {
    if !manifest.platforms.iter().any(|own| own == platform) {
        let name = &manifest.name;
        let message =
            format!("the package {name:?} doesn't contain binaries compatible with the current platform {platform:?}");
        let hint = format!("its platforms are {}", manifest.platforms.join(", "));
        return Err(Problem::input(message).hint(hint).into());
    }
    let directory = format!("bin/{platform}");
    let target = platform.replace('/', "_");
    let has = |path: &str| archive.entries().iter().any(|entry| entry.name == path && !entry.is_directory);
    let mut copies = Vec::new();
    let mut problems = Vec::new();
    for terraform in &manifest.terraform {
        let Binary { name, version, .. } = terraform;
        let paths = [format!("{directory}/{version}/{name}"), format!("{directory}/{name}")];
        match paths.into_iter().find(|path| has(path)) {
            Some(path) => copies.push((path, format!("versions/{version}/{name}"))),
            None => problems.push(Problem::input(format!("could not find {name} version {version} in brokerpak"))),
        }
    }
    for provider in &manifest.providers {
        let prefix = format!("{directory}/{}_v{}", provider.name, provider.version);
        match find(archive, &prefix, &['_', '-', '.']) {
            Ok(path) => {
                let file = path.rsplit('/').next().unwrap_or_default().to_owned();
                let address = provider.provider.as_deref().unwrap_or_default();
                copies.push((path, format!("{address}/{}/{target}/{file}", provider.version)));
            }
            Err(message) => problems.push(Problem::input(message)),
        }
    }
    for other in &manifest.other_binaries {
        match find(archive, &format!("{directory}/{}", other.name), &['_', '-', '.']) {
            Ok(path) => {
                let file = path.rsplit('/').next().unwrap_or_default().to_owned();
                copies.push((path, file));
            }
            Err(message) => problems.push(Problem::input(message)),
        }
    }
    Problems::check(problems)?;
    Ok(copies)
}

/// The only file with a prefix; what follows the prefix starts with one of these, so that `psql` is not `psqlodbc`.
fn find(archive: &Archive, prefix: &str, next: &[char]) -> std::result::Result<String, String> {
    let files = archive.entries().iter().filter(|entry| !entry.is_directory).map(|entry| entry.name.as_str());
    let is_it = |rest: &str| (rest.is_empty() || rest.starts_with(next)) && !rest.contains('/');
    let mut found: Vec<&str> = files.filter(|name| name.strip_prefix(prefix).is_some_and(is_it)).collect();
    found.sort_unstable();
    match found.as_slice() {
        [] => Err(format!("file with prefix {prefix:?} not found in zip")),
        [one] => Ok((*one).to_owned()),
        _ if found[0] == prefix => Ok(prefix.to_owned()),
        several => Err(format!("multiple files found with prefix {prefix:?}: {}", several.join(", "))),
    }
}

/// Writes a file beside its place, and renames it.
fn write(archive: &mut Archive, from: &str, directory: &Path, to: &str) -> Result<()> {
    let path = directory.join(to);
    let parent = path.parent().unwrap_or(directory);
    fs::create_dir_all(parent).io("create", parent)?;
    let new = parent.join(format!(".{}.new", path.file_name().unwrap_or_default().to_string_lossy()));
    // What an earlier run left: never written through, it may be a link.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).io("remove", &new),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&new).io("create", &new)?;
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
