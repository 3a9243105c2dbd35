//! The command line of `test`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use job_templates::RenderingOptions;

/// The command line of `test`.
#[derive(Debug, Args)]
#[command(
    long_about = "Run the golden tests of a release: render each case in tests/JOB/CASE and compare the files with those in \
        expected/. Needs no director, no cluster, no root and no network.\n\n\
        A case is a directory; all its files are optional:\n\
        \x20\x20properties.yml  properties of the job, as in a manifest\n\
        \x20\x20links.yml       links that the job consumes, as in `consumes` of a manifest\n\
        \x20\x20spec.yml        the instance: deployment, name, index, instances, az, networks, ip, persistent_disk\n\
        \x20\x20manifest.yml    a manifest, in place of the three\n\
        \x20\x20case.yml        mask (regular expressions), files (patterns) and examples (true)\n\
        \x20\x20expected/       the files, by path below the job's directory; with a manifest below GROUP-INDEX/\n\
        \x20\x20expected-error  lines that the error contains, in place of expected/\n\n\
        Templates are code: they run with your permissions.",
    after_long_help = "Examples:\n\
        \x20\x20boson test --init\n\
        \x20\x20boson test\n\
        \x20\x20boson test ./nats-release nats/tls 'smoke-tests/*'\n\
        \x20\x20boson test nats --update\n\
        \x20\x20boson test --format junit >junit.xml\n\n\
        Exit codes: 0 all cases pass; 1 a case fails; 2 usage; 65 the release or a case cannot be read; 70 the environment failed."
)]
pub struct Options {
    /// The release, a source directory or the jobs-src of an image [default: the current directory]; then the cases: JOB, JOB/CASE or
    /// a pattern [default: all]
    #[arg(value_name = "RELEASE|CASE")]
    words: Vec<String>,
    /// Write what renders into expected/, and pass
    #[arg(long)]
    pub(crate) update: bool,
    /// Make a first case for each job that has none, or for the jobs that are named
    #[arg(long, conflicts_with = "update")]
    pub(crate) init: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) rendering: RenderingOptions,
}

/// Forms of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line for each case, differences as a patch
    Human,
    /// An XML document, as CI systems read it
    Junit,
}

impl Options {
    /// The release's directory and the patterns of cases: the first word is the release if it is a directory with jobs.
    pub(crate) fn subject(&self) -> (PathBuf, &[String]) {
        match self.words.split_first() {
            Some((first, rest)) if is_release(Path::new(first)) => (PathBuf::from(first), rest),
            _ => (PathBuf::from("."), &self.words),
        }
    }
}

fn is_release(path: &Path) -> bool {
    path.is_dir() && (path.join("jobs").is_dir() || path.join("jobs-src").is_dir() || path.join("config").is_dir())
}
