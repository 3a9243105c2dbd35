//! The executable that runs in release images: no Ruby, no TLS, no token.

mod install;

use std::process::ExitCode;

use startup::multicall::{Executable, Group};

/// In the order in which a pod needs them.
const EXECUTABLE: Executable = Executable {
    name: "boson-pod",
    about: "Run the jobs of a BOSH deployment in pods: one program with several names",
    long_version: None,
    after_help: "",
    groups: &[Group {
        title: "Verbs",
        topic: None,
        verbs: startup::verbs!("boson-pod":
            "install" => install,
            "copy-jobs" => copy_jobs,
            "copy-packages" => copy_jobs::copy_packages,
            "create-dirs" => create_dirs,
            "wait-for" => wait_for,
            "pre-start" => lifecycle::pre_start,
            "run-process" => run_process,
            "tail-logs" => tail_logs,
            "post-start" => lifecycle::post_start,
            "ready" => ready,
            "post-deploy" => lifecycle::post_deploy,
            "run-requests" => run_requests,
            "bpm" => bpm_and_monit,
            "monit" => bpm_and_monit::monit,
            "process-template" => process_template,
            "generate-parameters" => process_template::generate_parameters,
        ),
    }],
};

fn main() -> ExitCode {
    EXECUTABLE.main(std::env::args_os())
}

/// The names under which the executable is installed, in addition to its own: those of all verbs but `install`, which runs before.
fn links() -> impl Iterator<Item = &'static str> {
    EXECUTABLE.verbs().map(|verb| verb.name).filter(|name| *name != "install")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_grammar_is_sound() {
        super::EXECUTABLE.check();
    }
}
