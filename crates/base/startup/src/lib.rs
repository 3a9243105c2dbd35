//! What every executable does at its start and end.
//!
//! A verb is a `clap` argument struct and a function; [`main_with_args`] parses, starts logging, runs and prints the
//! problems. [`multicall`] makes an executable of several verbs.

mod color;
pub mod confirmation;
mod duration;
pub mod multicall;
mod name;
mod report;
mod secret;
mod size;
mod stdout;
mod steps;
pub mod termination;
mod version;
mod warnings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, FromArgMatches, Parser, ValueEnum};
pub use color::is_colored;
pub use duration::{parse_duration, time_limit};
pub use name::plain_name;
use problem::{Problems, Result};
pub use report::without_control;
pub use secret::Secret;
pub use size::parse_size;
pub use stdout::write_stdout;
pub use steps::Steps;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
pub use version::version;
pub use warnings::Warnings;

/// The flags that every executable has.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Prefix of every default path (a path given explicitly is used as is)
    #[arg(
        long,
        env = "BOSON_ROOT",
        default_value = "/",
        value_name = "DIR",
        global = true,
        help_heading = "Common options"
    )]
    pub root: PathBuf,
    /// What to log on stderr: error, warn, info, debug, trace, or a filter such as `plan=debug`
    #[arg(
        long,
        env = "BOSON_LOG",
        default_value = "warn",
        value_name = "FILTER",
        global = true,
        help_heading = "Common options"
    )]
    pub log: String,
    /// How to log: text or json
    #[arg(
        long,
        env = "BOSON_LOG_FORMAT",
        default_value = "text",
        value_name = "FORMAT",
        global = true,
        help_heading = "Common options"
    )]
    pub log_format: LogFormat,
    /// Use no colours, as with NO_COLOR
    #[arg(long, global = true, help_heading = "Common options")]
    pub no_color: bool,
}

impl Common {
    /// The flags as they are to be given to another of these programs.
    pub fn arguments(&self) -> Vec<OsString> {
        let format = self.log_format.to_possible_value();
        let format = format.as_ref().map_or("text", |value| value.get_name());
        let flags: [(&str, OsString); 3] =
            [("--root", self.root.clone().into()), ("--log", self.log.clone().into()), ("--log-format", format.into())];
        flags.into_iter().flat_map(|(flag, value)| [flag.into(), value]).collect()
    }

    /// `given` as it is, or else `default` (absolute) under the root.
    pub fn path(&self, given: Option<&Path>, default: &str) -> PathBuf {
        given.map_or_else(|| self.root.join(default.trim_start_matches('/')), Path::to_path_buf)
    }
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Parser)]
struct WithCommon<A: Args> {
    #[command(flatten)]
    verb: A,
    #[command(flatten)]
    common: Common,
}

/// Help texts are wrapped to the terminal's width, but no wider than this.
pub const HELP_WIDTH: usize = 100;

/// The grammar of a verb together with the common flags, named `name`.
pub fn command<A: Args>(name: &'static str, about: &'static str) -> clap::Command {
    // Flattened, the verb's arguments come without their doc comments.
    let own = A::augment_args(clap::Command::new(name));
    let long_about = own.get_long_about().cloned().unwrap_or_else(|| about.into());
    <WithCommon<A> as clap::CommandFactory>::command()
        .name(name)
        .bin_name(name)
        .about(about)
        .long_about(long_about)
        .version(version())
        .max_term_width(HELP_WIDTH)
        .mut_args(without_empty_variable)
        .mut_subcommands(|verb| verb.mut_args(without_empty_variable))
}

/// A variable that is set to nothing counts as absent: pod specs often cannot leave one out.
fn without_empty_variable(arg: clap::Arg) -> clap::Arg {
    let is_empty = arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    if is_empty { arg.env(clap::builder::Resettable::Reset) } else { arg }
}

/// Runs a verb: parses the command line (its first element is the program's name), runs, prints problems, gives the exit
/// code.
pub fn main_with_args<A: Args>(
    name: &'static str,
    about: &'static str,
    args: impl IntoIterator<Item = OsString>,
    run: impl FnOnce(A, &Common) -> Result<u8>,
) -> ExitCode {
    let matches = command::<A>(name, about).try_get_matches_from(args).unwrap_or_else(|e| misused(&e));
    let parsed = WithCommon::<A>::from_arg_matches(&matches).unwrap_or_else(|e| misused(&e));
    termination::start(&parsed.common.root);
    if parsed.common.no_color {
        color::switch_off();
    }
    start_logging(&parsed.common);
    finish(run(parsed.verb, &parsed.common))
}

/// Exits because of the command line, which may have requested help.
fn misused(error: &clap::Error) -> ! {
    if error.use_stderr() {
        // The root is as unknown as everything else; where it is not given, it is this.
        let root = std::env::var_os("BOSON_ROOT").filter(|root| !root.is_empty()).unwrap_or_else(|| "/".into());
        termination::start(Path::new(&root));
        termination::report(error.render());
    }
    error.exit()
}

/// Prints problems on stderr, for a program that goes on.
#[allow(clippy::print_stderr, reason = "the one place where problems are printed")]
pub fn print(problems: &Problems) {
    eprintln!("{}", report::formatted(problems));
}

/// Prints the problems of a run on stderr, writes them into the container's termination message, and gives the exit code.
pub fn finish(result: Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(problems) => {
            print(&problems);
            termination::report(report::text(&problems));
            ExitCode::from(problems.exit_code())
        }
    }
}

/// What to log: `level` or `target=level`, separated by commas. Anything else is ignored: a mistyped variable must
/// not keep a pod from starting.
///
/// Not `EnvFilter`, whose regular expressions would be an eighth of the executable that runs in every container.
fn filter(text: &str) -> Targets {
    let directives = text.split(',').map(str::trim).filter(|text| !text.is_empty() && !text.starts_with('='));
    // The client of the API server logs each failed request as an error, which the caller repeats or reports itself.
    let mut filter = Targets::new().with_target("kube_client", LevelFilter::OFF);
    for directive in directives.filter_map(|text| text.parse::<Targets>().ok()) {
        if let Some(level) = directive.default_level() {
            filter = filter.with_default(level);
        }
        filter = filter.with_targets(directive.iter());
    }
    filter
}

/// Starts logging on stderr as the flags say.
pub fn start_logging(common: &Common) {
    report::set_format(common.log_format);
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(is_colored(&std::io::stderr()))
        .with_target(false);
    let registry = tracing_subscriber::registry().with(filter(&common.log));
    // A second start in one process (one verb calling another in a test) keeps the first.
    let _ = match common.log_format {
        LogFormat::Text => registry.with(layer.without_time()).try_init(),
        LogFormat::Json => registry.with(layer.json().without_time()).try_init(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_filter_is_a_level_and_levels_of_targets() {
        assert_eq!(filter("warn").default_level(), Some(LevelFilter::WARN));
        let several = filter("info, plan=debug,run_process=off");
        assert_eq!(several.default_level(), Some(LevelFilter::INFO));
        assert!(several.would_enable("plan::write", &tracing::Level::DEBUG));
        assert!(!several.would_enable("run_process", &tracing::Level::ERROR));
        assert!(!several.would_enable("vcap", &tracing::Level::DEBUG));
        assert!(!several.would_enable("kube_client::client", &tracing::Level::ERROR));
        assert!(filter("info,kube_client=debug").would_enable("kube_client::client", &tracing::Level::DEBUG));
    }

    #[test]
    fn valid_parts_of_an_invalid_log_filter_apply() {
        let filter = filter("plan=loud,,=,warn");
        assert!(filter.would_enable("vcap", &tracing::Level::WARN));
        assert!(!filter.would_enable("plan", &tracing::Level::INFO));
    }
}
