//! The corpus: `e2e/corpus/<kind>/<feature>/`, a job for each feature of templates, job specs and links.
//!
//! In a feature's directory: `<name>.erb`, templates; `spec.yml`, what the job's spec says besides name and templates;
//! `manifest.yml`, what the manifest says of the job besides name and release. What is expected depends on the kind:
//!
//! - `render`: `<name>`, the bytes that `<name>.erb` becomes
//! - `fail`: `errors`, what is said of the job's templates
//! - `refuse`: `errors`, what `plan` says, without the places
//!
//! Where Ruby's own words changed, `<name>-since-ruby-<version>` holds those of this version and later ones.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::here;

/// A directory of the corpus.
#[derive(Debug, Clone)]
pub struct Feature {
    /// Its name, and that of its job.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    /// Names of its templates, without `.erb`.
    pub templates: Vec<String>,
}

/// What provides the links that features consume: two groups, of which one has no instances.
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

impl Feature {
    /// The features of a kind, by name.
    pub fn all(kind: &str) -> io::Result<Vec<Feature>> {
        let mut features = Vec::new();
        for entry in fs::read_dir(here().join("corpus").join(kind))? {
            let entry = entry?;
            let mut templates: Vec<String> = fs::read_dir(entry.path())?
                .flatten()
                .filter_map(|file| file.file_name().to_str()?.strip_suffix(".erb").map(str::to_owned))
                .collect();
            templates.sort();
            let name = entry.file_name().to_string_lossy().into_owned();
            features.push(Feature { name, directory: entry.path(), templates });
        }
        features.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(features)
    }

    /// A file of the feature; empty if there is none.
    pub fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.join(name)).unwrap_or_default()
    }

    /// The name of the file that holds what is expected with this version of Ruby.
    pub fn expected(&self, name: &str, ruby: (u32, u32)) -> String {
        let start = format!("{name}-since-ruby-");
        let versions = fs::read_dir(&self.directory).into_iter().flatten().flatten().filter_map(|file| {
            let file = file.file_name().into_string().ok()?;
            let (major, minor) = file.strip_prefix(&start)?.split_once('.')?;
            Some(((major.parse().ok()?, minor.parse().ok()?), file))
        });
        versions.filter(|(since, _)| *since <= ruby).max().map_or_else(|| name.to_owned(), |(_, file)| file)
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.file(name)).into_owned()
    }
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
        for line in feature.text("manifest.yml").split_inclusive('\n') {
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
        fs::write(job.join("spec"), spec + &feature.text("spec.yml"))?;
    }
    fs::write(work.join("manifest.yml"), manifest)
}
