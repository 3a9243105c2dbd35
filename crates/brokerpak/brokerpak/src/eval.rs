//! `eval`: expressions by themselves, one or many of a batch.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use brokerpak_model::configuration::{Configuration, Host, variables};
use clap::Args;
use hil::{Expression, Value, is_expression};
use problem::{Place, Problem, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use crate::documents;
use crate::machine::{Machine, environment};
use crate::output::print;

/// One line for `--help`.
pub const ABOUT: &str = "Evaluate expressions of the language HIL";

/// The arguments of `eval`.
#[derive(Debug, Args)]
#[command(
    long_about = "Evaluate a text with expressions of HIL and print the result: a text as it is, a list or a map as JSON. \
        The functions env and config read the environment (GSB_A_B is config's key a.b).\n\n\
        With --batch it reads a JSON object from each line of stdin and answers each with one on stdout. Every line has a \
        counter of its own, and only the environment that it contains:\n\
        \x20\x20{\"id\", \"expression\", \"variables\", \"env\", \"config\", \"env_config_mapping\"}\n\
        \x20\x20{\"id\", \"is_expression\", \"value\" or \"error\": {\"message\", \"line\", \"column\"}}",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak eval '${1 + 2}'\n\
        \x20\x20brokerpak eval 'db-${str.truncate(8, request.instance_id)}' --variables variables.json\n\n\
        Exit codes: 0 done, in a batch whatever the expressions do; 2 usage; 65 the variables are wrong; 66 the expression \
        is wrong or failed; 70 a file could not be read."
)]
pub struct Options {
    /// The text to evaluate
    #[arg(value_name = "EXPRESSION", required_unless_present = "batch", conflicts_with = "batch")]
    expression: Option<String>,
    /// The file of the variables: a JSON object of names and values; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    variables: Option<PathBuf>,
    /// Answer requests from stdin, one on each line
    #[arg(long)]
    batch: bool,
}

/// Runs `eval`; gives the exit code.
///
/// # Errors
/// The expression is wrong or failed, or a file cannot be read.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let Some(expression) = &options.expression else {
        let failed = |error: io::Error| Problem::internal("cannot answer requests").because(error);
        answer_all(io::stdin().lock(), io::stdout().lock()).map_err(failed)?;
        return Ok(0);
    };
    let scope = options.variables.as_deref().map(documents::json_object).transpose()?.unwrap_or_default();
    let configuration = Configuration::new(Json::Null, environment(), &BTreeMap::new());
    let value =
        evaluate(expression, &variables(&scope), &configuration).map_err(|error| problem(expression, &error))?;
    match value {
        Value::Text(text) => print(&format!("{text}\n"))?,
        other => print(&format!("{}\n", hil::json_text(&other)))?,
    }
    Ok(0)
}

fn evaluate(
    text: &str,
    variables: &BTreeMap<String, Value>,
    configuration: &Configuration,
) -> std::result::Result<Value, hil::Error> {
    let mut machine = Machine;
    Expression::parse(text)?.evaluate(variables, &mut Host::new(configuration, &mut machine))
}

fn problem(text: &str, error: &hil::Error) -> Problem {
    let problem = Problem::template(error.message.clone());
    let Some(position) = error.position else { return problem };
    let excerpt = text.lines().nth(position.line as usize - 1).map(str::to_owned);
    problem.at(Place { line: Some(position.line), column: Some(position.column), excerpt, ..Place::file("EXPRESSION") })
}

/// A line of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    expression: Cow<'l, str>,
    #[serde(default)]
    variables: Option<Map<String, Json>>,
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    config: Json,
    #[serde(default)]
    env_config_mapping: Option<BTreeMap<String, String>>,
}

/// An answer.
#[derive(Serialize, Default)]
struct Response<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_expression: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Serialize, Default)]
struct Failure {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
}

/// Answers each line of `input`, and flushes each answer.
///
/// # Errors
/// Only those of reading and writing.
pub fn answer_all(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            let mut text = serde_json::to_vec(&answer(&line))?;
            text.push(b'\n');
            output.write_all(&text)?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

fn answer(line: &[u8]) -> Response<'_> {
    let request = match serde_json::from_slice::<Request<'_>>(line) {
        Ok(request) => request,
        // serde_json's own message may quote a value.
        Err(error) => {
            let message = format!("the line is not a request (column {})", error.column());
            return Response { error: Some(Failure { message, ..Failure::default() }), ..Response::default() };
        }
    };
    let mapping = request.env_config_mapping.unwrap_or_default();
    let configuration = Configuration::new(request.config, request.env.unwrap_or_default(), &mapping);
    let scope = variables(&request.variables.unwrap_or_default());
    let mut response =
        Response { id: request.id, is_expression: Some(is_expression(&request.expression)), ..Response::default() };
    match evaluate(&request.expression, &scope, &configuration) {
        Ok(value) => response.value = Some(value.to_json()),
        Err(error) => {
            let position = error.position;
            let (line, column) = (position.map(|place| place.line), position.map(|place| place.column));
            response.error = Some(Failure { message: error.message, line, column });
        }
    }
    response
}
