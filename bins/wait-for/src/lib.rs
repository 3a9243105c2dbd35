//! Waits until what a pod needs is there.

mod check;
mod progress;
mod target;
mod wait;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;
use problem::{Problem, Result, code};
use resolver::Resolver;
use startup::{Common, parse_duration};
use supervisor::Signals;

use crate::progress::Progress;
use crate::wait::{Limits, Outcome};

/// One line for `--help`.
pub const ABOUT: &str = "Waits until names resolve, ports and HTTP servers answer, files exist";

/// What `wait-for` is told.
#[derive(Debug, Args)]
#[command(
    long_about = "Waits until every target is there, looking at all of them at the same time, again and again with \
        growing pauses of random length.\n\n\
        A target is\n\
        \x20\x20dns:NAME or NAME            the name has an address\n\
        \x20\x20tcp:HOST:PORT or HOST:PORT  the port accepts a connection\n\
        \x20\x20http://HOST:PORT/PATH       the server answers with a status from 200 to 399\n\
        \x20\x20file:PATH or /PATH          there is something at the path\n\n\
        What is still missing, and why, is told on stderr. Names are looked up in /etc/hosts and by the servers of \
        /etc/resolv.conf; the image needs nothing else. https is refused: this program has no TLS.",
    after_long_help = "Examples:\n\
        \x20\x20wait-for tcp:database:5432\n\
        \x20\x20wait-for --wait-timeout 5m dns:nats http://uaa:8080/healthz /var/vcap/store/ready\n\n\
        Exit codes: 0 everything is there; 2 usage; 70 it was not in time: the message says what is missing, and \
        why; 128 + n signal n arrived."
)]
pub struct Options {
    /// What to wait for; several with spaces between them
    #[arg(env = "WAIT_FOR", value_name = "TARGET", required = true)]
    pub wait_for: Vec<OsString>,
    /// One of the targets is enough
    #[arg(long, env = "WAIT_ANY", visible_alias = "any")]
    pub wait_any: bool,
    /// How long to wait: 500ms, 45s, 5m, 1h; a number alone is seconds; 0 looks once
    #[arg(long, env = "WAIT_TIMEOUT", visible_alias = "timeout", value_name = "TIME", default_value = "30m",
        value_parser = parse_duration)]
    pub wait_timeout: Duration,
    /// The longest pause between two looks at a target
    #[arg(long, env = "WAIT_INTERVAL", visible_alias = "interval", value_name = "TIME", default_value = "2s",
        value_parser = parse_duration)]
    pub wait_interval: Duration,
    /// How long one look may take
    #[arg(long, env = "WAIT_CHECK_TIMEOUT", value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub wait_check_timeout: Duration,
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let targets = target::parse_all(&options.wait_for)?;
    // As PID 1 a signal that nobody handles is ignored.
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let limits = Limits {
        timeout: options.wait_timeout,
        interval: options.wait_interval,
        check: options.wait_check_timeout,
        any: options.wait_any,
    };
    let mut progress = Progress::new(common.log_format, targets.iter().map(ToString::to_string).collect());
    let outcome = wait::until_there(targets, &Resolver::under(&common.root), &limits, &signals, &mut progress)
        .map_err(|e| Problem::internal("cannot wait").because(e))?;
    match outcome {
        Outcome::There => Ok(0),
        Outcome::Signal(signal) => {
            let name = Signal::try_from(signal).map_or_else(|_| signal.to_string(), |signal| signal.to_string());
            progress.interrupted(&name);
            Ok(128_u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX)))
        }
        Outcome::TooLate => Err(too_late(&progress, options.wait_timeout).into()),
    }
}

fn too_late(progress: &Progress, waited: Duration) -> Problem {
    let after = if waited.is_zero() { String::new() } else { format!(" after {waited:?}") };
    let missing: Vec<_> = progress.missing().collect();
    if let ([(target, cause)], 1) = (missing.as_slice(), progress.len()) {
        return Problem::internal(format!("{target} is not there{after}")).code(code::WAIT_TIMEOUT).because(cause);
    }
    let problem = Problem::internal(format!("{} of {} targets are not there{after}", missing.len(), progress.len()))
        .code(code::WAIT_TIMEOUT);
    missing.into_iter().fold(problem, |problem, (target, cause)| problem.because(format!("{target}: {cause}")))
}
