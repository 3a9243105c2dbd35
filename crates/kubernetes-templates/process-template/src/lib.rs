//! Processes Kubernetes Templates: the verbs `process-template` and `generate-parameters`.

mod ask;
mod check_command;
pub mod generate_parameters;
mod notify;
mod options;
mod output;
mod parameter_table;
mod watch;

use dialect_kubernetes_templates::{Format, Outcome, Processed, Syntax, files, process, write};
use problem::{Problem, Problems, Result};
use startup::Common;
use template_flags::{Generator, Inputs, syntax_of, warn};

use crate::options::Form;
pub use crate::options::Options;
use crate::output::{Content, Output};

/// The verb's line in `--help`.
pub const ABOUT: &str = "Process a Kubernetes Template: objects with parameters";

/// Runs the verb and returns its exit code.
///
/// # Errors
/// Usage, the template, the values, and I/O.
pub fn run(mut options: Options, common: &Common) -> Result<u8> {
    options.check()?;
    options.take_assignments()?;
    if options.parameters {
        let document = template_flags::template(&options.template)?;
        let table = parameter_table::table(&document.parameters(syntax_of(options.flags.syntax, &document)?)?);
        Output::Stdout.write(&Content::Text(table))?;
        return Ok(0);
    }
    if options.describe {
        let document = template_flags::template(&options.template)?;
        let syntax = syntax_of(options.flags.syntax, &document)?;
        let schema = write(&document.schema(syntax)?, options.format.map_or(Format::Json, Into::into));
        options.output.as_deref().map_or(Output::Stdout, Output::File).write(&Content::Text(schema))?;
        return Ok(0);
    }
    if options.watch {
        return watch::watch(&options, common);
    }
    if let Some(content) = content(&options)? {
        if let Some(command) = &options.check_command {
            check_command::check(command, options.output(), &content, None)?;
        }
        options.output().write(&content)?;
    }
    Ok(0)
}

/// Processes the template once; `None` if it is only checked. Warnings are printed, together with problems.
fn content(options: &Options) -> Result<Option<Content>> {
    let found = template_flags::template(&options.template)
        .and_then(|document| Ok((syntax_of(options.flags.syntax, &document)?, document)));
    let message_syntax = found.as_ref().map_or(Syntax::Kubernetes, |(syntax, _)| *syntax);
    let Inputs { labels, mut given, mut problems } = options.flags.inputs(message_syntax)?;
    let has_all_values = problems.is_empty();
    let (syntax, document) = match found {
        Ok(found) => found,
        Err(error) => {
            problems.extend(error.into_vec());
            return Err(check(problems));
        }
    };
    // Declarations that are wrong are reported with everything else.
    if let (true, Ok(parameters)) = (options.ask && has_all_values, document.parameters(syntax)) {
        ask::missing(&parameters, syntax, &mut given)?;
    }
    let processing = options.processing(syntax, labels);
    let generator = Generator::default();
    let Outcome { result, warnings } = process(document, &given, &processing, &|bytes| generator.fill(bytes));
    warn(&warnings);
    let processed = result.map_err(|error| problems.extend(error.into_vec()));
    let (Ok(processed), true) = (processed, has_all_values) else { return Err(check(problems)) };
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
        (Form::List, None) => {
            let list = processed.into_list();
            let text = write(&list, format);
            if !options.watch {
                // The process ends soon. Dropping thousands of objects would take as long as writing them.
                std::mem::forget(list);
            }
            Ok(Content::Text(text))
        }
        (Form::Template, None) => Ok(Content::Text(write(&processed.into_template(), format))),
    }
}
