//! The commands `bpm` and `monit` of release scripts: they ask the supervisor of a process, in whatever container that is.

mod list;
mod logs;
pub mod monit;
mod process;
mod run;

use clap::{Args, Subcommand};
use control::Request;
use nix::sys::signal::Signal;
use problem::Result;
use process::Process;
use startup::{Common, plain_name};
use vcap::Vcap;

/// One line for `--help`.
pub const ABOUT: &str = "BPM's command: list, start and stop processes";

/// The flags of `bpm`.
#[derive(Debug, Args)]
#[command(
    long_about = "Do what BPM's command does. Release scripts call it as /var/vcap/jobs/bpm/bin/bpm, where render-jobs puts it. It \
        asks the run-process that supervises the process, through the socket /var/vcap/sys/run/boson/JOB/PROCESS.sock, \
        in whichever container of the pod either runs.\n\n\
        A process that is stopped here stays stopped until it is started here: its run-process waits, so that the \
        kubelet does not restart the container, and `ready` goes on calling it ready.",
    after_long_help = "Examples:\n\
        \x20\x20bpm list\n\
        \x20\x20bpm stop cloud_controller_ng -p nginx\n\
        \x20\x20bpm running nats && echo it runs\n\
        \x20\x20bpm run smoke-tests -e TARGET=10.0.0.7\n\n\
        Exit codes: those of the process for `run`; else 0 done, or yes; 1 no: it does not run, or it was refused; \
        2 usage; 65 there is no such job or process, or its bpm.yml is wrong; 70 the environment failed."
)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Prints the process' id, as it is known in this container
    Pid(Named),
    /// Whether the process runs: prints yes or no
    Running(Named),
    /// Prints all processes of this instance and what they do
    List,
    /// Starts the process again after a stop
    Start(Named),
    /// Stops the process and waits until it has ended
    Stop(Named),
    /// Stops the process and starts it again
    Restart(Named),
    /// Stops the process without waiting
    Term(Named),
    /// Sends the process QUIT
    Quit(Named),
    /// Sends the process a signal
    Signal {
        #[command(flatten)]
        named: Named,
        /// The signal: its name, with or without SIG, or its number
        #[arg(value_parser = signal_number)]
        signal: i32,
    },
    /// Prints the end of the process' log
    Logs(logs::Options),
    /// Runs the process here and now, and exits as it does
    Run(run::Options),
}

/// Which process.
#[derive(Debug, Args)]
struct Named {
    /// The job
    #[arg(value_parser = plain_name)]
    job: String,
    /// The process in the job's bpm.yml [default: the job's name]
    #[arg(short, long, value_parser = plain_name)]
    process: Option<String>,
}

impl Named {
    fn process(&self) -> &str {
        self.process.as_deref().unwrap_or(&self.job)
    }
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let vcap = Vcap::under(&common.root);
    let process = |named: Named| Process::new(&vcap, named);
    match options.action {
        Action::Pid(named) => process(named).print_pid(),
        Action::Running(named) => process(named).print_running(),
        Action::List => list::run(&vcap),
        Action::Start(named) => process(named).request(Request::Start),
        Action::Stop(named) => process(named).stop(true),
        Action::Restart(named) => process(named).request(Request::Restart { wait: true }),
        Action::Term(named) => process(named).stop(false),
        Action::Quit(named) => process(named).request(Request::Signal { signal: Signal::SIGQUIT as i32 }),
        Action::Signal { named, signal } => process(named).request(Request::Signal { signal }),
        Action::Logs(options) => logs::run(&vcap, &options),
        Action::Run(options) => run::run(&options, common),
    }
}

/// BPM: who asks for something that is not so gets 1.
const NO: u8 = 1;

/// Prints a line; a closed stdout is not an error.
fn print(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn signal_number(text: &str) -> std::result::Result<i32, String> {
    let upper = text.to_ascii_uppercase();
    let name = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    let number = match name.parse::<Signal>() {
        Ok(signal) => Some(signal as i32),
        // Real-time signals have numbers only.
        Err(_) => text.parse().ok().filter(|number| (1..=64).contains(number)),
    };
    number.ok_or_else(|| "unknown signal".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_and_numbers() {
        let cases =
            [("TERM", Some(15)), ("SIGHUP", Some(1)), ("usr1", Some(10)), ("64", Some(64)), ("0", None), ("FLY", None)];
        for (text, number) in cases {
            assert_eq!(signal_number(text).ok(), number, "{text}");
        }
    }
}
