//! What is to be copied.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use problem::{Problem, Problems, Result, code};
use walkdir::WalkDir;

use crate::item::{Item, Kind, kind_of};
use crate::{beyond, links};

/// The tree to copy, checked.
pub(crate) struct Source {
    /// Its root, without links.
    pub(crate) root: PathBuf,
    /// Everything below the root, a directory before what it holds.
    pub(crate) items: Vec<Item>,
}

impl Source {
    /// Reads the tree below `from`; `also_known_as` are further absolute names of it, as its own links may use them.
    ///
    /// In a release's own `jobs` directory, what links to other places of the release stand for becomes part of the tree.
    ///
    /// Reports everything at once that cannot be copied: links that lead out of the tree, pipes, sockets and devices.
    pub(crate) fn read(from: &Path, also_known_as: &[&Path]) -> Result<Self> {
        let root = fs::canonicalize(from).map_err(|e| missing(from, &e))?;
        if !root.is_dir() {
            return Err(Problem::input(format!("{} is not a directory", from.display()))
                .code(code::RELEASE_MISSING)
                .hint(HINT)
                .into());
        }
        let mut items = Vec::new();
        let mut problems = Vec::new();
        for entry in WalkDir::new(&root).min_depth(1) {
            match entry {
                Err(e) => problems.push(unreadable(&e)),
                Ok(entry) => match kind(&entry) {
                    Err(found) => problems.extend(found.into_vec()),
                    Ok(kind) => {
                        let path = entry.path().strip_prefix(&root).unwrap_or(entry.path()).to_path_buf();
                        items.push(Item { path, kind });
                    }
                },
            }
        }
        let names: Vec<&Path> = also_known_as.iter().copied().chain([root.as_path(), from]).collect();
        let leaving = check_links(&names, &mut items);
        let release = release_of(&root);
        for item in &leaving {
            let found = match release {
                Some(release) => beyond::items(release, &root, &item.path),
                None => Err(leads_out(&root, item).into()),
            };
            match found {
                Ok(found) => items.extend(found),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        Problems::check(problems)?;
        // A directory before what it holds.
        items.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Source { root, items })
    }
}

const HINT: &str = "a release image has its job sources in /var/vcap/jobs-src; --from names another directory";

fn missing(from: &Path, e: &io::Error) -> Problem {
    match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Problem::input(format!("there are no job sources: {} does not exist", from.display()))
                .code(code::RELEASE_MISSING)
                .hint(HINT)
        }
        _ => Problem::internal(format!("cannot read {}", from.display())).code(code::IO).because(e),
    }
}

fn unreadable(e: &walkdir::Error) -> Problem {
    let path = e.path().unwrap_or(Path::new("")).display().to_string();
    let problem = Problem::internal(format!("cannot read {path}")).code(code::IO);
    e.io_error().map_or_else(|| problem.clone().because(e), |cause| problem.clone().because(cause))
}

fn kind(entry: &walkdir::DirEntry) -> Result<Kind> {
    kind_of(entry.file_type(), entry.path())
}

/// The release whose `jobs` directory this is.
fn release_of(root: &Path) -> Option<&Path> {
    let release = root.parent().filter(|_| root.file_name().is_some_and(|name| name == "jobs"))?;
    ["config", "packages"].iter().any(|directory| release.join(directory).is_dir()).then_some(release)
}

/// Checks all links and gives those with an absolute target inside the tree a relative one; takes those out that lead out of
/// the tree.
fn check_links(names: &[&Path], items: &mut Vec<Item>) -> Vec<Item> {
    let link = |item: &Item| match &item.kind {
        Kind::Link(target) => Some((item.path.clone(), PathBuf::from(target))),
        _ => None,
    };
    let all: HashMap<PathBuf, PathBuf> = items.iter().filter_map(link).collect();
    let leaves = |item: &mut Item| {
        let Kind::Link(target) = &mut item.kind else { return false };
        match links::check(&item.path, names, &all) {
            Ok(Some(relative)) => *target = relative.into_os_string(),
            Ok(None) => {}
            Err(links::Leaves) => return true,
        }
        false
    };
    items.extract_if(.., |item| leaves(item)).collect()
}

fn leads_out(root: &Path, item: &Item) -> Problem {
    let link = root.join(&item.path);
    let target = match &item.kind {
        Kind::Link(target) => format!(": it points to {}", Path::new(target).display()),
        _ => String::new(),
    };
    Problem::input(format!("the link {} leads out of the job sources{target}", link.display()))
        .code(code::RELEASE_INVALID)
        .hint("copy what it points to into the release, or make it a link to something below the job sources")
}
