//! Instances of Kubernetes Templates: `kubectl boson apply-template` and `export-template`.

mod conflicts;
mod export;
mod instances;
mod job;
pub(crate) mod page;
mod permissions;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cluster::{Namespace, from_run};

/// The label of an instance's objects.
const PART_OF: &str = "applyset.kubernetes.io/part-of";

/// A namespace, and a directory for templates and values.
struct Templates {
    namespace: Namespace,
    directory: tempfile::TempDir,
}

/// What a verb has printed.
struct Printed {
    code: i32,
    out: String,
    err: String,
}

impl Templates {
    fn new(test: &str) -> Templates {
        Templates { namespace: Namespace::with_standard(test, "privileged"), directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// `kubectl boson`, in this namespace and directory.
    fn boson(&self, arguments: &[&str]) -> Printed {
        self.boson_with(arguments, None)
    }

    fn boson_with(&self, arguments: &[&str], kubeconfig: Option<&Path>) -> Printed {
        let mut command = Command::new(from_run("E2E_BOSON_TEMPLATES"));
        command.args(arguments).args(["--namespace", &self.namespace.name]).current_dir(self.directory.path());
        if let Some(path) = kubeconfig {
            command.arg("--kubeconfig").arg(path);
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Printed { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// `kubectl boson apply-template`, which succeeds.
    #[track_caller]
    fn apply(&self, name: &str, arguments: &[&str]) -> String {
        let printed = self.boson(&[&["apply-template", "--name", name], arguments].concat());
        assert_eq!(printed.code, 0, "{}{}", printed.out, printed.err);
        printed.out
    }

    /// `kubectl boson apply-template`, which fails; gives the message.
    #[track_caller]
    fn refused(&self, code: i32, name: &str, arguments: &[&str]) -> String {
        let printed = self.boson(&[&["apply-template", "--name", name], arguments].concat());
        assert_eq!(printed.code, code, "{}{}", printed.out, printed.err);
        printed.err
    }

    /// The names of all objects of the namespace that are not made by controllers over time.
    fn names(&self) -> Vec<String> {
        let kinds = "all,secrets,configmaps,endpoints,endpointslices,serviceaccounts,roles,rolebindings";
        let names = self.namespace.kubectl(&["get", kinds, "--output", "name"]);
        let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    /// The version of an object.
    fn version(&self, object: &str) -> String {
        self.namespace.get(object)["metadata"]["resourceVersion"].to_string()
    }
}
