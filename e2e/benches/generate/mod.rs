//! Deployments of any size with releases of their own, the same in every run.
//!
//! Sizes and shares are those of public releases and of cf-deployment: six templates per job (`monit` counted), one
//! sixth of them without a tag, 15% that dump JSON or YAML, 9% that define a method.

#![allow(dead_code, reason = "each bench uses a part")]

pub(crate) mod foundation;
mod job;
mod property;
mod random;
pub(crate) mod real;
pub(crate) mod release;
pub(crate) mod small;
mod template;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use job::{Job, mapping};
use random::Random;
use serde_yaml::Value;

/// The templates that a job has, `monit` counted.
pub(crate) const TEMPLATES_PER_JOB: usize = 6;

/// An instance group to generate.
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) instances: usize,
    pub(crate) azs: &'static [&'static str],
    /// The templates of all its jobs.
    pub(crate) templates: usize,
}

/// What was written.
pub(crate) struct Input {
    pub(crate) manifest: PathBuf,
    /// Holds `jobs-src`.
    pub(crate) base: PathBuf,
    pub(crate) jobs: usize,
    pub(crate) releases: usize,
}

const TWO_AZS: &[&str] = &["z1", "z2"];

/// Seventeen groups with 83 jobs of 30 releases in two AZs, `factor` times.
pub(crate) fn cf_like(factor: usize) -> (Vec<Shape>, usize) {
    const JOBS: [usize; 17] = [2, 4, 3, 5, 4, 7, 9, 6, 4, 5, 8, 6, 4, 5, 6, 3, 2];
    const INSTANCES: [usize; 17] = [2, 2, 1, 3, 2, 2, 2, 1, 2, 4, 2, 2, 1, 2, 2, 2, 1];
    let group = |(copy, i): (usize, usize)| Shape {
        name: format!("group-{copy}-{i}"),
        instances: INSTANCES[i],
        azs: TWO_AZS,
        templates: JOBS[i] * TEMPLATES_PER_JOB,
    };
    let groups = (0..factor).flat_map(|copy| (0..JOBS.len()).map(move |i| (copy, i))).map(group).collect();
    (groups, 30 * factor)
}

/// Seventeen groups of the same shape that a small cluster can run: at most two jobs and two instances each.
pub(crate) fn cf_small() -> (Vec<Shape>, usize) {
    let (groups, _) = cf_like(1);
    let small = |shape: Shape| Shape {
        instances: shape.instances / 3 + 1,
        templates: shape.templates.min(2 * TEMPLATES_PER_JOB),
        ..shape
    };
    (groups.into_iter().map(small).collect(), 10)
}

/// One group `bench` with so many templates, and a second one that provides links.
pub(crate) fn one_group(templates: usize, instances: usize) -> (Vec<Shape>, usize) {
    let bench = Shape { name: "bench".into(), instances, azs: TWO_AZS, templates };
    let other = Shape { name: "other".into(), instances: 3, azs: TWO_AZS, templates: 3 * TEMPLATES_PER_JOB };
    (vec![bench, other], 5)
}

/// Writes manifest and job sources below `directory`.
pub(crate) fn write(directory: &Path, (shapes, releases): (Vec<Shape>, usize)) -> Result<Input, Box<dyn Error>> {
    let mut random = Random::new(20_240_229);
    let mut groups: Vec<(&Shape, Vec<Job>)> = Vec::new();
    let mut count = 0;
    for shape in &shapes {
        let jobs = (0..shape.templates.div_ceil(TEMPLATES_PER_JOB)).map(|_| {
            count += 1;
            Job::new(job_name(count), format!("release-{}", count % releases), &mut random)
        });
        groups.push((shape, jobs.collect()));
    }
    link(&mut groups, &mut random);
    let base = directory.join("all-releases");
    for (shape, jobs) in &mut groups {
        let mut left = shape.templates;
        for job in jobs {
            job.add_templates(left.min(TEMPLATES_PER_JOB), &mut random);
            left -= job.templates.len();
            job.write(&base)?;
        }
    }
    let manifest = directory.join("manifest.yml");
    fs::write(&manifest, serde_yaml::to_string(&manifest_of(&groups, releases))?)?;
    Ok(Input { manifest, base, jobs: count, releases })
}

fn job_name(number: usize) -> String {
    const WORDS: &[&str] =
        &["router", "uaa", "doppler", "scheduler", "cell", "database", "blobstore", "nats", "auctioneer", "adapter"];
    format!("{}-{number}", WORDS[number % WORDS.len()])
}

/// Every job consumes up to two links; who provides one is the only one to do so.
fn link(groups: &mut [(&Shape, Vec<Job>)], random: &mut Random) {
    let jobs = groups.iter().flat_map(|(_, jobs)| jobs);
    let provided: Vec<_> = jobs.filter_map(|job| job.provides.clone()).collect();
    if provided.is_empty() {
        return;
    }
    for job in groups.iter_mut().flat_map(|(_, jobs)| jobs) {
        for _ in 0..random.below(3) {
            let link = random.pick(&provided).consumed();
            if job.consumes.iter().all(|other| other.name != link.name) {
                job.consumes.push(link);
            }
        }
    }
}

fn manifest_of(groups: &[(&Shape, Vec<Job>)], releases: usize) -> Value {
    let names = |names: &[&str]| -> Value { names.iter().map(|name| Value::from(*name)).collect() };
    let groups = groups.iter().map(|(shape, jobs)| {
        mapping([
            ("name", shape.name.as_str().into()),
            ("azs", names(shape.azs)),
            ("instances", shape.instances.into()),
            ("vm_type", "default".into()),
            ("stemcell", "default".into()),
            ("networks", Value::Sequence(vec![mapping([("name", "default".into())])])),
            ("jobs", jobs.iter().map(Job::in_manifest).collect()),
        ])
    });
    let release = |n: usize| mapping([("name", format!("release-{n}").into()), ("version", "1.0.0".into())]);
    let stemcell = [("alias", "default".into()), ("os", "ubuntu-jammy".into()), ("version", "1".into())];
    let update = [("canaries", 1.into()), ("max_in_flight", 1.into())];
    mapping([
        ("name", "generated".into()),
        ("releases", (0..releases).map(release).collect()),
        ("stemcells", Value::Sequence(vec![mapping(stemcell)])),
        ("update", mapping(update)),
        ("instance_groups", groups.collect()),
    ])
}
