//! A generated deployment of cf-deployment's size: 17 instance groups with 83 jobs of 30 releases.

use std::process::Command;
use std::time::Instant;

use crate::cluster::{Namespace, from_run, output};
use crate::gathered::{Gathered, RESTRICTED};
use crate::generate::{cf_like, write};

/// `kubectl apply` copies objects into annotations, which have 262,144 bytes at most.
#[test]
fn a_manifest_that_is_larger_than_an_annotation_is_applied_by_kubectl() {
    let nats = Gathered::new("large-manifest", "nats");
    let mut random = 1_u64;
    let mut line = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("# {:032x}{:032x}\n", u128::from(random) << 60, u128::from(random.rotate_left(29)) << 47)
    };
    // Comments: without ops files and variables the manifest is planned as it is.
    let comments: String = (0..60_000).map(|_| line()).collect();
    nats.edit("---\n", &format!("---\n{comments}"));
    let objects = nats.objects_as_they_are(&RESTRICTED);
    let secrets = objects.matches("-part").count();
    assert!(secrets > 2, "{secrets}");
    let job = nats.apply_objects(&objects);
    nats.namespace.wait_until(&format!("{job} has ended"), || nats.ended(&job).is_some());
    nats.assert_complete(&job);
    nats.delete();
}

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
