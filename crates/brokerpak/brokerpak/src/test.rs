//! `test`: the examples of a pak, run with terraform.

use std::path::PathBuf;

use brokerpak_model::definition::{Definition, Example};
use brokerpak_model::pak::Service;
use brokerpak_model::schema;
use clap::Args;
use problem::{IoContext, Place, Problem, Problems, Result};
use serde_json::{Map, Value as Json, json};
use terraform_runner::Interruption;

use crate::machine::Machine;
use crate::output::print;
use crate::run::Terraform;
use crate::runs::{Outcome, Runs, Store};
use crate::signals;

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Run the examples of a pak with terraform, from provision to deprovision";

/// The arguments of `test`.
#[derive(Debug, Args)]
#[command(
    long_about = "Run each example of a pak with terraform: provision, bind, unbind, deprovision. Outputs are checked against \
        their types and constraints. What an example has made is deleted, whatever failed; where that fails, too, the state \
        directory is kept and named.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak test my-pak-1.0.0.brokerpak\n\
        \x20\x20brokerpak test my-pak --terraform /usr/bin/tofu --example 'My example'\n\n\
        Exit codes: 0 all examples succeeded; 2 usage; 65 the pak, an example or the configuration is wrong; 66 an \
        expression or terraform failed, or an output is wrong; 70 the environment failed."
)]
pub(crate) struct Options {
    /// The pak: a .brokerpak, or a directory with manifest.yml
    #[arg(value_name = "PAK")]
    pak: PathBuf,
    /// Only the examples of this service
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only the example of this name
    #[arg(long, value_name = "NAME")]
    example: Option<String>,
    #[command(flatten)]
    terraform: Terraform,
}

/// Runs an operation of an example with parameters.
type Operate<'o> = dyn Fn(&str, &Map<String, Json>) -> Result<Outcome> + 'o;

/// What an example has shown.
#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    /// Whether something may be left.
    is_dirty: bool,
}

/// Runs `test`; gives the exit code.
///
/// # Errors
/// Everything that failed.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let interruption = Interruption::default();
    let temporary = std::env::temp_dir();
    let state =
        tempfile::Builder::new().prefix("brokerpak-test-").tempdir_in(&temporary).io("write into", &temporary)?;
    let runs = options.terraform.runs(&options.pak, Store::new(state.path().to_path_buf()), &interruption)?;
    signals::interrupt(&interruption)?;
    let mut problems = Vec::new();
    let (mut count, mut is_dirty) = (0, false);
    for service in &runs.pak.services {
        let definition = &service.definition;
        let is_wanted = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
        if !is_wanted(&options.service, &definition.name.value) {
            continue;
        }
        for example in definition.examples.iter().filter(|example| is_wanted(&options.example, &example.name)) {
            count += 1;
            let findings = self::example(&runs, service, example);
            let result = if findings.problems.is_empty() { "ok" } else { "FAILED" };
            print(&format!("{}: {}: {result}\n", definition.name.value, example.name))?;
            is_dirty |= findings.is_dirty;
            problems.extend(findings.problems);
        }
    }
    if is_dirty {
        let kept = state.keep();
        let message = format!("not everything was deleted; the state directory is kept: {}", kept.display());
        problems.push(Problem::template(message));
    }
    if count == 0 {
        problems.push(Problem::input("there is no such example"));
    }
    Problems::check(problems)?;
    Ok(0)
}

/// Runs an example.
fn example(runs: &Runs, service: &Service, example: &Example) -> Findings {
    let mut findings = Findings::default();
    let definition = &service.definition;
    let id = match brokerpak_model::configuration::Machine::random(&mut Machine, 8) {
        Ok(bytes) => bytes.iter().fold(String::from("test-"), |id, byte| format!("{id}{byte:02x}")),
        Err(why) => {
            findings.problems.push(Problem::internal(why));
            return findings;
        }
    };
    let operate = |operation: &str, parameters: &Map<String, Json>| {
        let mut document = json!({
            "operation": operation,
            "service": definition.id.value,
            "plan": example.plan_id.value,
            "instance_id": id,
            "parameters": parameters,
            "context": { "instance_name": example.name },
        });
        if operation.ends_with("bind") {
            document["binding_id"] = format!("{id}-binding").into();
        }
        runs.operate(document.as_object().cloned().unwrap_or_default(), None, &definition.file, &|| ())
    };
    let outputs = &definition.provision.outputs;
    if let Some(outcome) =
        findings.take(operate("provision", &example.provision_params), "provision", definition, example)
    {
        findings.check(schema::check(outputs, &outcome.state.outputs), "provision", definition, example);
        if definition.has_actions[1] {
            bind(&mut findings, &operate, definition, example);
        }
    }
    let none = Map::new();
    if findings.take(operate("deprovision", &none), "deprovision", definition, example).is_none() {
        findings.is_dirty = true;
    }
    findings
}

fn bind(findings: &mut Findings, operate: &Operate<'_>, definition: &Definition, example: &Example) {
    let bound = operate("bind", &example.bind_params);
    let has_failed = bound.as_ref().map_or(true, |outcome| outcome.failure.is_some());
    if has_failed && example.bind_can_fail {
        tracing::warn!("{}: {}: bind failed, which it may", definition.name.value, example.name);
    } else if let Some(outcome) = findings.take(bound, "bind", definition, example) {
        let outputs = [definition.provision.outputs.as_slice(), &definition.bind.outputs].concat();
        let outputs: Vec<_> = outputs.into_iter().filter(|output| output.field_name.value != "status").collect();
        let credentials = outcome.credentials.unwrap_or_default();
        findings.check(schema::check(&outputs, &credentials), "bind", definition, example);
    }
    findings.take(operate("unbind", &Map::new()), "unbind", definition, example);
}

impl Findings {
    /// The outcome of a success; a failure is noted.
    fn take(
        &mut self,
        result: Result<Outcome>,
        step: &str,
        definition: &Definition,
        example: &Example,
    ) -> Option<Outcome> {
        let problems = match result {
            Ok(Outcome { failure: None, .. }) => return result.ok(),
            Ok(Outcome { failure: Some(problem), .. }) => vec![problem],
            Err(problems) => problems.into_vec(),
        };
        for mut problem in problems {
            problem.message = format!("{}: {}: {step}: {}", definition.name.value, example.name, problem.message);
            self.problems.push(problem);
        }
        None
    }

    /// Notes what is wrong with outputs.
    fn check(&mut self, errors: Vec<String>, step: &str, definition: &Definition, example: &Example) {
        for error in errors {
            let message = format!("{}: {}: {step}: output {error}", definition.name.value, example.name);
            self.problems.push(Problem::template(message).at(Place::file(&definition.file)));
        }
    }
}
