//! Git submodules that were not checked out: their directories are empty, and whatever a release takes from them is missing.

use std::fs;
use std::path::{Component, Path, PathBuf};

use problem::{Place, Problem, code};

const LIST: &str = ".gitmodules";

/// One problem for all empty submodules of a release, if `concerns` one of them (by its path in the release).
pub(crate) fn problem(release: &Path, concerns: impl Fn(&Path) -> bool) -> Option<Problem> {
    let empty = empty(release);
    if !empty.iter().any(|path| concerns(path)) {
        return None;
    }
    let names: Vec<String> = empty.iter().map(|path| path.display().to_string()).collect();
    let problem = Problem::input(format!("git submodules are not checked out: {}", names.join(", ")))
        .code(code::RELEASE_INVALID)
        .at(Place::file(release.join(LIST).display().to_string()))
        .hint(format!("`git submodule update --init --recursive` in {} checks them out", release.display()));
    Some(problem)
}

/// As [`problem()`], for a file that does not exist because a link on the way to it leads into a submodule.
pub(crate) fn problem_of_file(release: &Path, file: &Path) -> Option<Problem> {
    let target = target(file);
    problem(release, |path| target.starts_with(release.join(path)))
}

/// Where a path leads, as far as links can be followed.
fn target(file: &Path) -> PathBuf {
    let mut path = file.to_path_buf();
    for _ in 0..40 {
        let Some((link, rest)) = first_link(&path) else { break };
        let Ok(target) = fs::read_link(&link) else { break };
        let above = link.parent().unwrap_or(Path::new("/"));
        path = without_dots(&above.join(target).join(rest));
    }
    path
}

/// The first part of a path that is a link, and what follows it.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut all: Vec<&Path> = path.ancestors().collect();
    all.reverse();
    let link = all.into_iter().find(|part| part.is_symlink())?;
    Some((link.to_path_buf(), path.strip_prefix(link).ok()?.to_path_buf()))
}

fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// The paths of submodules without a file.
fn empty(release: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(release.join(LIST)).unwrap_or_default();
    let paths = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "path").then(|| PathBuf::from(value.trim().trim_matches('"')))
    });
    let is_empty = |path: &PathBuf| match fs::read_dir(release.join(path)) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => true,
    };
    paths.filter(is_empty).collect()
}
