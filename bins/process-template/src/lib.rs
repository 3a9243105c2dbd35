//! Processes Kubernetes Templates: the verbs `process-template` and `generate-parameters`.

mod ask;
mod check_command;
pub mod generate_parameters;
mod inputs;
mod notify;
mod options;
mod output;
mod random;
mod watch;

use std::io::Write;

use dialect_kubernetes_templates::{Format, Outcome, Processed, Warning, files, process, write};
use problem::{Problem, Problems, Result, code};
use startup::Common;

use crate::options::Form;
pub use crate::options::Options;
use crate::output::{Content, Output};
use crate::random::Generator;

/// The verb's line in `--help`.
pub const ABOUT: &str = "Process a Kubernetes Template: objects with parameters";

/// Runs the verb and returns its exit code.
///
/// # Errors
/// Usage, the template, the values, and I/O.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    options.check()?;
    if options.describe {
        let document = inputs::template(&options.template)?;
        let schema = document.schema(options.syntax())?;
        Output::Stdout.write(&Content::Text(write(&schema, options.format.map_or(Format::Json, Into::into))))?;
        return Ok(0);
    }
    if options.watch {
        return watch::watch(&options, common);
    }
    if let Some(content) = content(&options)? {
        if let Some(command) = &options.check_command {
            check_command::check(command, options.output(), &content)?;
        }
        options.output().write(&content)?;
    }
    Ok(0)
}

/// Processes the template once; `None` if it is only checked. Warnings are printed, together with problems.
fn content(options: &Options) -> Result<Option<Content>> {
    // A command line that is not understood is reported alone.
    let (labels, flags) = (options.labels()?, inputs::flags(options)?);
    let mut problems = Vec::new();
    let mut collect = |error: Problems| problems.extend(error.into_vec());
    let given = inputs::given(options, flags).map_err(&mut collect);
    let document = inputs::template(&options.template).map_err(&mut collect);
    let (Ok(mut given), Ok(document)) = (given, document) else { return Err(check(problems)) };
    if options.ask {
        ask::missing(&document.parameters(options.syntax())?, &mut given)?;
    }
    let generator = Generator::default();
    let outcome = process(document, &given, &options.processing(labels), &|bytes| generator.fill(bytes));
    warn(&outcome.warnings);
    let Outcome { result, .. } = outcome;
    let processed = result?;
    generator.check()?;
    if options.check {
        return Ok(None);
    }
    formed(processed, options).map(Some)
}

/// Collected problems, of which there is at least one.
fn check(problems: Vec<Problem>) -> Problems {
    Problems::check(problems).err().unwrap_or_else(|| Problem::internal("a failure without a problem").into())
}

/// The output in the form that the flags name.
fn formed(processed: Processed, options: &Options) -> Result<Content> {
    let format = options.format.map_or(Format::Yaml, Into::into);
    let extension = if format == Format::Json { "json" } else { "yaml" };
    match (options.form, &options.output_dir) {
        (Form::Files, _) => {
            let (files, warnings) = files(&processed)?;
            warn(&warnings);
            Ok(Content::Files(files.into_iter().map(|file| (file.name, file.content)).collect()))
        }
        (Form::List, Some(_)) => {
            let objects = processed.objects().iter().enumerate();
            let file =
                objects.map(|(index, object)| (output::name(index, object, extension), write(object, format).into()));
            Ok(Content::Files(file.collect()))
        }
        (Form::Template, Some(_)) => {
            let text = write(&processed.into_template(), format);
            Ok(Content::Files(vec![(format!("template.{extension}"), text.into())]))
        }
        (Form::List, None) => Ok(Content::Text(write(&processed.into_list(), format))),
        (Form::Template, None) => Ok(Content::Text(write(&processed.into_template(), format))),
    }
}

/// Prints warnings on stderr.
fn warn(warnings: &[Warning]) {
    let text: String =
        warnings.iter().map(|warning| format!("{}\n", startup::without_control(&warning.to_string()))).collect();
    // A closed stderr does not make a run fail.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// A problem of reading an input file.
fn unreadable(what: &str, e: impl std::fmt::Display) -> Problem {
    Problem::input(format!("cannot read {what}")).code(code::INPUT_FILE).because(e)
}
