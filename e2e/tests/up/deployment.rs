//! A deployment that a test brings up.

use std::path::{Path, PathBuf};

use e2e::{Outcome, here, run};
use testkit::waiting::wait_for;

/// A deployment that is up as long as this value lives.
pub(crate) struct Deployment {
    work: tempfile::TempDir,
    /// The directory of its release.
    release: &'static str,
    /// Further flags of `boson up`.
    flags: &'static [&'static str],
}

impl Deployment {
    /// Brings a deployment of `e2e/deployments` up, its release being of the same name.
    pub(crate) fn up(name: &'static str) -> Deployment {
        Deployment::up_with(name, name)
    }

    /// Brings a deployment of `e2e/deployments` up, with this release.
    pub(crate) fn up_with(name: &str, release: &'static str) -> Deployment {
        let deployment = Deployment::prepare(name, release, &[]);
        deployment.up_again();
        deployment
    }

    /// A deployment of `e2e/deployments` that is not up yet.
    pub(crate) fn prepare(name: &str, release: &'static str, flags: &'static [&'static str]) -> Deployment {
        let deployment = Deployment { work: tempfile::tempdir().expect("a directory to work in"), release, flags };
        let manifest = std::fs::read_to_string(here().join(format!("deployments/{name}.yml"))).expect("a manifest");
        deployment.write_manifest(&manifest);
        deployment
    }

    fn manifest(&self) -> PathBuf {
        self.work.path().join("manifest.yml")
    }

    fn write_manifest(&self, text: &str) {
        std::fs::write(self.manifest(), text).expect("the manifest is written");
    }

    /// Replaces a text in its manifest.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.manifest()).expect("the manifest");
        assert!(text.contains(from), "{from:?} is not in the manifest");
        self.write_manifest(&text.replace(from, to));
    }

    /// Applies the current manifest; returns the output of `boson up`.
    pub(crate) fn up_again(&self) -> String {
        let outcome = self.try_up();
        assert_eq!(outcome.code, Some(0), "boson up: {}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    /// Applies the current manifest.
    pub(crate) fn try_up(&self) -> Outcome {
        self.boson(&self.up_arguments(&["--detach"]).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The arguments of `boson up`.
    pub(crate) fn up_arguments(&self, further: &[&str]) -> Vec<String> {
        let release = here().join(format!("releases/{}", self.release)).display().to_string();
        let manifest = self.manifest().display().to_string();
        let arguments = ["up", "--manifest", &manifest, "--release", &release];
        arguments.iter().chain(self.flags).chain(further).map(|argument| (*argument).to_owned()).collect()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.work.path().join("state")
    }

    pub(crate) fn boson(&self, arguments: &[&str]) -> Outcome {
        let state = self.state().display().to_string();
        let arguments: Vec<&str> = std::iter::once("boson").chain(arguments.iter().copied()).collect();
        run(&arguments, &[("BOSON_STATE_DIR", &state)], self.work.path())
    }

    /// Runs a verb that has to succeed; returns its output.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let outcome = self.boson(arguments);
        assert_eq!(outcome.code, Some(0), "boson {arguments:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    /// The status table, as soon as it satisfies `wanted`.
    pub(crate) fn status_until(&self, wanted: impl Fn(&Outcome) -> bool) -> Outcome {
        wait_for("the status", || Some(self.boson(&["status"])).filter(&wanted))
    }

    /// Stops it, and checks that nothing of it is left.
    pub(crate) fn down(self) {
        self.succeed(&["down"]);
        assert!(!self.state().exists(), "boson down leaves {}", self.state().display());
        let left = self.processes();
        assert!(left.is_empty(), "boson down leaves processes: {left:?}");
    }

    /// The processes that use its state directory.
    pub(crate) fn processes(&self) -> Vec<String> {
        users_of(&self.state())
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        if self.state().exists() {
            self.boson(&["down", "--delete-disks"]);
        }
    }
}

/// The processes that have a mount below `directory` or name it in their command line.
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

/// Lines of the status table without its header, which contain all of these `columns`.
pub(crate) fn rows<'a>(status: &'a Outcome, columns: &[&str]) -> Vec<&'a str> {
    let lines = status.stdout.lines().skip(1);
    lines.filter(|line| columns.iter().all(|column| line.split_whitespace().any(|w| w == *column))).collect()
}
