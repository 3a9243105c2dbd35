//! A generated deployment of cf-deployment's size: 17 instance groups with 83 jobs of 30 releases.

use std::process::Command;
use std::time::Instant;

use crate::cluster::{Namespace, from_run, output};
use crate::gathered::RESTRICTED;
use crate::generate::{cf_like, write};

#[test]
fn the_api_server_accepts_the_objects_of_a_large_deployment() {
    let namespace = Namespace::new("large");
    let directory = tempfile::tempdir().unwrap();
    let input = write(directory.path(), cf_like(1)).unwrap();
    assert_eq!((input.jobs, input.releases), (83, 30));
    let (planned, objects) = (directory.path().join("planned"), directory.path().join("objects"));
    let mut plan = Command::new(from_run("E2E_BOSON"));
    plan.args(["plan", "--kube-namespace", &namespace.name]).arg("--output-dir").arg(&planned);
    output(plan.arg("--bosh-manifest-path").arg(&input.manifest).arg("--base-dir").arg(&input.base)).unwrap();

    let kubectl_boson = |arguments: &[&str]| {
        let mut command = Command::new(from_run("E2E_BOSON_CLUSTER"));
        let started = Instant::now();
        output(command.args(arguments).args(["--namespace", &namespace.name])).unwrap();
        println!("{} took {:.1?}", arguments[0], started.elapsed());
    };
    kubectl_boson(&["write-secrets", "--from", planned.to_str().unwrap()]);
    let images = ["--registry", "registry.example"];
    kubectl_boson(
        &[
            &["deploy", "--deployment-name", "generated", "--output-dir", objects.to_str().unwrap()][..],
            &images,
            &RESTRICTED,
        ]
        .concat(),
    );

    let accepted =
        namespace.kubectl(&["apply", "--dry-run=server", "--recursive", "--filename", objects.to_str().unwrap()]);
    let of = |kind: &str| accepted.lines().filter(|line| line.starts_with(&format!("{kind}/"))).count();
    // One for each group and zone, also for zones that have no instance yet; and Services for each group and instance.
    let instances = [2, 2, 1, 3, 2, 2, 2, 1, 2, 4, 2, 2, 1, 2, 2, 2, 1];
    assert_eq!(of("statefulset.apps"), 2 * instances.len(), "{accepted}");
    assert_eq!(of("service"), instances.len() + instances.iter().sum::<usize>(), "{accepted}");
    // Nothing was applied.
    assert_eq!(namespace.kubectl(&["get", "statefulsets,services", "--output", "name"]), "");
}
