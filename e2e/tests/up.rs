//! `boson up` on real deployments: what comes up, what is started again, and that nothing is left.

use std::path::{Path, PathBuf};

use e2e::{Outcome, here, run};
use testkit::waiting::wait_for;

/// A deployment that is up as long as this value lives.
struct Deployment {
    work: tempfile::TempDir,
}

impl Deployment {
    /// Brings a deployment of `e2e/deployments` up, its release being of the same name.
    fn up(name: &str) -> Deployment {
        let deployment = Deployment { work: tempfile::tempdir().expect("a directory to work in") };
        let manifest = here().join(format!("deployments/{name}.yml")).display().to_string();
        let release = here().join(format!("releases/{name}")).display().to_string();
        let outcome = deployment.boson(&["up", "--manifest", &manifest, "--release", &release, "--detach"]);
        assert_eq!(outcome.code, Some(0), "boson up: {}{}", outcome.stdout, outcome.stderr);
        deployment
    }

    fn state(&self) -> PathBuf {
        self.work.path().join("state")
    }

    fn boson(&self, arguments: &[&str]) -> Outcome {
        let state = self.state().display().to_string();
        let arguments: Vec<&str> = std::iter::once("boson").chain(arguments.iter().copied()).collect();
        run(&arguments, &[("BOSON_STATE_DIR", &state)], self.work.path())
    }

    /// Runs a verb that has to succeed; gives what it prints.
    fn succeed(&self, arguments: &[&str]) -> String {
        let outcome = self.boson(arguments);
        assert_eq!(outcome.code, Some(0), "boson {arguments:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    /// The status table, as soon as it satisfies `wanted`.
    fn status_until(&self, wanted: impl Fn(&Outcome) -> bool) -> Outcome {
        wait_for("the status", || Some(self.boson(&["status"])).filter(&wanted))
    }

    /// Stops it, and makes sure that nothing of it is left.
    fn down(self) {
        self.succeed(&["down"]);
        assert!(!self.state().exists(), "boson down leaves {}", self.state().display());
        let left = users_of(&self.state());
        assert!(left.is_empty(), "boson down leaves processes: {left:?}");
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        if self.state().exists() {
            self.boson(&["down"]);
        }
    }
}

/// The processes that have something below `directory` mounted or name it in their command line.
fn users_of(directory: &Path) -> Vec<String> {
    let name = directory.display().to_string();
    let processes = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok).map(|e| e.path());
    let uses = |process: &PathBuf| {
        ["mountinfo", "cmdline"].iter().any(|file| {
            let text = std::fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&name)
        })
    };
    processes.filter(|p| p.join("exe").is_symlink()).filter(uses).map(|p| p.display().to_string()).collect()
}

/// Lines of the status table, its head left out, of which every word is in `words`.
fn rows<'a>(status: &'a Outcome, words: &[&str]) -> Vec<&'a str> {
    let lines = status.stdout.lines().skip(1);
    lines.filter(|line| words.iter().all(|word| line.split_whitespace().any(|w| w == *word))).collect()
}

#[test]
fn a_nats_cluster_passes_its_smoke_tests_also_after_a_node_was_killed() {
    let nats = Deployment::up("nats");
    let status = nats.boson(&["status"]);
    assert_eq!((status.code, rows(&status, &["running"]).len()), (Some(0), 4), "{}", status.stdout);
    assert_eq!((rows(&status, &["z1"]).len(), rows(&status, &["z2"]).len()), (2, 2), "{}", status.stdout);

    let printed = nats.succeed(&["run-errand", "smoke-tests"]);
    assert!(printed.contains("ok: 1000 messages arrived on each of 4 nodes"), "{printed}");

    nats.succeed(&["exec", "nats/1", "/bin/sh", "-c", "kill -KILL $(cat /var/vcap/sys/run/bpm/nats/nats.pid)"]);
    let status = nats.status_until(|status| status.code == Some(0) && !rows(status, &["nats/1", "137"]).is_empty());
    assert_eq!(rows(&status, &["nats/1", "running", "1"]).len(), 1, "one restart: {}", status.stdout);
    let printed = nats.succeed(&["run-errand", "smoke-tests"]);
    assert!(printed.contains("ok: 1000 messages arrived on each of 4 nodes"), "{printed}");

    let logs = nats.succeed(&["logs", "nats/2"]);
    assert!(logs.contains("Server is ready"), "{logs}");
    nats.down();
}

#[test]
fn jobs_that_share_an_instance_and_their_errand_run() {
    let shop = Deployment::up("shop");
    let status = shop.boson(&["status"]);
    // Three times database, backup and cache; twice web, mails and orders.
    assert_eq!((status.code, rows(&status, &["running"]).len()), (Some(0), 15), "{}", status.stdout);
    let printed = shop.succeed(&["run-errand", "migrate"]);
    assert!(printed.contains("would migrate goods on shop-storage-0.default.svc.cluster.local"), "{printed}");
    shop.down();
}
