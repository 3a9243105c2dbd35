//! Forwards every log file of a pod to stdout.

mod batch;
mod ended;
mod follow;
mod journal;
mod line;
mod log;
mod logs;
mod position;
mod rotate;
mod syslog;
mod tree;
mod warnings;

use std::path::{Path, PathBuf};

use clap::Args;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use problem::{Problem, Result, code};
use signals::Signals;
use startup::Common;
use vcap::Vcap;

use crate::ended::Processes;
use crate::follow::{Outcome, Until};
use crate::journal::Journal;
pub use crate::line::Format;
use crate::log::Style;
use crate::logs::{Config, Logs};
use crate::rotate::Limits;
use crate::syslog::Syslog;
use crate::tree::Tree;

/// One line for `--help`.
pub const ABOUT: &str = "Forward every log file of a pod to stdout";

/// The options of `tail-logs`.
#[derive(Debug, Args)]
#[command(
    long_about = "Follow every file below /var/vcap/sys/log whose name ends in .log, in any directory, from its first byte, and \
        write each line with the name of its file to stdout. New files, and files that are truncated, renamed, removed \
        or replaced, are followed as they come. No link is followed.\n\n\
        The position in each log is kept in a file, so that a run continues where the previous one was stopped or \
        killed: no line is lost or repeated. A log that has been forwarded and grows too large is truncated at its \
        beginning, which no writer notices.\n\n\
        After TERM, tail-logs exits when the processes of the pod have ended and everything is forwarded; after INT or a \
        second TERM, when everything is forwarded; after another signal, at once.",
    after_long_help = "Examples:\n\
        \x20\x20tail-logs\n\
        \x20\x20tail-logs --logs-format json --logs-exclude '*/*.stdout.log */*.stderr.log'\n\n\
        Exit codes: 0 ended by a signal or with its processes; 2 usage; 70 stdout was closed, or another process follows the same logs."
)]
pub struct Options {
    /// The directory of logs [default: /var/vcap/sys/log]
    #[arg(long, env = "LOGS_DIR", value_name = "DIR")]
    pub logs_dir: Option<PathBuf>,
    /// How lines are written
    #[arg(long, env = "LOGS_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub logs_format: Format,
    /// Logs that are rotated, but not forwarded: patterns such as '*/*.stdout.log', separated by spaces; ** matches any
    /// number of directories
    #[arg(long, env = "LOGS_EXCLUDE", value_name = "PATTERNS", default_value = "")]
    pub logs_exclude: String,
    /// Rotate logs of this size: 500K, 10M, 1G; 0: never
    #[arg(long, env = "LOGS_ROTATE_SIZE", value_name = "SIZE", default_value = "10M", value_parser = startup::parse_size)]
    pub logs_rotate_size: u64,
    /// Number of older parts that are kept beside the log, as LOG.1, LOG.2
    #[arg(long, env = "LOGS_ROTATE_KEEP", value_name = "NUMBER", default_value_t = 1)]
    pub logs_rotate_keep: u32,
    /// Write a line with more bytes in parts
    #[arg(long, env = "LOGS_LONGEST_LINE", value_name = "BYTES", default_value_t = 16_000,
        value_parser = clap::value_parser!(u32).range(128..=1_048_576))]
    pub logs_longest_line: u32,
    /// Exit when every process of the rendered jobs has ended: for pods whose containers are not restarted
    #[arg(long, env = "LOGS_UNTIL_ENDED")]
    pub logs_until_ended: bool,
    /// File with the positions up to which logs were forwarded [default: /var/vcap/sys/run/.tail-logs/positions]
    #[arg(long, env = "LOGS_POSITIONS", value_name = "FILE")]
    pub logs_positions: Option<PathBuf>,
    /// Create this socket, for use as /dev/log: messages sent with logger or syslog() are appended to syslog.log in the
    /// directory of logs, and forwarded like all lines
    #[arg(long, env = "LOGS_SYSLOG", visible_alias = "syslog", value_name = "PATH")]
    pub logs_syslog: Option<PathBuf>,
}

/// Serves a socket in place of `/dev/log`, and nothing else: for an instance whose logs are read in another way. Messages are
/// appended to `syslog.log` in `logs_dir`.
///
/// # Errors
/// A socket or a log file that cannot be made.
pub fn serve_syslog(socket: &Path, logs_dir: &Path) -> Result<()> {
    use std::os::fd::AsFd;

    let mut syslog = Syslog::open(socket, logs_dir)?;
    loop {
        let mut ready = [nix::poll::PollFd::new(syslog.as_fd(), nix::poll::PollFlags::POLLIN)];
        // An interruption is as good as a message: what has arrived is read.
        let _ = nix::poll::poll(&mut ready, nix::poll::PollTimeout::NONE);
        while syslog.receive() {}
    }
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let dir = common.path(options.logs_dir.as_deref(), "/var/vcap/sys/log");
    let positions = common.path(options.logs_positions.as_deref(), "/var/vcap/sys/run/.tail-logs/positions");
    let journal = Journal::open(&positions)?;
    let config = Config {
        style: Style { format: options.logs_format, longest_line: options.logs_longest_line as usize },
        limits: Limits { size: options.logs_rotate_size, keep: options.logs_rotate_keep },
        exclude: options.logs_exclude.split_ascii_whitespace().map(str::to_owned).collect(),
        most_open: most_open(),
    };
    let mut logs = Logs::new(Tree::new(&dir), journal, config);
    let mut syslog = options.logs_syslog.as_deref().map(|path| Syslog::open(path, &dir)).transpose()?;
    let until = Until { processes: Processes::of(Vcap::under(&common.root)), ended: options.logs_until_ended };
    match follow::follow(&mut logs, syslog.as_mut(), &until, &signals, &std::io::stdout()) {
        Ok(Outcome::Done) => Ok(0),
        Ok(Outcome::Closed) => {
            Err(Problem::internal("stdout was closed by its reader").code(code::STDOUT_CLOSED).into())
        }
        Err(e) => Err(Problem::internal(format!("cannot follow the logs in {}", dir.display()))
            .code(code::IO)
            .because(e)
            .into()),
    }
}

/// Raises the limit of open files as far as it goes, and leaves some of them to everything else.
fn most_open() -> usize {
    const OTHERS: usize = 32;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return OTHERS };
    let limit = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // Directories are held open, too.
    (limit / 2).max(limit.saturating_sub(1000)).saturating_sub(OTHERS).max(4)
}
