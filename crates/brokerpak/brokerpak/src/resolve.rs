//! `resolve`.

use std::path::PathBuf;

use brokerpak_model::report::Report;
use brokerpak_model::request::Request;
use brokerpak_model::resolve::{Resolved, resolve};
use clap::Args;
use problem::{Problems, Result};
use serde_json::json;

use crate::documents;
use crate::machine::Machine;
use crate::output::print;
use crate::paks::{self, Source};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Print what a request resolves to";

/// The arguments of `resolve`.
#[derive(Debug, Args)]
#[command(
    long_about = "Print the variables that a request resolves to, as JSON: `variables` has all of them, `terraform` those that \
        the template has. They are combined in the order of the specification: the operator's defaults, parameters, \
        overrides of the plan, defaults of inputs, properties of the plan, computed inputs.\n\n\
        The request is a JSON object: operation, service and plan (name or id), instance_id, binding_id, app_guid, \
        parameters, context, organization_guid, space_guid, originating_identity, previous_values; and what earlier requests \
        left: stored_parameters, instance {name, outputs}.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak resolve my-pak --request request.json\n\
        \x20\x20brokerpak resolve my-pak --request request.json --parameters '{\"size\": 3}'\n\n\
        Exit codes: 0 done; 2 usage; 65 the pak, the request or the configuration is wrong; 66 an expression failed; 70 a \
        file could not be read."
)]
pub(crate) struct Options {
    /// The pak: a .brokerpak, or a directory with manifest.yml
    #[arg(value_name = "PAK")]
    pak: PathBuf,
    /// The request, JSON; - is stdin
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The user's parameters as JSON, instead of the request's
    #[arg(long, value_name = "TEXT")]
    parameters: Option<String>,
    /// The operator's configuration, YAML or JSON; variables GSB_A_B have precedence over its keys a.b
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs `resolve`; gives the exit code.
///
/// # Errors
/// All that is wrong with the pak, the request and the values.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let mut report = Report::default();
    let (mut pak, _) = Source::directory(options.pak.clone()).read(&mut report)?;
    let configuration = paks::configuration(options.config.as_deref(), &pak)?;
    pak.add_plans(&configuration, &mut report);
    paks::checked(&report)?;
    let document = documents::json_object(&options.request)?;
    let file = options.request.display().to_string();
    let all = |problems| match Problems::check(problems) {
        Err(problems) => problems,
        Ok(()) => problem::Problem::internal("the request failed without an error").into(),
    };
    let request = Request::read(document, options.parameters.as_deref(), &pak, &file).map_err(all)?;
    let Resolved { variables, terraform } = resolve(&request, &configuration, &mut Machine).map_err(all)?;
    print(&format!("{:#}\n", json!({ "variables": variables, "terraform": terraform })))?;
    Ok(0)
}
