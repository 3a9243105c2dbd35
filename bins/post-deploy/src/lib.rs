//! Runs the post-deploy script of every job, as BOSH's agent does once the whole deployment is up.

use clap::Args;
use problem::Result;
use startup::Common;

/// One line for `--help`.
pub const ABOUT: &str = "Runs the post-deploy scripts of all jobs, in parallel";

/// What `post-deploy` is told.
#[derive(Debug, Args)]
#[command(
    long_about = "Runs /var/vcap/jobs/JOB/bin/post-deploy of every job that has one, all at once, as the user that \
        runs this program (root in a pod), with PATH=/usr/sbin:/usr/bin:/sbin:/bin and nothing else in the \
        environment.\n\n\
        What a script prints is appended to /var/vcap/sys/log/JOB/post-deploy.stdout.log and \
        post-deploy.stderr.log, and passed on with the job's name before each line. TERM stops the scripts.",
    after_long_help = "Examples:\n\
        \x20\x20post-deploy\n\
        \x20\x20post-deploy --job nats --job nats-tls\n\
        \x20\x20post-deploy --root /tmp/instance\n\n\
        Exit codes: 0 every script succeeded; 2 usage; 65 a job is not rendered; 70 a script failed: \
        the deployment is not done then."
)]
pub struct Options {
    #[command(flatten)]
    hook: hooks::HookOptions,
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    hooks::run("post-deploy", options.hook, &common.root)
}
