//! The executable that talks to a cluster: with the token of a deployment, and without Ruby. Linked as `kubectl-boson` it is
//! a plugin of kubectl.

use std::process::ExitCode;

use startup::multicall::{Executable, Group};

/// The verbs of users, then those of the gather Job.
const EXECUTABLE: Executable = Executable {
    name: "boson-cluster",
    about: "Run BOSH deployments in a Kubernetes cluster; as kubectl-boson a plugin of kubectl",
    long_version: None,
    after_help: "Example:\n  kubectl boson apply nats.yml --registry registry.example/releases\n\n`kubectl boson apply-template` and `export-template` are verbs of boson-templates.",
    groups: &[
        Group {
            title: "Deploy",
            topic: None,
            verbs: startup::verbs!("boson-cluster":
                "apply" => kubectl_boson::apply,
                "errand" => kubectl_boson::errand,
                "recreate" => kubectl_boson::recreate,
                "rollback" => kubectl_boson::rollback,
                "cancel" => kubectl_boson::cancel,
                "delete" => kubectl_boson::delete,
            ),
        },
        Group {
            title: "Look",
            topic: None,
            verbs: startup::verbs!("boson-cluster":
                "status" => kubectl_boson::status,
                "deployments" => kubectl_boson::deployments,
                "errands" => kubectl_boson::errands,
                "releases" => kubectl_boson::releases,
                "stemcells" => kubectl_boson::stemcells,
                "disks" => kubectl_boson::disks,
                "diff" => kubectl_boson::diff,
                "logs" => kubectl_boson::logs,
                "events" => kubectl_boson::events,
                "ssh" => kubectl_boson::ssh,
                "scp" => kubectl_boson::scp,
                "versions" => kubectl_boson::versions,
                "tasks" => kubectl_boson::tasks,
                "task" => kubectl_boson::tasks::one,
                "documents" => kubectl_boson::documents,
                "objects" => kubectl_boson::objects,
            ),
        },
        Group {
            title: "Run in a Job",
            topic: Some("job"),
            verbs: startup::verbs!("boson-cluster":
                "write-secrets" => write_secrets,
                "deploy" => deploy,
                "brokerpak-state" => brokerpak_state,
            ),
        },
    ],
};

fn main() -> ExitCode {
    command_line::main(&EXECUTABLE, std::env::args_os())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_grammar_is_sound() {
        super::EXECUTABLE.check();
    }
}
