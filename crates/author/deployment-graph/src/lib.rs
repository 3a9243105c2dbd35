//! A planned deployment as a graph: its instance groups with their jobs, the links between them, and the order in which an update
//! starts them. [`text::render`], [`svg::render`] and [`dot::render`] show it. Pure: no I/O.

pub mod dot;
pub mod svg;
pub mod text;

use std::collections::BTreeSet;

use handoff::deployment::{ConsumedLink, Deployment, InstanceGroup, Job as PlannedJob, Lifecycle};
use manifest_model::update::batches;

/// A deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The deployment's name.
    pub name: String,
    /// Its instance groups, in the manifest's order.
    pub groups: Vec<Group>,
}

/// An instance group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// When it starts.
    pub start: Start,
    /// How many instances it has.
    pub instances: usize,
    /// The names of its AZs.
    pub azs: Vec<String>,
    /// Its jobs, in order.
    pub jobs: Vec<Job>,
}

/// When a group starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With all groups that have the same number, from 1, when the instances of those with lower ones run.
    Step(usize),
    /// An errand that runs when all instances are ready.
    AfterAll,
    /// An errand that runs on request.
    OnRequest,
}

/// A job of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// The release that it is from.
    pub release: String,
    /// The links that it provides.
    pub provides: Vec<Provided>,
    /// The links that it consumes and that were found.
    pub consumes: Vec<Consumed>,
}

/// A link that a job provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provided {
    /// The name by which `from` finds it.
    pub name: String,
    /// Its type.
    pub link_type: String,
}

/// A link that a job consumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumed {
    /// The name in the spec of the job.
    pub name: String,
    /// Its type.
    pub link_type: String,
    /// Where it is from.
    pub source: Source,
}

/// Where a link is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A group of the deployment. The documents of `plan` name only the group: job and link are known if a single one fits.
    Group {
        /// The index of the group.
        group: usize,
        /// The index of its job.
        job: Option<usize>,
        /// The index of the job's link.
        link: Option<usize>,
    },
    /// The manifest itself (`instances` and `properties` in `consumes`).
    Manifest,
    /// Another deployment or a Service; the text names it.
    Outside(String),
}

impl Graph {
    /// The graph of a deployment that was planned.
    pub fn new(deployment: &Deployment) -> Graph {
        let planned = &deployment.instance_groups;
        let mut groups: Vec<Group> = planned.iter().map(|group| group_of(planned, group)).collect();
        let services = (0..planned.len()).filter(|g| planned[*g].lifecycle == Lifecycle::Service);
        let steps = batches(services.collect(), |g| planned[*g].update.serial);
        for (step, batch) in steps.iter().enumerate() {
            for g in batch {
                groups[*g].start = Start::Step(step + 1);
            }
        }
        Graph { name: deployment.name.clone(), groups }
    }

    /// The links of jobs that are consumed: index of group, job and link.
    fn used(&self) -> BTreeSet<(usize, usize, usize)> {
        let consumed = self.groups.iter().flat_map(|group| &group.jobs).flat_map(|job| &job.consumes);
        consumed
            .filter_map(|link| match link.source {
                Source::Group { group, job: Some(job), link: Some(link) } => Some((group, job, link)),
                _ => None,
            })
            .collect()
    }

    /// Where a link is from, as people write it: `nats/nats`, `nats`, `the manifest`.
    fn source_name(&self, source: &Source) -> String {
        match source {
            Source::Group { group, job: Some(job), .. } => {
                let group = &self.groups[*group];
                format!("{}/{}", group.name, group.jobs[*job].name)
            }
            Source::Group { group, job: None, .. } => self.groups[*group].name.clone(),
            Source::Manifest => "the manifest".to_owned(),
            Source::Outside(name) => name.clone(),
        }
    }
}

fn group_of(all: &[InstanceGroup], group: &InstanceGroup) -> Group {
    let jobs = group.jobs.iter().map(|job| Job {
        name: job.name.clone(),
        release: job.release.clone(),
        provides: job
            .provides
            .iter()
            .map(|link| Provided { name: link.name.clone(), link_type: link.link_type.clone() })
            .collect(),
        consumes: job.consumes.iter().map(|link| consumed(all, link)).collect(),
    });
    Group {
        name: group.name.clone(),
        start: if group.runs_at_deploy { Start::AfterAll } else { Start::OnRequest },
        instances: group.instances.len(),
        azs: group.azs.iter().map(|az| az.name.clone()).collect(),
        jobs: jobs.collect(),
    }
}

fn consumed(all: &[InstanceGroup], link: &ConsumedLink) -> Consumed {
    let group = link.instance_group.as_ref().and_then(|name| all.iter().position(|group| group.name == *name));
    let source = match (&link.external, group) {
        (Some(external), _) => Source::Outside(match &external.service {
            Some(service) => format!("the Service {service}"),
            None => format!("{} of deployment {}", external.name, external.deployment),
        }),
        (None, Some(group)) => {
            let (job, link) = provided(&all[group].jobs, link);
            Source::Group { group, job, link }
        }
        (None, None) => Source::Manifest,
    };
    Consumed { name: link.name.clone(), link_type: link.link_type.clone(), source }
}

/// The only job that provides a link of the type, and the only such link: the one that has the name, too, if there are several.
fn provided(jobs: &[PlannedJob], link: &ConsumedLink) -> (Option<usize>, Option<usize>) {
    let all = jobs.iter().enumerate().flat_map(|(j, job)| job.provides.iter().enumerate().map(move |of| (j, of)));
    let of_type: Vec<_> = all.filter(|(_, (_, provided))| provided.link_type == link.link_type).collect();
    let named: Vec<_> = of_type.iter().copied().filter(|(_, (_, provided))| provided.name == link.name).collect();
    match (of_type.as_slice(), named.as_slice()) {
        ([(job, (link, _))], _) | (_, [(job, (link, _))]) => (Some(*job), Some(*link)),
        ([(job, _), others @ ..], _) if others.iter().all(|(other, _)| other == job) => (Some(*job), None),
        _ => (None, None),
    }
}

/// A group's instances in words: `3 instances in z1, z2`.
fn instances(group: &Group) -> String {
    let count = match group.instances {
        1 => "1 instance".to_owned(),
        count => format!("{count} instances"),
    };
    if group.azs.is_empty() { count } else { format!("{count} in {}", group.azs.join(", ")) }
}

/// When a group starts, in a word or two.
fn start(start: Start) -> String {
    match start {
        Start::Step(step) => step.to_string(),
        Start::AfterAll => "at the end".to_owned(),
        Start::OnRequest => "on request".to_owned(),
    }
}

#[cfg(test)]
mod tests;
