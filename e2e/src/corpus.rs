//! The corpus of BOSH's templates: `e2e/corpus/erb`, in the format of [`testkit::corpus`]. Each feature is a job.
//!
//! Beside the templates: `spec.yml`, what the job's spec contains in addition to name and templates; `manifest.yml`, what
//! the job's part of the manifest in addition to name and release. The kinds:
//!
//! - `render`: templates that render
//! - `fail`: `errors` is the message about the job's templates
//! - `refuse`: `errors` is the message of `plan`, without the places

use std::fs;
use std::io;
use std::path::Path;

use testkit::corpus::Feature;

use crate::here;

/// The features of a kind, sorted by name.
pub fn features(kind: &str) -> io::Result<Vec<Feature>> {
    Feature::all(&here().join("corpus/erb").join(kind), "erb")
}

/// The providers of the links that features consume: two groups, of which one has no instances.
const PROVIDERS: &[(&str, &str)] = &[
    (
        "database",
        "provides:\n- {name: db, type: database, properties: [port, users.admin, tags]}\nproperties:\n  port: {default: 5432}\n  users.admin: {default: root}\n  tags: {default: [z, {b: 1, a: ~, 3: x}]}\n",
    ),
    ("cache", "provides:\n- {name: cache, type: cache, properties: [port]}\nproperties: {port: {default: 6379}}\n"),
    ("cache-two", "provides:\n- {name: cache, type: cache, properties: [port]}\nproperties: {port: {default: 7000}}\n"),
    ("idle", "provides:\n- {name: idle, type: idle, properties: [speed]}\nproperties: {speed: {default: 9}}\n"),
];

/// The manifest above the group of the features.
const HEAD: &str = "\
name: corpus
releases: [{name: corpus, version: 1}]
properties: {shared: {x: global, y: global}, only: {global: g}, shared_list: [1]}
instance_groups:
- name: storage
  instances: 3
  azs: [z1, z2]
  networks: [{name: private}]
  jobs:
  - {name: database, release: corpus}
  - {name: cache, release: corpus, provides: {cache: {as: first}}}
  - {name: cache-two, release: corpus, provides: {cache: {as: second}}}
- name: asleep
  instances: 0
  networks: [{name: private}]
  jobs:
  - {name: idle, release: corpus}
";

/// The text of a file of a feature.
fn text(feature: &Feature, name: &str) -> String {
    String::from_utf8_lossy(&feature.file(name)).into_owned()
}

/// Writes `manifest.yml` and `jobs-src/` for a group of features.
pub fn write(work: &Path, group: &str, features: &[Feature]) -> io::Result<()> {
    let mut manifest = format!(
        "{HEAD}- name: {group}\n  instances: 3\n  azs: [z1, z2]\n  networks: [{{name: private, default: [dns, gateway]}}]\n  persistent_disk: 1024\n  properties: {{shared: {{x: group}}, shared_list: [2]}}\n  jobs:\n"
    );
    let jobs = work.join("jobs-src/corpus");
    for (name, spec) in PROVIDERS {
        fs::create_dir_all(jobs.join(name))?;
        fs::write(jobs.join(name).join("spec"), format!("name: {name}\n{spec}"))?;
    }
    for feature in features {
        manifest.push_str(&format!("  - name: {}\n    release: corpus\n", feature.name));
        for line in text(feature, "manifest.yml").split_inclusive('\n') {
            let indent = if line == "\n" { "" } else { "    " };
            manifest.push_str(&format!("{indent}{line}"));
        }
        let job = jobs.join(&feature.name);
        fs::create_dir_all(job.join("templates"))?;
        let mut spec = format!("name: {}\ntemplates:\n", feature.name);
        for template in &feature.templates {
            spec.push_str(&format!("  {template}.erb: {template}\n"));
            fs::copy(
                feature.directory.join(format!("{template}.erb")),
                job.join("templates").join(format!("{template}.erb")),
            )?;
        }
        fs::write(job.join("spec"), spec + &text(feature, "spec.yml"))?;
    }
    fs::write(work.join("manifest.yml"), manifest)
}
