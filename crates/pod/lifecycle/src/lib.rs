//! The verbs that run the lifecycle scripts of all jobs, as BOSH's agent does: `pre-start` before anything is started,
//! `post-start` when every process runs, `post-deploy` when the whole deployment runs.

/// A verb that runs the scripts of its name. The texts are those of `--help`: `more` is a further paragraph, `failed`
/// what follows from a script that failed.
macro_rules! verb {
    ($(#[$doc:meta])* $module:ident, $script:literal, more: $more:literal, failed: $failed:literal) => {
        $(#[$doc])*
        pub mod $module {
            use clap::Args;
            use problem::Result;
            use startup::Common;

            /// One line for `--help`.
            pub const ABOUT: &str = concat!("Run the ", $script, " scripts of all jobs, in parallel");

            /// The flags of the verb.
            #[derive(Debug, Args)]
            #[command(
                long_about = concat!(
                    "Run /var/vcap/jobs/JOB/bin/", $script, " of every job that has one, all at once, as the user that \
                    runs this program (root in a pod), in the directory /var/vcap/bosh, with the environment of BOSH's \
                    agent: PATH=/usr/sbin:/usr/bin:/sbin:/bin, TMPDIR=/var/vcap/data/tmp and nothing else.\n\n\
                    A script's output is appended to /var/vcap/sys/log/JOB/", $script, ".stdout.log and ", $script,
                    ".stderr.log, and forwarded with the job's name before each line. It is read until 2 seconds after the script's exit at most. Processes that a script leaves \
                    behind run on, unless TERM stopped the scripts.", $more
                ),
                after_long_help = concat!(
                    "Examples:\n\
                    \x20\x20", $script, "\n\
                    \x20\x20", $script, " --job nats --job nats-tls\n\
                    \x20\x20", $script, " --root /tmp/instance\n\n\
                    Exit codes: 0 every script succeeded; 2 usage; 65 a job is not rendered; 70 a script failed: ",
                    $failed
                )
            )]
            pub struct Options {
                #[command(flatten)]
                hook: hooks::HookOptions,
            }

            /// Runs the verb; gives the exit code.
            pub fn run(options: Options, common: &Common) -> Result<u8> {
                hooks::run($script, options.hook, &common.root)
            }
        }
    };
}

verb!(
    /// `pre-start`.
    pre_start, "pre-start", more: "", failed: "nothing may be started then."
);
verb!(
    /// `post-start`.
    post_start, "post-start",
    more: "\n\nA pod does not need to call it: run-process runs the script of its own job once every process runs. How \
        the script ended is kept in /var/vcap/sys/run/boson/JOB/post-start.hook, where `ready` looks.",
    failed: "the instance is not ready then."
);
verb!(
    /// `post-deploy`.
    post_deploy, "post-deploy", more: "", failed: "the deployment is not done then."
);
