//! Runs the post-start script of every job, as BOSH's agent does when everything runs.

use clap::Args;
use problem::Result;
use startup::Common;

/// One line for `--help`.
pub const ABOUT: &str = "Runs the post-start scripts of all jobs, in parallel";

/// What `post-start` is told.
#[derive(Debug, Args)]
#[command(
    long_about = "Runs /var/vcap/jobs/JOB/bin/post-start of every job that has one, all at once, as the user that \
        runs this program (root in a pod), with PATH=/usr/sbin:/usr/bin:/sbin:/bin and nothing else in the \
        environment.\n\n\
        What a script prints is appended to /var/vcap/sys/log/JOB/post-start.stdout.log and \
        post-start.stderr.log, and passed on with the job's name before each line. TERM stops the scripts.\n\n\
        In a pod nobody needs to call it: run-process runs the script of its own job once every process \
        runs. How the script ended is kept in /var/vcap/sys/run/boson/JOB/post-start.hook, where `ready` \
        looks.",
    after_long_help = "Examples:\n\
        \x20\x20post-start\n\
        \x20\x20post-start --job nats --job nats-tls\n\
        \x20\x20post-start --root /tmp/instance\n\n\
        Exit codes: 0 every script succeeded; 2 usage; 65 a job is not rendered; 70 a script failed: \
        the instance is not ready then."
)]
pub struct Options {
    #[command(flatten)]
    hook: hooks::HookOptions,
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    hooks::run("post-start", options.hook, &common.root)
}
