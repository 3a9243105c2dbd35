//! `state.json`: what outlives boson itself, for the verbs that find it dead.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use problem::{IoContext, Place, Problem, Result, code};
use sandbox::ProcessId;
use serde::{Deserialize, Serialize};

/// The file's name in the state directory.
pub(super) const FILE: &str = "state.json";

/// The record while it is being written: the only entry other than the lock that can exist before it.
pub(super) const NEW_FILE: &str = "state.json.new";

/// The version that this program writes, and the only one that it reads.
const VERSION: u32 = 1;

/// The whole document.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The deployment's name.
    pub deployment: String,
    /// The process that holds the deployment; none while the deployment is down and has persistent disks.
    pub boson: Option<ProcessId>,
    /// The process that holds the network and all sandboxes.
    pub network: Option<ProcessId>,
    /// The addresses of the instances, by name: an instance that is started again after boson died keeps its own.
    pub addresses: BTreeMap<String, Ipv4Addr>,
}

#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    record: &'a Record,
}

/// The record in a directory; `None` if the directory has none.
///
/// # Errors
/// Another version or none, unknown or missing fields.
pub(super) fn read(dir: &Path) -> Result<Option<Record>> {
    let path = dir.join(FILE);
    match fs::read_to_string(&path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        other => decode(&other.io("read", &path)?, &path).map(Some),
    }
}

fn decode(text: &str, path: &Path) -> Result<Record> {
    let refused = |message: String, code| {
        let problem = Problem::input(message).code(code).at(Place::file(path.display().to_string()));
        problem.hint(
            "stop the deployment with the boson that started it; if none of its processes runs, remove the directory",
        )
    };
    let invalid = |what: String| refused(format!("the state of the deployment: {what}"), code::DOCUMENT_INVALID);
    let value: serde_json::Value = serde_json::from_str(text).map_err(|_| invalid("is not JSON".to_owned()))?;
    let serde_json::Value::Object(mut whole) = value else { return Err(invalid("is not an object".to_owned()).into()) };
    let version = |found: &str| {
        let message = format!("the state of the deployment has {found}, and this program reads version {VERSION}");
        refused(message, code::DOCUMENT_VERSION)
    };
    match whole.shift_remove("version") {
        Some(found) if found == VERSION => {}
        Some(serde_json::Value::Number(found)) => return Err(version(&format!("version {found}")).into()),
        _ => return Err(version("no version").into()),
    }
    // serde names the field; no value of the record is a secret.
    Ok(serde_json::from_value(serde_json::Value::Object(whole)).map_err(|e| invalid(e.to_string()))?)
}

/// Writes the record in one step.
pub(super) fn write(dir: &Path, record: &Record) -> Result<()> {
    let path = dir.join(FILE);
    let text = serde_json::to_string(&Versioned { version: VERSION, record })
        .map_err(|e| Problem::internal("cannot record the state").because(e))?;
    let new = dir.join(NEW_FILE);
    fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).io("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_a_round_trip_and_other_versions_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
        let addresses = BTreeMap::from([("web/0".to_owned(), Ipv4Addr::new(10, 244, 0, 2))]);
        let record = Record { deployment: "d".into(), boson: ProcessId::own(), network: None, addresses };
        write(dir.path(), &record).unwrap();
        assert_eq!(read(dir.path()).unwrap(), Some(record));
        for (text, message) in [
            ("{", "is not JSON"),
            ("[]", "is not an object"),
            ("{\"deployment\":\"d\"}", "has no version, and this program reads version 1"),
            ("{\"version\":2,\"deployment\":\"d\"}", "has version 2, and this program reads version 1"),
            ("{\"version\":1,\"deployment\":\"d\",\"boson\":null,\"network\":null,\"addresses\":{},\"x\":1}", "`x`"),
        ] {
            fs::write(dir.path().join(FILE), text).unwrap();
            let problems = read(dir.path()).unwrap_err();
            assert!(problems.to_string().contains(message), "{text}: {problems}");
            assert_eq!(problems.exit_code(), 65);
        }
    }

    #[test]
    fn records_of_earlier_versions_are_read() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../e2e/recorded");
        for version in fs::read_dir(recorded).unwrap() {
            let directory = version.unwrap().path();
            let record = read(&directory).unwrap().unwrap_or_else(|| panic!("{}: no record", directory.display()));
            assert_eq!((record.deployment.as_str(), record.addresses.len()), ("nats", 2));
            assert_eq!((record.boson.map(|id| id.pid), record.network.map(|id| id.pid)), (Some(4711), Some(4712)));
        }
    }
}
