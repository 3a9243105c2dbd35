//! The termination message: why a container failed, where Kubernetes shows it.
//!
//! Kubernetes: a container that writes into its `terminationMessagePath`, by default `/dev/termination-log`, has the text
//! in its status (`kubectl describe pod`), at most 4096 bytes of it.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Kubernetes takes no more.
const MOST: usize = 4096;
const CUT: &str = "\n...";

/// The file, if this process is one that writes there.
static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();

/// From now on failures are reported there too, if the file exists.
pub(crate) fn start(root: &Path) {
    let file = root.join("dev/termination-log");
    let _ = FILE.set(Some(file).filter(|_| root != Path::new("/") || !is_visitor()));
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Where, but not what: the message may hold anything.
        let at = panic.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
        report(format!("error: a mistake in boson: it panicked{at}"));
        default(panic);
    }));
}

/// Writes `reason` into the termination message of this container, and replaces the one before.
///
/// Nothing happens where the file does not exist (outside of Kubernetes), and nothing fails.
pub fn report(reason: impl Display) {
    if let Some(Some(file)) = FILE.get() {
        let _ = write(file, &reason.to_string());
    }
}

fn write(path: &Path, reason: &str) -> std::io::Result<()> {
    // The kubelet makes a file; anything else (a link, a pipe, a device) is not a termination message.
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(());
    }
    File::options().write(true).truncate(true).open(path)?.write_all(shortened(reason).as_bytes())
}

/// The beginning, which contains the message.
fn shortened(reason: &str) -> String {
    if reason.len() <= MOST {
        return reason.to_owned();
    }
    let end = (0..=MOST - CUT.len()).rev().find(|at| reason.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{CUT}", &reason[..end])
}

/// Whether this process was started inside a container that another boson program runs: a probe, or a script's `bpm`. Its
/// failure is not the container's.
fn is_visitor() -> bool {
    let identity = |path: &str| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    // A process that may not inspect the container's first process was started by it.
    std::process::id() != 1 && identity("/proc/1/exe").is_none_or(|first| identity("/proc/self/exe") == Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_truncated_between_characters() {
        assert_eq!(shortened("short"), "short");
        let exact = "x".repeat(MOST);
        assert_eq!(shortened(&exact), exact);
        for shift in 0..3 {
            let cut = shortened(&format!("{}{}", "x".repeat(shift), "\u{20ac}".repeat(2000)));
            assert!(cut.len() <= MOST && cut.len() > MOST - 4 && cut.ends_with("\u{20ac}\n..."), "{}", cut.len());
        }
    }

    #[test]
    fn only_an_existing_file_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, none] = ["file", "link", "none"].map(|name| dir.path().join(name));
        fs::write(&file, "a longer text of before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "through the link").unwrap();
        assert!(write(&none, "x").is_err() && !none.exists());
        assert_eq!(fs::read_to_string(&file).unwrap(), "a longer text of before");
        write(&file, "why").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "why");
    }
}
