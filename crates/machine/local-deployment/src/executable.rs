//! What this executable is called where it runs again: in a sandbox, and as a stage on the host.

/// Search path inside a sandbox: as BOSH's agent gives it to scripts, with boson's own verbs first.
pub(crate) const SANDBOX_PATH: &str = "/run/boson/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The verbs that run in an instance; a sandbox has the executable under each of these names.
pub const INSTANCE_VERBS: [&str; 9] =
    ["render-jobs", "create-dirs", "pre-start", "run-process", "post-start", "ready", "post-deploy", "bpm", "monit"];

/// Set for a stage that is killed when the process that started it exits.
pub const DIES_WITH_PARENT: &str = "BOSON_DIES_WITH_PARENT";
