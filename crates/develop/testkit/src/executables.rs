//! The executables that ship, under the names that pods call.
//!
//! A test of any package runs `target/<profile>/boson`, and the other executables that ship, found beside itself. `cargo test` of the whole
//! workspace builds them first; of a single package it does not, so a missing or outdated executable fails the test with
//! the command to type.

mod sources;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names a directory with another build of `boson` and `boson-pod` to test, such as `target/static`.
pub const EXECUTABLES: &str = "BOSON_E2E_BIN";

/// Path of an executable, by its own name or by one that pods call it by.
///
/// # Panics
/// If it is missing, or older than its sources.
pub fn executable(name: &str) -> PathBuf {
    static BOSON: OnceLock<PathBuf> = OnceLock::new();
    static BOSON_POD: OnceLock<PathBuf> = OnceLock::new();
    static BOSON_CLOUD: OnceLock<PathBuf> = OnceLock::new();
    static BOSON_BROKERPAK: OnceLock<PathBuf> = OnceLock::new();
    static BOSON_CLUSTER: OnceLock<PathBuf> = OnceLock::new();
    static BOSON_TEMPLATES: OnceLock<PathBuf> = OnceLock::new();
    let file = match file_of(name) {
        "boson" => BOSON.get_or_init(|| find("boson")),
        "boson-brokerpak" => BOSON_BROKERPAK.get_or_init(|| find("boson-brokerpak")),
        "boson-cluster" => BOSON_CLUSTER.get_or_init(|| find("boson-cluster")),
        "boson-cloud" => BOSON_CLOUD.get_or_init(|| find("boson-cloud")),
        "boson-templates" => BOSON_TEMPLATES.get_or_init(|| find("boson-templates")),
        _ => BOSON_POD.get_or_init(|| find("boson-pod")),
    };
    if file.ends_with(name) { file.clone() } else { link(file, name) }
}

/// The executable that has this name in a pod.
pub fn file_of(name: &str) -> &'static str {
    match name {
        "boson" | "plan" | "render-jobs" => "boson",
        "boson-brokerpak" | "brokerpak" => "boson-brokerpak",
        "boson-cloud" | "render-files" => "boson-cloud",
        "boson-cluster" => "boson-cluster",
        "boson-templates" | "apply-template" | "export-template" | "serve-templates" => "boson-templates",
        _ => "boson-pod",
    }
}

/// Path of an executable as it ships: as `make static` builds it into `target/static`, unless [`EXECUTABLES`] is set.
///
/// # Panics
/// If it is missing.
pub fn static_executable(name: &str) -> PathBuf {
    if std::env::var_os(EXECUTABLES).is_some() {
        return executable(name);
    }
    let path = profile_directory().with_file_name("static").join(name);
    assert!(path.exists(), "{} is missing: type `images/build {name}`", path.display());
    path
}

fn find(name: &str) -> PathBuf {
    if let Some(directory) = std::env::var_os(EXECUTABLES) {
        let path = PathBuf::from(directory).join(name);
        assert!(path.exists(), "{EXECUTABLES}: {} is missing", path.display());
        return path;
    }
    let directory = profile_directory();
    let path = directory.join(name);
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => String::new(),
        Some("release") => " --release".to_owned(),
        Some(other) => format!(" --profile {other}"),
    };
    if let Err(reason) = is_current(&path) {
        panic!("{reason}: type `cargo build{profile} -p {name}`");
    }
    path
}

/// `target/<profile>`: a test is `target/<profile>/deps/<test>-<hash>`.
fn profile_directory() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_else(|e| panic!("the path of this test: {e}"));
    test.ancestors().nth(2).unwrap_or(&test).to_path_buf()
}

/// Whether an executable exists, and is as new as everything that it is made of.
fn is_current(executable: &Path) -> Result<(), String> {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let built = modified(executable).map_err(|_| format!("{} is missing", executable.display()))?;
    for source in sources::of(executable, &sources::workspace()) {
        // Removed sources are no longer part of it.
        if modified(&source).is_ok_and(|changed| changed > built) {
            return Err(format!("{} is older than {}", executable.display(), source.display()));
        }
    }
    Ok(())
}

/// A link of this name to the executable, in a directory beside it.
fn link(executable: &Path, name: &str) -> PathBuf {
    let directory = executable.with_file_name("names");
    let link = directory.join(name);
    let target = Path::new("..").join(executable.file_name().unwrap_or_default());
    fs::create_dir_all(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    // Another test may have made the same link, an earlier build one to another executable.
    if fs::read_link(&link).is_ok_and(|existing| existing == target) {
        return link;
    }
    let new = tempfile::TempDir::new_in(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let made = std::os::unix::fs::symlink(target, new.path().join(name));
    made.and_then(|()| fs::rename(new.path().join(name), &link)).unwrap_or_else(|e| panic!("{}: {e}", link.display()));
    link
}
