//! `serve`: the Open Service Broker API 2.17 over the same state directory that `run` uses.
//!
//! `http` reads requests, `operations` runs them and answers, `broker` has the services and knows their instances.

mod broker;
mod call;
mod http;
mod operations;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use problem::{IoContext, Problem, Result, code};
use startup::Secret;
use terraform_runner::Interruption;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use self::broker::Broker;
use self::http::{Credentials, Server};
use crate::run::Common;
use crate::{documents, signals};

/// Connections that are open longer than this after the signal are closed.
const LONGEST_END: Duration = Duration::from_secs(10);

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Serve paks as a broker: Open Service Broker API 2.17";

/// The arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    long_about = "Serve the services of paks with the Open Service Broker API 2.17: HTTP with basic authentication, without TLS. Each \
        operation is one of `run` with the same state directory. Operations that need terraform run in the background, except \
        bind and unbind where the platform does not accept that. What the end of the server interrupts is reported as failed \
        and can be repeated.\n\n\
        TERM and INT interrupt terraform, which finishes what it has begun, and end the server after that.",
    after_long_help = "Examples:\n\
        \x20\x20SECURITY_USER_NAME=broker SECURITY_USER_PASSWORD=... brokerpak serve my-pak-1.0.0.brokerpak --listen 0.0.0.0:8080\n\n\
        Exit codes: 0 ended by a signal; 2 usage; 65 a pak or the configuration is wrong; 70 the environment failed."
)]
pub(crate) struct Options {
    /// The paks: .brokerpak files, or directories with manifest.yml
    #[arg(value_name = "PAK", required = true)]
    paks: Vec<PathBuf>,
    /// The address to listen on; port 0: any free one, which is printed
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The name of the platform's user
    #[arg(long, env = "SECURITY_USER_NAME", value_name = "NAME")]
    username: String,
    /// The password of the user; on a command line, other users of the machine can see it
    #[arg(long, env = "SECURITY_USER_PASSWORD", hide_env_values = true, value_name = "TEXT", value_parser = secret)]
    password: Option<Secret<String>>,
    /// The file with the password of the user, instead of --password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Add the JSON Schemas of parameters to the catalog
    #[arg(long)]
    enable_catalog_schemas: bool,
    #[command(flatten)]
    common: Common,
}

impl Options {
    fn credentials(&self) -> Result<Credentials> {
        let password = match &self.password_file {
            Some(file) => {
                let text = String::from_utf8_lossy(&documents::read(file)?).into_owned();
                Some(Secret::new(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            None => self.password.clone(),
        };
        let password = password.filter(|password| !password.expose().is_empty()).ok_or_else(|| {
            Problem::usage("the password is missing").hint("--password-file or SECURITY_USER_PASSWORD has it")
        })?;
        Ok(Credentials { name: self.username.clone(), password })
    }
}

fn secret(text: &str) -> std::result::Result<Secret<String>, std::convert::Infallible> {
    Ok(Secret::new(text.to_owned()))
}

/// Runs `serve`; gives the exit code.
///
/// # Errors
/// All errors of the paks; an address that cannot be listened on.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let credentials = options.credentials()?;
    let interruption = Interruption::default();
    let store = options.common.store()?;
    let paks = options.paks.iter().map(|pak| options.common.terraform.runs(pak, store.clone(), &interruption));
    let broker = Broker::new(paks.collect::<Result<Vec<_>>>()?, options.enable_catalog_schemas)?;
    let broker = Arc::new(broker);
    let server = Arc::new(Server { broker: Arc::clone(&broker), credentials });
    // The first signal ends the server and interrupts terraform, the second one kills it.
    signals::interrupt(&interruption)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Problem::internal("cannot start the server").because(error))?;
    runtime.block_on(listen(options.listen, server))?;
    broker.wait();
    Ok(0)
}

async fn listen(address: SocketAddr, server: Arc<Server>) -> Result<()> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Problem::internal(format!("cannot listen on {address}")).code(code::PORT_UNAVAILABLE).because(error)
    })?;
    // Before the line is printed: its reader may end the server.
    let failed = |error| Problem::internal("cannot take over the handling of signals").because(error);
    let mut term = signal(SignalKind::terminate()).map_err(failed)?;
    let mut int = signal(SignalKind::interrupt()).map_err(failed)?;
    let address = listener.local_addr().map_err(|error| Problem::internal("cannot read the address").because(error))?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on http://{address}")
        .and_then(|()| stdout.flush())
        .io("write", std::path::Path::new("standard output"))?;
    let (stop, mut stopping) = watch::channel(false);
    let ended = async move {
        // The sender lives as long as the server.
        let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
    };
    let serving = axum::serve(listener, http::router(server)).with_graceful_shutdown(ended);
    let serving = std::future::IntoFuture::into_future(serving);
    tokio::pin!(serving);
    tokio::select! {
        done = &mut serving => return done.map_err(|error| Problem::internal("the server failed").because(error).into()),
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    stop.send_replace(true);
    // Requests that wait for terraform are answered: it is interrupted.
    let _ = tokio::time::timeout(LONGEST_END, serving).await;
    Ok(())
}
