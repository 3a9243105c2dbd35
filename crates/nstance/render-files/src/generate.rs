//! Rendering a group, or all groups, and writing the result.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use dialect_nstance::{Group, Inputs as RenderInputs, render};
use nix::unistd::{Gid, Uid};
use problem::{Problem, Problems, Result, hint_for_unknown};
use startup::Common;
use template::RenderedFile;
use vcap::tree::{RenderedEntry, commit_files};

use crate::downloads::Downloads;
use crate::inputs::{Inputs, Loaded};
use crate::lookups::Lookups;
use crate::stdout;
use crate::watch::watch;

const OUTPUT: &str = "/run/nstance";
const MODE: u32 = 0o640;

/// The flags of the output.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// The directory that is written [default: /run/nstance]
    #[arg(long, env = "OUTPUT_DIR", value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Render all groups, each into OUTPUT_DIR/[TENANT/]GROUP
    #[arg(long)]
    all_groups: bool,
    /// Report problems and write nothing
    #[arg(long, conflicts_with = "print")]
    check: bool,
    /// Print one result, such as args.json or files/NAME, and write nothing
    #[arg(long, value_name = "PATH")]
    print: Option<String>,
    /// Keep running, and render again when an input file or an image changes; a failure keeps the result and is retried. TERM
    /// exits with 0
    #[arg(long, conflicts_with_all = ["check", "print"])]
    watch: bool,
}

/// Runs the verb; gives the exit code.
pub(crate) fn run(inputs: &Inputs, output: &Output, common: &Common) -> Result<u8> {
    let lookups = Lookups::default();
    if output.watch {
        let directories = inputs.directories(common);
        return watch(&directories, || run_once(inputs, output, &lookups, common), || lookups.next());
    }
    run_once(inputs, output, &lookups, common)
}

fn run_once(inputs: &Inputs, output: &Output, lookups: &Lookups, common: &Common) -> Result<u8> {
    let loaded = inputs.load(common)?;
    let files = files(&loaded, inputs, output.all_groups, lookups, common)?;
    if let Some(path) = &output.print {
        stdout::print(&find(&files, path)?.content)?;
    } else if !output.check {
        let entry = |file: RenderedFile| RenderedEntry { path: file.path, content: file.content, mode: MODE };
        let entries: Vec<RenderedEntry> = files.into_iter().map(entry).collect();
        let dir = common.path(output.output_dir.as_deref(), OUTPUT);
        commit_files(&dir, &entries, (Uid::effective(), Gid::effective()))?;
    }
    Ok(0)
}

/// All files of the instance's group, or of all groups.
fn files(
    loaded: &Loaded,
    inputs: &Inputs,
    all_groups: bool,
    lookups: &Lookups,
    common: &Common,
) -> Result<Vec<RenderedFile>> {
    let Loaded { configuration, instance } = loaded;
    let groups: Vec<&Group> =
        if all_groups { configuration.groups.iter().collect() } else { vec![configuration.group(instance)?] };
    let downloads = Downloads::of(configuration, &groups, &inputs.downloads, common)?;
    let mut problems = downloads.problems.clone();
    if all_groups {
        problems.extend(groups.iter().filter_map(|group| directory_fault(group)));
    }
    let download = |url: &str| downloads.get(url);
    let images = lookups.ids(loaded, inputs, common)?;
    let mut all = Vec::new();
    let mut warned = BTreeSet::new();
    for group in groups {
        let render_inputs =
            RenderInputs { instance, images: &images, download: &download, settings: inputs.settings() };
        match render(configuration, group, render_inputs) {
            Ok(rendered) => {
                let prefix = if all_groups { directory(group) } else { String::new() };
                all.extend(
                    rendered
                        .files
                        .into_iter()
                        .map(|file| RenderedFile { path: format!("{prefix}{}", file.path), content: file.content }),
                );
                for warning in rendered.warnings.iter().map(ToString::to_string) {
                    if warned.insert(warning.clone()) {
                        tracing::warn!("{warning}");
                    }
                }
            }
            // What groups have in common fails in each of them.
            Err(failed) => problems.extend(failed.into_vec()),
        }
    }
    let mut shown = BTreeSet::new();
    problems.retain(|problem| shown.insert(problem.to_string()));
    Problems::check(problems)?;
    Ok(all)
}

fn directory(group: &Group) -> String {
    group.tenant.iter().chain([&group.name]).map(|name| format!("{name}/")).collect()
}

/// Why a group cannot have a directory.
fn directory_fault(group: &Group) -> Option<Problem> {
    let is_plain =
        |name: &str| !name.is_empty() && !name.starts_with('.') && name.len() <= 255 && !name.contains(['/', '\0']);
    let name = group.tenant.iter().chain([&group.name]).find(|name| !is_plain(name))?;
    let message = format!("'{}' cannot be the name of a directory", name.escape_debug());
    Some(Problem::input(message).at(group.position.place()))
}

fn find<'f>(files: &'f [RenderedFile], path: &str) -> Result<&'f RenderedFile> {
    files.iter().find(|file| file.path == path).ok_or_else(|| {
        let known = || files.iter().map(|file| file.path.as_str());
        let hint =
            hint_for_unknown(path, known(), || format!("the results are {}", known().collect::<Vec<_>>().join(", ")));
        Problem::input(format!("'{}' is not rendered", path.escape_debug())).hint(hint).into()
    })
}
