//! `kubectl boson diff`: what a run would do.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cluster::{Cluster, Connection};
use deploy::Preview;
use deployment_diff::text::{self, Style};
use deployment_diff::{Diff, markdown};
use pod_flags::ObjectFlags;
use problem::{Problem, Result};
use serde_json::json;
use startup::{Common, write_stdout};

use crate::target::Deployment;

/// One line for `--help`.
pub const ABOUT: &str = "Show which instances and objects a run would change";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Show what a run would do: which instances are replaced, new or removed, and why, and which objects are made, changed \
        or deleted. PLANNED is what `boson plan --output-dir PLANNED` has written from the new manifest; the flags are those of \
        `kubectl boson apply`. An instance that is not listed keeps its pod. Changes nothing: objects are tried by the API server (dry \
        run), for which you need the right to patch them.\n\n\
        `boson diff NOW PLANNED -r RELEASE` shows properties and lines of rendered files, where NOW is what `kubectl boson \
        documents --output NOW` has written.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson documents --output now\n\
        \x20\x20boson plan -m nats.yml -b all-releases --previous now --output-dir planned\n\
        \x20\x20kubectl boson diff planned --registry registry.example/releases\n\n\
        Exit codes: 0 nothing would change; 1 something would; 2 usage; 65 a document or an image is wrong, or an object belongs to \
        others; 70 the API server failed or cannot be reached."
)]
pub struct Options {
    /// The directory that `boson plan --output-dir` has written
    #[arg(value_name = "PLANNED")]
    planned: PathBuf,
    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Images and placement
    #[command(flatten)]
    pods: ObjectFlags,
    /// The cluster
    #[command(flatten)]
    connection: Connection,
}

/// The form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// Markdown, for comments and reports
    Markdown,
    /// One JSON object: `deployment`, `groups` with `instances`, and `objects`
    Json,
}

/// The exit code if something would change, as that of `diff`.
pub(crate) const DIFFERS: u8 = 1;

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let name = plan_output::deployment(&options.planned)?.name;
    let cluster = Cluster::connect(&options.connection)?;
    let deployment = Deployment { cluster, connection: options.connection, name };
    let record = deployment.record()?;
    let present = record.as_ref().and_then(|(versions, _)| versions.runs.first());
    let Deployment { name, connection, .. } = &deployment;
    // A run of an earlier boson has no flags, and no patches.
    let flags = present.and_then(|run| deploy::Options::of_run(name, run, connection.clone()).ok());
    let request = deploy::Options::of_flags(name, options.pods, flags.as_ref(), connection.clone());
    let preview = deploy::preview(request, &options.planned, present)?;
    print(&preview, options.format)?;
    Ok(if preview.is_empty() { 0 } else { DIFFERS })
}

/// Prints what a run would do.
pub(crate) fn print(preview: &Preview, format: Format) -> Result<()> {
    let text = match format {
        Format::Text => as_text(preview, startup::is_colored(&std::io::stdout())),
        Format::Markdown => as_markdown(preview),
        Format::Json => {
            let Diff { deployment, groups } = &preview.instances;
            let document = json!({"deployment": deployment, "groups": groups, "objects": preview.objects});
            serde_json::to_string_pretty(&document)
                .map_err(|error| Problem::internal("cannot write the differences as JSON").because(error))?
                + "\n"
        }
    };
    write_stdout(|out| out.write_all(text.as_bytes()))
}

/// Instances, then objects.
fn as_markdown(preview: &Preview) -> String {
    let instances = match preview.instances.is_empty() && !preview.is_empty() {
        true => "**no instance changes**\n".to_owned(),
        false => markdown::render(&preview.instances),
    };
    // A name of an object has no character that means something to Markdown.
    let objects = preview.objects.iter().map(|object| format!("- {object}\n")).collect::<String>();
    if objects.is_empty() { instances } else { format!("{instances}\n### objects\n\n{objects}") }
}

/// Instances, then objects, then a line with their numbers.
fn as_text(preview: &Preview, is_colored: bool) -> String {
    if preview.is_empty() {
        return "no changes\n".to_owned();
    }
    let style = if is_colored { Style::Colored } else { Style::Plain };
    let instances = if preview.instances.is_empty() {
        "no instance changes\n".to_owned()
    } else {
        text::render(&preview.instances, style)
    };
    let objects = preview.objects.iter().map(|object| format!("  {object}\n")).collect::<String>();
    if objects.is_empty() { instances } else { format!("objects\n{objects}\n{instances}") }
}
