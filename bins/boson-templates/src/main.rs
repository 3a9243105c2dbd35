//! The executable for Kubernetes Templates in a cluster: no Ruby, no deployments. The token of the API of templates is not that of a
//! deployment. Links whose names begin with `kubectl-boson` make it a plugin of kubectl.

use std::process::ExitCode;

use startup::multicall::{Executable, Group};

const EXECUTABLE: Executable = Executable {
    name: "boson-templates",
    about: "Apply, export and serve Kubernetes Templates in a cluster; a plugin of kubectl",
    long_version: None,
    after_help: "Example:\n  kubectl boson apply-template --name shop --template web.yaml --param NAME=shop",
    groups: &[Group {
        title: "Verbs",
        topic: None,
        verbs: startup::verbs!("boson-templates":
            "apply-template" => apply_template,
            "export-template" => apply_template::export_template,
            "serve-templates" => serve_templates,
        ),
    }],
};

fn main() -> ExitCode {
    command_line::main(&EXECUTABLE, std::env::args_os())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_definitions_are_valid() {
        super::EXECUTABLE.check();
    }
}
