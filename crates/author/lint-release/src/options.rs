//! The command line of `lint`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use job_templates::RenderingOptions;
use manifest_inputs::Inputs;

use crate::checks::stemcell::StemcellLine;

/// The command line of `lint`.
#[derive(Debug, Args)]
#[command(
    long_about = "Find mistakes in releases that otherwise show at a director, or at run time: properties, links, files, templates, \
        scripts, processes and packages. Needs no director, no cluster, no root and no network.\n\n\
        Each finding has a place and a code; `boson explain-error CODE` says when the rule fires and when it stays silent. The \
        file lint.yml of a release gives rules another severity.\n\n\
        Some rules need rendered files: monit, bpm.yml and scripts are rendered with the defaults and examples of the spec. Templates \
        are code: they run with your permissions, unless --no-render is given.",
    after_long_help = "Examples:\n\
        \x20\x20boson lint\n\
        \x20\x20boson lint ./nats-release ./postgres-release -m deployment.yml\n\
        \x20\x20boson lint --strict --format github\n\
        \x20\x20boson lint --format sarif >lint.sarif\n\n\
        lint.yml of a release:\n\
        \x20\x20property-unused: {severity: allow, reason: read by the smoke tests, files: [jobs/nats/spec]}\n\
        \x20\x20property-description: {severity: warning}\n\n\
        Exit codes: 0 no errors; 1 errors, with --strict also warnings; 2 usage; 65 a release, its lint.yml or the manifest cannot be \
        read; 70 the environment failed."
)]
pub struct Options {
    /// The releases: source directories, archives made by bosh, or the jobs-src of images
    #[arg(value_name = "RELEASE", default_value = ".")]
    pub(crate) releases: Vec<PathBuf>,
    /// Check the properties of a manifest too
    #[arg(long, short, env = "BOSH_MANIFEST_PATH", value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// Exit with 1 for warnings too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show findings of this severity and above
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = Shown::Warning)]
    pub(crate) severity: Shown,
    /// Report what this stemcell no longer has
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) stemcell: Option<StemcellLine>,
    /// Do not run templates; skip the rules that need rendered files
    #[arg(long)]
    pub(crate) no_render: bool,
    /// List all rules with their severities, and check nothing
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) rendering: RenderingOptions,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Forms of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line for each finding, and one with their number
    Human,
    /// An array of objects
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

/// Severities to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// Everything
    Note,
    /// Warnings and errors
    Warning,
    /// Errors
    Error,
}
