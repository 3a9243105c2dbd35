//! Which paths a tree may have.

use std::collections::{BTreeMap, BTreeSet};

use problem::{Problem, Problems, Result, code};

use super::RenderedEntry;

/// A tree whose paths were checked: relative, inside, without conflicts.
pub(super) struct Tree<'a> {
    /// Files by path.
    pub(super) files: BTreeMap<&'a str, &'a RenderedEntry>,
    /// All directories, parents included; sorted, so that a parent comes before its content.
    pub(super) dirs: BTreeSet<&'a str>,
}

impl<'a> Tree<'a> {
    /// Checks all paths; reports everything that is wrong with them. `top` says whether files may lie at the top.
    pub(super) fn check(entries: &'a [RenderedEntry], dirs: &'a [String], top: bool) -> Result<Self> {
        let mut tree = Tree { files: BTreeMap::new(), dirs: BTreeSet::new() };
        let mut problems = Vec::new();
        for entry in entries {
            match fault(&entry.path) {
                Some(fault) => problems.push(refused(&entry.path, fault)),
                None if !top && !entry.path.contains('/') => {
                    problems.push(refused(&entry.path, "it does not lie in a job's directory"));
                }
                None => {
                    if tree.files.insert(&entry.path, entry).is_some() {
                        problems.push(refused(&entry.path, "it is written twice"));
                    }
                    tree.add_parents(&entry.path);
                }
            }
        }
        for dir in dirs {
            match fault(dir) {
                Some(fault) => problems.push(refused(dir, fault)),
                None => {
                    tree.dirs.insert(dir);
                    tree.add_parents(dir);
                }
            }
        }
        let both = tree.files.keys().filter(|path| tree.dirs.contains(**path));
        problems.extend(both.map(|path| refused(path, "it is a file and the directory of another file")));
        Problems::check(problems)?;
        Ok(tree)
    }

    fn add_parents(&mut self, path: &'a str) {
        self.dirs.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }

    /// The names at the top: the jobs, or directories and files.
    pub(super) fn tops(&self) -> impl Iterator<Item = &'a str> {
        self.dirs.iter().chain(self.files.keys()).copied().filter(|path| !path.contains('/'))
    }
}

fn refused(path: &str, fault: &str) -> Problem {
    Problem::input(format!("cannot write '{}' below the jobs directory: {fault}", path.escape_debug()))
        .code(code::TEMPLATE_PLACE)
}

/// The errors in a path itself.
fn fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("the path is empty");
    }
    if path.starts_with('/') {
        return Some("the path is absolute");
    }
    if path.starts_with('.') && !path.starts_with("..") && !path.starts_with("./") {
        return Some("a job's name cannot begin with a dot");
    }
    path.split('/').find_map(|part| match part {
        "" => Some("the path has an empty component"),
        "." => Some("the path has the component '.'"),
        ".." => Some("the path leads out of it"),
        _ if part.contains('\0') => Some("the path has a NUL character"),
        _ if part.len() > 255 => Some("a component of the path is longer than 255 bytes"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> RenderedEntry {
        RenderedEntry { path: path.into(), content: b"hunter2".to_vec(), mode: 0o640 }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let entries: Vec<_> = ["a/../../etc/passwd", "/etc/passwd", "", "a//b", "a/./b", "top", "a/x", "a/x", "a/x/y"]
            .iter()
            .map(|p| entry(p))
            .collect();
        let dirs = vec!["..".to_owned(), ".generations".to_owned(), "b\0".to_owned(), "a/".to_owned(), "ok".to_owned()];
        let text = Tree::check(&entries, &dirs, false).err().unwrap().to_string();
        assert_eq!(
            text.lines().map(|l| l.rsplit(": ").next().unwrap()).collect::<Vec<_>>(),
            [
                "the path leads out of it",
                "the path is absolute",
                "the path is empty",
                "the path has an empty component",
                "the path has the component '.'",
                "it does not lie in a job's directory",
                "it is written twice",
                "the path leads out of it",
                "a job's name cannot begin with a dot",
                "the path has a NUL character",
                "the path has an empty component",
                "it is a file and the directory of another file",
            ]
        );
        assert!(!text.contains("hunter2"));
    }

    #[test]
    fn parents_are_directories() {
        let entries = [entry("a/config/x"), entry("a/bin/y")];
        let dirs = ["b".to_owned()];
        let tree = Tree::check(&entries, &dirs, false).unwrap();
        assert_eq!(tree.dirs.iter().copied().collect::<Vec<_>>(), ["a", "a/bin", "a/config", "b"]);
        assert_eq!(tree.tops().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn files_lie_at_the_top_where_they_may() {
        let entries = [entry("x"), entry("a/y")];
        let tree = Tree::check(&entries, &[], true).unwrap();
        assert_eq!(tree.tops().collect::<Vec<_>>(), ["a", "x"]);
        assert!(Tree::check(&[entry(".current")], &[], true).is_err());
    }
}
