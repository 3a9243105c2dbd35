//! `boson start`, `stop` and `restart`: an instance, or a job of it.

use clap::Args;
use problem::Result;

use local_state::Connection;
use local_state::Which;
use local_state::control::{Action, Request};
use local_state::output;

/// What is started or stopped.
#[derive(Debug, Args)]
pub(crate) struct Subject {
    /// An instance, as `boson status` names it, or the processes of one of its jobs
    #[arg(value_name = "GROUP/INDEX[/JOB]")]
    pub(crate) subject: String,
    #[command(flatten)]
    pub(crate) which: Which,
}

fn request(subject: Subject, action: Action, skip_drain: bool) -> Result<u8> {
    let mut parts = subject.subject.splitn(3, '/');
    let instance: Vec<&str> = parts.by_ref().take(2).collect();
    let (instance, job) = (instance.join("/"), parts.next().map(str::to_owned));
    let connection = Connection::expect(&subject.which.find()?)?;
    connection.ask(&Request::Change { action, instance, job, skip_drain }, &[])?;
    connection.follow_with(output::line)
}

macro_rules! verb {
    ($name:ident, $action:expr, $about:literal, $long:literal $(, $skip_drain:ident)?) => {
        #[doc = $about]
        pub mod $name {
            use clap::Args;
            use problem::Result;
            use startup::Common;

            use super::Subject;
            use local_state::control::Action;

            /// The arguments of the verb.
            #[derive(Debug, Args)]
            #[command(
                long_about = $long,
                after_long_help = concat!(
                    "Examples:\n\x20\x20boson ", stringify!($name), " nats/0\n\x20\x20boson ", stringify!($name), " nats/0/nats"
                )
            )]
            pub struct Options {
                #[command(flatten)]
                pub(crate) subject: Subject,
                $(/// Leave out pre-stop and drain scripts
                #[arg(long)]
                pub(crate) $skip_drain: bool,)?
            }

            /// One line for `--help`.
            pub const ABOUT: &str = $about;

            /// Runs the verb; returns the exit code.
            pub fn run(options: Options, _common: &Common) -> Result<u8> {
                let skip_drain = false $(|| options.$skip_drain)?;
                super::request(options.subject, $action, skip_drain)
            }
        }
    };
}

verb!(
    start,
    Action::Start,
    "Start an instance or a job that was stopped",
    "Start what `boson stop` or `bpm stop` has stopped, and wait until it runs. An instance starts as in BOSH: pre-start, \
     the processes, post-start. The processes of a job start without scripts."
);
verb!(
    stop,
    Action::Stop,
    "Stop an instance or a job",
    "Stop the processes of an instance, or of one of its jobs, until `boson start` or the next `boson up` that replaces \
     the instance. An instance stops as in BOSH: pre-stop, drain, the processes, post-stop. The processes of a job stop \
     without scripts. The instance's files stay.\n\n\
     Scripts take the time that they need: a drain may last for minutes. Ctrl-C of `boson up` and `boson down` give \
     them 60 seconds in all.",
    skip_drain
);
verb!(
    restart,
    Action::Restart,
    "Restart an instance or a job",
    "Stop the processes of an instance, or of one of its jobs, start them again, and wait until they run. The instance's \
     files stay. Scripts take the time that they need, as with `boson stop`.",
    skip_drain
);
