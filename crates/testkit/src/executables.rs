//! The executables that ship, under the names that pods call.
//!
//! A test of any package runs `target/<profile>/boson` and `boson-pod`, found beside itself. `cargo test` of the whole
//! workspace builds them first; of a single package it does not, so a missing or outdated executable fails the test with
//! the command to type.

use std::fs;
use std::io::ErrorKind;
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
    let file = match file_of(name) {
        "boson" => BOSON.get_or_init(|| find("boson")),
        _ => BOSON_POD.get_or_init(|| find("boson-pod")),
    };
    if file.ends_with(name) { file.clone() } else { link(file, name) }
}

/// The executable that has this name in a pod.
pub fn file_of(name: &str) -> &'static str {
    match name {
        "boson" | "plan" | "render-jobs" => "boson",
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

/// Whether an executable is there, and as new as everything that it is made of, which cargo lists in a file beside it.
fn is_current(executable: &Path) -> Result<(), String> {
    let built = fs::metadata(executable).and_then(|metadata| metadata.modified());
    let built = built.map_err(|_| format!("{} is missing", executable.display()))?;
    let list = executable.with_file_name(format!("{}.d", executable.file_name().unwrap_or_default().display()));
    let list = fs::read_to_string(list).unwrap_or_default();
    for source in sources(&list) {
        match fs::metadata(&source).and_then(|metadata| metadata.modified()) {
            Ok(changed) if changed <= built => {}
            Ok(_) => return Err(format!("{} is older than {source}", executable.display())),
            // The list is that of the last `cargo build`; `cargo test` does not renew it. A source that is gone may be
            // gone from the executable, too.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(format!("{source}: {e}")),
        }
    }
    Ok(())
}

/// The paths after the colon in a line of a makefile.
fn sources(list: &str) -> Vec<String> {
    let paths = list.split_once(": ").map_or("", |(_, paths)| paths.trim_end());
    paths.replace("\\ ", "\0").split(' ').filter(|path| !path.is_empty()).map(|path| path.replace('\0', " ")).collect()
}

/// A link of this name to the executable, in a directory beside it.
fn link(executable: &Path, name: &str) -> PathBuf {
    let directory = executable.with_file_name("names");
    let link = directory.join(name);
    let target = Path::new("..").join(executable.file_name().unwrap_or_default());
    fs::create_dir_all(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    match std::os::unix::fs::symlink(target, &link) {
        // Another test made the same link.
        Err(e) if e.kind() != ErrorKind::AlreadyExists => panic!("{}: {e}", link.display()),
        _ => link,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test")]
    fn an_executable_is_as_new_as_its_sources() {
        let directory = std::env::temp_dir().join(format!("testkit-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (tool, source) = (directory.join("tool"), directory.join("a source.rs"));
        let shown = tool.display().to_string();
        assert_eq!(is_current(&tool), Err(format!("{shown} is missing")));
        let list =
            format!("{shown}: {}/x.rs {}\n", directory.display(), source.display().to_string().replace(' ', "\\ "));
        fs::write(directory.join("tool.d"), list).unwrap();
        for file in ["a source.rs", "x.rs", "tool"] {
            fs::write(directory.join(file), "").unwrap();
        }
        let date = |path: &Path, seconds| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::options().write(true).open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
        };
        date(&tool, 2000);
        date(&source, 2000);
        date(&directory.join("x.rs"), 1000);
        assert_eq!(is_current(&tool), Ok(()));
        date(&source, 2001);
        assert_eq!(is_current(&tool), Err(format!("{shown} is older than {}", source.display())));
        fs::remove_file(&source).unwrap();
        assert_eq!(is_current(&tool), Ok(()));
        fs::remove_dir_all(&directory).unwrap();
    }
}
