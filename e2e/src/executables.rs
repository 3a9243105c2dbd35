//! Running the executables.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use testkit::executable;

/// The version of the Ruby that evaluates templates: major and minor.
///
/// # Panics
/// If `boson --version` does not name it.
pub fn ruby_version() -> (u32, u32) {
    static VERSION: OnceLock<(u32, u32)> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let stdout = run(&["boson", "--version"], &[], &crate::here()).stdout;
        let version = stdout.split("Ruby ").nth(1).and_then(|rest| {
            let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        });
        version.unwrap_or_else(|| panic!("boson --version names no Ruby: {stdout}"))
    })
}

/// The result of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
}

/// Runs a verb (its name first, then its arguments) in `directory`, with these variables and almost no others.
pub fn run(arguments: &[&str], environment: &[(&str, &str)], directory: &Path) -> Outcome {
    let (name, arguments) = arguments.split_first().map_or(("", arguments), |(name, rest)| (*name, rest));
    let mut command = Command::new(executable(name));
    command.args(arguments).current_dir(directory).env_clear().stdin(Stdio::null());
    let in_empty_root = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BOSON_EMPTY_ROOT"));
    command.envs(in_empty_root);
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
