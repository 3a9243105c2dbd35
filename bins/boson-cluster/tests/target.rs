//! Which deployment a verb of `kubectl boson` is about.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::process::Command;

use testkit::api_server::ApiServer;

#[test]
fn a_deployment_is_named_as_with_the_bosh_cli() {
    let server = ApiServer::start();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    server.write_kubeconfig(&kubeconfig);
    let refused = |arguments: &[&str], variable: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        command.args(arguments).arg("--kubeconfig").arg(&kubeconfig).env("BOSH_DEPLOYMENT", variable);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(65));
        let message = String::from_utf8(output.stderr).unwrap();
        message.lines().next().unwrap().split_once(" has no deployment").unwrap().1.to_owned()
    };
    for verb in ["status", "versions", "tasks", "logs", "events", "rollback", "delete"] {
        assert_eq!(refused(&[verb, "-d", "a"], "b"), " 'a'", "{verb}");
        assert_eq!(refused(&[verb], "b"), " 'b'", "{verb}");
        // Of `logs` the argument is an instance, if the deployment is named otherwise.
        let counts = if verb == "logs" { " 'b'" } else { " 'c'" };
        assert_eq!(refused(&[verb, "c"], "b"), counts, "{verb}: the argument counts");
        assert_eq!(refused(&[verb], ""), "", "{verb}");
    }
    for verb in [&["ssh", "nats/0"][..], &["errand", "smoke-tests"]] {
        assert_eq!(refused(&[verb, &["--deployment-name", "a"]].concat(), "b"), " 'a'", "{verb:?}");
        assert_eq!(refused(verb, "b"), " 'b'", "{verb:?}");
    }
}
