//! Writing `output.json` of each kind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use handoff::bpm_info::BpmInfo;
use handoff::output::{BPM_YAML, PROPERTIES_YAML, encode};
use instance_group::Resolved;
use jobs_src::JobsSrc;
use problem::{IoContext, Problem, Result, code};
use ruby::Vm;
use vcap::atomic;

use crate::options::{Kind, Output, Request};

/// Secrets are in it.
const MODE: u32 = 0o600;

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
    let absolute = std::path::absolute(path).io("find", path)?;
    let above = absolute.ancestors().find_map(|above| fs::canonicalize(above).ok());
    let sources = JobsSrc::below(&request.base);
    if let (Some(above), Ok(real)) = (above, fs::canonicalize(sources.path()))
        && above.starts_with(real)
    {
        let hint = format!("what is in {} is read", sources.path().display());
        return Err(problem("lies among the job sources").hint(hint).into());
    }
    Ok(())
}

/// Writes what was asked for; nothing where anything cannot be encoded.
pub(crate) fn write(vm: &Vm, request: &Request, groups: &[Resolved], infos: &[BpmInfo]) -> Result<()> {
    match &request.output {
        Output::File(kind, path) => {
            let text = match kind {
                Kind::IgResolved => properties(vm, groups)?.remove(0),
                Kind::Bpm => bpm(&infos[0])?,
            };
            atomic::write_file_with_parents(path, text.as_bytes(), MODE)
        }
        Output::Directory(directory) => {
            let properties = properties(vm, groups)?;
            let bpm = infos.iter().map(bpm).collect::<Result<Vec<_>>>()?;
            let path = |group: &Resolved, kind: &str| directory.join(&group.name).join(kind).join("output.json");
            let files: Vec<(PathBuf, &String)> = groups
                .iter()
                .zip(properties.iter().zip(&bpm))
                .flat_map(|(group, (properties, bpm))| {
                    [(path(group, "ig-resolved"), properties), (path(group, "bpm"), bpm)]
                })
                .collect();
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_path(), text.as_bytes())).collect();
            atomic::write_files_with_parents(&files, MODE)
        }
    }
}

fn properties(vm: &Vm, groups: &[Resolved]) -> Result<Vec<String>> {
    let texts = vm.dump_yaml(groups.iter().map(handoff::properties::encode).collect())?;
    Ok(texts.iter().map(|text| encode(PROPERTIES_YAML, text)).collect())
}

fn bpm(info: &BpmInfo) -> Result<String> {
    Ok(encode(BPM_YAML, &info.encode()?))
}
