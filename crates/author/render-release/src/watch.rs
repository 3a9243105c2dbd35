//! `--watch`: rendering again on each change, and showing what it changes.
#![allow(clippy::print_stderr, reason = "what is going on is not the output")]

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::PathBuf;

use problem::Result;

use crate::files::{File, RenderedInstance};
use crate::watcher::{Watcher, inputs_of};
use crate::{Run, show};

/// Renders now and after each change, until the process is ended or the reader of standard output is gone.
pub(crate) fn watch(run: &Run) -> Result<()> {
    let watcher = Watcher::new()?;
    let mut shown: Option<BTreeMap<String, File>> = None;
    loop {
        // Before the files are read: a change from now on is not missed.
        let inputs = inputs(run);
        let state = watcher.watch(&inputs)?;
        match run.render() {
            Ok(rendered) => shown = Some(show_changes(run, &rendered, shown)?),
            Err(problems) => startup::print(&problems),
        }
        eprintln!("watching for changes; Ctrl-C ends");
        if !watcher.wait_for_change(&inputs, &state, std::io::stdout().as_fd())? {
            return Ok(());
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
    inputs_of(&run.options.releases, run.options.input_files())
}
