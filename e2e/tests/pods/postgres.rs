//! A service with data: PostgreSQL with a persistent disk, of which no row may be lost.

use crate::gathered::{Gathered, RESTRICTED};

const POD: &str = "postgres-postgres-z1-0";
const CONTAINER: &str = "postgres-postgres";

/// Runs the errand, which fails if a row of an earlier run is lost.
#[track_caller]
fn write_rows(postgres: &Gathered, report: &str) {
    let printed = postgres.kubectl_boson(&["errand", "rows"]).unwrap_or_else(|error| panic!("{error}"));
    assert!(printed.lines().any(|line| line == report), "{report:?} is not in:\n{printed}");
}

fn logs(postgres: &Gathered, pod: &str, container: &str) -> String {
    postgres.namespace.try_kubectl(&["logs", pod, "--container", container]).unwrap_or_default()
}

/// Waits until the container has logged the text: kubectl may not reach it on a machine with much to do.
#[track_caller]
fn wait_for_text(postgres: &Gathered, pod: &str, container: &str, text: &str) {
    let is_logged = || logs(postgres, pod, container).contains(text);
    postgres.namespace.wait_until(&format!("{container} of {pod} logs {text:?}"), is_logged);
}

fn wait_for_line(postgres: &Gathered, pod: &str, container: &str, line: &str) {
    postgres.namespace.wait_until(&format!("{container} of {pod} logs {line:?}"), || {
        logs(postgres, pod, container).lines().any(|logged| logged.ends_with(line))
    });
}

/// How often the pod's container for the process has been restarted.
fn restarts(postgres: &Gathered, group: &str, container: &str) -> Option<u64> {
    let pods = postgres.pods(group);
    let statuses = pods.first()?["status"]["containerStatuses"].as_array()?;
    statuses.iter().find(|status| status["name"] == container)?["restartCount"].as_u64()
}

#[test]
fn postgresql_keeps_every_row_over_deleted_pods_kills_updates_and_a_deleted_deployment() {
    let postgres = Gathered::new("stateful", "postgres");
    let run = || postgres.assert_complete(&postgres.run(&RESTRICTED));
    run();
    let claims =
        "-o=jsonpath={range .items[*]}{.metadata.name} {.spec.resources.requests.storage} {.status.phase};{end}";
    assert_eq!(
        postgres.namespace.kubectl(&["get", "persistentvolumeclaims", claims]),
        "store-postgres-postgres-z1-0 512Mi Bound;store-postgres-watcher-z1-0 64Mi Bound;"
    );
    write_rows(&postgres, "run 1: wrote 100 rows, and found 0 rows of 0 earlier runs");
    write_rows(&postgres, "run 2: wrote 100 rows, and found 100 rows of 1 earlier runs");
    // The other group has seen it, through the address of the group.
    wait_for_line(&postgres, "postgres-watcher-z1-0", "watcher-watcher", "2 runs");

    let uid = || postgres.namespace.try_pod(POD).map(|pod| pod["metadata"]["uid"].clone());
    let before = uid();
    postgres.namespace.kubectl(&["delete", "pod", POD]);
    postgres.namespace.wait_until("the pod is made again", || uid().is_some_and(|uid| Some(uid) != before));
    postgres.namespace.wait_until_ready(POD);
    wait_for_text(&postgres, POD, "pre-start-postgres", "stopped by drain: ");
    wait_for_text(&postgres, POD, CONTAINER, "database system was shut down at");
    write_rows(&postgres, "run 3: wrote 100 rows, and found 200 rows of 2 earlier runs");

    // A kill is followed by recovery. What kills it is killed with its container.
    let kill = "kill -KILL $(cat /var/vcap/sys/run/bpm/postgres/postgres.pid)";
    let _ = postgres.namespace.try_kubectl(&["exec", POD, "--container", CONTAINER, "--", "/bin/sh", "-c", kill]);
    postgres.namespace.wait_until("it is started again", || restarts(&postgres, "postgres", CONTAINER) == Some(1));
    postgres.namespace.wait_until_ready(POD);
    wait_for_text(&postgres, POD, CONTAINER, "automatic recovery in progress");
    write_rows(&postgres, "run 4: wrote 100 rows, and found 300 rows of 3 earlier runs");

    // An update makes a pod of its own; that of the other group stays.
    let (server, watcher) = (postgres.pods("postgres"), postgres.pods("watcher"));
    let password = "        password: ((postgres_password))\n";
    postgres.edit(password, &format!("{password}        max_connections: 40\n"));
    run();
    assert_ne!(postgres.pods("postgres")[0]["metadata"]["uid"], server[0]["metadata"]["uid"]);
    assert_eq!(postgres.pods("watcher")[0]["metadata"]["uid"], watcher[0]["metadata"]["uid"]);
    write_rows(&postgres, "run 5: wrote 100 rows, and found 400 rows of 4 earlier runs");
    wait_for_line(&postgres, "postgres-watcher-z1-0", "watcher-watcher", "5 runs");
    assert_eq!(restarts(&postgres, "watcher", "watcher-watcher"), Some(0));

    // Disks stay when the deployment is deleted.
    postgres.delete();
    run();
    wait_for_text(&postgres, "postgres-watcher-z1-0", "watcher-watcher", "seen before: 5 runs");
    write_rows(&postgres, "run 6: wrote 100 rows, and found 500 rows of 5 earlier runs");

    // They are named, and deleted on request.
    let shown = postgres.kubectl_boson(&["delete"]).unwrap_err();
    assert!(shown.contains("PersistentVolumeClaim store-postgres-postgres-z1-0 stays (512Mi)\n"), "{shown}");
    assert!(shown.contains("--with-disks deletes these 2 disks, too"), "{shown}");
    postgres.kubectl_boson(&["delete", "--with-disks", "--yes"]).unwrap();
    postgres.namespace.wait_until("the disks are deleted", || {
        postgres.namespace.kubectl(&["get", "persistentvolumeclaims", "--output", "name"]).is_empty()
    });
}
