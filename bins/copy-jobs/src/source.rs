//! What is to be copied.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Problems, Result, code};
use walkdir::WalkDir;

use crate::links;

/// The tree to copy, checked.
pub(crate) struct Source {
    /// Its root, without links.
    pub(crate) root: PathBuf,
    /// Everything below the root, a directory before what it holds.
    pub(crate) items: Vec<Item>,
}

/// One file, directory or link of the tree.
pub(crate) struct Item {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Dir,
    File,
    /// A link, with the target that its copy gets.
    Link(OsString),
}

impl Source {
    /// Reads the tree below `from`; `also_known_as` are further absolute names of it, as its own links may use them.
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
        problems.extend(check_links(&root, &names, &mut items));
        Problems::check(problems)?;
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
    let kind = entry.file_type();
    let special = if kind.is_dir() {
        return Ok(Kind::Dir);
    } else if kind.is_file() {
        return Ok(Kind::File);
    } else if kind.is_symlink() {
        return Ok(Kind::Link(fs::read_link(entry.path()).io("read", entry.path())?.into_os_string()));
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(Problem::input(format!("cannot copy {}: it is {special}", entry.path().display()))
        .code(code::RELEASE_INVALID)
        .hint("job sources are files, directories and links between them")
        .into())
}

/// Checks all links and gives those with an absolute target inside the tree a relative one.
fn check_links(root: &Path, names: &[&Path], items: &mut [Item]) -> Vec<Problem> {
    let link = |item: &Item| match &item.kind {
        Kind::Link(target) => Some((item.path.clone(), PathBuf::from(target))),
        _ => None,
    };
    let all: HashMap<PathBuf, PathBuf> = items.iter().filter_map(link).collect();
    let mut problems = Vec::new();
    for item in items {
        let Kind::Link(target) = &mut item.kind else { continue };
        match links::check(&item.path, names, &all) {
            Ok(Some(relative)) => *target = relative.into_os_string(),
            Ok(None) => {}
            Err(links::Leaves) => problems.push(
                Problem::input(format!(
                    "the link {} leads out of the job sources: it points to {}",
                    root.join(&item.path).display(),
                    Path::new(target).display()
                ))
                .code(code::RELEASE_INVALID)
                .hint("copy what it points to into the release, or make it a link to something below the job sources"),
            ),
        }
    }
    problems
}
