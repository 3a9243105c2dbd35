//! Requests as the batch protocol has them, and what answers them: this crate, or Go.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part, and a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use go_template::{
    Delimiters, Elements, Error, Field, Map, MissingKey, Numbers, Options, Struct, StructType, Template, Value,
};
use serde_json::{Map as Object, Value as Json, json};

pub(crate) fn manifest_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn string_map(json: &Json) -> Value {
    let Json::Object(entries) = json else { return Value::Map(Map::nil(Elements::String)) };
    let text = |json: &Json| Box::from(json.as_str().unwrap_or_default().as_bytes());
    Value::Map(Map::of_strings(entries.iter().map(|(key, item)| (key.as_bytes().into(), text(item)))))
}

fn nstance_struct(name: &str, fields: &[&str], json: &Json) -> Value {
    let kind = StructType::new(format!("nstance.{name}"), fields.iter().map(|field| Field::new(*field)));
    let values = fields.iter().map(|field| Value::from(json[field].as_str().unwrap_or_default())).collect();
    Value::Struct(Struct::new(kind, values).unwrap())
}

fn nstance(json: &Json) -> Value {
    let names = ["Instance", "Cluster", "Server", "Provider", "Vars", "Var", "Image", "Nonce"];
    let kind: Arc<StructType> = StructType::new("nstance.Data", names.map(Field::new));
    let part = |name: &str, fields: &[&str]| nstance_struct(name, fields, &json[name]);
    let values = vec![
        part("Instance", &["ID", "Kind", "Arch", "Type", "Hostname", "FQDN", "IP4", "IP6"]),
        part("Cluster", &["ID", "Slug", "FQDN", "CACert"]),
        part("Server", &["Shard", "RegistrationAddr", "OperatorAddr", "AgentAddr"]),
        part("Provider", &["Kind", "Region", "Zone"]),
        string_map(&json["Vars"]),
        string_map(&json["Var"]),
        string_map(&json["Image"]),
        Value::from(json["Nonce"].as_str().unwrap_or_default()),
    ];
    Value::Struct(Struct::new(kind, values).unwrap())
}

pub(crate) fn data(request: &Json) -> Value {
    match request["data_type"].as_str() {
        Some("map[string]string") => string_map(&request["data"]),
        Some("nstance") => nstance(&request["data"]),
        _ => {
            let numbers = if request["numbers"] == "float64" { Numbers::Float64 } else { Numbers::Exact };
            Value::from_json(request["data"].to_string().as_bytes(), numbers).unwrap()
        }
    }
}

pub(crate) fn parse(request: &Json) -> Result<Template, Box<Error>> {
    let text = match request["template_base64"].as_str() {
        Some(encoded) => from_base64(encoded),
        None => request["template"].as_str().unwrap_or_default().as_bytes().to_vec(),
    };
    let delims = &request["delims"];
    let delimiters = Delimiters::new(delims[0].as_str().unwrap_or_default(), delims[1].as_str().unwrap_or_default());
    Template::parse(request["name"].as_str().unwrap_or("main"), text, &delimiters)
}

pub(crate) fn options(request: &Json) -> Options<'static> {
    let missing_key = match request["missingkey"].as_str() {
        Some("zero") => MissingKey::Zero,
        Some("error") => MissingKey::Error,
        _ => MissingKey::Invalid,
    };
    Options { missing_key, ..Options::default() }
}

/// What this crate answers: `output`, `output_base64` or `error`, without the request's id.
pub(crate) fn answer(request: &Json) -> Json {
    let rendered = parse(request).and_then(|template| template.execute(&data(request), &options(request)));
    match rendered {
        Ok(output) => match String::from_utf8(output) {
            Ok(output) => json!({ "output": output }),
            Err(error) => json!({ "output_base64": to_base64(error.as_bytes()) }),
        },
        Err(error) => {
            let mut shown = Object::new();
            shown.insert("stage".into(), error.stage.name().into());
            shown.insert("line".into(), error.line.into());
            if let Some(column) = error.column {
                shown.insert("column".into(), column.into());
            }
            // Go's JSON has one replacement character for each invalid byte.
            let text: String = error
                .text
                .utf8_chunks()
                .fold(String::new(), |text, chunk| text + chunk.valid() + &"\u{FFFD}".repeat(chunk.invalid().len()));
            shown.insert("text".into(), text.into());
            if std::str::from_utf8(&error.text).is_err() {
                shown.insert("text_base64".into(), to_base64(&error.text).into());
            }
            json!({ "error": shown })
        }
    }
}

/// A name with a `%` garbles Go's message, so that it shows no place that could be read.
pub(crate) fn without_place(mut answer: Json) -> Json {
    if let Some(error) = answer.get_mut("error").and_then(Json::as_object_mut) {
        error.remove("line");
        error.remove("column");
    }
    answer
}

/// Go's program, built where builds go.
pub(crate) struct Go {
    program: PathBuf,
}

impl Go {
    pub(crate) fn build() -> Go {
        let directory = manifest_dir().join("tests/go");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-template-oracle");
        let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(".").current_dir(directory).status();
        assert!(built.expect("Go 1.26 is needed").success(), "the Go program does not compile");
        Go { program }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// What Go answers to these requests, ids left out.
    pub(crate) fn answers(&self, requests: &[Json]) -> Vec<Json> {
        let mut child = Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let lines: String = requests.iter().map(|request| request.to_string() + "\n").collect();
        let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let read = BufReader::new(child.stdout.take().unwrap()).lines();
        let answers: Vec<Json> = read.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        writer.join().unwrap().unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(answers.len(), requests.len());
        answers
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().chain(&[0; 2]).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for place in 0..4 {
            let sign = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(sign) });
        }
    }
    text
}

pub(crate) fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = chunk
            .iter()
            .fold(0u32, |bits, sign| bits << 6 | ALPHABET.iter().position(|known| known == sign).unwrap() as u32);
        let bits = bits << (6 * (4 - chunk.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    bytes
}
