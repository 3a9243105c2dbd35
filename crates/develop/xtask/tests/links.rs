//! What documents refer to exists.

use std::path::{Component, Path, PathBuf};

use xtask::markdown::{anchors, links};
use xtask::sources::{Source, all};

fn documents() -> Vec<Source> {
    let mut files = all().expect("the workspace's files");
    files.retain(|file| file.path.ends_with(".md"));
    files
}

/// A path without `.` and `..`; `None` where it leaves the workspace.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    Some(normal)
}

/// The errors of a link in the document at `from`.
fn mistake(documents: &[Source], from: &str, target: &str) -> Option<&'static str> {
    if target.starts_with("https://") || target.starts_with("http://") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { PathBuf::from(from) } else { Path::new(from).parent()?.join(file) };
    let Some(path) = normal(&path) else { return Some("leaves the workspace") };
    if !xtask::root().join(&path).exists() {
        return Some("does not exist");
    }
    let document = documents.iter().find(|document| Path::new(&document.path) == path);
    match (anchor, document) {
        (None, _) => None,
        (Some(anchor), Some(document)) if anchors(&document.text).contains(anchor) => None,
        (Some(_), _) => Some("has no such heading"),
    }
}

#[test]
fn every_link_of_a_document_has_a_target() {
    let documents = documents();
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in &documents {
        for (line, target) in links(&document.text) {
            count += 1;
            if let Some(mistake) = mistake(&documents, &document.path, &target) {
                wrong.push(format!("{}:{line}: {target} {mistake}", document.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "{count} links in {} documents", documents.len());
}

#[test]
fn every_document_that_sources_name_exists() {
    let mut wrong = Vec::new();
    for file in all().unwrap() {
        for (number, line) in (1..).zip(file.text.lines()) {
            for part in line.split("docs/").skip(1) {
                let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.')));
                let name = part[..end.unwrap_or(part.len())].trim_end_matches('.');
                if name.ends_with(".md") && !xtask::root().join("docs").join(name).exists() {
                    wrong.push(format!("{}:{number}: docs/{name}", file.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_document_is_reached_from_the_readme() {
    let documents = documents();
    let mut reached = vec![PathBuf::from("README.md")];
    let mut next = 0;
    while next < reached.len() {
        let document = documents.iter().find(|document| Path::new(&document.path) == reached[next]);
        for (_, target) in document.map(|document| links(&document.text)).unwrap_or_default() {
            let file = target.split('#').next().unwrap_or_default();
            let path = reached[next].parent().and_then(|parent| normal(&parent.join(file)));
            reached.extend(path.filter(|path| !reached.contains(path)));
        }
        next += 1;
    }
    let of_docs = documents.iter().filter(|document| document.path.starts_with("docs/"));
    let unreached: Vec<&str> =
        of_docs.map(|d| d.path.as_str()).filter(|path| !reached.contains(&PathBuf::from(path))).collect();
    assert!(unreached.is_empty(), "no way leads from README.md to {unreached:?}");
}
