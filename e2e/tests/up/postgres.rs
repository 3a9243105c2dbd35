//! A service with data: PostgreSQL on a persistent disk, of which no row may be lost.

use testkit::waiting::wait_for;

use crate::deployment::{Deployment, rows};

const SERVER: &str = "kill -KILL $(cat /var/vcap/sys/run/bpm/postgres/postgres.pid)";

/// Runs the errand, which fails if a row of an earlier run is lost.
fn write_rows(postgres: &Deployment, report: &str) {
    assert_eq!(postgres.succeed(&["run-errand", "rows"]), format!("{report}\n"));
}

/// The logs of an instance, as soon as they contain this line.
fn logged(postgres: &Deployment, instance: &str, line: &str) -> String {
    wait_for(&format!("{line:?} in the logs of {instance}"), || {
        Some(postgres.succeed(&["logs", instance])).filter(|logs| logs.contains(line))
    })
}

#[test]
fn postgresql_keeps_every_row_over_stops_kills_and_new_instances() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: without root, the sandbox may have one user id, and PostgreSQL refuses to run as root");
        return;
    }
    let postgres = Deployment::up("postgres");
    let status = postgres.boson(&["status"]);
    assert_eq!((status.code, rows(&status, &["running"]).len()), (Some(0), 2), "{}", status.stdout);
    write_rows(&postgres, "run 1: wrote 100 rows, and found 0 rows of 0 earlier runs");
    write_rows(&postgres, "run 2: wrote 100 rows, and found 100 rows of 1 earlier runs");
    // The other group has seen it, and remembers it on its own disk.
    logged(&postgres, "watcher/0", "watcher.stdout.log] 2 runs");

    // Drain stops it, and the new instances find their disks.
    postgres.succeed(&["down"]);
    postgres.up_again();
    let logs = logged(&postgres, "postgres/0", "database system was shut down at");
    assert!(logs.contains("stopped by drain: "), "{logs}");
    logged(&postgres, "watcher/0", "seen before: 2 runs");
    write_rows(&postgres, "run 3: wrote 100 rows, and found 200 rows of 2 earlier runs");

    // A kill is followed by recovery.
    postgres.succeed(&["exec", "postgres/0", "sh", "-c", SERVER]);
    let status = postgres.status_until(|status| !rows(status, &["postgres/0", "137", "running"]).is_empty());
    assert_eq!(rows(&status, &["postgres/0", "1"]).len(), 1, "one restart: {}", status.stdout);
    write_rows(&postgres, "run 4: wrote 100 rows, and found 300 rows of 3 earlier runs");
    logged(&postgres, "postgres/0", "database system was not properly shut down; automatic recovery in progress");

    a_new_password_reaches_both_sides(&postgres);

    // The proof can fail.
    let delete =
        "psql -X -h /var/vcap/data/postgres -U vcap app -c 'DELETE FROM entries WHERE run = 2 AND number > 97'";
    let delete = format!("PATH=$PATH:/var/vcap/packages/postgresql/bin; {delete}");
    assert_eq!(postgres.succeed(&["exec", "postgres/0", "sh", "-c", &delete]), "DELETE 3\n");
    let errand = postgres.boson(&["run-errand", "rows"]);
    assert!(errand.stderr.contains("rows are lost: run 2: 97 of 100 rows"), "{}", errand.stderr);
    assert_eq!(errand.code, Some(3));
    let printed = postgres.succeed(&["down", "--delete-disks"]);
    assert!(printed.contains("persistent disk of postgres/0") && printed.contains("of watcher/0"), "{printed}");
}

/// A rotated password is set in the database by post-start, and reaches the other jobs through the link.
fn a_new_password_reaches_both_sides(postgres: &Deployment) {
    let password = || {
        postgres.succeed(&["exec", "watcher/0", "grep", "^password=", "/var/vcap/jobs/watcher/config/pg_service.conf"])
    };
    // Of the instance's interface: others reach the new instance at once if it is the same.
    let interface = || postgres.succeed(&["exec", "postgres/0", "cat", "/sys/class/net/eth0/address"]);
    let before = (password(), interface());
    postgres.succeed(&["variables", "rotate", "postgres_password"]);
    let printed = postgres.up_again();
    assert!(printed.contains("postgres/0: updated") && printed.contains("watcher/0: updated"), "{printed}");
    assert_ne!(password(), before.0);
    assert_eq!(interface(), before.1);
    write_rows(postgres, "run 5: wrote 100 rows, and found 400 rows of 4 earlier runs");
    logged(postgres, "watcher/0", "watcher.stdout.log] 5 runs");
}
