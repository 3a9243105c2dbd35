//! Operations on instances and bindings: terraform runs, and the state directory knows what it has made.
//!
//! `store` has the state directory, `execution` and `session` terraform in a workspace, `instance` and `binding` the operations, `import` and
//! `upgrade` two of their kinds.

mod binaries;
mod binding;
mod context;
mod execution;
mod import;
mod instance;
mod outcome;
mod record;
mod schemas;
mod session;
mod store;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use brokerpak_model::configuration::Configuration;
use brokerpak_model::pak::Pak;
use brokerpak_model::request::Operation;
use problem::{IoContext, Problem, Problems, Result};
use serde_json::{Map, Value as Json};
use terraform_runner::{Interruption, Limits};

pub(crate) use binaries::{Binaries, Override};
pub(crate) use outcome::{Outcome, credentials};
pub(crate) use record::{Phase, Record};
pub(crate) use store::Store;

/// The end of a message about a request that contradicts an earlier one.
pub(crate) const OTHERWISE: &str = "exists and was requested otherwise";

/// A pak with everything that its operations need.
pub(crate) struct Runs {
    pub(crate) pak: Pak,
    pub(crate) configuration: Configuration,
    /// The pak's own configuration: values of parameters, before the global one.
    pub(crate) pak_configuration: Map<String, Json>,
    /// The environment of the program.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) binaries: Binaries,
    pub(crate) store: Store,
    /// Where the files of workspaces are copied to, and how many have been.
    pub(crate) kept: Option<(PathBuf, Mutex<usize>)>,
    pub(crate) limits: Limits,
    pub(crate) interruption: Interruption,
}

impl Runs {
    /// Runs a request. `started` is called before each command of terraform: from then on the request counts.
    ///
    /// # Errors
    /// What is wrong with the request, the pak and the configuration; an instance in use; failures of the machine. terraform's
    /// own failure is an outcome.
    pub(crate) fn operate(
        &self,
        mut document: Map<String, Json>,
        parameters: Option<&str>,
        file: &str,
        started: &(dyn Fn() + Sync),
    ) -> Result<Outcome> {
        let text = |key: &str| document.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let (operation, id) = (Operation::named(&text("operation")), text("instance_id"));
        let Some(operation) = operation.filter(|_| !id.is_empty()) else {
            // Says what is missing.
            brokerpak_model::request::Request::read(document, parameters, &self.pak, file).map_err(all)?;
            return Err(Problem::input("the request has no operation").into());
        };
        for key in ["stored_parameters", "instance"] {
            if document.remove(key).is_some() {
                let message = format!("the request has the field {key}, which is for resolve: run has its own");
                return Err(Problem::input(message).at(problem::Place::file(file)).into());
            }
        }
        let mut instance = self.store.lock(&id)?;
        let input = context::Input { document, parameters, file, operation, started };
        match operation {
            Operation::Provision => instance::provision(self, &mut instance, input),
            Operation::Update => instance::update(self, &mut instance, input),
            Operation::Upgrade => upgrade::upgrade(self, &mut instance, input),
            Operation::Deprovision => instance::deprovision(self, &mut instance, input),
            Operation::Bind => binding::bind(self, &mut instance, input),
            Operation::Unbind => binding::unbind(self, &mut instance, input),
        }
    }

    /// The variables of terraform's environment that the pak names: required ones and parameters.
    ///
    /// # Errors
    /// Required variables that are missing.
    pub(crate) fn added_environment(&self) -> Result<BTreeMap<String, String>> {
        let manifest = &self.pak.manifest;
        let mut added = BTreeMap::new();
        let mut problems = Vec::new();
        for name in &manifest.required_env_variables {
            match self.environment.get(name) {
                Some(value) => drop(added.insert(name.clone(), value.clone())),
                None => problems.push(Problem::input(format!("missing required env var {name}"))),
            }
        }
        Problems::check(problems)?;
        let global = match self.configuration.get_exact("brokerpak.config") {
            Some(Json::String(text)) => serde_json::from_str(&text)
                .map_err(|_| Problem::input("failed unmarshaling config value brokerpak.config"))?,
            other => other.unwrap_or(Json::Null),
        };
        for (name, _) in &manifest.parameters {
            let value = self.pak_configuration.get(name).or_else(|| global.get(name)).filter(|value| !value.is_null());
            if let Some(value) = value {
                added.insert(name.clone(), execution::as_text(value));
            }
        }
        Ok(added)
    }

    /// Copies the files of a workspace where the user wants to see them.
    fn keep(&self, files: &BTreeMap<String, String>) -> Result<()> {
        let Some((directory, count)) = &self.kept else { return Ok(()) };
        let mut count = count.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *count == 0 {
            // Those of an earlier run would be taken for later phases of this one.
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let entry = entry.io("read", directory)?;
                if entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
                    fs::remove_dir_all(entry.path()).io("remove", &entry.path())?;
                }
            }
        }
        *count += 1;
        execution::copy_files(&directory.join(count.to_string()), files)
    }
}

/// Names of the variables that an environment sets for terraform.
fn variables_of(environment: &BTreeMap<String, String>) -> BTreeSet<String> {
    environment.keys().filter_map(|name| name.strip_prefix("TF_VAR_")).map(str::to_owned).collect()
}

/// All texts in a value.
fn texts(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::String(text) => found.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Json::Object(map) => map.values().for_each(|item| texts(item, found)),
        _ => {}
    }
}

/// A list of problems; an empty one is a mistake of boson.
pub(crate) fn all(problems: Vec<Problem>) -> Problems {
    match Problems::check(problems) {
        Err(problems) => problems,
        Ok(()) => Problem::internal("the request failed without an error").into(),
    }
}

fn problems_of(problem: Problem) -> Problems {
    problem.into()
}
