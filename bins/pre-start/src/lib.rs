//! Runs the pre-start script of every job, as BOSH's agent does before it starts anything.

use clap::Args;
use problem::Result;
use startup::Common;

/// One line for `--help`.
pub const ABOUT: &str = "Runs the pre-start scripts of all jobs, in parallel";

/// What `pre-start` is told.
#[derive(Debug, Args)]
#[command(
    long_about = "Runs /var/vcap/jobs/JOB/bin/pre-start of every job that has one, all at once, as the user that \
        runs this program (root in a pod), with PATH=/usr/sbin:/usr/bin:/sbin:/bin and nothing else in the \
        environment.\n\n\
        What a script prints is appended to /var/vcap/sys/log/JOB/pre-start.stdout.log and \
        pre-start.stderr.log, and passed on with the job's name before each line. TERM stops the scripts.",
    after_long_help = "Examples:\n\
        \x20\x20pre-start\n\
        \x20\x20pre-start --job nats --job nats-tls\n\
        \x20\x20pre-start --root /tmp/instance\n\n\
        Exit codes: 0 every script succeeded; 2 usage; 65 a job is not rendered; 70 a script failed: \
        nothing may be started then."
)]
pub struct Options {
    #[command(flatten)]
    hook: hooks::HookOptions,
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    hooks::run("pre-start", options.hook, &common.root)
}
