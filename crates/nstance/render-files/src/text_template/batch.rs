//! The batch protocol: a JSON object per line in, one out, in their order.

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dialect_nstance::REDACTED;
use dialect_nstance::json::lossy;
use go_template::Error;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::data::{DataType, NumberTypes};
use super::{Missing, Renderer};

/// The longest line, in bytes.
const LONGEST_LINE: u64 = 64 << 20;

/// A line of input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    name: Option<Cow<'l, str>>,
    #[serde(borrow)]
    template: Option<Cow<'l, str>>,
    #[serde(borrow)]
    template_base64: Option<Cow<'l, str>>,
    #[serde(borrow)]
    data: Option<&'l RawValue>,
    data_type: Option<DataType>,
    missingkey: Option<Missing>,
    numbers: Option<NumberTypes>,
}

/// A line of output.
#[derive(Serialize, Default)]
struct Response<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Serialize)]
struct Failure {
    /// `parse`, `exec`, `limit`, or `request` for a line that is no request.
    stage: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    text: String,
}

impl Failure {
    fn request(text: impl Into<String>) -> Failure {
        Failure { stage: "request", line: None, column: None, text: text.into() }
    }

    fn template(error: &Error, show_values: bool) -> Failure {
        let text = if show_values { error.text.clone() } else { error.redacted(REDACTED) };
        Failure { stage: error.stage.name(), line: Some(error.line), column: error.column, text: lossy(&text) }
    }
}

/// The id of a line that is a JSON object, but not a request.
#[derive(Deserialize)]
struct Id<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
}

/// Answers each line of `input`. What templates do is part of the answers.
///
/// # Errors
/// Only those of reading and writing.
pub fn answer_all(renderer: &Renderer, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line)? > 0 {
        if line.len() as u64 > LONGEST_LINE {
            input.skip_until(b'\n')?;
            let failure = Failure::request(format!("the line has more than {LONGEST_LINE} bytes"));
            write(&Response { error: Some(failure), ..Response::default() }, &mut output)?;
        } else if !line.trim_ascii().is_empty() {
            write(&answer(renderer, &line), &mut output)?;
        }
        line.clear();
    }
    Ok(())
}

fn write(response: &Response<'_>, output: &mut impl Write) -> io::Result<()> {
    let mut text = serde_json::to_vec(response)?;
    text.push(b'\n');
    output.write_all(&text)?;
    output.flush()
}

fn answer<'l>(renderer: &Renderer, line: &'l [u8]) -> Response<'l> {
    match serde_json::from_slice::<Request<'_>>(line) {
        Ok(request) => match render(renderer, &request) {
            Ok(text) => with_output(request.id, text),
            Err(failure) => Response { id: request.id, error: Some(failure), ..Response::default() },
        },
        // serde_json's own message may quote a value.
        Err(error) => {
            let place = error.column();
            let text = format!("the line is not a request: column {place}: {}", why(error.classify()));
            let id = serde_json::from_slice::<Id<'_>>(line).ok().and_then(|line| line.id);
            Response { id, error: Some(Failure::request(text)), ..Response::default() }
        }
    }
}

fn why(category: serde_json::error::Category) -> &'static str {
    match category {
        serde_json::error::Category::Data => "a field is unknown, occurs twice or has a wrong type",
        serde_json::error::Category::Eof => "the JSON is not complete",
        _ => "it is not JSON",
    }
}

fn with_output(id: Option<&RawValue>, output: Vec<u8>) -> Response<'_> {
    match String::from_utf8(output) {
        Ok(output) => Response { id, output: Some(output), ..Response::default() },
        Err(error) => Response { id, output_base64: Some(STANDARD.encode(error.as_bytes())), ..Response::default() },
    }
}

fn render(renderer: &Renderer, request: &Request<'_>) -> Result<Vec<u8>, Failure> {
    let text: Cow<'_, [u8]> = match (&request.template, &request.template_base64) {
        (Some(text), None) => text.as_bytes().into(),
        (None, Some(text)) => match STANDARD.decode(text.as_bytes()) {
            Ok(text) => text.into(),
            Err(_) => return Err(Failure::request("template_base64 is not base64")),
        },
        _ => return Err(Failure::request("either template or template_base64 is needed")),
    };
    let renderer = Renderer {
        missingkey: request.missingkey.unwrap_or(renderer.missingkey),
        data_type: request.data_type.unwrap_or(renderer.data_type),
        numbers: request.numbers.unwrap_or(renderer.numbers),
        ..renderer.clone()
    };
    let data = request.data.map(|data| data.get().as_bytes());
    let data = renderer.data(data).map_err(|message| Failure::request(format!("data: {message}")))?;
    let name = request.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("main");
    renderer.render(name.as_bytes(), &text, &data).map_err(|error| Failure::template(&error, renderer.show_values))
}
