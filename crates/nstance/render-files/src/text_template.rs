//! Renders Go templates by themselves: one, or many of a batch.

mod batch;
mod data;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use go_template::{Bounds, Delimiters, Error, MissingKey, Options as ExecuteOptions, Stage, Template, Value};
use problem::{Place, Problem, Problems, Result};
use serde::Deserialize;
use startup::{Common, parse_duration, parse_size};

use crate::files::{self, kept};
pub use batch::answer_all;
pub use data::{DataType, NumberTypes};
use dialect_nstance::{REDACTED, json::lossy};

const STDIN: &str = "-";
/// The largest template or data that is read from stdin, in bytes.
const LARGEST_STDIN: u64 = 16 << 20;

/// One line for `--help`.
pub const ABOUT: &str = "Render Go templates with JSON data";

/// The arguments of `text-template`.
#[derive(Debug, Args)]
#[command(
    long_about = "Render a Go template (text/template of Go 1.26) with JSON data and write the result to stdout; nothing is \
        written if it fails.\n\n\
        With --batch it reads a JSON object from each line of stdin and answers each with one on stdout:\n\
        \x20\x20{\"id\", \"name\", \"template\" or \"template_base64\", \"data\", \"data_type\", \"missingkey\", \"numbers\"}\n\
        \x20\x20{\"id\", \"output\" or \"output_base64\" or \"error\": {\"stage\", \"line\", \"column\", \"text\"}}",
    after_long_help = "Examples:\n\
        \x20\x20render-files text-template --expression '{{ .name }}' --data data.json\n\
        \x20\x20render-files text-template --template userdata.tmpl --data data.json --data-type nstance --missingkey error\n\
        \x20\x20echo '{\"template\": \"{{ . }}\", \"data\": 1}' | render-files text-template --batch\n\n\
        Exit codes: 0 done, in a batch whatever the templates do; 2 usage; 65 a file is missing or the data is wrong; 66 the \
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
    /// What a map gives for a key that it does not have
    #[arg(long, value_name = "WHAT", default_value = "default")]
    pub missingkey: Missing,
    /// The Go type of the data
    #[arg(long, value_name = "TYPE", default_value = "any")]
    pub data_type: DataType,
    /// The Go types of numbers
    #[arg(long, value_name = "TYPES", default_value = "exact")]
    pub numbers: NumberTypes,
    /// The delimiters of actions; an empty one is Go's own
    #[arg(long, num_args = 2, value_names = ["LEFT", "RIGHT"])]
    pub delims: Vec<String>,
    /// Show data that a message of Go quotes, instead of <redacted>
    #[arg(long)]
    pub show_values: bool,
    /// Time limit of each template: 500ms, 45s, 5m; 0 means no limit
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

/// Reads a file; `-` is stdin.
fn read(what: &str, path: &Path) -> Result<Vec<u8>> {
    if path != Path::new(STDIN) {
        return files::read(what, path);
    }
    let mut text = Vec::new();
    let mut stdin = io::stdin().lock().take(LARGEST_STDIN + 1);
    let unreadable = |error| Problem::internal(format!("cannot read {what} from stdin")).because(error);
    stdin.read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LARGEST_STDIN {
        return Err(Problem::input(format!("{what} from stdin has more than 16 MiB")).into());
    }
    Ok(text)
}

/// The template and its data; the problems of both are reported together.
fn inputs(renderer: &Renderer, options: &Options) -> Result<(Vec<u8>, Value)> {
    let is_stdin = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new(STDIN));
    if is_stdin(&options.template) && is_stdin(&options.data) {
        return Err(Problem::usage("--template and --data cannot both be stdin").into());
    }
    let text = match (&options.template, &options.expression) {
        (Some(path), _) => read("the template", path),
        (None, text) => Ok(text.clone().unwrap_or_default().into_bytes()),
    };
    let data = options.data.as_deref().map(|path| read("the data", path)).transpose().and_then(|data| {
        let invalid = |message| {
            let problem = Problem::input(format!("the data is invalid: {message}"));
            match &options.data {
                Some(path) => problem.at(Place::file(path.display().to_string())),
                None => problem,
            }
        };
        Ok(renderer.data(data.as_deref()).map_err(invalid)?)
    });
    let mut problems = Vec::new();
    let (text, data) = (kept(text, &mut problems), kept(data, &mut problems));
    Problems::check(problems)?;
    Ok((text.unwrap_or_default(), data.unwrap_or(Value::Nil)))
}

fn write_one(renderer: &Renderer, options: &Options, mut output: impl Write) -> Result<()> {
    let file = options.template.as_deref().filter(|path| *path != Path::new(STDIN));
    let (text, data) = inputs(renderer, options)?;
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
