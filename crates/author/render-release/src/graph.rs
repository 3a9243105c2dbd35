//! `boson graph`: the instance groups of a deployment, their jobs, links and order of start.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use deployment_graph::{Graph, dot, svg, text};
use problem::Result;
use startup::{Common, write_stdout};
use vcap::atomic::write_file;

use crate::options::ReadingOptions;
use crate::version::{Loader, Side, with_loader};

/// The command line of `graph`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the instance groups of a deployment with their jobs, the links between them, and the order in which an update \
        starts them: as text, as a picture (SVG) or for Graphviz (DOT). Starts and changes nothing, and shows no property.\n\n\
        DEPLOYMENT is a deployment manifest, or a directory that `plan --output-dir` wrote.\n\n\
        Templates are code: they run with your permissions.",
    after_long_help = "Examples:\n\
        \x20\x20boson graph nats.yml -r ./nats-release\n\
        \x20\x20boson graph nats.yml -r ./nats-release --output nats.svg\n\
        \x20\x20boson graph plan-output --format dot | dot -Tpdf -o nats.pdf\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest or a release is wrong; 66 a template failed; 70 the environment failed."
)]
pub struct Options {
    /// A manifest, or a directory that `plan --output-dir` wrote; `-` is a manifest on standard input
    #[arg(value_name = "DEPLOYMENT")]
    path: PathBuf,
    /// A release: its source directory, an archive made by bosh, or the jobs-src of its image; once for each
    #[arg(long = "release", short, env = "BOSON_RELEASE", value_name = "[NAME=]PATH")]
    releases: Vec<String>,
    /// Write to a file, which is replaced at once
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The form of the result [default: that of the name of --output, `.svg` or `.dot`, or else text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    #[command(flatten)]
    reading: ReadingOptions,
}

/// The form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// A picture, for browsers and documents
    Svg,
    /// For Graphviz
    Dot,
}

/// One line for `--help`.
pub const ABOUT: &str = "Show groups, jobs and links as text or picture";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let ReadingOptions { rendering, deployment, addresses, .. } = &options.reading;
    let graph = with_loader(rendering, deployment, addresses, |loader| options.graph(loader))?;
    let text = match options.format() {
        Format::Text => text::render(&graph),
        Format::Svg => svg::render(&graph),
        Format::Dot => dot::render(&graph),
    };
    match &options.output {
        Some(path) => write_file(path, text.as_bytes(), 0o644)?,
        None => write_stdout(|out| out.write_all(text.as_bytes()))?,
    }
    Ok(0)
}

impl Options {
    fn graph(&self, loader: &Loader) -> Result<Graph> {
        let side = Side {
            path: &self.path,
            releases: release::release_arguments(&self.releases),
            inputs: self.reading.inputs.clone(),
            configs: &self.reading.configs,
        };
        Ok(Graph::new(&loader.load(&side, None)?.version.deployment))
    }

    fn format(&self) -> Format {
        let extension = self.output.as_deref().and_then(|path| path.extension()?.to_str());
        self.format.unwrap_or(match extension {
            Some("svg") => Format::Svg,
            Some("dot" | "gv") => Format::Dot,
            _ => Format::Text,
        })
    }
}
