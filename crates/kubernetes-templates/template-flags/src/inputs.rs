//! The template and the values, as files, flags and variables give them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dialect_kubernetes_templates::{Document, LARGEST, UserValues};
use problem::{Place, Problem, Result};

use crate::unreadable;

/// What a source gives, and what is wrong with it.
pub type ReadValues = (UserValues, Vec<Problem>);

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

/// The content of a file of values, all of it.
fn values(path: &Path) -> io::Result<Vec<u8>> {
    let text = contents(path)?;
    let most = LARGEST / 1024 / 1024;
    if text.len() > LARGEST { Err(io::Error::other(format!("it has more than {most} MiB"))) } else { Ok(text) }
}

/// The values of variables `BOSON_PARAM_<NAME>`, and the problems.
pub(crate) fn variables() -> ReadValues {
    let mut given = UserValues::default();
    let mut problems = Vec::new();
    for (name, value) in std::env::vars_os() {
        // No parameter has a name that is not UTF-8.
        let Some(parameter) = name.as_bytes().strip_prefix(PREFIX) else { continue };
        let parameter = String::from_utf8_lossy(parameter);
        let variable = name.to_string_lossy();
        let place = Place::file(variable.clone());
        match value.to_str() {
            Some(value) => given.set(parameter, value, place),
            None => {
                problems.push(Problem::input(format!("the variable {} is not UTF-8", variable.escape_debug())));
                given.set_unusable(parameter, place);
            }
        }
    }
    (given, problems)
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

/// The values of a file or directory, and the problems: what cannot be read, and what are not values.
pub fn file(path: &Path) -> ReadValues {
    let name = path.display().to_string();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return directory(path),
        _ => {}
    }
    match values(path) {
        Ok(text) if is_document(path) => UserValues::from_document(&text, &name),
        Ok(text) => UserValues::from_lines(&text, &name),
        Err(e) => lost(path, e),
    }
}

/// What a source of values gives that cannot be read at all.
fn lost(path: &Path, e: io::Error) -> ReadValues {
    let mut given = UserValues::default();
    given.set_partial();
    (given, vec![unreadable(&format!("the values {}", path.display()), e)])
}

/// Whether a file of values is JSON or YAML.
pub fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "yaml" || extension == "yml")
}

/// A mounted Secret or ConfigMap: a file is a value. `..data` and what it points to are the kubelet's.
fn directory(path: &Path) -> ReadValues {
    loop {
        // Of one generation: the link may be exchanged while files are read through it.
        let generation = || fs::read_link(path.join("..data")).ok();
        let before = generation();
        let read = files_of(path);
        if generation() == before {
            return read;
        }
    }
}

fn files_of(path: &Path) -> ReadValues {
    let mut given = UserValues::default();
    let mut problems = Vec::new();
    let mut entries = match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(e) => return lost(path, e),
    };
    entries.retain(|entry| !entry.file_name().as_bytes().starts_with(b".."));
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let shown = path.display().to_string();
        let place = Place::file(shown.clone());
        let problem = match values(&path).map(String::from_utf8) {
            Ok(Ok(value)) => {
                given.set(name, value, place);
                continue;
            }
            Ok(Err(_)) => Problem::input("the value is not UTF-8").at(place.clone()),
            Err(e) => unreadable(&format!("the value {shown}"), e),
        };
        problems.push(problem);
        given.set_unusable(name, place);
    }
    (given, problems)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn a_value_that_cannot_be_read_hides_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir(path.join("A")).unwrap();
        fs::write(path.join("B"), b"\xff").unwrap();
        fs::write(path.join("C"), "c").unwrap();
        fs::write(path.join("..D"), b"\xff").unwrap();
        let (given, problems) = file(path);
        assert_eq!(
            ["A", "B", "C"].map(|name| (given.has(name), given.get(name))),
            [(true, None), (true, None), (true, Some("c"))]
        );
        let problems: Vec<String> =
            problems.iter().map(|problem| problem.message.replace(path.to_str().unwrap(), "")).collect();
        assert_eq!(problems, ["cannot read the value /A", "the value is not UTF-8"]);
        // Part of a file would be other values.
        let large = path.join("large.env");
        fs::File::create(&large).unwrap().set_len(LARGEST as u64 + 1).unwrap();
        let (given, problems) = file(&large);
        assert_eq!((given.iter().count(), problems[0].causes[0].as_str()), (0, "it has more than 64 MiB"));
        let (given, problems) = file(&path.join("missing.yaml"));
        assert_eq!((given.iter().count(), problems.len(), problems[0].class), (0, 1, problem::Class::Input));
    }

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
        let (given, _) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut gate = fs::OpenOptions::new().write(true).open(&gate).unwrap();
                point_to("..2");
                gate.write_all(b"..1").unwrap();
            });
            file(path)
        });
        assert_eq!(["A", "B", "C"].map(|name| given.get(name)), [Some("..2"); 3]);
    }
}
