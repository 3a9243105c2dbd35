//! The files of a job: listed, named as BOSH looks for them.

use std::collections::BTreeSet;

use problem::{Place, did_you_mean};

use super::position_of;
use crate::finding::{Findings, at};
use crate::rules;
use crate::source::{JobSource, ReleaseSource, files_below};
use crate::yaml;

/// Files that BOSH's agent, the director and bpm look for.
const WELL_KNOWN: [&str; 10] = [
    "bin/pre-start",
    "bin/post-start",
    "bin/post-deploy",
    "bin/pre-stop",
    "bin/drain",
    "bin/post-stop",
    "bin/run",
    "config/bpm.yml",
    "bin/run.ps1",
    "bin/pre-start.ps1",
];

/// The name of a job's rules for its properties.
const SCHEMA: &str = "properties_schema.json";

pub(crate) fn check(release: &ReleaseSource, job: &JobSource, findings: &mut Findings) {
    unlisted(release, job, findings);
    misspelt(job, findings);
    schema(job, findings);
}

/// Files in `templates/` that no spec lists. Only in source directories: archives have what is listed.
fn unlisted(release: &ReleaseSource, job: &JobSource, findings: &mut Findings) {
    if !release.is_source || job.spec.root.is_none() {
        return;
    }
    let directory = job.directory.join("templates");
    let listed: BTreeSet<&str> = job.spec.templates.iter().map(|template| template.source.as_str()).collect();
    for file in files_below(&directory) {
        let real = std::fs::canonicalize(directory.join(&file)).ok();
        // Other jobs may link to it.
        let is_shared = release
            .jobs
            .iter()
            .flat_map(JobSource::all_templates)
            .any(|template| real.as_ref() == Some(&template.real));
        let name = file.rsplit('/').next().unwrap_or_default();
        if listed.contains(file.as_str()) || is_shared || name.starts_with('.') || name.ends_with(".md") {
            continue;
        }
        let place = Place::file(format!("{}/templates/{file}", job.label));
        let finding =
            findings.add(rules::TEMPLATE_UNLISTED, place, format!("{} does not list this file", job.spec_file));
        let missing = job.spec.templates.iter().filter(|template| !directory.join(&template.source).exists());
        finding.hint = did_you_mean(&file, missing.map(|template| template.source.as_str()))
            .map(|name| format!("the spec lists '{name}', which does not exist"));
    }
}

/// A name without what people write differently.
fn normal(path: &str) -> String {
    let name = path.strip_prefix("bin/").or_else(|| path.strip_prefix("config/")).unwrap_or(path);
    let name = name.strip_suffix(".erb").unwrap_or(name);
    let name = name.strip_suffix(".sh").or_else(|| name.strip_suffix(".bash")).unwrap_or(name);
    let name = if name == "bpm.yaml" { "bpm.yml" } else { name };
    name.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

/// Destinations that look like well-known files, but are not.
fn misspelt(job: &JobSource, findings: &mut Findings) {
    let has = |destination: &str| job.spec.templates.iter().any(|template| template.destination == destination);
    for template in &job.spec.templates {
        let destination = template.destination.as_str();
        if WELL_KNOWN.contains(&destination) {
            continue;
        }
        let same = |known: &&&str| normal(known) == normal(destination) && !known.ends_with(".ps1");
        let Some(known) = WELL_KNOWN.iter().find(same) else { continue };
        // `run` is an ordinary name elsewhere.
        let is_ordinary = *known == "bin/run" && !destination.starts_with("bin/run.");
        if is_ordinary || has(known) || is_named(job, destination) {
            continue;
        }
        let place = at(&job.spec_file, template.at.line, template.at.column);
        let message = format!("'{destination}' is not '{known}', and nothing else in the job names it");
        findings.add(rules::FILE_MISSPELT, place, message).hint(format!("did you mean '{known}'?"));
    }
}

/// Whether a file of the job names another one.
fn is_named(job: &JobSource, destination: &str) -> bool {
    let name = destination.rsplit('/').next().unwrap_or(destination);
    job.all_templates()
        .filter(|template| template.destination != destination)
        .any(|template| template.text().contains(name))
}

/// A schema of properties that the director does not find, or cannot use.
fn schema(job: &JobSource, findings: &mut Findings) {
    for file in files_below(&job.directory) {
        let is_similar = normal(file.trim_end_matches(".json")).starts_with("propert") && file.ends_with(".json");
        let is_in_templates = file.strip_prefix("templates/").is_some();
        if file == SCHEMA || file.contains('/') && !is_in_templates || !is_similar || !file.contains("schema") {
            continue;
        }
        if is_in_templates && job.spec.templates.iter().any(|template| file == format!("templates/{}", template.source))
        {
            continue;
        }
        let place = Place::file(format!("{}/{file}", job.label));
        let finding = findings.add(rules::SCHEMA_MISNAMED, place, "the director does not read this file");
        finding.hint(format!("rename it to {}/{SCHEMA}", job.label));
    }
    let file = format!("{}/{SCHEMA}", job.label);
    let Ok(text) = std::fs::read(job.directory.join(SCHEMA)) else { return };
    match serde_json::from_slice::<serde_json::Value>(&text) {
        Ok(_) => {}
        Err(e) => {
            let (line, column) = (u32::try_from(e.line()).unwrap_or(1), u32::try_from(e.column()).unwrap_or(1));
            findings.add(rules::SCHEMA_INVALID, at(&file, line.max(1), column.max(1)), "the schema is not JSON");
        }
    }
}

/// `config/final.yml` and `config/blobs.yml`.
pub(crate) fn configuration(release: &ReleaseSource, findings: &mut Findings) {
    if !release.is_source {
        return;
    }
    let read = |name: &str| std::fs::read(release.directory.join("config").join(name)).ok();
    let file = release.file("config/final.yml");
    if let Some(root) = read("final.yml").and_then(|text| yaml::read(&text)) {
        super::yaml::duplicates(&root, &file, findings);
        if yaml::get(&root, "name").or_else(|| yaml::get(&root, "final_name")).is_none() {
            let finding = findings.add(rules::FINAL_INVALID, at(&file, 1, 1), "the release has no name");
            finding.hint("add `name: NAME`: without it, the release is named after its directory");
        }
        let provider = yaml::get(&root, "blobstore").and_then(|blobstore| yaml::get(blobstore, "provider"));
        if let Some(provider) = provider
            && !yaml::text(provider).is_some_and(|name| PROVIDERS.contains(&name))
        {
            let place = at(&file, provider.origin.line, provider.origin.column);
            let message = "the provider of the blobstore is unknown to bosh";
            findings.add(rules::FINAL_INVALID, place, message).hint(format!("it is one of {}", PROVIDERS.join(", ")));
        }
    }
    let file = release.file("config/blobs.yml");
    let Some(text) = read("blobs.yml") else { return };
    let Some(root) = yaml::read(&text) else { return };
    super::yaml::duplicates(&root, &file, findings);
    for (path, blob) in yaml::entries(&root) {
        let place = at(&file, path.origin.line, path.origin.column);
        let name = yaml::text(path).unwrap_or_default();
        let size = yaml::get(blob, "size").and_then(yaml::plain).and_then(|size| size.parse::<u64>().ok());
        let sha = yaml::get(blob, "sha").and_then(yaml::text).unwrap_or_default();
        let digest = sha.strip_prefix("sha256:").unwrap_or(sha);
        let is_digest = matches!(digest.len(), 40 | 64) && digest.bytes().all(|b| b.is_ascii_hexdigit());
        if size.is_none() || !is_digest {
            let message = format!("blob '{}' has no valid size and sha", name.escape_debug());
            findings.add(rules::BLOBS_INVALID, place, message).hint("`bosh add-blob` writes entries");
        }
    }
}

/// Blobstores of the bosh CLI.
const PROVIDERS: [&str; 6] = ["local", "s3", "gcs", "dav", "davcli", "azure-storage"];

/// The place of a text in a file, or the file.
pub(crate) fn place_in(file: &str, text: &str, part: &str) -> Place {
    position_of(text, part).map_or_else(|| Place::file(file), |(line, column)| at(file, line, column))
}
