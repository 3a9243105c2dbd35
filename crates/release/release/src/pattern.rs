//! Patterns of files, as a package's spec lists them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use problem::{Problem, Result};
use walkdir::WalkDir;

use crate::package_file::{self, PackageFile};

/// A pattern as BOSH's command line reads it: `*` and `?` within a name, `**` over directories, `[..]`, `{a,b}`.
pub(crate) struct Pattern {
    pub(crate) text: String,
    pub(crate) matcher: GlobMatcher,
    /// The directories before the first special character.
    start: PathBuf,
    /// How deep below `start` a match can lie.
    depth: usize,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self> {
        let invalid = |why: &str| Problem::input(format!("invalid pattern '{}': {why}", text.escape_debug()));
        if Path::new(text).components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir)) {
            return Err(invalid("it must stay below src/ and blobs/").into());
        }
        let clean = text.trim_start_matches("./");
        let glob = GlobBuilder::new(clean).literal_separator(true).backslash_escape(true).build();
        let matcher = glob.map_err(|e| invalid(&e.to_string()))?.compile_matcher();
        let special = |part: &std::ffi::OsStr| part.to_string_lossy().contains(['*', '?', '[', '{', '\\']);
        let start: PathBuf = Path::new(clean).iter().take_while(|part| !special(part)).collect();
        // Without `**` the number of slashes is fixed (alternatives may hold some: then it is not counted).
        let fixed = !clean.contains("**") && !clean.contains('{');
        let depth = if fixed { Path::new(clean).iter().count() - start.iter().count() } else { usize::MAX };
        Ok(Pattern { text: text.to_owned(), matcher, start, depth })
    }

    /// Whether files below this directory (of the base) can match, or the directory is below what can.
    pub(crate) fn overlaps(&self, directory: &Path) -> bool {
        self.start.starts_with(directory) || directory.starts_with(&self.start)
    }

    /// All files and links below `<release>/<base>` that match.
    pub(crate) fn find(&self, release: &Path, base: &str) -> Result<Vec<(PathBuf, PackageFile)>> {
        let base = release.join(base);
        let start = base.join(&self.start);
        // A submodule's directory may be a link; its target must be in the release all the same.
        match fs::canonicalize(&start) {
            Ok(real) if !real.starts_with(release) => {
                let outside = format!("{} leads out of the release", start.display());
                return Err(Problem::input(outside).hint("a release must hold everything that it is made of").into());
            }
            Ok(_) => {}
            Err(_) if start.is_symlink() => {}
            Err(_) => return Ok(Vec::new()),
        }
        let mut found = Vec::new();
        for entry in WalkDir::new(&start).max_depth(self.depth) {
            let entry = entry.map_err(|e| package_file::unreadable(&start, &e))?;
            let path = entry.path().strip_prefix(&base).unwrap_or(entry.path());
            if !entry.file_type().is_dir() && self.matcher.is_match(path) {
                found.push((path.to_path_buf(), PackageFile::of(&entry)?));
            }
        }
        Ok(found)
    }
}
