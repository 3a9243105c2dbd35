//! The documents of a pak as they stand in an archive: the manifest with the addresses of providers in full, and definitions with
//! their templates and images in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use problem::Place;

use crate::manifest::{Binary, Manifest};
use crate::pak::{Files, Pak, Service, Template};
use crate::report::Report;
use crate::write::{list, map, text, write};
use crate::yaml::{self, Entry, Kind, Node};

/// A file of an archive: its name and content.
pub type Document = (String, String);

/// The manifest and the definitions of a pak, for an archive with these platforms.
///
/// The pak has been read without errors; only images can be wrong.
pub fn documents(
    files: &dyn Files,
    manifest: &str,
    pak: &Pak,
    platforms: &[String],
    report: &mut Report,
) -> Vec<Document> {
    let base = manifest.rsplit_once('/').map_or("", |(base, _)| base);
    let name =
        |number: usize, service: &Service| format!("definitions/service{number}-{}.yml", service.definition.name.value);
    let names: Vec<String> = pak.services.iter().enumerate().map(|(number, service)| name(number, service)).collect();
    let mut documents = Vec::new();
    if let Some(node) = reread(files, manifest, report) {
        let node = packed_manifest(node, &pak.manifest, platforms, &names);
        documents.push(("manifest.yml".to_owned(), write(&node)));
    }
    for (number, (service, name)) in pak.services.iter().zip(names).enumerate() {
        let mut own = Report::default();
        if let Some(node) = reread(files, &service.path, &mut own) {
            documents.push((name, write(&definition(node, service, files, base, &mut own))));
        }
        report.service(number, own);
    }
    documents
}

/// Reads a document once more: what is known of it does not have all its keys.
fn reread(files: &dyn Files, path: &str, report: &mut Report) -> Option<Node> {
    let read = files.read(path).and_then(|content| yaml::read(&content).map_err(|(message, _)| message));
    read.map_err(|message| report.error(message, "", Place::file(files.shown(path)))).ok()
}

fn entries(node: Node) -> Vec<Entry> {
    if let Kind::Map(entries) = node.kind { entries } else { Vec::new() }
}

/// Replaces the value of a key that exists.
fn replace(entries: &mut [Entry], key: &str, value: Node) {
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key.0 == key) {
        entry.value = value;
    }
}

fn packed_manifest(node: Node, manifest: &Manifest, platforms: &[String], names: &[String]) -> Node {
    let mut entries = entries(node);
    let platform = |platform: &String| {
        let (os, arch) = platform.split_once('/').unwrap_or((platform, ""));
        map([("os".to_owned(), text(os)), ("arch".to_owned(), text(arch))])
    };
    replace(&mut entries, "platforms", list(platforms.iter().map(platform).collect()));
    if let Some(Entry { value: Node { kind: Kind::Map(metadata), .. }, .. }) =
        entries.iter_mut().find(|entry| entry.key.0 == "metadata")
    {
        for entry in metadata {
            if let Some(scalar) = entry.value.text() {
                entry.value = text(&scalar);
            }
        }
    }
    let binaries = manifest.terraform.iter().chain(&manifest.providers).chain(&manifest.other_binaries);
    replace(&mut entries, "terraform_binaries", list(binaries.map(binary).collect()));
    replace(&mut entries, "service_definitions", list(names.iter().map(|name| text(name)).collect()));
    let step = |version: &String| map([("version".to_owned(), text(version))]);
    replace(&mut entries, "terraform_upgrade_path", list(manifest.upgrade_path.iter().map(step).collect()));
    Node { kind: Kind::Map(entries), line: 1, column: 1 }
}

fn binary(binary: &Binary) -> Node {
    let texts = [
        ("name", Some(&binary.name)),
        ("version", Some(&binary.version)),
        ("source", Some(&binary.source)),
        ("provider", binary.provider.as_ref()),
        ("url_template", Some(&binary.url_template)),
    ];
    let present = texts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let mut entries: Vec<(String, Node)> =
        present.filter(|(_, value)| !value.is_empty()).map(|(key, value)| (key, text(value))).collect();
    if binary.is_default {
        let value = Node { kind: Kind::Scalar("true".to_owned(), true.into()), line: 0, column: 0 };
        entries.push(("default".to_owned(), value));
    }
    map(entries)
}

fn definition(node: Node, service: &Service, files: &dyn Files, base: &str, report: &mut Report) -> Node {
    let mut entries = entries(node);
    for (key, template) in [("provision", &service.provision), ("bind", &service.bind)] {
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key.0 == key)
            && let Kind::Map(action) = &mut entry.value.kind
        {
            inline(action, template);
        }
    }
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key.0 == "image_url")
        && let Kind::Scalar(url, _) = &entry.value.kind
        && let Some(path) = url.strip_prefix("file://")
    {
        let place = entry.value.place(&service.definition.file);
        match image(files, base, path) {
            Ok(data) => entry.value = text(&data),
            Err(why) => report.error(format!("couldn't load the image {path}: {why}"), "image_url", place),
        }
    }
    Node { kind: Kind::Map(entries), line: 1, column: 1 }
}

/// Puts templates in the place of the references to them.
fn inline(action: &mut Vec<Entry>, template: &Template) {
    let first = action.iter().position(|entry| entry.key.0.starts_with("template"));
    action.retain(|entry| !matches!(entry.key.0.as_str(), "template" | "template_ref" | "templates" | "template_refs"));
    let mut own = Vec::new();
    if let Some(source) = template.sources.get("") {
        own.push(("template".to_owned(), text(source)));
    }
    let several = template.sources.iter().filter(|(name, _)| !name.is_empty());
    let several: Vec<(String, Node)> = several.map(|(name, source)| (name.clone(), text(source))).collect();
    if !several.is_empty() {
        own.push(("templates".to_owned(), map(several)));
    }
    let at = first.unwrap_or(action.len()).min(action.len());
    action.splice(at..at, entries(map(own)));
}

/// An image of the pak as a data URL.
fn image(files: &dyn Files, base: &str, path: &str) -> Result<String, String> {
    if !crate::pak::stays_inside(path) {
        return Err("the path leads out of the pak".to_owned());
    }
    let content = files.read(&crate::pak::join(base, path))?;
    let kind = if content.starts_with(b"\x89PNG\r\n\x1a\n") {
        "image/png"
    } else if content.starts_with(b"\xff\xd8\xff") {
        "image/jpeg"
    } else {
        return Err("it is neither PNG nor JPEG".to_owned());
    };
    Ok(format!("data:{kind};base64,{}", BASE64.encode(content)))
}
