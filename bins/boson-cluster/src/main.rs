//! The executable that talks to a cluster: the only one with a token, and without Ruby. Linked as `kubectl-boson` it is a plugin of
//! kubectl.

mod apply;
mod containers;
mod delete;
mod errand;
mod events;
mod follow;
mod interrupt;
mod logs;
mod output;
mod rollback;
mod run;
mod ssh;
mod status;
mod target;
mod versions;

use std::process::ExitCode;

use startup::multicall::Executable;

/// The verbs of users, then those of the gather Job.
const EXECUTABLE: Executable = Executable {
    name: "boson-cluster",
    about: "Runs BOSH deployments in a Kubernetes cluster; as kubectl-boson a plugin of kubectl",
    long_version: None,
    after_help: "Example:\n  kubectl boson apply nats.yml --registry registry.example/releases",
    verbs: startup::verbs!("boson-cluster":
        "apply" => apply,
        "status" => status,
        "logs" => logs,
        "events" => events,
        "ssh" => ssh,
        "errand" => errand,
        "versions" => versions,
        "rollback" => rollback,
        "delete" => delete,
        "apply-template" => apply_template,
        "export-template" => apply_template::export_template,
        "write-secrets" => write_secrets,
        "deploy" => deploy,
        "serve-templates" => serve_templates,
        "brokerpak-state" => brokerpak_state,
    ),
};

fn main() -> ExitCode {
    EXECUTABLE.main(std::env::args_os())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_grammar_is_sound() {
        super::EXECUTABLE.check();
    }
}
