//! The template and the values, as files, flags and variables give them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dialect_kubernetes_templates::{Document, Given, LARGEST};
use problem::{Place, Problem, Problems, Result};

use crate::unreadable;

/// The variables that give values.
const PREFIX: &[u8] = b"BOSON_PARAM_";

/// The template of a file; `-` is standard input.
///
/// # Errors
/// A file that cannot be read, or is not a document.
pub fn template(path: &Path) -> Result<Document> {
    if path.as_os_str() == "-" {
        return Document::read(&limited(io::stdin(), 0).map_err(|e| unreadable("standard input", e))?, "stdin");
    }
    let text = contents(path).map_err(|e| unreadable(&format!("the template {}", path.display()), e))?;
    Document::read(&text, &path.display().to_string())
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    // Reads a byte beyond the end, to see that it is one.
    let size = file.metadata()?.len().saturating_add(1);
    limited(file, size.min(LARGEST as u64 + 1) as usize)
}

/// All of it, or one byte more than any document has. `size` is expected.
fn limited(input: impl Read, size: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(size);
    input.take(LARGEST as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The values of variables `BOSON_PARAM_<NAME>`.
pub(crate) fn variables() -> Result<Given> {
    let mut given = Given::default();
    let mut problems = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(parameter) = name.as_bytes().strip_prefix(PREFIX) else { continue };
        let variable = name.to_string_lossy();
        match (std::str::from_utf8(parameter), value.to_str()) {
            (Ok(parameter), Some(value)) => given.set(parameter, value, Place::file(variable)),
            _ => problems.push(Problem::input(format!("the variable {} is not UTF-8", variable.escape_debug()))),
        }
    }
    Problems::check(problems)?;
    Ok(given)
}

/// The paths of `--values`; those of the variable are separated by colons.
pub fn paths(given: &[PathBuf]) -> Vec<PathBuf> {
    let variable = std::env::var_os("BOSON_VALUES");
    match given {
        [path] if variable.as_deref() == Some(path.as_os_str()) => {
            let parts = path.as_os_str().as_bytes().split(|byte| *byte == b':');
            parts.filter(|part| !part.is_empty()).map(|part| PathBuf::from(OsStr::from_bytes(part))).collect()
        }
        paths => paths.to_vec(),
    }
}

/// The values of a file or directory.
///
/// # Errors
/// What cannot be read, and what are not values.
pub fn file(path: &Path) -> Result<Given> {
    let name = path.display().to_string();
    let failed = |e| unreadable(&format!("the values {name}"), e);
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return directory(path);
    }
    let text = contents(path).map_err(failed)?;
    if is_document(path) { Given::from_document(&text, &name) } else { Given::from_lines(&text, &name) }
}

/// Whether a file of values is JSON or YAML.
pub fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "yaml" || extension == "yml")
}

/// A mounted Secret or ConfigMap: a file is a value. `..data` and what it points to are the kubelet's.
fn directory(path: &Path) -> Result<Given> {
    loop {
        // Of one generation: the link may be exchanged while files are read through it.
        let generation = || fs::read_link(path.join("..data")).ok();
        let before = generation();
        let given = files_of(path);
        if generation() == before {
            return given;
        }
    }
}

fn files_of(path: &Path) -> Result<Given> {
    let mut given = Given::default();
    let mut problems = Vec::new();
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|e| unreadable(&format!("the values {}", path.display()), e))?;
    entries.retain(|entry| !entry.file_name().as_bytes().starts_with(b".."));
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let shown = path.display().to_string();
        let content = contents(&path);
        match content.map(String::from_utf8) {
            Ok(Ok(value)) => given.set(name.to_string_lossy(), value, Place::file(shown)),
            Ok(Err(_)) => problems.push(Problem::input("the value is not UTF-8").at(Place::file(shown))),
            Err(e) => problems.push(unreadable(&format!("the value {shown}"), e)),
        }
    }
    Problems::check(problems)?;
    Ok(given)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn the_values_of_a_volume_are_of_one_generation() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let point_to = |generation: &str| {
            symlink(generation, path.join("..new")).unwrap();
            fs::rename(path.join("..new"), path.join("..data")).unwrap();
        };
        for name in ["A", "B", "C"] {
            for generation in ["..1", "..2"] {
                fs::create_dir_all(path.join(generation)).unwrap();
                fs::write(path.join(generation).join(name), generation).unwrap();
            }
            symlink(format!("..data/{name}"), path.join(name)).unwrap();
        }
        // A reader waits here, between the first value and the last one.
        let gate = path.join("..1/B");
        fs::remove_file(&gate).unwrap();
        nix::unistd::mkfifo(&gate, Mode::S_IRWXU).unwrap();
        point_to("..1");
        let given = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut gate = fs::OpenOptions::new().write(true).open(&gate).unwrap();
                point_to("..2");
                gate.write_all(b"..1").unwrap();
            });
            file(path).unwrap()
        });
        assert_eq!(["A", "B", "C"].map(|name| given.get(name)), [Some("..2"); 3]);
    }
}
