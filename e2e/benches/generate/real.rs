//! A deployment whose jobs are written in the manner of public releases (`benches/real`), in any number of copies.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_yaml::Value;
use walkdir::WalkDir;

use super::{Input, job::mapping};

/// The templates of one copy, `monit` counted.
pub(crate) const TEMPLATES_PER_COPY: usize = 41;

const RELEASE: &str = "real";

/// Writes manifest and job sources below `directory`: the group `bench` has each of its jobs so many times, under names of
/// their own. All consume the links that the first copy provides.
pub(crate) fn write(directory: &Path, copies: usize) -> Result<Input, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/real");
    let base = directory.join("all-releases");
    let jobs_src = base.join("jobs-src").join(RELEASE);
    let mut document: Value = serde_yaml::from_slice(&fs::read(source.join("manifest.yml"))?)?;
    // What an anchor stands for is written out: a manifest that `bosh` has interpolated has none.
    let mut count = 0;
    for group in document["instance_groups"].as_sequence_mut().ok_or("no instance groups")? {
        let copies = if group["name"].as_str() == Some("bench") { copies } else { 1 };
        let jobs = group["jobs"].as_sequence().ok_or("no jobs")?.clone();
        let mut all = Vec::new();
        for copy in 1..=copies {
            for job in &jobs {
                let original = job["name"].as_str().ok_or("a job without a name")?;
                let name = if copy == 1 { original.to_owned() } else { format!("{original}-{copy}") };
                copy_job(&source.join("jobs").join(original), &jobs_src.join(&name), original, &name)?;
                all.push(in_manifest(job, &name, copy)?);
            }
        }
        count += all.len();
        group["jobs"] = Value::Sequence(all);
    }
    let manifest = directory.join("manifest.yml");
    fs::write(&manifest, serde_yaml::to_string(&document)?)?;
    Ok(Input { manifest, base, jobs: count, releases: 1 })
}

/// A job of the manifest under another name. The link `database` is consumed from the first copy, which alone has that name.
fn in_manifest(job: &Value, name: &str, copy: usize) -> Result<Value, Box<dyn Error>> {
    let mut job = job.clone();
    let original = job["name"].as_str().unwrap_or_default().to_owned();
    let entries = job.as_mapping_mut().ok_or("a job that is not a mapping")?;
    entries.insert("name".into(), name.into());
    match original.as_str() {
        "database" => {
            let alias = mapping([("as", format!("database-{copy}").into())]);
            entries.insert("provides".into(), mapping([("database", alias)]));
        }
        "scheduler" | "api" | "identity" => {
            let from = mapping([("from", "database-1".into())]);
            entries.insert("consumes".into(), mapping([("database", from)]));
        }
        _ => {}
    }
    Ok(job)
}

fn copy_job(from: &Path, to: &Path, original: &str, name: &str) -> Result<(), Box<dyn Error>> {
    for entry in WalkDir::new(from) {
        let entry = entry?;
        let path = to.join(entry.path().strip_prefix(from)?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(path)?;
        } else if entry.file_name() == "spec" {
            let spec = fs::read_to_string(entry.path())?;
            fs::write(path, spec.replacen(&format!("name: {original}\n"), &format!("name: {name}\n"), 1))?;
        } else if entry.file_name() == "monit" {
            fs::write(path, renamed_monit(&fs::read_to_string(entry.path())?, original, name))?;
        } else {
            fs::copy(entry.path(), path)?;
        }
    }
    Ok(())
}

/// A `monit` that starts the process of another job's bpm.yml, which keeps its name.
fn renamed_monit(monit: &str, original: &str, name: &str) -> String {
    if name == original {
        return monit.to_owned();
    }
    let check = |job: &str| format!("check process {job}\n");
    let start = |job: &str| format!("bpm start {job}");
    monit.replace(&check(original), &check(name)).replace(&start(original), &format!("{} -p {original}", start(name)))
}
