//! A request in the light of what is known of its instance.

use std::collections::BTreeSet;
use std::fs::File;

use brokerpak_model::pak::Template;
use brokerpak_model::remembered::{Remembered, Results};
use brokerpak_model::request::{Operation, Request};
use brokerpak_model::resolve::resolve;
use brokerpak_model::state::State;
use brokerpak_model::version::Version;
use brokerpak_model::workspace::{Parts, files};
use problem::{Place, Problem, Result};
use serde_json::{Map, Value as Json};
use terraform_runner::Masks;

use super::record::Record;
use super::session::Work;
use super::{Runs, all, texts, variables_of};
use crate::machine::Machine;

/// Fields of a request that later requests may lack.
const LASTING: [&str; 5] = ["context", "organization_guid", "space_guid", "originating_identity", "app_guid"];

/// A request as it came.
pub(crate) struct Input<'i> {
    pub(crate) document: Map<String, Json>,
    pub(crate) parameters: Option<&'i str>,
    pub(crate) file: &'i str,
    pub(crate) operation: Operation,
    /// Called before terraform starts: from then on the request counts.
    pub(crate) started: &'i (dyn Fn() + Sync),
}

/// What a request resolves to.
pub(crate) struct Resolution {
    pub(crate) variables: Map<String, Json>,
    pub(crate) results: Results,
}

impl Input<'_> {
    /// A text of the document.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.document.get(key).and_then(Json::as_str).unwrap_or_default()
    }

    /// A mistake of the request.
    pub(crate) fn refused(&self, message: String) -> Problem {
        Problem::input(message).at(Place::file(self.file))
    }

    /// Completes the document with what is known of the instance or the binding. The plan is the recorded one, except where a
    /// request may change it.
    pub(crate) fn complete(&mut self, record: &Record) {
        if self.operation != Operation::Update || self.text("plan").is_empty() {
            self.document.insert("plan".to_owned(), record.plan.clone().into());
        }
        if self.text("service").is_empty() {
            self.document.insert("service".to_owned(), record.service.clone().into());
        }
        // An update's labels come from its own context, else from its previous values.
        if self.operation != Operation::Update {
            self.complete_context(record);
        }
        self.document.insert("stored_parameters".to_owned(), record.parameters.clone().into());
    }

    /// Completes fields that do not change.
    pub(crate) fn complete_context(&mut self, record: &Record) {
        for key in LASTING {
            if let (None | Some(Json::Null), Some(value)) = (self.document.get(key), record.request.get(key)) {
                self.document.insert(key.to_owned(), value.clone());
            }
        }
    }

    /// What of the document later requests need.
    pub(crate) fn lasting(&self, before: Option<&Record>) -> Map<String, Json> {
        let mut fields = before.map(|record| record.request.clone()).unwrap_or_default();
        for key in LASTING {
            if let Some(value) = self.document.get(key).filter(|value| !value.is_null()) {
                fields.insert(key.to_owned(), value.clone());
            }
        }
        fields
    }

    /// Reads the request. Operations that take no parameters ignore them.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn request<'r>(&self, runs: &'r Runs) -> Result<Request<'r>> {
        let mut document = self.document.clone();
        let takes_parameters = matches!(self.operation, Operation::Provision | Operation::Update | Operation::Bind);
        if !takes_parameters {
            document.remove("parameters");
        }
        let parameters = self.parameters.filter(|_| takes_parameters);
        Request::read(document, parameters, &runs.pak, self.file).map_err(all)
    }
}

/// Resolves a request with the results of earlier evaluations.
///
/// # Errors
/// As [`resolve`].
pub(crate) fn resolved(runs: &Runs, request: &Request<'_>, results: Results) -> Result<Resolution> {
    let mut machine = Machine;
    let mut remembered = Remembered::new(&mut machine, results);
    let resolved = resolve(request, &runs.configuration, &mut remembered).map_err(all)?;
    Ok(Resolution { variables: resolved.variables, results: remembered.into_results() })
}

/// terraform's work for a request.
///
/// # Errors
/// Required variables that are missing.
pub(crate) fn work<'w>(
    runs: &'w Runs,
    input: &Input<'w>,
    request: &Request<'_>,
    template: &Template,
    resolution: &Resolution,
    state: Option<&State>,
    lock: &'w File,
) -> Result<Work<'w>> {
    let environment = runs.added_environment()?;
    let definition = &request.service.definition;
    let action = if request.operation.is_binding() { &definition.bind } else { &definition.provision };
    let own = action.plan_inputs.iter().chain(&action.user_inputs).map(|input| &input.field_name);
    let inputs = own.chain(action.computed_inputs.iter().map(|input| &input.name)).map(|name| name.value.clone());
    let inputs: BTreeSet<String> = inputs.chain(action.import_inputs.iter().map(|input| input.0.clone())).collect();
    let in_environment = variables_of(&environment);
    let mut secrets: Vec<String> = environment.values().cloned().collect();
    let properties = &request.plan.properties;
    for (name, value) in resolution.variables.iter().filter(|(name, value)| properties.get(*name) != Some(value)) {
        let is_default = action
            .user_inputs
            .iter()
            .any(|input| input.field_name.value == *name && input.default.as_ref() == Some(value));
        if name != "tf_id" && !is_default {
            texts(value, &mut secrets);
        }
    }
    secrets.extend(state.iter().flat_map(|state| state.secrets()));
    let masks = Masks::new(secrets.iter().map(String::as_str));
    let parts = Parts { template, values: &resolution.variables, inputs, in_environment };
    Ok(Work { runs, started: input.started, lock, files: files(&parts), environment, masks })
}

/// Refuses a state that another version of terraform has written than that of the pak.
///
/// # Errors
/// An older or a newer state.
pub(crate) fn check_version(runs: &Runs, state: Option<&State>) -> Result<()> {
    let Some(default) = runs.pak.manifest.default_terraform() else { return Ok(()) };
    let (Some(own), Some(version)) = (Version::parse(&default.version), state.and_then(|state| state.version.as_ref()))
    else {
        return Ok(());
    };
    let name = &default.name;
    let message = match version.compare(&own) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => {
            format!(
                "operation attempted with newer version of {name} than current state, upgrade the service before retrying operation"
            )
        }
        std::cmp::Ordering::Greater => {
            format!("the state was written by {name} {version}, which is newer than the pak's {own}")
        }
    };
    Err(Problem::input(message).into())
}
