//! `boson init`: a release, a job or an errand to begin with, as text files.

mod skeleton;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use problem::{Problem, Result, code};
use startup::{Common, write_stdout};

use crate::skeleton::{Files, errand, job, release};

/// The command line of `init`.
#[derive(Debug, Args)]
#[command(
    long_about = "Make a release, or a job or an errand of one: spec, monit, bpm.yml, scripts and a test. What it makes passes `boson lint` and \
        `boson test`, and a release runs with `boson up`. Nothing that exists is changed.",
    after_long_help = "Examples:\n\
        \x20\x20boson init release shop\n\
        \x20\x20boson init job worker --release shop\n\
        \x20\x20boson init errand smoke-tests --release shop"
)]
pub struct Options {
    #[command(subcommand)]
    kind: Kind,
}

/// What is made.
#[derive(Debug, Subcommand)]
enum Kind {
    /// Make a release with one job, and a manifest
    Release {
        /// Its name
        #[arg(value_parser = name)]
        name: String,
        /// The directory, which must be empty or absent [default: its name]
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
        /// The name of its job [default: the release's]
        #[arg(long, value_name = "NAME", value_parser = name)]
        job: Option<String>,
    },
    /// Make a job that bpm runs
    Job {
        /// Its name
        #[arg(value_parser = name)]
        name: String,
        /// The release's directory
        #[arg(long, short, value_name = "DIR", default_value = ".")]
        release: PathBuf,
    },
    /// Make an errand
    Errand {
        /// Its name
        #[arg(value_parser = name)]
        name: String,
        /// The release's directory
        #[arg(long, short, value_name = "DIR", default_value = ".")]
        release: PathBuf,
    },
}

/// One line for `--help`.
pub const ABOUT: &str = "Make a release, a job or an errand";

/// A name that BOSH, DNS and the file system accept.
fn name(text: &str) -> std::result::Result<String, String> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let has_ends = text.starts_with(is_letter) && text.ends_with(is_letter);
    if has_ends && text.len() <= 63 && text.chars().all(|c| is_letter(c) || c == '-' || c == '_') {
        return Ok(text.to_owned());
    }
    Err("must consist of lower-case letters, digits, `-` and `_`, and begin and end with a letter or digit".to_owned())
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    match options.kind {
        Kind::Release { name, directory, job: job_name } => {
            let directory = directory.unwrap_or_else(|| PathBuf::from(&name));
            let job_name = job_name.unwrap_or_else(|| name.clone());
            check_empty(&directory)?;
            let files = [release(&name, &job_name), job(&job_name)].concat();
            write(&directory, &files)?;
            let shown = directory.display();
            let next = format!(
                "Next:\n  boson lint {shown}\n  boson test {shown}\n  boson up -m {shown}/manifests/{name}.yml -r {shown}\n"
            );
            write_stdout(|out| out.write_all(next.as_bytes()))?;
        }
        Kind::Job { name, release } => add(&release, &name, &job(&name))?,
        Kind::Errand { name, release } => add(&release, &name, &errand(&name))?,
    }
    Ok(0)
}

/// Adds a job to a release.
fn add(release: &Path, name: &str, files: &Files) -> Result<()> {
    if !["jobs", "config", "packages"].iter().any(|part| release.join(part).is_dir()) {
        return Err(Problem::input(format!("{} is not a release", release.display()))
            .code(code::RELEASE_MISSING)
            .because("it has neither jobs nor packages nor config")
            .hint("`boson init release NAME` makes one; --release names its directory")
            .into());
    }
    for part in ["jobs", "tests"] {
        let directory = release.join(part).join(name);
        if directory.symlink_metadata().is_ok() {
            return Err(Problem::input(format!("{} exists", directory.display())).code(code::OUTPUT_CONFLICT).into());
        }
    }
    write(release, files)
}

fn check_empty(directory: &Path) -> Result<()> {
    let is_free = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) => e.kind() == std::io::ErrorKind::NotFound && !directory.is_symlink(),
    };
    if is_free {
        return Ok(());
    }
    Err(Problem::input(format!("{} exists and is not empty", directory.display()))
        .code(code::OUTPUT_CONFLICT)
        .hint("give another directory with --directory")
        .into())
}

/// Writes all files or none, and prints their names.
fn write(directory: &Path, files: &Files) -> Result<()> {
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| directory.join(path)).collect();
    let contents: Vec<(&Path, &[u8])> =
        paths.iter().zip(files).map(|(path, (_, text))| (path.as_path(), text.as_bytes())).collect();
    vcap::atomic::write_files_with_parents(&contents, 0o644)?;
    write_stdout(|out| paths.iter().try_for_each(|path| writeln!(out, "{}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_bosh_dns_and_files_accept() {
        for good in ["a", "web-1", "cloud_controller_ng", "0"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "-a", "a-", "A", "a/b", "..", "a b", "a.b", &"a".repeat(64)] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
