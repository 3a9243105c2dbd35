//! The files of a state directory as one document.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use problem::{IoContext, Problem, Result};
use serde_json::{Value as Json, json};

/// What `brokerpak run` keeps of instances; beside it are executables, which the pak has.
const INSTANCES: &str = "instances";
/// What terraform makes anew: providers.
const LEFT_OUT: &str = ".terraform";
/// The most that the files may have together.
const LARGEST: u64 = 64 << 20;

/// The files below a directory; empty if there are none. Links are left out.
///
/// # Errors
/// Files that cannot be read, more than can be stored.
pub(crate) fn read(directory: &Path) -> Result<String> {
    let mut files = BTreeMap::new();
    let mut total = 0;
    collect(&directory.join(INSTANCES), INSTANCES, &mut files, &mut total)?;
    if files.is_empty() {
        return Ok(String::new());
    }
    Ok(json!({ "version": 1, "files": files }).to_string())
}

fn collect(directory: &Path, name: &str, files: &mut BTreeMap<String, String>, total: &mut u64) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        // Removed while this reads.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).io("read", directory),
    };
    for entry in entries {
        let entry = entry.io("read", directory)?;
        let path = entry.path();
        let Some(own) = entry.file_name().to_str().map(|own| format!("{name}/{own}")) else { continue };
        let kind = entry.file_type().io("read", &path)?;
        if kind.is_dir() && entry.file_name() != LEFT_OUT {
            collect(&path, &own, files, total)?;
        } else if kind.is_file() {
            let content = match fs::read(&path) {
                Ok(content) => content,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error).io("read", &path),
            };
            *total += content.len() as u64;
            if *total > LARGEST {
                let message = format!("the state of the instance has more than {} MiB", LARGEST >> 20);
                return Err(Problem::internal(message).into());
            }
            files.insert(own, BASE64.encode(content));
        }
    }
    Ok(())
}

/// Writes the files of a document below a directory, for their owner alone.
///
/// # Errors
/// A document that is not one, files that cannot be written.
pub(crate) fn write(directory: &Path, text: &str) -> Result<()> {
    let wrong = || Problem::internal("the stored state is not one that brokerpak-state has written");
    let document: Json = if text.is_empty() {
        json!({"version": 1, "files": {}})
    } else {
        serde_json::from_str(text).map_err(|_| wrong())?
    };
    let files = document["files"].as_object().filter(|_| document["version"] == 1).ok_or_else(wrong)?;
    make(directory).io("create", directory)?;
    for (name, content) in files {
        let content = content.as_str().and_then(|text| BASE64.decode(text).ok()).ok_or_else(wrong)?;
        let stays = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !stays {
            return Err(wrong().into());
        }
        let path = directory.join(name);
        make(path.parent().unwrap_or(directory)).io("create", &path)?;
        let written = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        written.and_then(|mut file| file.write_all(&content)).io("write", &path)?;
    }
    Ok(())
}

fn make(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]
    use super::*;

    #[test]
    fn files_are_written_as_they_were_read() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        assert_eq!(read(&from).unwrap(), "");
        fs::create_dir_all(from.join("instances/i/run/.terraform")).unwrap();
        fs::create_dir_all(from.join("paks")).unwrap();
        fs::write(from.join("instances/i/terraform.tfstate"), b"{}\xff").unwrap();
        fs::write(from.join("instances/i/run/.terraform/provider"), "large").unwrap();
        fs::write(from.join("paks/terraform"), "large").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("instances/i/link")).unwrap();
        let text = read(&from).unwrap();
        assert_eq!(text, read(&from).unwrap());
        write(&to, &text).unwrap();
        assert_eq!(fs::read(to.join("instances/i/terraform.tfstate")).unwrap(), b"{}\xff");
        assert_eq!(read(&to).unwrap(), text);
        assert_eq!(fs::read_dir(to.join("instances/i")).unwrap().count(), 1);
        for bad in [
            "{",
            "{}",
            r#"{"version":2,"files":{}}"#,
            r#"{"version":1,"files":{"../x":""}}"#,
            r#"{"version":1,"files":{"x":"?"}}"#,
        ] {
            assert!(write(&to, bad).is_err(), "{bad}");
        }
    }
}
