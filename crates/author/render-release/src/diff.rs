//! `boson diff`: what differs between two versions of a deployment.

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use deployment_diff::text::{self, Style};
use deployment_diff::{Diff, Mask, Supplement, markdown};
use job_templates::RenderingOptions;
use manifest_inputs::{Configs, Inputs};
use problem::{IoContext, Problem, Result};
use startup::{Common, write_stdout};

use crate::options::{Addresses, DeploymentName};
use crate::version::{Loader, Side, with_loader};

/// The command line of `diff`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show what differs between two versions of a deployment: which instances are new, replaced or removed, and why; \
        properties, links, releases, stemcells and disks; and the lines of rendered files, as a patch. Starts and changes nothing.\n\n\
        OLD and NEW are deployment manifests, or directories that `plan --output-dir` wrote. Releases, ops files and \
        variables hold for both manifests; the flags that begin with --old- and --new- are for one of them. Of directories \
        the lines are shown as far as the releases are given.\n\n\
        Secrets are masked: the values of variables, private keys, passwords in URLs, and the values of properties with names \
        such as password, secret, token or key. Generated variables have the same values in both manifests.\n\n\
        Templates are code: they run with your permissions.",
    after_long_help = "Examples:\n\
        \x20\x20boson diff old.yml new.yml -r ./nats-release\n\
        \x20\x20boson diff nats.yml nats.yml --new-ops-file scale.yml -r ./nats-release\n\
        \x20\x20boson diff nats.yml nats.yml --old-release nats-1.tgz --new-release nats-2.tgz\n\
        \x20\x20boson diff plan-before plan-after --format json\n\n\
        Exit codes: 0 nothing differs; 1 something differs; 2 usage; 65 a manifest or a release is wrong; 66 a template \
        failed; 70 the environment failed."
)]
pub struct Options {
    /// The old version: a manifest, or a directory that `plan --output-dir` wrote
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The new version, likewise
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// A release of both versions: its source directory, an archive made by bosh, or the jobs-src of its image; once for each
    #[arg(long = "release", short, env = "BOSON_RELEASE", value_name = "[NAME=]PATH")]
    releases: Vec<String>,
    /// A release of the old version
    #[arg(long = "old-release", value_name = "[NAME=]PATH")]
    old_releases: Vec<String>,
    /// A release of the new version
    #[arg(long = "new-release", value_name = "[NAME=]PATH")]
    new_releases: Vec<String>,
    /// Apply the operations of a file to the old manifest, after those of --ops-file
    #[arg(long = "old-ops-file", value_name = "FILE")]
    old_ops_files: Vec<PathBuf>,
    /// Apply the operations of a file to the new manifest, after those of --ops-file
    #[arg(long = "new-ops-file", value_name = "FILE")]
    new_ops_files: Vec<PathBuf>,
    /// Load variables of the old manifest from a YAML file
    #[arg(long = "old-vars-file", value_name = "FILE")]
    old_vars_files: Vec<PathBuf>,
    /// Load variables of the new manifest from a YAML file
    #[arg(long = "new-vars-file", value_name = "FILE")]
    new_vars_files: Vec<PathBuf>,
    #[command(flatten)]
    deployment: DeploymentName,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    addresses: Addresses,
    #[command(flatten)]
    rendering: RenderingOptions,
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    configs: Configs,
    /// What the documents of `plan` do not have, from the verb that calls this one
    #[arg(long, hide = true)]
    supplement: Option<PathBuf>,
}

/// How differences are shown.
#[derive(Debug, Clone, Args)]
pub struct OutputOptions {
    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Use colours, for the verb that calls this one and knows the terminal
    #[arg(long, hide = true)]
    colored: bool,
    /// Show secrets
    #[arg(long)]
    no_redact: bool,
}

/// The form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// Markdown, for comments and reports
    Markdown,
    /// One JSON object: `deployment` and `groups` with `changes`, `instances` and `files`
    Json,
}

/// One line for `--help`.
pub const ABOUT: &str = "Show what differs between two versions";

/// The exit code if something differs, as that of `diff`.
pub const DIFFERS: u8 = 1;

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    if options.old.as_os_str() == "-" && options.new.as_os_str() == "-" {
        return Err(Problem::usage("only one of OLD and NEW can be standard input").into());
    }
    let diff =
        with_loader(&options.rendering, &options.deployment, &options.addresses, |loader| options.compare(loader))?;
    options.output.print(&diff)?;
    Ok(if diff.is_empty() { 0 } else { DIFFERS })
}

impl Options {
    fn compare(&self, loader: &Loader) -> Result<Diff> {
        let common = release::release_arguments(&self.releases);
        let both = |own: &[String]| [common.as_slice(), own].concat();
        let inputs = |ops_files: &[PathBuf], vars_files: &[PathBuf]| {
            let mut inputs = self.inputs.clone();
            inputs.ops_files.extend_from_slice(ops_files);
            inputs.vars_files.extend_from_slice(vars_files);
            inputs
        };
        let old = Side {
            path: &self.old,
            releases: both(&self.old_releases),
            inputs: inputs(&self.old_ops_files, &self.old_vars_files),
            configs: &self.configs,
        };
        let new = Side {
            path: &self.new,
            releases: both(&self.new_releases),
            inputs: inputs(&self.new_ops_files, &self.new_vars_files),
            configs: &self.configs,
        };
        let mut old = loader.load(&old, None)?;
        let mut new = loader.load(&new, Some(&old))?;
        let supplement = self.supplement()?;
        old.version.programs = supplement.old_programs;
        new.version.programs = supplement.new_programs;
        loader.render(&mut old, &mut new)?;
        let mask = if self.output.no_redact {
            Mask::none()
        } else {
            let secrets = supplement.secrets.iter().map(String::as_str);
            Mask::new(&old.version, &new.version, secrets.chain(old.variables.iter()).chain(new.variables.iter()))
        };
        let mut diff = deployment_diff::compare(&old.version, &new.version, &mask, &describe_certificate);
        diff.replace_too(&supplement.replaced);
        Ok(diff)
    }

    fn supplement(&self) -> Result<Supplement> {
        let Some(path) = &self.supplement else { return Ok(Supplement::default()) };
        let text = fs::read(path).io("read", path)?;
        let invalid = |e| Problem::internal(format!("cannot read {}", path.display())).because(e);
        serde_json::from_slice(&text).map_err(|e| invalid(e).into())
    }
}

impl OutputOptions {
    /// Prints the differences.
    fn print(&self, diff: &Diff) -> Result<()> {
        let text = match self.format {
            Format::Text => {
                let is_colored = self.colored || startup::is_colored(&std::io::stdout());
                text::render(diff, if is_colored { Style::Colored } else { Style::Plain })
            }
            Format::Markdown => markdown::render(diff),
            Format::Json => {
                let json = serde_json::to_string_pretty(diff);
                json.map_err(|e| Problem::internal("cannot write the differences as JSON").because(e))? + "\n"
            }
        };
        write_stdout(|out| out.write_all(text.as_bytes()))
    }
}

/// When a certificate expires.
fn describe_certificate(pem: &str) -> Option<String> {
    variable_generator::expiry(pem).map(|expiry| format!("expires {}", expiry.date))
}
