//! The documents in the directory that `plan --output-dir` writes (specification, "Data Gathering": one `output.json` for each
//! document, in `<group>/ig-resolved`, `<group>/bpm` and `deployment`).

use std::io::ErrorKind;
use std::path::Path;

use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use handoff::output::{self, BPM_YAML, DEPLOYMENT_YAML};
use problem::{IoContext, Problem, Problems, Result, code};

/// The text that `DIRECTORY/SUBDIRECTORY/output.json` has under `key`.
///
/// # Errors
/// The file does not exist or cannot be read, is no `output.json`, or has no such key.
pub fn text(directory: &Path, subdirectory: &str, key: &str) -> Result<String> {
    let path = directory.join(subdirectory).join("output.json");
    let bytes = match vcap::input::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let problem = Problem::input(format!("{} does not exist", path.display())).code(code::DOCUMENT_MISSING);
            return Err(problem.hint("`plan --output-dir DIR` writes it").into());
        }
        read => read.io("read", &path)?,
    };
    output::decode(&String::from_utf8_lossy(&bytes), key, &path.display().to_string())
}

/// The document of the deployment.
///
/// # Errors
/// As [`text`]; or it is not valid.
pub fn deployment(directory: &Path) -> Result<Deployment> {
    Deployment::decode(&text(directory, "deployment", DEPLOYMENT_YAML)?, &directory.display().to_string())
}

/// What each group of the deployment runs, in its order.
///
/// # Errors
/// As [`text`], for all groups at once; or documents that are not valid.
pub fn groups(directory: &Path, deployment: &Deployment) -> Result<Vec<BpmInfo>> {
    let (mut infos, mut problems) = (Vec::new(), Vec::new());
    for group in &deployment.instance_groups {
        let subdirectory = format!("{}/bpm", group.name);
        match text(directory, &subdirectory, BPM_YAML).and_then(|text| BpmInfo::decode(&text, &subdirectory)) {
            Ok(info) => infos.push(info),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(problems)?;
    Ok(infos)
}
