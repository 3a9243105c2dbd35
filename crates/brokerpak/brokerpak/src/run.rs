//! `run`.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use brokerpak_model::report::Report;
use clap::Args;
use problem::{Problem, Result};
use serde_json::{Map, Value as Json};
use terraform_runner::{Interruption, Limits};
use vcap::atomic::write_file;

use crate::machine::environment;
use crate::paks::{self, Source};
use crate::runs::{Binaries, Override, Runs, Store};
use crate::{documents, signals};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Run an operation on an instance or a binding with terraform";

/// The arguments of `run`.
#[derive(Debug, Args)]
#[command(
    // With the executable's name it would be wider than a terminal.
    override_usage = "brokerpak run [OPTIONS] --request <FILE> --output <FILE>\n\x20      <OPERATION> <PAK>",
    long_about = "Run an operation with terraform: provision, update, upgrade, deprovision, bind or unbind. The request is the \
        document that `resolve` takes. What terraform has made is known to the state directory, which has a directory for each \
        instance; one run at a time uses an instance.\n\n\
        The result is a JSON object: operation, result (ok or error), message, errors, and of the state afterwards outputs, \
        resources and tainted; for bind also credentials. It is also written when terraform failed. The same request again \
        is answered with the same result; a provision or bind that failed or was killed continues.\n\n\
        terraform and the providers come from the pak. They get PATH, locale, proxies and certificates of the environment, the \
        variables that the manifest requires, and its parameters. TERM and INT interrupt terraform, which finishes what \
        it has begun; a second signal kills it.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak run provision my-pak-1.0.0.brokerpak --request request.json --output result.json\n\
        \x20\x20brokerpak run bind my-pak --request bind.json --output result.json --terraform /usr/bin/tofu\n\n\
        Exit codes: 0 done; 2 usage; 65 the pak, the request or the configuration is wrong; 66 an expression or terraform \
        failed; 70 another run uses the instance, its state cannot be read, terraform cannot be started."
)]
pub(crate) struct Options {
    /// provision, update, upgrade, deprovision, bind or unbind
    #[arg(value_name = "OPERATION", value_parser = ["provision", "update", "upgrade", "deprovision", "bind", "unbind"])]
    operation: String,
    /// The pak: a .brokerpak, or a directory with manifest.yml
    #[arg(value_name = "PAK")]
    pak: PathBuf,
    /// The request, JSON; - is stdin
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The file for the result, JSON; it has secrets and gets mode 0600
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// The user's parameters as JSON, instead of the request's
    #[arg(long, value_name = "TEXT")]
    parameters: Option<String>,
    /// Copy the files of each run of terraform, without state, to DIR/1, DIR/2, ...; directories of such names are removed
    #[arg(long, value_name = "DIR")]
    keep_workspace: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// The arguments of everything that runs terraform.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// The directory of what is known of instances [default: $XDG_STATE_HOME/boson/brokerpak, else ~/.local/state/boson/brokerpak]
    #[arg(long, env = "BROKERPAK_STATE_DIR", value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) terraform: Terraform,
}

/// The arguments about terraform.
#[derive(Debug, Clone, Args)]
pub(crate) struct Terraform {
    /// An executable instead of the pak's, for the default version or another one of the manifest
    #[arg(long, value_name = "[VERSION=]FILE", value_parser = parse_override)]
    terraform: Vec<Override>,
    /// The operator's configuration, YAML or JSON; variables GSB_A_B have precedence over its keys a.b
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Values of the manifest's parameters, YAML or JSON; they have precedence over GSB_BROKERPAK_CONFIG
    #[arg(long, value_name = "FILE")]
    pak_config: Option<PathBuf>,
    /// The longest time of one command of terraform, after which it is interrupted; 0: no limit
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = startup::parse_duration)]
    timeout: Duration,
    /// The time from the interruption of terraform to its end by force
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = startup::parse_duration)]
    grace: Duration,
}

fn parse_override(text: &str) -> std::result::Result<Override, std::convert::Infallible> {
    text.parse()
}

impl Common {
    /// The state directory.
    ///
    /// # Errors
    /// An environment that does not say where it is.
    pub(crate) fn store(&self) -> Result<Store> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let default = || {
            let base = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
            base.map(|base| base.join("boson/brokerpak"))
        };
        let root = self.state_dir.clone().or_else(default);
        let root = root.ok_or_else(|| Problem::usage("the state directory is unknown").hint("--state-dir names it"))?;
        Ok(Store::new(
            std::path::absolute(&root)
                .map_err(|error| Problem::internal("the working directory is unknown").because(error))?,
        ))
    }
}

impl Terraform {
    /// A pak that is ready to run.
    ///
    /// # Errors
    /// All errors of the pak and of the configuration.
    pub(crate) fn runs(&self, path: &std::path::Path, store: Store, interruption: &Interruption) -> Result<Runs> {
        let mut report = Report::default();
        let (mut pak, _) = Source::directory(path.to_path_buf()).read(&mut report)?;
        let configuration = paks::configuration(self.config.as_deref(), &pak)?;
        pak.add_plans(&configuration, &mut report);
        paks::checked(&report)?;
        let pak_configuration = match &self.pak_config {
            None => Map::new(),
            Some(file) => match paks::document(file, "the pak's configuration")? {
                Json::Object(map) => map,
                _ => Map::new(),
            },
        };
        let binaries = Binaries::open(path, &pak.manifest, &store, &self.terraform)?;
        Ok(Runs {
            pak,
            configuration,
            pak_configuration,
            environment: environment(),
            binaries,
            store,
            kept: None,
            limits: Limits { timeout: Some(self.timeout).filter(|time| !time.is_zero()), grace: self.grace },
            interruption: interruption.clone(),
        })
    }
}

/// Runs `run`; gives the exit code.
///
/// # Errors
/// All that is wrong with the pak and the request; terraform's failure; failures of the machine.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let interruption = Interruption::default();
    let mut runs = options.common.terraform.runs(&options.pak, options.common.store()?, &interruption)?;
    runs.kept = options.keep_workspace.clone().map(|directory| (directory, Mutex::new(0)));
    let mut document = documents::json_object(&options.request)?;
    let file = options.request.display().to_string();
    let operation = options.operation.as_str();
    match document.get("operation") {
        None | Some(Json::Null) => drop(document.insert("operation".to_owned(), operation.into())),
        Some(given) if given == operation => {}
        Some(_) => {
            let message = format!("the request is not for {operation}");
            return Err(Problem::input(message).at(problem::Place::file(file)).into());
        }
    }
    signals::interrupt(&interruption)?;
    let outcome = runs.operate(document, options.parameters.as_deref(), &file, &|| ())?;
    let text = format!("{:#}\n", outcome.to_json());
    write_file(&options.output, text.as_bytes(), 0o600)?;
    match outcome.failure {
        Some(problem) => Err(problem.into()),
        None => Ok(0),
    }
}
