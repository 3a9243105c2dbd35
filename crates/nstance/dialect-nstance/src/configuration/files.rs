//! The files of a template.

use problem::hint_for_unknown;

use crate::document::{Data, Node};
use crate::report::{Fields, Kind, Report, Schema, member, suggest};

/// A file that instances of a template have.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name: one component of a path.
    pub name: String,
    /// Where it stands: `templates.default.files."instance.env"`.
    pub path: String,
    /// What it is, and what it is rendered from.
    pub kind: FileKind,
}

/// The kinds of files.
#[derive(Debug, Clone)]
pub enum FileKind {
    /// Lines of `KEY=value`; the object of templates.
    Env(Node),
    /// A JSON document; the object whose strings are templates.
    Json(Node),
    /// Any text; the template.
    String(Node),
    /// `secret`, `storage` or `certificate`: sent by the server, not rendered.
    Other,
}

const FILE: Schema =
    &[("kind", Kind::String), ("source", Kind::String), ("template", Kind::Any), ("key", Kind::Object)];
const KINDS: [&str; 6] = ["env", "json", "string", "secret", "storage", "certificate"];
/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

pub(super) fn read(all: &Fields<'_>, certificates: &[&str], report: &mut Report) -> Vec<File> {
    let mut files = Vec::new();
    for (name, fields) in all.objects(report) {
        if let Some(fault) = name_fault(name) {
            let message = format!("{}: the name of a file {fault}", fields.path);
            report.error(&fields.node.position, message);
        }
        let fields = fields.check(FILE, report);
        if let Some(kind) = kind(&fields, certificates, report) {
            files.push(File { name: name.clone(), path: fields.path, kind });
        }
    }
    files
}

/// Why a name is not one component of a path.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("is empty"),
        "." | ".." => Some("leads out of its directory"),
        _ if name.contains('/') => Some("contains '/'"),
        _ if name.contains('\0') => Some("contains a zero byte"),
        _ if name.len() > LONGEST_NAME => Some("has more than 255 bytes"),
        _ => None,
    }
}

fn kind(fields: &Fields<'_>, certificates: &[&str], report: &mut Report) -> Option<FileKind> {
    let path = fields.path_of("kind");
    let Some(node) = fields.get("kind") else {
        report.error(&fields.node.position, format!("{path} is missing"));
        return None;
    };
    match node.as_str()? {
        "env" => {
            let template = template(fields, Kind::Object, "an object", report)?;
            check_env(template, &fields.path_of("template"), report);
            Some(FileKind::Env(template.clone()))
        }
        "json" => template(fields, Kind::Object, "an object", report).cloned().map(FileKind::Json),
        "string" => template(fields, Kind::String, "a string", report).cloned().map(FileKind::String),
        "secret" | "storage" => {
            if fields.string("source").is_none_or(str::is_empty) {
                report.error(&fields.node.position, format!("{} is missing", fields.path_of("source")));
            }
            Some(FileKind::Other)
        }
        "certificate" => {
            let node = template(fields, Kind::String, "the name of a certificate", report)?;
            let name = node.as_str()?;
            if !certificates.contains(&name) {
                let path = fields.path_of("template");
                let message = format!("{path}: unknown certificate '{}'", name.escape_debug());
                suggest(report.error(&node.position, message), name, certificates.iter().copied());
            }
            Some(FileKind::Other)
        }
        other => {
            let problem = report.error(&node.position, format!("{path}: unknown kind '{}'", other.escape_debug()));
            problem.hint = Some(hint_for_unknown(other, KINDS, || format!("the kinds are {}", KINDS.join(", "))));
            None
        }
    }
}

fn template<'n>(fields: &Fields<'n>, kind: Kind, what: &str, report: &mut Report) -> Option<&'n Node> {
    let path = fields.path_of("template");
    match fields.get("template") {
        None => {
            report.error(&fields.node.position, format!("{path} is missing"));
            None
        }
        Some(node) if kind.fits(node) => Some(node),
        Some(node) => {
            report.error(&node.position, format!("{path} is {}, not {what}", node.kind()));
            None
        }
    }
}

/// Checks the keys and that all values are strings.
fn check_env(template: &Node, path: &str, report: &mut Report) {
    let Data::Object(members) = &template.data else { return };
    for (key, node) in members {
        let path = member(path, key);
        if !is_env_key(key) {
            let problem = report.error(&node.position, format!("{path}: the key is not the name of a variable"));
            problem.hint = Some("a name has letters, digits and underscores, and does not start with a digit".into());
        }
        if node.as_str().is_none() {
            report.error(&node.position, format!("{path} is {}, not a string", node.kind()));
        }
    }
}

fn is_env_key(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_env_key_is_the_name_of_a_variable() {
        for good in ["A", "_", "a1_B"] {
            assert!(is_env_key(good), "{good}");
        }
        for bad in ["", "1A", "A-B", "A B", "Ä", "A=", "A\n", "A.B"] {
            assert!(!is_env_key(bad), "{bad}");
        }
    }

    #[test]
    fn a_file_name_is_one_component() {
        for good in ["a", "a.b", ".env", "...", "a b"] {
            assert_eq!(name_fault(good), None);
        }
        let long = "x".repeat(256);
        for bad in ["", ".", "..", "a/b", "/a", "a/", "../a", "a\0", &long] {
            assert!(name_fault(bad).is_some(), "{bad:?}");
        }
    }
}
