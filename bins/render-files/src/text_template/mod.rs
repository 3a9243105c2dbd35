//! Renders Go templates by themselves: one, or many of a batch.

mod batch;
mod data;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use go_template::{Bounds, Delimiters, Error, MissingKey, Options as ExecuteOptions, Stage, Template, Value};
use problem::{Place, Problem, Result};
use serde::Deserialize;
use startup::{Common, parse_duration, parse_size};

pub use batch::answer_all;
pub use data::{DataType, NumberTypes};
use dialect_nstance::{REDACTED, json::lossy};

/// One line for `--help`.
pub const ABOUT: &str = "Renders Go templates with JSON data";

/// What `text-template` is told.
#[derive(Debug, Args)]
#[command(
    long_about = "Renders a Go template (text/template of Go 1.26) with JSON data and writes the result to stdout; nothing \
        is written if it fails.\n\n\
        With --batch it reads a JSON object from each line of stdin and answers each with one on stdout:\n\
        \x20\x20{\"id\", \"name\", \"template\" or \"template_base64\", \"data\", \"data_type\", \"missingkey\", \"numbers\"}\n\
        \x20\x20{\"id\", \"output\" or \"output_base64\" or \"error\": {\"stage\", \"line\", \"column\", \"text\"}}",
    after_long_help = "Exit codes: 0 done, in a batch whatever the templates do; 2 usage; 65 the data is wrong; 66 the \
        template is wrong or failed; 70 a file could not be read."
)]
pub struct Options {
    /// The file of the template; - is stdin
    #[arg(long, value_name = "FILE", required_unless_present_any = ["expression", "batch"], conflicts_with_all = ["expression", "batch"])]
    pub template: Option<PathBuf>,
    /// The template itself
    #[arg(long, value_name = "TEXT", conflicts_with = "batch")]
    pub expression: Option<String>,
    /// Answer requests from stdin, one on each line
    #[arg(long, conflicts_with_all = ["data", "name"])]
    pub batch: bool,
    /// The file of the data, JSON; without it there is none
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The template's name in messages (default: the file's name, else main)
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What a map does for a key that it does not have
    #[arg(long, value_name = "WHAT", default_value = "default")]
    pub missingkey: Missing,
    /// The Go type of the data
    #[arg(long, value_name = "TYPE", default_value = "any")]
    pub data_type: DataType,
    /// The Go types of numbers
    #[arg(long, value_name = "TYPES", default_value = "exact")]
    pub numbers: NumberTypes,
    /// The marks around actions; an empty one is Go's own
    #[arg(long, num_args = 2, value_names = ["LEFT", "RIGHT"])]
    pub delims: Vec<String>,
    /// Show data that a message of Go quotes; without it, it is <redacted>
    #[arg(long)]
    pub show_values: bool,
    /// How long a template may take: 500ms, 45s, 5m; 0 is no limit
    #[arg(long, env = "TEMPLATE_TIMEOUT", value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub template_timeout: Duration,
    /// The largest output of a template, in bytes; K, M or G multiply by 1,024
    #[arg(long, env = "OUTPUT_LIMIT", value_name = "SIZE", default_value = "16M", value_parser = parse_size)]
    pub output_limit: u64,
}

/// What a map does for a key that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// There is no value; written, it is <no value>
    #[default]
    Default,
    /// The same
    Invalid,
    /// The zero value of the type of the map's elements
    Zero,
    /// An error
    Error,
}

/// How templates are rendered.
#[derive(Debug, Clone)]
pub struct Renderer {
    /// What a map does for a key that it does not have.
    pub missingkey: Missing,
    /// The type of the data.
    pub data_type: DataType,
    /// The types of its numbers.
    pub numbers: NumberTypes,
    /// The marks around actions.
    pub delimiters: Delimiters,
    /// May messages quote data?
    pub show_values: bool,
    /// How long a template may take; zero is no limit.
    pub timeout: Duration,
    /// The largest output, in bytes.
    pub output_limit: usize,
}

impl From<&Options> for Renderer {
    fn from(options: &Options) -> Self {
        let delimiter = |place: usize| options.delims.get(place).map_or("", |text| text);
        Renderer {
            missingkey: options.missingkey,
            data_type: options.data_type,
            numbers: options.numbers,
            delimiters: Delimiters::new(delimiter(0), delimiter(1)),
            show_values: options.show_values,
            timeout: options.template_timeout,
            output_limit: usize::try_from(options.output_limit).unwrap_or(usize::MAX),
        }
    }
}

impl Renderer {
    /// The data that a JSON text holds, in the type that is wanted; without a text its empty value.
    ///
    /// # Errors
    /// What is wrong with it, without any value.
    pub fn data(&self, text: Option<&[u8]>) -> std::result::Result<Value, String> {
        data::read(text, self.data_type, self.numbers.into())
    }

    /// Parses and executes a template.
    ///
    /// # Errors
    /// Go's message.
    pub fn render(&self, name: &[u8], text: &[u8], data: &Value) -> std::result::Result<Vec<u8>, Box<Error>> {
        let template = Template::parse(name, text, &self.delimiters)?;
        let start = Instant::now();
        let expired = || !self.timeout.is_zero() && start.elapsed() >= self.timeout;
        let missing_key = match self.missingkey {
            Missing::Default | Missing::Invalid => MissingKey::Invalid,
            Missing::Zero => MissingKey::Zero,
            Missing::Error => MissingKey::Error,
        };
        let bounds = Bounds { output: self.output_limit, expired: Some(&expired), ..Bounds::default() };
        template.execute(data, &ExecuteOptions { missing_key, bounds })
    }
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let renderer = Renderer::from(&options);
    let stdout = io::stdout().lock();
    if options.batch {
        let failed = |error: io::Error| Problem::internal("cannot answer requests").because(error);
        answer_all(&renderer, io::stdin().lock(), stdout).map_err(failed)?;
        return Ok(0);
    }
    write_one(&renderer, &options, stdout)?;
    Ok(0)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let read =
        if path == Path::new("-") { io::stdin().lock().read_to_end(&mut text).map(|_| text) } else { fs::read(path) };
    Ok(read.map_err(|error| Problem::internal(format!("cannot read {}", path.display())).because(error))?)
}

fn write_one(renderer: &Renderer, options: &Options, mut output: impl Write) -> Result<()> {
    let file = options.template.as_deref().filter(|path| *path != Path::new("-"));
    let text = match (&options.template, &options.expression) {
        (Some(path), _) => read(path)?,
        (None, text) => text.clone().unwrap_or_default().into_bytes(),
    };
    let data = options.data.as_deref().map(read).transpose()?;
    let data = renderer.data(data.as_deref()).map_err(|message| {
        let problem = Problem::input(format!("the data is invalid: {message}"));
        match &options.data {
            Some(path) => problem.at(Place::file(path.display().to_string())),
            None => problem,
        }
    })?;
    let name = match (&options.name, file.and_then(Path::file_name)) {
        (Some(name), _) => name.clone().into_bytes(),
        (None, Some(name)) => name.as_encoded_bytes().to_vec(),
        (None, None) => b"main".to_vec(),
    };
    let rendered = renderer.render(&name, &text, &data).map_err(|error| template_problem(renderer, file, &error))?;
    output
        .write_all(&rendered)
        .and_then(|()| output.flush())
        .map_err(|error| Problem::internal("cannot write to stdout").because(error))?;
    Ok(())
}

fn template_problem(renderer: &Renderer, file: Option<&Path>, error: &Error) -> Problem {
    let text = if renderer.show_values { error.text.clone() } else { error.redacted(REDACTED) };
    let problem = Problem::template(lossy(&text));
    let problem = match file {
        Some(file) => problem.at(Place::line(file.display().to_string(), error.line)),
        None => problem,
    };
    match error.stage {
        Stage::Limit => problem.hint("TEMPLATE_TIMEOUT and OUTPUT_LIMIT set how much a template may use"),
        _ => problem,
    }
}
