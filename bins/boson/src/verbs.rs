//! The verbs of boson.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::LazyLock;

use crate::completion;
use local_deployment::DIES_WITH_PARENT;
use local_verbs::{
    cache, cp, deployments, disks, down, errands, exec, inspect_local_release, logs, recreate, releases, restart,
    run_errand, start, status, stemcells, stop, top, up, variables,
};
use startup::multicall::{Executable, Group};

/// The verbs of users, then those of a pod.
fn executable() -> Executable {
    Executable {
        name: "boson",
        about: "Run BOSH jobs: on this machine without a cluster, or stage by stage in a pod",
        long_version: Some(&VERSION),
        after_help: "Example:\n  boson up -m nats.yml -r ./nats-release -p 4222:nats/0:4222",
        groups: &[
            Group {
                title: "Run deployments on this machine",
                topic: None,
                verbs: startup::verbs!("boson":
                    "up" => up,
                    "start" => start,
                    "stop" => stop,
                    "restart" => restart,
                    "recreate" => recreate,
                    "run-errand" => run_errand,
                    "down" => down,
                ),
            },
            Group {
                title: "Look at them",
                topic: None,
                verbs: startup::verbs!("boson":
                    "status" => status,
                    "top" => top,
                    "deployments" => deployments,
                    "errands" => errands,
                    "releases" => releases,
                    "stemcells" => stemcells,
                    "logs" => logs,
                    "exec" => exec,
                    "cp" => cp,
                    "disks" => disks,
                    "variables" => variables,
                    "cache" => cache,
                ),
            },
            Group {
                title: "Write manifests, releases and templates",
                topic: None,
                verbs: startup::verbs!("boson":
                    "interpolate" => interpolate,
                    "explain" => render_release::explain,
                    "init" => init_release,
                    "render" => render_release,
                    "diff" => render_release::diff,
                    "graph" => render_release::graph,
                    "lint" => lint_release,
                    "test" => test_release,
                    "view" => view_release,
                    "inspect-local-release" => inspect_local_release,
                    "compile" => compile_release,
                    "process-template" => process_template,
                    "generate-parameters" => process_template::generate_parameters,
                    "explain-error" => explain_error,
                ),
            },
            Group {
                title: "Prepare a cluster",
                topic: None,
                verbs: startup::verbs!("boson": "gather" => print_objects),
            },
            Group {
                title: "Set up this installation",
                topic: None,
                verbs: startup::verbs!("boson": "completion" => completion, "self" => check_installation),
            },
            Group {
                title: "Run in a pod",
                topic: Some("pod"),
                verbs: startup::verbs!("boson":
                    "copy-jobs" => copy_jobs,
                    "plan" => plan,
                    "render-jobs" => render_jobs,
                    "create-dirs" => create_dirs,
                    "pre-start" => lifecycle::pre_start,
                    "run-process" => run_process,
                    "post-start" => lifecycle::post_start,
                    "ready" => ready,
                    "post-deploy" => lifecycle::post_deploy,
                    "bpm" => bpm_and_monit,
                    "monit" => bpm_and_monit::monit,
                ),
            },
        ],
    }
}

/// With the libraries, so that an operator can tell whether one with a known vulnerability is linked.
static VERSION: LazyLock<String> = LazyLock::new(|| format!("{}\n{}", startup::version(), ruby::linked()));

/// Runs the verb that the command line names.
pub(crate) fn dispatch(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    if std::env::var_os(DIES_WITH_PARENT).is_some() {
        // It cannot fail with a valid signal.
        let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    }
    command_line::main_with_names(&executable(), args, local_verbs::names::add)
}

/// `gather` of an executable without a token: it prints the objects.
mod print_objects {
    use problem::Result;
    use startup::Common;

    pub(crate) use gather::{ABOUT, PrintOptions as Options};

    /// Runs the verb; returns the exit code.
    pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
        gather::run(&options)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_verb_of_an_instance_exists() {
        for name in local_deployment::INSTANCE_VERBS {
            assert!(super::executable().verbs().any(|verb| verb.name == name), "{name}");
        }
    }

    #[test]
    fn the_grammar_is_sound() {
        super::executable().check();
    }
}
