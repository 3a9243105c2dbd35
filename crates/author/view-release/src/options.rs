//! The command line of `boson view`.

use std::path::PathBuf;

use clap::Args;
use problem::{Problem, Problems, Result, code};
use render_release::PreviewOptions;

/// The command line of `view`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show a deployment in a browser: its instance groups and links as a graph, the rendered files of each instance, and \
        each file next to its template. Lines are linked: the page shows which line of the template renders a line, which \
        properties it reads, and the file and line that sets each of them. Findings of `boson lint` are shown at their lines. The page \
        loads again when a file is saved.\n\n\
        The server listens on 127.0.0.1 only, and its address contains a random token. Secrets are masked until the page is \
        asked for them.\n\n\
        With --output, write the same pages as files, for artifacts of a CI system. They never contain secrets.\n\n\
        Templates are code: they run with your permissions.",
    after_long_help = "Examples:\n\
        \x20\x20boson view -m nats.yml -r ./nats-release\n\
        \x20\x20boson view -m nats.yml -o scale.yml -r ./nats-release --port 8080 --open\n\
        \x20\x20boson view -m nats.yml -r ./nats-release --output view\n\n\
        Ctrl-C ends the server. Exit codes: 0 done; 2 usage; 65 the manifest or a release is wrong; 66 a template failed: the files of \
        --output are written and show the error; 70 the environment failed."
)]
pub struct Options {
    #[command(flatten)]
    pub(crate) preview: PreviewOptions,
    /// Write the pages to this directory, and serve nothing; DIR is replaced and may contain nothing else
    #[arg(long, value_name = "DIR", conflicts_with_all = ["port", "open"])]
    pub(crate) output: Option<PathBuf>,
    /// Port of the server; 0 is any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

impl Options {
    /// Checks that what the command line names exists: what is wrong with its content is shown in the page.
    pub(crate) fn check(&self) -> Result<()> {
        let mut problems = Vec::new();
        let manifest = &self.preview.manifest;
        if manifest.as_os_str() == "-" {
            let problem = Problem::usage("the manifest must be a file, not standard input");
            problems.push(problem.hint("it is read again on each change; give its path with --manifest"));
        } else if !manifest.is_file() {
            let problem = Problem::input(format!("cannot read the manifest {}", manifest.display()));
            problems.push(problem.because("it is not a file").code(code::MANIFEST_MISSING));
        }
        for path in self.releases().into_iter().filter(|path| !path.exists()) {
            let problem = Problem::input(format!("no release found in {}", path.display()));
            problems.push(problem.because("it does not exist").code(code::RELEASE_MISSING));
        }
        Problems::check(problems)
    }

    /// The paths of the releases.
    pub(crate) fn releases(&self) -> Vec<PathBuf> {
        let arguments = release::release_arguments(&self.preview.releases);
        arguments.iter().map(|argument| release::parse_release_argument(argument).1.to_path_buf()).collect()
    }
}
