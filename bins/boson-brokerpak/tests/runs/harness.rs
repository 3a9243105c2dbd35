//! A pak in a directory, a state directory, and the real terraform or tofu.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

/// An executable in the directory that `.ci/terraform` prints; the variable `BOSON_TERRAFORM_DIR` replaces it.
pub(crate) fn executable(name: &str) -> PathBuf {
    static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
        if let Some(directory) = std::env::var_os("BOSON_TERRAFORM_DIR").filter(|directory| !directory.is_empty()) {
            return directory.into();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let output = Command::new(root.join(".ci/terraform")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
    });
    let path = DIRECTORY.join(name);
    assert!(path.exists(), "{} is missing", path.display());
    path
}

/// The version that the executable has in states.
pub(crate) fn version(name: &str) -> &'static str {
    if name == "tofu" { "1.9.1" } else { "1.5.7" }
}

const SERVICE: &str = "version: 1
name: example
id: 00000000-0000-0000-0000-000000000000
description: d
display_name: Example
image_url: https://example.com/i.png
documentation_url: https://example.com
support_url: https://example.com
plan_updateable: true
plans:
- {name: small, id: 00000000-0000-0000-0000-000000000001, description: d, display_name: Small, properties: {size: 1}}
- {name: large, id: 00000000-0000-0000-0000-000000000002, description: d, display_name: Large, properties: {size: 2}}
";

/// A directory with a pak, a state directory and requests.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    tools: Vec<(String, PathBuf)>,
    /// Further variables of the environment.
    pub(crate) variables: Vec<(String, String)>,
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// The document of `--output`; null if there is none.
    pub(crate) output: Value,
}

impl Place {
    /// A pak for one tool, with the actions of its service.
    pub(crate) fn new(tool: &str, actions: &str) -> Place {
        let place = Place {
            directory: tempfile::tempdir().unwrap(),
            tools: vec![(version(tool).to_owned(), executable(tool))],
            variables: Vec::new(),
        };
        let binaries = format!("[{{name: {tool}, version: {}}}]", version(tool));
        place.write_pak(&binaries, "", actions);
        place
    }

    /// Another version of the pak: `rest` is the end of the manifest.
    pub(crate) fn write_pak(&self, binaries: &str, rest: &str, actions: &str) {
        let manifest = format!(
            "packversion: 1\nname: pak\nversion: 1.0.0\nplatforms: [{{os: linux, arch: amd64}}]\n\
             terraform_binaries: {binaries}\nservice_definitions: [s.yml]\n{rest}"
        );
        fs::create_dir_all(self.path("pak")).unwrap();
        fs::write(self.path("pak/manifest.yml"), manifest).unwrap();
        fs::write(self.path("pak/s.yml"), format!("{SERVICE}{actions}")).unwrap();
    }

    pub(crate) fn add_tool(&mut self, tool: &str) {
        self.tools.push((version(tool).to_owned(), executable(tool)));
    }

    pub(crate) fn remove_tool(&mut self, tool: &str) {
        self.tools.retain(|entry| entry.0 != version(tool));
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-brokerpak"));
        command.arg("brokerpak").current_dir(self.directory.path()).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("BROKERPAK_STATE_DIR", self.path("state"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run_command(&self, operation: &str, request: &Value, number: &str) -> Command {
        let request_file = self.path(&format!("request{number}.json"));
        fs::write(&request_file, request.to_string()).unwrap();
        let mut command = self.command();
        command.args(["run", operation, "pak", "--request"]).arg(request_file);
        command.arg("--output").arg(self.path(&format!("output{number}.json")));
        for (version, tool) in &self.tools {
            command.arg("--terraform").arg(format!("{version}={}", tool.display()));
        }
        command
    }

    /// Runs an operation with further flags.
    pub(crate) fn run_with(&self, operation: &str, request: &Value, flags: &[&str]) -> Ran {
        let _ = fs::remove_file(self.path("output.json"));
        let output = self.run_command(operation, request, "").args(flags).output().unwrap();
        self.ran(&output)
    }

    pub(crate) fn run(&self, operation: &str, request: &Value) -> Ran {
        self.run_with(operation, request, &[])
    }

    /// Runs an operation that succeeds.
    #[track_caller]
    pub(crate) fn ok(&self, operation: &str, request: &Value) -> Value {
        let ran = self.run(operation, request);
        assert_eq!((ran.code, &ran.output["result"]), (Some(0), &json!("ok")), "{operation}: {}", ran.stderr);
        ran.output
    }

    /// Starts an operation.
    pub(crate) fn start(&self, operation: &str, request: &Value) -> Child {
        let mut command = self.run_command(operation, request, "-other");
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn ran(&self, output: &Output) -> Ran {
        let text = fs::read_to_string(self.path("output.json")).unwrap_or_else(|_| "null".to_owned());
        Ran {
            code: output.status.code(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            output: serde_json::from_str(&text).unwrap(),
        }
    }

    /// Whether the state directory knows nothing.
    #[track_caller]
    pub(crate) fn assert_empty(&self) {
        let instances = fs::read_dir(self.path("state/instances")).unwrap().count();
        assert_eq!(instances, 0, "the state directory has an instance");
    }
}

/// A request about the instance `i`.
pub(crate) fn instance(parameters: &Value) -> Value {
    json!({ "plan": "small", "instance_id": "i", "parameters": parameters })
}

/// A request about its binding `b`.
pub(crate) fn binding() -> Value {
    json!({ "instance_id": "i", "binding_id": "b" })
}

/// Whether a file appears.
pub(crate) fn wait_for_file(path: &Path) {
    testkit::waiting::eventually("a file", || path.exists());
}
