//! `--watch`: rendering again on each change, and showing what it changes.
#![allow(clippy::print_stderr, reason = "what is going on is not the output")]

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use problem::{Problem, Result};
use walkdir::WalkDir;

use crate::files::{File, RenderedInstance};
use crate::{Run, show};

/// Changes that belong together arrive within this time, in milliseconds.
const SETTLE: u16 = 20;

/// Each file with what changes if its content does.
type Fingerprint = BTreeMap<PathBuf, (u64, u64, i64, i64)>;

/// Renders now and after each change, until the process is ended or the reader of standard output is gone.
pub(crate) fn watch(run: &Run) -> Result<()> {
    let unavailable = |e: Errno| Problem::internal("the kernel reports no changes of files").because(e);
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).map_err(unavailable)?;
    let mut shown: Option<BTreeMap<String, File>> = None;
    loop {
        // Before the files are read: a change from now on is not missed.
        add_watches(&inotify, run).map_err(unavailable)?;
        let fingerprint = fingerprint(run);
        match run.render() {
            Ok(rendered) => shown = Some(show_changes(run, &rendered, shown)?),
            Err(problems) => startup::print(&problems),
        }
        eprintln!("watching for changes; Ctrl-C ends");
        loop {
            if !wait(&inotify)? {
                return Ok(());
            }
            if self::fingerprint(run) != fingerprint {
                break;
            }
        }
    }
}

/// Shows the files the first time, and the differences later.
fn show_changes(
    run: &Run,
    rendered: &[RenderedInstance],
    before: Option<BTreeMap<String, File>>,
) -> Result<BTreeMap<String, File>> {
    let now = by_name(rendered);
    match before {
        None => run.deliver(rendered)?,
        Some(before) => {
            let difference = difference(&before, &now);
            if difference.is_empty() {
                eprintln!("rendered again: no file changes");
            } else {
                if run.options.output.is_some() {
                    run.deliver(rendered)?;
                }
                show::bytes(&difference)?;
            }
        }
    }
    Ok(now)
}

fn by_name(rendered: &[RenderedInstance]) -> BTreeMap<String, File> {
    let name = |instance: &RenderedInstance, file: &File| format!("{} {}", instance.name, file.path);
    let files = rendered.iter().flat_map(|one| one.files.iter().map(move |file| (name(one, file), file.clone())));
    files.collect()
}

/// A unified diff of all files that differ.
fn difference(before: &BTreeMap<String, File>, now: &BTreeMap<String, File>) -> Vec<u8> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut text = Vec::new();
    for name in names {
        let content = |files: &BTreeMap<String, File>| files.get(name).map(|file| file.content.clone());
        let (old, new) = (content(before), content(now));
        if old == new {
            continue;
        }
        let label = |content: &Option<Vec<u8>>| if content.is_some() { name.as_str() } else { "/dev/null" };
        text.extend(format!("--- {}\n+++ {}\n", label(&old), label(&new)).into_bytes());
        text.extend(unified_diff::hunks(&old.unwrap_or_default(), &new.unwrap_or_default()));
    }
    text
}

/// The files and directories that are read.
fn inputs(run: &Run) -> Vec<PathBuf> {
    let releases = release::release_arguments(&run.options.releases);
    let releases = releases.iter().map(|argument| release::parse_release_argument(argument).1.to_path_buf());
    let parts = releases.flat_map(|path| {
        if path.join("jobs").is_dir() { vec![path.join("jobs"), path.join("config")] } else { vec![path] }
    });
    run.options.input_files().chain(parts).collect()
}

/// Everything at and below the inputs.
fn entries(path: &Path) -> impl Iterator<Item = walkdir::DirEntry> {
    WalkDir::new(path).follow_links(true).into_iter().flatten()
}

fn fingerprint(run: &Run) -> Fingerprint {
    let mut found = Fingerprint::new();
    for input in inputs(run) {
        for entry in entries(&input) {
            if let Ok(meta) = fs::metadata(entry.path())
                && meta.is_file()
            {
                found.insert(entry.into_path(), (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()));
            }
        }
    }
    found
}

/// Watches the directories of all inputs: editors replace files.
fn add_watches(inotify: &Inotify, run: &Run) -> std::result::Result<(), Errno> {
    let flags = AddWatchFlags::IN_CLOSE_WRITE
        | AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_MOVED_FROM
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_ONLYDIR;
    for input in inputs(run) {
        let parent = input.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let below = entries(&input).filter(|entry| entry.file_type().is_dir()).map(walkdir::DirEntry::into_path);
        for directory in below.chain([parent.to_path_buf()]) {
            match inotify.add_watch(&directory, flags) {
                // It has gone meanwhile, which its parent reports.
                Ok(_) | Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES) => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(())
}

/// Waits for a change; `false` if the reader of standard output is gone.
fn wait(inotify: &Inotify) -> Result<bool> {
    let out = std::io::stdout();
    loop {
        let mut fds = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN), PollFd::new(out.as_fd(), PollFlags::empty())];
        match poll(&mut fds, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            Err(e) => return Err(Problem::internal("cannot wait for changes").because(e).into()),
            Ok(_) => {}
        }
        let happened = |fd: &PollFd| fd.revents().is_some_and(|events| !events.is_empty());
        if happened(&fds[1]) {
            return Ok(false);
        }
        if happened(&fds[0]) {
            break;
        }
    }
    // Until nothing more arrives, or for a while: something may change all the time.
    for _ in 0..10 {
        let _ = inotify.read_events();
        if poll(&mut [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)], PollTimeout::from(SETTLE)) == Ok(0) {
            break;
        }
    }
    Ok(true)
}
