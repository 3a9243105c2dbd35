//! Links, properties and identities resolved into instance groups. Pure: no I/O, and all problems at once.

mod addresses;
mod bind;
mod choices;
mod consumers;
mod external;
mod link_hints;
mod matching;
mod misspelt;
mod providers;
pub mod report;
mod resolved;
mod spec;

use std::collections::{BTreeMap, HashSet};

pub use choices::{Candidate, LinkChoice, LinkResult, link_choices};
pub use external::{ExternalKey, ExternalLink, ExternalLinks};
use manifest_model::JobSpec;
use manifest_model::identity::Domain;
use manifest_model::manifest::{Job, Manifest};
pub use matching::VariableLink;
use problem::{Problem, Problems, Step, code};
use value::Value;

pub use resolved::{Instance, JobRelease, Link, Resolved, ResolvedJob};

/// Everything that resolving needs: a manifest with its addons placed, and the spec of each job that it names.
pub struct Deployment<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// What addresses are made of.
    pub domain: Domain,
    /// Job specs by release and job name.
    pub specs: &'a BTreeMap<(String, String), JobSpec>,
    /// The links of other deployments and of Services outside of any.
    pub external: &'a ExternalLinks,
    /// Whether instances of other deployments cannot be reached, so that there are no links of them: on one machine.
    pub alone: bool,
}

impl Deployment<'_> {
    /// The spec of a job of the manifest.
    pub(crate) fn spec(&self, job: &Job) -> Option<&JobSpec> {
        self.specs.get(&(job.release.clone(), job.name.clone()))
    }

    /// Indexes of group and job of every job, in the order in which BOSH parses them: those that addons added come after
    /// all others, addon by addon and job by job.
    pub(crate) fn jobs(&self) -> Vec<(usize, usize)> {
        let groups = &self.manifest.instance_groups;
        let mut jobs: Vec<_> = (0..groups.len()).flat_map(|g| (0..groups[g].jobs.len()).map(move |j| (g, j))).collect();
        jobs.sort_by_cached_key(|(g, j)| {
            let job = &groups[*g].jobs[*j];
            let indexes = job.path.iter().filter_map(|step| if let Step::Index(i) = step { Some(*i) } else { None });
            job.addon.then(|| (job.config, indexes.collect::<Vec<_>>()))
        });
        jobs
    }
}

/// A link that a deployment shares with others.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The provider's name.
    pub name: String,
    /// Its type.
    pub link_type: String,
    /// What consumers see: a Hash.
    pub content: Value,
}

/// The groups of a deployment, resolved, and what is worth a warning.
pub struct Outcome {
    /// One for each group of the manifest, in order.
    pub groups: Vec<Resolved>,
    /// The links that it shares with other deployments.
    pub shared: Vec<Shared>,
    /// Texts for the log: parts of the manifest that have no effect.
    pub warnings: Vec<String>,
}

/// Resolves every group of the deployment.
///
/// # Errors
/// All problems of all groups: links with BOSH's messages, properties that lie where a Hash is expected.
pub fn resolve(deployment: &Deployment) -> problem::Result<Outcome> {
    resolve_with(deployment, &[]).map(|(outcome, _)| outcome)
}

/// The addresses of the links that definitions of variables consume: those of the providers' groups, in the order of the links.
///
/// # Errors
/// As [`resolve`].
pub fn link_addresses(deployment: &Deployment, links: &[VariableLink]) -> problem::Result<Vec<String>> {
    resolve_with(deployment, links).map(|(_, addresses)| addresses)
}

fn resolve_with(deployment: &Deployment, variables: &[VariableLink]) -> problem::Result<(Outcome, Vec<String>)> {
    let manifest = deployment.manifest;
    let mut problems: Vec<_> =
        manifest.instance_groups.iter().flat_map(|group| bind::unsatisfied_mappings(manifest, group)).collect();
    let mut warnings = Vec::new();
    let providers = providers::collect(deployment, &mut problems, &mut warnings);
    let consumers = consumers::collect(deployment, &mut problems, &mut warnings);
    // An addon has the same mistakes in all groups.
    let mut reported = HashSet::new();
    problems
        .retain(|problem| reported.insert((problem.message.clone(), problem.place.clone().map(|place| place.path))));
    let (links, link_addresses) = matching::resolve(deployment, &providers, &consumers, variables, &mut problems);
    let shared = providers.iter().filter(|provider| provider.shared && provider.consumable).map(|provider| Shared {
        name: provider.known_as().to_owned(),
        link_type: provider.link_type.clone(),
        content: resolved::link_content(deployment, provider),
    });
    let shared = shared.collect();
    let mut provided = providers::by_job(&providers);
    addresses::check(deployment, &mut problems);
    let mut groups = Vec::new();
    for (g, group) in deployment.manifest.instance_groups.iter().enumerate() {
        let mut jobs = Vec::new();
        for (j, job) in group.jobs.iter().enumerate() {
            let Some(spec) = deployment.spec(job) else {
                problems.push(unknown_job(job));
                continue;
            };
            match bind::bind(deployment.manifest, group, job, spec) {
                Ok(properties) => {
                    let links = (links.of(g, j), provided.remove(&(g, j)).unwrap_or_default());
                    let misspelt = misspelt::misspelt(&bind::given(deployment.manifest, group, job), spec);
                    let resolved = resolved::job(deployment, (group, job), spec, properties, links);
                    jobs.push(ResolvedJob { misspelt, ..resolved });
                }
                Err(found) => problems.extend(found),
            }
        }
        groups.push(resolved::group(deployment, group, jobs));
    }
    Problems::check(problems)?;
    Ok((Outcome { groups, shared, warnings }, link_addresses))
}

fn unknown_job(job: &Job) -> Problem {
    Problem::input(format!("Job '{}' not found in release '{}'", job.name, job.release))
        .code(code::JOB_UNKNOWN)
        .at(job.place())
}
