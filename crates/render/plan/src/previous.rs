//! The identities that the instances of a deployment have from its versions before.

use std::io::ErrorKind;
use std::path::Path;

use handoff::deployment::Deployment;
use handoff::identities::{IDENTITIES_JSON, Identities};
use handoff::output::DEPLOYMENT_YAML;
use problem::{IoContext, Result, code};

/// Those of `identities.json` in a directory, or else those of the documents that an earlier `plan --output-dir` wrote there; none if there
/// is neither.
///
/// # Errors
/// A document that is not valid.
pub fn read(directory: &Path) -> Result<Identities> {
    let path = directory.join(IDENTITIES_JSON);
    match vcap::input::read(&path) {
        Ok(bytes) => return Identities::decode(&String::from_utf8_lossy(&bytes), &path.display().to_string()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        Err(error) => return Err(error).io("read", &path),
    }
    match plan_output::text(directory, "deployment", DEPLOYMENT_YAML) {
        Ok(text) => {
            let deployment = Deployment::decode(&text, &directory.display().to_string())?;
            Ok(Identities::default().after(&deployment))
        }
        Err(found) if found.iter().all(|problem| problem.code == code::DOCUMENT_MISSING) => Ok(Identities::default()),
        Err(found) => Err(found),
    }
}
