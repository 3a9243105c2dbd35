//! The order of a commit.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problem, Problems, Result, code};

use super::generation;
use super::paths::Tree;
use crate::dirs::{MadeDirs, make_dirs};
use crate::owner::chown_where_possible;

const CURRENT: &str = ".current";
const NEXT: &str = ".current.new";
const GENERATIONS: &str = ".generations";

/// Commits; `after` is called after every change (tests look at each instant through it).
pub(super) fn commit(dir: &Path, tree: &Tree, owner: (Uid, Gid), after: &mut dyn FnMut()) -> Result<()> {
    let made_dirs = make_tree_dir(dir, owner)?;
    let handle = File::open(dir).io("open", dir)?;
    // The directory itself is locked: no lock file is left behind.
    let lock = Flock::lock(handle, FlockArg::LockExclusive)
        .map_err(|(_, e)| Problem::internal(format!("cannot lock {}", dir.display())).code(code::IO).because(e))?;
    // Declared after the lock, so that undoing happens under it.
    let mut made = Undo::default();
    let durable = fstatfs(&*lock).map_or(true, |fs| fs.filesystem_type() != TMPFS_MAGIC);
    let found = Survey::of(dir, tree)?;
    found.clear_leftovers()?;
    after();
    let target = match found.current {
        Some(current) if generation::holds(&found.generation(current), tree, owner) => current,
        _ => found.write_next(tree, owner, durable, &mut made, after)?,
    };
    for job in tree.tops().filter(|job| !found.links.contains(*job)) {
        let link = dir.join(job);
        symlink(Path::new(CURRENT).join(job), &link).io("create", &link)?;
        made.0.push(link);
        after();
    }
    if found.current != Some(target) {
        let next = dir.join(NEXT);
        symlink(Path::new(GENERATIONS).join(target.to_string()), &next).io("create", &next)?;
        made.0.push(next.clone());
        after();
        fs::rename(&next, dir.join(CURRENT)).io("write", &dir.join(CURRENT))?;
        after();
    }
    made.0.clear();
    made_dirs.keep();
    if durable {
        lock.sync_all().io("flush", dir)?;
    }
    found.clear_past(target, tree, after);
    Ok(())
}

/// Removes the created directories, unless emptied before; newest first.
#[derive(Default)]
struct Undo(Vec<PathBuf>);

impl Drop for Undo {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            // Best effort: the failure that led here is reported, and the next commit clears leftovers.
            let _ = match fs::symlink_metadata(path) {
                Ok(meta) if meta.is_dir() && is_generation(path) => fs::remove_dir_all(path),
                Ok(meta) if meta.is_dir() => fs::remove_dir(path),
                _ => fs::remove_file(path),
            };
        }
    }
}

fn is_generation(path: &Path) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(GENERATIONS))
}

fn make_tree_dir(dir: &Path, owner: (Uid, Gid)) -> Result<MadeDirs> {
    let made = make_dirs(dir)?;
    if made.made(dir) {
        chown_where_possible(dir, owner)?;
        fs::set_permissions(dir, Permissions::from_mode(0o750)).io("change the mode of", dir)?;
    }
    Ok(made)
}

/// What lies in the directory before a commit.
struct Survey<'a> {
    dir: &'a Path,
    /// The generation that `.current` names.
    current: Option<u64>,
    /// All generations that exist.
    generations: BTreeSet<u64>,
    /// The jobs whose link exists.
    links: BTreeSet<String>,
    /// Whether an earlier commit died just before its flip.
    unflipped: bool,
}

impl<'a> Survey<'a> {
    /// Looks; everything that is in the way of `tree` and was not written by boson is a problem.
    fn of(dir: &'a Path, tree: &Tree) -> Result<Self> {
        let mut found =
            Survey { dir, current: None, generations: BTreeSet::new(), links: BTreeSet::new(), unflipped: false };
        let jobs: BTreeSet<&str> = tree.tops().collect();
        let mut problems = Vec::new();
        for child in fs::read_dir(dir).io("read", dir)? {
            let child = child.io("read", dir)?;
            // A name that is not UTF-8 cannot be a job.
            let Ok(name) = child.file_name().into_string() else { continue };
            let target = fs::read_link(child.path()).ok();
            let target = target.as_deref();
            let ours = match name.as_str() {
                CURRENT => {
                    found.current = target.and_then(number_of_generation);
                    found.current.is_some()
                }
                NEXT => {
                    found.unflipped = target.and_then(number_of_generation).is_some();
                    found.unflipped
                }
                GENERATIONS => child.file_type().is_ok_and(|t| t.is_dir()),
                name if target == Some(&Path::new(CURRENT).join(name)) => found.links.insert(name.to_owned()),
                name => !jobs.contains(name),
            };
            if !ours {
                problems.push(in_the_way(&child.path()));
            }
        }
        Problems::check(problems)?;
        found.generations = generations(&dir.join(GENERATIONS)).io("read", &dir.join(GENERATIONS))?;
        Ok(found)
    }

    fn generation(&self, number: u64) -> PathBuf {
        self.dir.join(GENERATIONS).join(number.to_string())
    }

    /// Removes what commits that died left, so that it does not take the space of the new tree.
    fn clear_leftovers(&self) -> Result<()> {
        if self.unflipped {
            let next = self.dir.join(NEXT);
            fs::remove_file(&next).io("remove", &next)?;
        }
        for number in self.generations.iter().filter(|n| Some(**n) != self.current) {
            let leftover = self.generation(*number);
            fs::remove_dir_all(&leftover).io("remove", &leftover)?;
        }
        Ok(())
    }

    fn write_next(
        &self,
        tree: &Tree,
        owner: (Uid, Gid),
        durable: bool,
        made: &mut Undo,
        after: &mut dyn FnMut(),
    ) -> Result<u64> {
        let all = self.dir.join(GENERATIONS);
        match fs::create_dir(&all) {
            Ok(()) => {
                made.0.push(all.clone());
                chown_where_possible(&all, owner)?;
                fs::set_permissions(&all, Permissions::from_mode(0o750)).io("change the mode of", &all)?;
                after();
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e).io("create", &all),
        }
        let number = self.current.into_iter().chain(self.generations.last().copied()).max().unwrap_or(0) + 1;
        made.0.push(self.generation(number));
        generation::write(&self.generation(number), tree, owner, durable, after)?;
        if durable {
            File::open(&all).and_then(|d| d.sync_all()).io("flush", &all)?;
        }
        Ok(number)
    }

    /// Removes the files that the commit superseded. The commit is complete, so a failure here is left to the next one.
    fn clear_past(&self, current: u64, tree: &Tree, after: &mut dyn FnMut()) {
        let jobs: BTreeSet<&str> = tree.tops().collect();
        for gone in self.links.iter().filter(|link| !jobs.contains(link.as_str())) {
            let _ = fs::remove_file(self.dir.join(gone));
            after();
        }
        if let Some(past) = self.current.filter(|past| *past != current) {
            let _ = fs::remove_dir_all(self.generation(past));
            after();
        }
    }
}

fn number_of_generation(target: &Path) -> Option<u64> {
    target.strip_prefix(GENERATIONS).ok()?.to_str()?.parse().ok()
}

fn generations(dir: &Path) -> io::Result<BTreeSet<u64>> {
    match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        children => {
            let number = |child: fs::DirEntry| child.file_name().to_str().and_then(|name| name.parse().ok());
            children?.filter_map(|child| child.map(number).transpose()).collect()
        }
    }
}

fn in_the_way(path: &Path) -> Problem {
    Problem::internal(format!("{} is in the way: it was not written by boson", path.display()))
        .code(code::OUTPUT_CONFLICT)
        .hint("remove it, or write to another directory")
}
