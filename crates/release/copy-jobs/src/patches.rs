//! Patches of job sources: unified diffs, applied all or none.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use problem::{Place, Problem, Problems, Result, code};
use unified_diff::FileDiff;

use crate::patched_tree::{Fault, File, PatchedTree};

/// Patches in the order in which they apply.
pub(crate) struct Patches(Vec<(String, Vec<FileDiff>)>);

/// What a patch without an own place can change.
const HINT: &str = "a patch changes job sources only (jobs/JOB/...): packages are compiled in the release's image";

impl Patches {
    /// Reads patches; a directory stands for its files, by name.
    ///
    /// # Errors
    /// All files that cannot be read or are no unified diffs.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Patches> {
        let mut problems = Vec::new();
        let mut patches = Vec::new();
        for path in paths.iter().flat_map(|path| files(path)) {
            match read(&path) {
                Ok(diff) => patches.push((path.display().to_string(), diff)),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        Problems::check(problems)?;
        Ok(Patches(patches))
    }

    /// Applies all of them to the tree of job sources in a directory.
    ///
    /// # Errors
    /// Everything that does not apply; then the tree is as before. Failures of the file system.
    pub(crate) fn apply(&self, directory: BorrowedFd) -> Result<()> {
        let mut tree = PatchedTree::of(directory);
        let mut problems = Vec::new();
        for (name, files) in &self.0 {
            for file in files {
                problems.extend(change(&mut tree, name, file)?);
            }
        }
        Problems::check(problems)?;
        tree.write()
    }
}

/// The file, or those of the directory. Names that begin with a dot are those of the directories in which Kubernetes keeps the
/// files of a ConfigMap.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(directory) = path.read_dir() else { return vec![path.to_owned()] };
    let files = directory.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let mut files: Vec<PathBuf> = files.filter(|path| !is_hidden(path)).collect();
    files.sort_unstable();
    files
}

fn read(path: &Path) -> Result<Vec<FileDiff>> {
    let name = path.display().to_string();
    let cannot = |error: io::Error| {
        let problem = Problem::input("cannot read the patch").code(code::INPUT_FILE);
        Problems::from(problem.at(Place::file(&name)).because(error))
    };
    let text = vcap::input::read(path).map_err(cannot)?;
    unified_diff::read(&text).map_err(|malformed| {
        let problem = Problem::input("the patch is not a unified diff that can be applied").because(&malformed.what);
        problem.code(code::PATCH_INVALID).at(Place::line(&name, malformed.line)).into()
    })
}

/// Makes the changes of one file; returns what is wrong with them.
fn change(tree: &mut PatchedTree, patch: &str, diff: &FileDiff) -> Result<Option<Problem>> {
    let problem = |line: u32, code, message: String| Problem::input(message).code(code).at(Place::line(patch, line));
    let invalid = |message: String| problem(diff.line, code::PATCH_INVALID, message);
    let failed = |message: String| problem(diff.line, code::PATCH_FAILED, message);
    let mut paths = Vec::new();
    for name in diff.old.iter().chain(&diff.new) {
        let Some(path) = relative(name) else {
            return Ok(Some(invalid(format!("the path {name} leaves the release's directory"))));
        };
        paths.push(tree.place(path)?);
    }
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return Ok(None) };
    let fault = |path: &str, fault: Fault| match fault {
        Fault::Missing => failed(format!("the release has no file {path}")).hint(HINT),
        Fault::Link => {
            failed(format!("{path} is a link, or is below one")).hint("patch the file to which the link points")
        }
        Fault::NotAFile => failed(format!("{path} is not a file")),
    };
    let old = match tree.file(first)? {
        Ok(file) if diff.old.is_some() => Some(file.clone()),
        Ok(_) => return Ok(Some(failed(format!("the patch creates {first}, which exists")))),
        Err(Fault::Missing) if diff.old.is_none() => None,
        Err(found) => return Ok(Some(fault(first, found))),
    };
    let content = old.as_ref().map_or(&[][..], |file| &file.content);
    let new = match diff.apply(content) {
        Ok(new) => new,
        Err(mismatch) => {
            let problem = problem(mismatch.line, code::PATCH_FAILED, format!("the patch does not apply to {first}"));
            let is_applied = diff.is_applied_to(content);
            let hint = if is_applied {
                "the file has the changes already"
            } else {
                "is the patch for this version of the release?"
            };
            return Ok(Some(problem.because(mismatch).hint(hint)));
        }
    };
    if diff.new.is_none() {
        if !new.is_empty() {
            return Ok(Some(failed(format!("the patch deletes {first}, which has more lines than the patch"))));
        }
        tree.set(first, None);
        return Ok(None);
    }
    if first != last {
        match tree.file(last)? {
            Ok(_) => return Ok(Some(failed(format!("the patch renames {first} to {last}, which exists")))),
            Err(Fault::Missing) => {}
            Err(found) => return Ok(Some(fault(last, found))),
        }
        tree.set(first, None);
    }
    if old.is_none() && !tree.may_create(last)? {
        return Ok(Some(failed(format!("the patch creates {last}, which belongs to no job")).hint(HINT)));
    }
    tree.set(last, Some(File::new(new, old.as_ref(), diff.is_executable)));
    Ok(None)
}

/// The path without `.`; nothing if it is absolute or leads upwards.
fn relative(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('/').filter(|part| *part != ".").collect();
    let is_inside = !parts.is_empty() && parts.iter().all(|part| !matches!(*part, "" | "..") && !part.contains('\0'));
    is_inside.then(|| parts.join("/"))
}
