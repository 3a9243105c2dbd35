//! `boson view`: a deployment as pages for a browser, from a server on this machine or as files.
//!
//! `routes` finds the pages, the same for both; `server` answers requests for them, `output` writes them.

mod findings;
mod html;
mod options;
mod output;
mod pages;
mod routes;
mod server;
mod site;

use problem::Result;
use render_release::Previews;
use ruby::Vm;
use startup::Common;

pub use options::Options;

/// One line for `--help`.
pub const ABOUT: &str = "Show a deployment and its files in a browser";

/// Runs the verb; returns the exit code.
///
/// # Errors
/// What is wrong with the command line; with `--output` also what is wrong with the deployment.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    options.check()?;
    match &options.output {
        Some(directory) => Vm::beside(|vm| output::write(&Previews::new(vm, &options.preview)?, &options, directory)),
        None => {
            let server = server::Server::start(options.port)?;
            Vm::beside(|vm| server.run(&Previews::new(vm, &options.preview)?, &options))
        }
    }
}
