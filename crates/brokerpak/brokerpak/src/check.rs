//! `validate` and `info`.

use std::path::PathBuf;

use brokerpak_model::pak::{Pak, read_definition};
use brokerpak_model::report::Report;
use brokerpak_model::{lint, pak};
use clap::Args;
use problem::{Problem, Problems, Result};
use serde_json::{Value as Json, json};
use startup::without_control;

use crate::output::print;
use crate::paks::{self, Source};

/// One line for `--help`.
pub(crate) const ABOUT_VALIDATE: &str = "Check a pak: manifest, definitions, templates, expressions";

/// One line for `--help`.
pub(crate) const ABOUT_INFO: &str = "Print what a pak contains";

/// The arguments of `validate`.
#[derive(Debug, Args)]
#[command(
    long_about = "Check a pak and print `Valid`, or all errors with files and lines. Warnings are about what the \
        specification demands and brokers accept: missing plans, examples, actions and types, properties and defaults that \
        do not fit their inputs, expressions that can never be evaluated, unknown keys.\n\n\
        Plans of the environment (GSB_SERVICE_NAME_PLANS) and of --config are checked, too.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak validate my-pak --strict\n\
        \x20\x20brokerpak validate --definition my-service.yml\n\n\
        Exit codes: 0 valid; 2 usage; 65 the pak is wrong; 70 a file could not be read."
)]
pub(crate) struct ValidateOptions {
    /// The pak: a .brokerpak, or a directory with manifest.yml
    #[arg(value_name = "PAK", required_unless_present_any = ["manifest", "definition"], conflicts_with_all = ["manifest", "definition"])]
    pak: Option<PathBuf>,
    /// A manifest instead of PAK; its references are relative to it
    #[arg(long, value_name = "FILE", conflicts_with = "definition")]
    manifest: Option<PathBuf>,
    /// A definition instead of PAK; its references are relative to it
    #[arg(long, value_name = "FILE")]
    definition: Option<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// The operator's configuration, YAML or JSON
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The arguments of `info`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\
        \x20\x20brokerpak info my-pak\n\
        \x20\x20brokerpak info my-pak --json\n\n\
        Exit codes: 0 done; 2 usage; 65 the pak is wrong; 70 a file could not be read.")]
pub(crate) struct InfoOptions {
    #[command(flatten)]
    source: Source,
    /// Print JSON: manifest, services, contents
    #[arg(long)]
    json: bool,
}

/// Runs `validate`; gives the exit code.
///
/// # Errors
/// All errors of the pak, with `--strict` its warnings, too.
pub(crate) fn validate(options: ValidateOptions) -> Result<u8> {
    let mut report = Report::default();
    if let Some(file) = &options.definition {
        let (root, name) = paks::split(file);
        let mut alone = Pak::default();
        alone.services.extend(read_definition(&Source::files(root), &name, &mut report));
        finish(alone, None, &options, report)
    } else {
        let source = match (options.pak.clone(), options.manifest.clone()) {
            (Some(pak), _) => Source::directory(pak),
            (None, manifest) => Source::of_manifest(manifest),
        };
        let (pak, manifest) = source.read(&mut report)?;
        finish(pak, Some(&manifest), &options, report)
    }
}

fn finish(mut pak: pak::Pak, manifest: Option<&str>, options: &ValidateOptions, mut report: Report) -> Result<u8> {
    let configuration = paks::configuration(options.config.as_deref(), &pak)?;
    pak.add_plans(&configuration, &mut report);
    match manifest {
        Some(manifest) => lint_all(&pak, manifest, &mut report),
        None => pak.services.iter().for_each(|service| lint::service(service, &mut report)),
    }
    let mut problems = report.problems();
    let warnings = report.warnings();
    if options.strict {
        problems.extend(warnings);
    } else {
        for warning in &warnings {
            warn(warning);
        }
    }
    Problems::check(problems)?;
    print("Valid\n")?;
    Ok(0)
}

/// Adds the warnings about a pak; `manifest` is the manifest's path.
pub(crate) fn lint_all(pak: &Pak, manifest: &str, report: &mut Report) {
    lint::manifest(&pak.manifest, manifest, report);
    for (number, service) in pak.services.iter().enumerate() {
        let mut own = Report::default();
        lint::service(service, &mut own);
        report.service(number, own);
    }
}

/// Prints a warning to stderr.
pub(crate) fn warn(problem: &Problem) {
    use std::io::Write;
    let text = problem.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // Nobody may be reading.
    let _ = writeln!(std::io::stderr(), "warning: {}", without_control(text));
}

/// Runs `info`; gives the exit code.
///
/// # Errors
/// All errors of the pak.
pub(crate) fn info(options: &InfoOptions) -> Result<u8> {
    let mut report = Report::default();
    let (pak, manifest) = options.source.read(&mut report)?;
    paks::checked(&report)?;
    let services: Vec<Json> = pak.services.iter().map(service).collect();
    if options.json {
        let all =
            json!({ "manifest": pak.manifest.to_json(), "services": services, "contents": options.source.contents()? });
        print(&format!("{all:#}\n"))?;
    } else {
        print(&text(&pak, &manifest))?;
    }
    Ok(0)
}

/// A definition with its file in the pak.
fn service(service: &pak::Service) -> Json {
    let mut json = service.definition.json.clone();
    json["file"] = service.path.as_str().into();
    json
}

fn text(pak: &Pak, file: &str) -> String {
    let manifest = &pak.manifest;
    let mut text = format!("{} {} ({file})\n", manifest.name, manifest.version);
    text.push_str(&format!("platforms: {}\n", manifest.platforms.join(", ")));
    for binary in manifest.terraform.iter().chain(&manifest.providers).chain(&manifest.other_binaries) {
        let address = binary.provider.as_deref().map(|address| format!(" ({address})")).unwrap_or_default();
        text.push_str(&format!("binary: {} {}{address}\n", binary.name, binary.version));
    }
    for (name, description) in &manifest.parameters {
        text.push_str(&format!("parameter: {name}: {description}\n"));
    }
    for service in &pak.services {
        let definition = &service.definition;
        let plans: Vec<&str> = definition.plans.iter().map(|plan| plan.name.value.as_str()).collect();
        let (name, id) = (&definition.name.value, &definition.id.value);
        text.push_str(&format!("service: {name} ({id}), plans: {}\n", plans.join(", ")));
    }
    text
}
