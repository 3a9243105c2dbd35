//! The real executables, as they are built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Path of an executable: that of a verb's own package.
///
/// Cargo builds only what a package's own tests need, so the first call builds them all.
pub fn executable(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let path = DIRECTORY.get_or_init(build).join(name);
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

fn build() -> PathBuf {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--workspace", "--bins"]).current_dir(crate::here());
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let status = cargo.stdin(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "cargo build: {status:?}");
    // This test is <directory>/deps/<test>-<hash>.
    let test = std::env::current_exe().unwrap_or_default();
    test.ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
}

/// Runs a verb (its name first, then its arguments) in `directory`, with these variables and next to no others.
pub fn run(arguments: &[&str], environment: &[(&str, &str)], directory: &Path) -> Outcome {
    let (name, arguments) = arguments.split_first().map_or(("", arguments), |(name, rest)| (*name, rest));
    let mut command = Command::new(executable(name));
    command.args(arguments).current_dir(directory).env_clear().stdin(Stdio::null());
    for inherited in ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(inherited) {
            command.env(inherited, value);
        }
    }
    command.envs(environment.iter().copied());
    match command.output() {
        Err(error) => panic!("{name}: {error}"),
        Ok(output) => Outcome {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        },
    }
}
