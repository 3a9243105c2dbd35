//! Directory trees: to copy, and to compare.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use walkdir::WalkDir;

/// Copies a tree; symbolic links stay links.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in WalkDir::new(from) {
        let entry = entry?;
        let Ok(relative) = entry.path().strip_prefix(from) else { continue };
        let target = to.join(relative);
        let kind = entry.file_type();
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// All that is below `root`, one line each: mode, path, and what a link points to or a file contains (its length and
/// text), so that two listings are equal exactly when the trees are.
pub fn listing(root: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    for entry in WalkDir::new(root).min_depth(1).sort_by_file_name() {
        let entry = entry?;
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path()).display().to_string();
        let mode = entry.metadata()?.permissions().mode() & 0o7777;
        let what = if entry.file_type().is_symlink() {
            format!("-> {}", fs::read_link(entry.path())?.display())
        } else if entry.file_type().is_dir() {
            "/".to_owned()
        } else {
            let bytes = fs::read(entry.path())?;
            format!("{} {:?}", bytes.len(), String::from_utf8_lossy(&bytes))
        };
        text.push_str(&format!("{mode:04o} {path} {what}\n"));
    }
    Ok(text)
}
