//! The template and the values, as files, flags and variables give them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dialect_kubernetes_templates::{Document, Given, LARGEST};
use problem::{Place, Problem, Problems, Result, code};

use crate::options::Options;
use crate::unreadable;

/// The variables that give values.
const PREFIX: &[u8] = b"BOSON_PARAM_";

/// The template.
pub(crate) fn template(path: &Path) -> Result<Document> {
    if path.as_os_str() == "-" {
        return Document::read(&limited(io::stdin()).map_err(|e| unreadable("standard input", e))?, "stdin");
    }
    let text = fs::File::open(path).and_then(limited);
    let text = text.map_err(|e| unreadable(&format!("the template {}", path.display()), e))?;
    Document::read(&text, &path.display().to_string())
}

/// All of it, or one byte more than any document has.
fn limited(input: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    input.take(LARGEST as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The values: of variables, under those of files, under those of flags; and what cannot be read of them.
pub(crate) fn given(options: &Options, flags: Given) -> (Given, Vec<Problem>) {
    let mut given = Given::default();
    let mut problems = Vec::new();
    let mut add = |values: Result<Given>| match values {
        Ok(values) => given.replace_with(values),
        Err(error) => problems.extend(error.into_vec()),
    };
    add(variables());
    for path in paths(&options.values) {
        let values = file(&path);
        if let (true, Ok(values)) = (options.is_openshift(), &values) {
            warn_of_replaced(values, &flags, &path);
        }
        add(values);
    }
    add(Ok(flags));
    (given, problems)
}

/// oc's warning about values of a file that flags replace.
fn warn_of_replaced(values: &Given, flags: &Given, path: &Path) {
    let path = path.display();
    for (name, _) in values.iter().filter(|(name, _)| flags.get(name).is_some()) {
        let name = name.escape_debug();
        crate::print_warning(&format!(
            "warning: Template parameter \"{name}\" already defined, ignoring value from file \"{path}\""
        ));
    }
}

fn variables() -> Result<Given> {
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
pub(crate) fn paths(given: &[PathBuf]) -> Vec<PathBuf> {
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
pub(crate) fn file(path: &Path) -> Result<Given> {
    let name = path.display().to_string();
    let failed = |e| unreadable(&format!("the values {name}"), e);
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return directory(path);
    }
    let text = fs::File::open(path).and_then(limited).map_err(failed)?;
    if is_document(path) { Given::from_document(&text, &name) } else { Given::from_lines(&text, &name) }
}

/// Whether a file of values is JSON or YAML.
pub(crate) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "yaml" || extension == "yml")
}

/// A mounted Secret or ConfigMap: a file is a value. `..data` and what it points to are the kubelet's.
fn directory(path: &Path) -> Result<Given> {
    let mut given = Given::default();
    let mut problems = Vec::new();
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|e| unreadable(&format!("the values {}", path.display()), e))?;
    entries.retain(|entry| !entry.file_name().as_bytes().starts_with(b".."));
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let shown = path.display().to_string();
        let content = fs::File::open(&path).and_then(limited);
        match content.map(String::from_utf8) {
            Ok(Ok(value)) => given.set(name.to_string_lossy(), value, Place::file(shown)),
            Ok(Err(_)) => problems.push(Problem::input("the value is not UTF-8").at(Place::file(shown))),
            Err(e) => problems.push(unreadable(&format!("the value {shown}"), e)),
        }
    }
    Problems::check(problems)?;
    Ok(given)
}

/// The values of `--param`.
pub(crate) fn flags(options: &Options) -> Result<Given> {
    let mut given = Given::default();
    let mut problems = Vec::new();
    let mut repeated = BTreeSet::new();
    for text in &options.param {
        match text.to_str().map(|text| text.split_once('=')) {
            Some(Some((name, value))) if !name.is_empty() => {
                if given.get(name).is_some() {
                    repeated.insert(name);
                }
                given.set(name, value, Place::file(format!("--param {name}")))
            }
            // What it is may be a value.
            Some(_) if options.is_openshift() => {
                problems.push(Problem::usage("invalid parameter assignment in --param"))
            }
            Some(_) => problems.push(Problem::usage("--param: must be NAME=VALUE")),
            None => problems.push(Problem::usage("--param: must be UTF-8")),
        }
    }
    if options.is_openshift() && !repeated.is_empty() {
        let names = repeated.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!("The following parameters were provided more than once: {names}");
        problems.push(Problem::input(message).code(code::PARAMETER_INVALID));
    }
    Problems::check(problems)?;
    Ok(given)
}
