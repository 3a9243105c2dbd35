//! What an operation did, as the document that `--output` names.

use brokerpak_model::request::Operation;
use brokerpak_model::state::State;
use problem::{Problem, Result};
use serde_json::{Map, Value as Json, json};

use super::record::{Phase, Record};
use super::session::Finished;
use super::store::Unit;

/// The output that is the message of an operation.
const STATUS: &str = "status";

/// What an operation did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) operation: Operation,
    /// Why it failed.
    pub(crate) failure: Option<Problem>,
    pub(crate) message: String,
    /// The state afterwards.
    pub(crate) state: State,
    pub(crate) credentials: Option<Map<String, Json>>,
    /// Whether nothing had to be done: the request was an earlier one, or what it deletes does not exist.
    pub(crate) is_repeated: bool,
}

impl Outcome {
    /// A success with the state of a unit.
    pub(crate) fn done(operation: Operation, unit: &Unit) -> Outcome {
        let state = unit.state.clone().unwrap_or_default();
        let message = status(&state);
        Outcome { operation, failure: None, message, state, credentials: None, is_repeated: false }
    }

    /// A success after which nothing is left.
    pub(crate) fn absent(operation: Operation) -> Outcome {
        let state = State::default();
        Outcome { operation, failure: None, message: String::new(), state, credentials: None, is_repeated: false }
    }

    /// The document.
    pub(crate) fn to_json(&self) -> Json {
        let mut json = json!({
            "operation": self.operation.name(),
            "result": if self.failure.is_some() { "error" } else { "ok" },
            "message": self.message,
            "errors": self.failure.as_ref().map(|problem| problem.causes.clone()).unwrap_or_default(),
            "outputs": self.state.outputs,
            "resources": self.state.addresses(),
            "tainted": self.state.tainted(),
        });
        if let Some(credentials) = &self.credentials {
            json["credentials"] = Json::Object(credentials.clone());
        }
        json
    }
}

/// The message of a state's outputs.
fn status(state: &State) -> String {
    match state.outputs.get(STATUS) {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Records the end of an operation, and gives the outcome.
///
/// # Errors
/// A record that cannot be written.
pub(crate) fn record(
    operation: Operation,
    unit: &mut Unit,
    mut record: Record,
    finished: &Finished,
) -> Result<Outcome> {
    let mut outcome = Outcome::done(operation, unit);
    outcome.failure = finished.problem();
    record.phase = Phase::Succeeded;
    if let Some(problem) = &outcome.failure {
        record.phase = Phase::Failed;
        outcome.message =
            std::iter::once(&problem.message).chain(&problem.causes).cloned().collect::<Vec<_>>().join(": ");
    } else if matches!(operation, Operation::Provision | Operation::Bind) {
        record.is_done = true;
    }
    record.message.clone_from(&outcome.message);
    record.lineage = unit.state.as_ref().map(|state| state.lineage.clone()).unwrap_or_default();
    unit.save(record)?;
    Ok(outcome)
}

/// The credentials of a binding: outputs of the instance, and those of the binding over them.
pub(crate) fn credentials(instance: Option<&State>, binding: Option<&State>) -> Map<String, Json> {
    let mut credentials = Map::new();
    for state in [instance, binding].into_iter().flatten() {
        credentials.extend(state.outputs.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    credentials.shift_remove(STATUS);
    credentials
}
