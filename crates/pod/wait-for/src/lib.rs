//! Waits until the dependencies of a pod are available.

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
use signals::Signals;
use startup::{Common, parse_duration};

use crate::progress::Progress;
use crate::wait::{Limits, Outcome};

/// The verb's line in `--help`.
pub const ABOUT: &str = "Wait for names, ports, HTTP servers and files";

/// The options of `wait-for`.
#[derive(Debug, Args)]
#[command(
    long_about = "Wait until every target is available. All targets are checked concurrently, and repeatedly with \
        growing pauses of random length.\n\n\
        A target is\n\
        \x20\x20dns:NAME or NAME            the name has an address\n\
        \x20\x20tcp:HOST:PORT or HOST:PORT  the port accepts a connection\n\
        \x20\x20http://HOST:PORT/PATH       the server answers with a status from 200 to 399\n\
        \x20\x20file:PATH or /PATH          the path exists\n\n\
        Missing targets are reported on stderr with the reason. Names are resolved with /etc/hosts and the servers of \
        /etc/resolv.conf; the image needs no other file. https is refused: this program has no TLS.",
    after_long_help = "Examples:\n\
        \x20\x20wait-for tcp:database:5432\n\
        \x20\x20wait-for --wait-timeout 5m dns:nats http://uaa:8080/healthz /var/vcap/store/ready\n\n\
        Exit codes: 0 all targets are available; 2 usage; 70 timeout: the message lists the missing targets and \
        the reasons; 128 + n signal n arrived."
)]
pub struct Options {
    /// Targets to wait for, separated by spaces in the variable
    #[arg(env = "WAIT_FOR", value_name = "TARGET", required = true)]
    pub wait_for: Vec<OsString>,
    /// Exit as soon as one target is available
    #[arg(long, env = "WAIT_ANY", visible_alias = "any")]
    pub wait_any: bool,
    /// Time to wait: 500ms, 45s, 5m, 1h; a bare number is seconds; 0 checks once
    #[arg(long, env = "WAIT_TIMEOUT", visible_alias = "timeout", value_name = "TIME", default_value = "30m",
        value_parser = parse_duration)]
    pub wait_timeout: Duration,
    /// Longest pause between two checks of a target
    #[arg(long, env = "WAIT_INTERVAL", visible_alias = "interval", value_name = "TIME", default_value = "2s",
        value_parser = parse_duration)]
    pub wait_interval: Duration,
    /// Time limit of one check
    #[arg(long, env = "WAIT_CHECK_TIMEOUT", value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub wait_check_timeout: Duration,
}

/// Runs the verb and returns its exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let targets = target::parse_all(&options.wait_for)?;
    // The kernel ignores signals to PID 1 that have no handler.
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let limits = Limits {
        timeout: options.wait_timeout,
        interval: options.wait_interval,
        check: options.wait_check_timeout,
        any: options.wait_any,
    };
    let mut progress = Progress::new(common.log_format, targets.iter().map(ToString::to_string).collect());
    let outcome = wait::until_available(targets, &Resolver::under(&common.root), &limits, &signals, &mut progress)
        .map_err(|e| Problem::internal("cannot wait").because(e))?;
    match outcome {
        Outcome::Available => Ok(0),
        Outcome::Signal(signal) => {
            let name = Signal::try_from(signal).map_or_else(|_| signal.to_string(), |signal| signal.to_string());
            progress.interrupted(&name);
            Ok(128_u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX)))
        }
        Outcome::TimedOut => Err(timed_out(&progress, options.wait_timeout).into()),
    }
}

fn timed_out(progress: &Progress, waited: Duration) -> Problem {
    let after = if waited.is_zero() { String::new() } else { format!(" after {waited:?}") };
    let missing: Vec<_> = progress.missing().collect();
    if let ([(target, cause)], 1) = (missing.as_slice(), progress.len()) {
        return Problem::internal(format!("{target} is not available{after}")).code(code::WAIT_TIMEOUT).because(cause);
    }
    let problem =
        Problem::internal(format!("{} of {} targets are not available{after}", missing.len(), progress.len()))
            .code(code::WAIT_TIMEOUT);
    missing.into_iter().fold(problem, |problem, (target, cause)| problem.because(format!("{target}: {cause}")))
}
