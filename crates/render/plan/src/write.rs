//! Writing `output.json` of each kind.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use handoff::links::SharedLinks;
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, LINKS_JSON, PROPERTIES_YAML, encode};
use instance_group::Resolved;
use problem::{IoContext, Problem, Problems, Result, code};
use ruby::Vm;
use vcap::atomic;

use crate::options::{Kind, Output, Request};

/// Secrets are in it.
const MODE: u32 = 0o600;
/// The file that holds a document.
const OUTPUT_JSON: &str = "output.json";
/// Directories of a group's documents, `properties.yaml` and `bpm.yaml`.
const KINDS: [&str; 2] = ["ig-resolved", "bpm"];
/// Directory of the deployment's document. The documents of a group of this name lie in it, too, one level deeper.
const DEPLOYMENT: &str = "deployment";
/// Directory of the shared links, likewise.
const LINKS: &str = "links";

/// Refuses to write over what is read: the output would be taken for input by the next run.
pub(crate) fn check(request: &Request) -> Result<()> {
    let path = match &request.output {
        Output::File(_, path) | Output::Directory(path) => path,
    };
    let same = |a: &Path, b: &Path| {
        let id = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino(), meta.is_file())).ok();
        id(a).is_some_and(|id_of_a| id_of_a.2 && Some(id_of_a) == id(b))
    };
    let problem =
        |what: &str| Problem::input(format!("the output {} {what}", path.display())).code(code::OUTPUT_CONFLICT);
    if same(path, &request.manifest) {
        return Err(problem("is the deployment manifest").into());
    }
    if request.inputs.files().chain(request.configs.files().cloned()).any(|read| same(path, &read)) {
        return Err(problem("is one of the files that are read").into());
    }
    let absolute = std::path::absolute(path).io("find", path)?;
    let above = absolute.ancestors().find_map(|above| fs::canonicalize(above).ok());
    for sources in request.target.jobs_src.directories() {
        if let (Some(above), Ok(real)) = (&above, fs::canonicalize(sources))
            && above.starts_with(real)
        {
            let hint = format!("what is in {} is read", sources.display());
            return Err(problem("lies among the job sources").hint(hint).into());
        }
    }
    Ok(())
}

/// Writes what was asked for; nothing where anything cannot be encoded. With the document of the whole deployment, the
/// documents of groups that are no part of it are removed.
pub(crate) fn write(
    vm: &Vm,
    request: &Request,
    groups: &[Resolved],
    infos: &[BpmInfo],
    deployment: Option<(&Deployment, &SharedLinks)>,
) -> Result<()> {
    match &request.output {
        Output::File(kind, path) => {
            let text = match kind {
                Kind::IgResolved => properties(vm, groups)?.remove(0),
                Kind::Bpm => bpm(&infos[0])?,
            };
            atomic::write_file_with_parents(path, text.as_bytes(), MODE)
        }
        Output::Directory(directory) => {
            let deployment_and_links = deployment.map(|(_, links)| links);
            let properties = properties(vm, groups)?;
            let bpm = infos.iter().map(bpm).collect::<Result<Vec<_>>>()?;
            let deployment =
                deployment.map(|(d, _)| Ok::<_, Problems>(encode(DEPLOYMENT_YAML, &d.encode()?))).transpose()?;
            let path = |group: &Resolved, kind: &str| directory.join(&group.name).join(kind).join(OUTPUT_JSON);
            let mut files: Vec<(PathBuf, &String)> = groups
                .iter()
                .zip(properties.iter().zip(&bpm))
                .flat_map(|(group, (properties, bpm))| {
                    [(path(group, KINDS[0]), properties), (path(group, KINDS[1]), bpm)]
                })
                .collect();
            files.extend(deployment.iter().map(|text| (directory.join(DEPLOYMENT).join(OUTPUT_JSON), text)));
            let shared = deployment_and_links.filter(|links| !links.links.is_empty());
            let shared = shared.map(|links| encode(LINKS_JSON, &links.encode()));
            files.extend(shared.iter().map(|text| (directory.join(LINKS).join(OUTPUT_JSON), text)));
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_path(), text.as_bytes())).collect();
            atomic::write_files_with_parents(&files, MODE)?;
            if deployment.is_none() {
                return Ok(());
            }
            if shared.is_none() {
                remove_links(directory)?;
            }
            remove_others(directory, groups)
        }
    }
}

/// Removes the shared links that an earlier plan wrote.
fn remove_links(directory: &Path) -> Result<()> {
    let path = directory.join(LINKS).join(OUTPUT_JSON);
    match fs::remove_file(&path) {
        Ok(()) => {
            // Best effort: a directory with other files stays.
            let _ = fs::remove_dir(directory.join(LINKS));
            Ok(())
        }
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        Err(e) => Err(e).io("remove", &path),
    }
}

/// Removes what an earlier plan wrote for groups that the deployment no longer has.
fn remove_others(directory: &Path, groups: &[Resolved]) -> Result<()> {
    for entry in fs::read_dir(directory).io("read", directory)? {
        let entry = entry.io("read", directory)?;
        let is_group = groups.iter().any(|group| entry.file_name() == group.name.as_str());
        // A link is somebody else's.
        if is_group || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let mut removed = false;
        for kind in KINDS {
            let of_kind = entry.path().join(kind);
            match fs::remove_file(of_kind.join(OUTPUT_JSON)) {
                Ok(()) => {
                    removed = true;
                    // Best effort, here and below: a directory with other files stays.
                    let _ = fs::remove_dir(of_kind);
                }
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(e) => return Err(e).io("remove", &of_kind.join(OUTPUT_JSON)),
            }
        }
        if removed {
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}

fn properties(vm: &Vm, groups: &[Resolved]) -> Result<Vec<String>> {
    let texts = vm.dump_yaml(groups.iter().map(handoff::properties::encode).collect())?;
    Ok(texts.iter().map(|text| encode(PROPERTIES_YAML, text)).collect())
}

fn bpm(info: &BpmInfo) -> Result<String> {
    Ok(encode(BPM_YAML, &info.encode()?))
}
