//! The command line of `test`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use job_templates::RenderingOptions;
use problem::{Problem, Result};

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
        \x20\x20boson test --format junit >junit.xml\n\
        \x20\x20boson test --min-coverage 80 --coverage-format lcov --coverage-output lcov.info\n\n\
        Exit codes: 0 all cases pass; 1 a case fails, or the coverage is too low; 2 usage; 65 the release or a case cannot be read; 70 the environment failed."
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
    pub(crate) coverage: CoverageOptions,
    #[command(flatten)]
    pub(crate) rendering: RenderingOptions,
}

/// What is reported about the lines and branches that cases render.
#[derive(Debug, Args)]
#[command(next_help_heading = "Coverage")]
pub(crate) struct CoverageOptions {
    /// Report the lines and branches of templates that no case renders
    #[arg(long = "coverage", conflicts_with = "init")]
    is_wanted: bool,
    /// Form of the report; implies --coverage
    #[arg(
        long = "coverage-format",
        value_enum,
        value_name = "FORMAT",
        default_value_t = CoverageFormat::Human,
        conflicts_with = "init"
    )]
    pub(crate) coverage_format: CoverageFormat,
    /// Write the report to this file, not to standard output; implies --coverage
    #[arg(long = "coverage-output", value_name = "FILE", conflicts_with = "init")]
    pub(crate) output: Option<PathBuf>,
    /// Fail if less than this percentage of all lines and branches is rendered; implies --coverage
    #[arg(
        long = "min-coverage",
        value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(0..=100),
        conflicts_with = "init"
    )]
    pub(crate) minimum: Option<u8>,
}

impl CoverageOptions {
    /// Whether the coverage is reported.
    pub(crate) fn is_on(&self) -> bool {
        self.is_wanted
            || self.coverage_format != CoverageFormat::Human
            || self.output.is_some()
            || self.minimum.is_some()
    }
}

/// Forms of the report about coverage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoverageFormat {
    /// A line for each place, then the numbers
    Human,
    /// A tracefile of LCOV
    Lcov,
    /// An XML document of Cobertura
    Cobertura,
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
    /// Checks what is known without reading a file.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(file) = self.words.first().filter(|word| Path::new(word).is_file()) {
            return Err(Problem::usage(format!("'{file}' is a file: tests are in the source directory of a release"))
                .hint("give the directory, or none for the current one; then JOB/CASE")
                .into());
        }
        let coverage = &self.coverage;
        let is_document = coverage.coverage_format != CoverageFormat::Human || self.format == Format::Junit;
        if coverage.is_on() && coverage.output.is_none() && is_document {
            return Err(Problem::usage("two reports cannot both go to standard output")
                .hint("give --coverage-output FILE")
                .into());
        }
        Ok(())
    }

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
