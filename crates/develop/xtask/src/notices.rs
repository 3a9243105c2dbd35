//! Notices for what ships: a list of all parts (SPDX) and the notices that their licences require.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::graph::{Graph, Package};

/// The list of parts.
pub const SBOM: &str = "sbom.spdx.json";
/// The notices.
pub const NOTICES: &str = "NOTICES";

/// A part of an executable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    name: String,
    version: String,
    /// An SPDX expression, or `NOASSERTION`.
    licence: String,
    /// Where it comes from, as a package URL.
    url: String,
    /// Files with notices.
    notices: Vec<PathBuf>,
}

/// Writes both files into `directory`, about these executables. `foreign` lists what they hold beside crates: a line for
/// each, with tabs between name, version, licence, package URL and the file with the notice. `created` is a time as RFC 3339
/// writes it.
pub fn write(directory: &Path, executables: &[&str], foreign: &Path, created: &str) -> Result<(), String> {
    let graph = Graph::load(None)?;
    let mut parts = crates(&graph, executables)?;
    parts.extend(foreign_parts(foreign)?);
    let text = notices(&parts)?;
    let own = crate::read("LICENSE")?;
    let version = graph.members().next().map_or_else(String::new, |member| member.version.clone());
    let sbom = sbom(&parts, &version, created);
    let save = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    save(SBOM, format!("{sbom:#}\n"))?;
    save(NOTICES, text)?;
    save("LICENSE", own)
}

/// All crates from outside that end up in the executables.
fn crates(graph: &Graph, executables: &[&str]) -> Result<BTreeSet<Part>, String> {
    let mut parts = BTreeSet::new();
    for name in executables {
        let member = graph.members().find(|member| member.name == *name);
        let member = member.ok_or_else(|| format!("unknown executable {name}"))?;
        let reached = graph.reached(member);
        for package in graph.packages().filter(|p| !p.member && reached.contains_key(p.name.as_str())) {
            parts.insert(part_of(package)?);
        }
    }
    Ok(parts)
}

fn part_of(package: &Package) -> Result<Part, String> {
    // Older crates separate alternatives by a slash.
    let licence = package.license.as_deref().unwrap_or("NOASSERTION").replace('/', " OR ");
    Ok(Part {
        name: package.name.clone(),
        version: package.version.clone(),
        licence,
        url: format!("pkg:cargo/{}@{}", package.name, package.version),
        notices: notice_files(&package.directory)?,
    })
}

/// The licence files of a crate.
fn notice_files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| format!("{}: {e}", directory.display()))?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let prefixes = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
        if prefixes.iter().any(|start| name.starts_with(start)) && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn foreign_parts(list: &Path) -> Result<Vec<Part>, String> {
    let text = fs::read_to_string(list).map_err(|e| format!("{}: {e}", list.display()))?;
    let part = |line: &str| match *line.split('\t').collect::<Vec<_>>() {
        [name, version, licence, url, notice] => Ok(Part {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.to_owned(),
            url: url.to_owned(),
            notices: vec![notice.into()],
        }),
        _ => Err(format!("{}: not five columns: {line}", list.display())),
    };
    text.lines().map(part).collect()
}

/// Every text once, with all parts that it is from.
fn notices(parts: &BTreeSet<Part>) -> Result<String, String> {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for part in parts {
        let whose = format!("{} {} ({})", part.name, part.version, part.licence);
        for file in &part.notices {
            let text = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
            let text = String::from_utf8_lossy(&text).replace('\r', "");
            texts.entry(text.trim().to_owned()).or_default().insert(whose.clone());
        }
        if part.notices.is_empty() {
            texts
                .entry("The package itself holds no text beside the name of its licence.".to_owned())
                .or_default()
                .insert(whose);
        }
    }
    let mut by_owner: Vec<(BTreeSet<String>, String)> = texts.into_iter().map(|(text, whose)| (whose, text)).collect();
    by_owner.sort();
    let rule = "=".repeat(78);
    let mut all = "boson is licensed under Apache-2.0 (see LICENSE). It holds parts of others, whose notices follow.\n"
        .to_owned();
    for (whose, text) in by_owner {
        let whose: Vec<String> = whose.into_iter().collect();
        write!(all, "\n{rule}\n{}\n{rule}\n\n{text}\n", whose.join("\n")).map_err(|e| e.to_string())?;
    }
    Ok(all)
}

/// SPDX 2.3.
fn sbom(parts: &BTreeSet<Part>, version: &str, created: &str) -> Value {
    let packages: Vec<Value> = parts
        .iter()
        .map(|part| {
            json!({
                "SPDXID": id(part),
                "name": part.name,
                "versionInfo": part.version,
                "downloadLocation": "NOASSERTION",
                "licenseConcluded": "NOASSERTION",
                "licenseDeclared": part.licence,
                "copyrightText": "NOASSERTION",
                "externalRefs": [{
                    "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": part.url,
                }],
            })
        })
        .collect();
    let contains: Vec<Value> = parts
        .iter()
        .map(|part| json!({"spdxElementId": "SPDXRef-boson", "relationshipType": "CONTAINS", "relatedSpdxElement": id(part)}))
        .collect();
    let describes = json!({
        "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-boson",
    });
    let own = json!({
        "SPDXID": "SPDXRef-boson",
        "name": "boson",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    });
    let digest = Sha256::digest(format!("{packages:?}").as_bytes());
    let unique: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let packages = [&[own][..], &packages].concat();
    let relationships = [&[describes][..], &contains].concat();
    json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("boson-{version}"),
        "documentNamespace": format!("urn:boson:sbom:{version}:{unique}"),
        "creationInfo": {"created": created, "creators": ["Tool: boson-xtask"]},
        "packages": packages,
        "relationships": relationships,
    })
}

/// Letters, digits, dots and dashes are all that an identifier may have.
fn id(part: &Part) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
    };
    format!("SPDXRef-{}-{}", plain(&part.name), plain(&part.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, notices: &[&Path]) -> Part {
        Part {
            name: name.to_owned(),
            version: "1.0+x".to_owned(),
            licence: "MIT OR Apache-2.0".to_owned(),
            url: format!("pkg:cargo/{name}@1.0"),
            notices: notices.iter().map(|path| path.to_path_buf()).collect(),
        }
    }

    #[test]
    fn a_notice_of_several_parts_is_listed_once() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "the text\r\n").unwrap();
        fs::write(&two, "the text").unwrap();
        let text = notices(&[part("a", &[&one]), part("b", &[&two]), part("c", &[])].into()).unwrap();
        assert_eq!(text.matches("the text").count(), 1);
        assert!(text.contains("a 1.0+x (MIT OR Apache-2.0)\nb 1.0+x (MIT OR Apache-2.0)\n"), "{text}");
        assert!(text.contains("c 1.0+x (MIT OR Apache-2.0)\n=") && text.contains("holds no text"), "{text}");
    }

    #[test]
    fn every_part_is_in_the_list_and_belongs_to_boson() {
        let sbom = sbom(&[part("a_b", &[]), part("c", &[])].into(), "0.1.0", "2026-01-01T00:00:00Z");
        let ids: Vec<&str> =
            sbom["packages"].as_array().unwrap().iter().map(|p| p["SPDXID"].as_str().unwrap()).collect();
        assert_eq!(ids, ["SPDXRef-boson", "SPDXRef-a-b-1.0-x", "SPDXRef-c-1.0-x"]);
        let related =
            sbom["relationships"].as_array().unwrap().iter().map(|r| r["relatedSpdxElement"].as_str().unwrap());
        assert_eq!(related.collect::<Vec<_>>(), ids);
    }

    #[test]
    fn crates_that_ship_are_parts_and_those_for_development_are_not() {
        let graph = Graph::load(None).unwrap();
        let parts = crates(&graph, &["boson", "boson-brokerpak", "boson-cloud", "boson-pod"]).unwrap();
        let names: BTreeSet<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert!(names.contains("rutie") && names.contains("clap") && !names.contains("proptest"), "{names:?}");
        assert!(!names.contains("release"), "crates of this workspace are not parts of others");
        let bare: Vec<&str> = parts.iter().filter(|p| p.licence == "NOASSERTION").map(|p| p.name.as_str()).collect();
        assert!(bare.is_empty(), "{bare:?}");
    }
}
