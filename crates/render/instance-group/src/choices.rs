//! Why links are resolved as they are, for people.

use problem::Place;

use crate::Deployment;
use crate::consumers::{self, Consumer, Wanted};
use crate::link_hints::Known;
use crate::matching::{self, Choice};
use crate::providers::{self, Provider};

/// How a link that a job consumes was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkChoice {
    /// The consumer's instance group.
    pub group: String,
    /// The consumer's job.
    pub job: String,
    /// The name in the job's spec.
    pub link: String,
    /// The type in the job's spec.
    pub link_type: String,
    /// Whether the job can do without.
    pub is_optional: bool,
    /// How the manifest asks for the link.
    pub rule: String,
    /// Where the manifest has the consumer.
    pub place: Place,
    /// The providers that have the type or the name.
    pub candidates: Vec<Candidate>,
    /// What came of it.
    pub result: LinkResult,
}

/// What came of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkResult {
    /// The index of the chosen candidate.
    Chosen(usize),
    /// Content that no provider of the deployment has: the manifest's, or that of another deployment.
    Content,
    /// No provider, which the job allows.
    Absent,
    /// Why the deployment is refused, in BOSH's words, and what to do.
    Failed(Vec<String>, String),
}

/// A provider that may be the one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its instance group.
    pub group: String,
    /// Its job.
    pub job: String,
    /// The name by which `from` finds it.
    pub name: String,
    /// Its type.
    pub link_type: String,
    /// The properties that it exposes.
    pub properties: Vec<String>,
    /// Where the manifest has the provider.
    pub place: Place,
    /// Why it does not match; `None` if it matches.
    pub mismatch: Option<String>,
}

/// How each link of a deployment was resolved, in the order of its consumers. Mistakes in the entries themselves are left to
/// [`crate::resolve`].
pub fn link_choices(deployment: &Deployment) -> Vec<LinkChoice> {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    let providers = providers::collect(deployment, &mut problems, &mut warnings);
    let consumers = consumers::collect(deployment, &mut problems, &mut warnings);
    consumers.iter().map(|consumer| link_choice(Known { deployment, providers: &providers }, consumer)).collect()
}

fn link_choice(known: Known, consumer: &Consumer) -> LinkChoice {
    let Known { deployment, providers } = known;
    let is_of_type = |provider: &Provider| provider.consumable && provider.link_type == consumer.link_type;
    let of_type: Vec<usize> = (0..providers.len()).filter(|i| is_of_type(&providers[*i])).collect();
    let wanted = match &consumer.wanted {
        Wanted::From { alias, .. } => alias,
        _ => &consumer.name,
    };
    let is_shown = |one: &Provider| one.link_type == consumer.link_type || one.name == *wanted;
    let shown: Vec<usize> = (0..providers.len()).filter(|i| is_shown(&providers[*i])).collect();
    let result = match matching::choose(known, &of_type, consumer) {
        Ok(Choice::Provider(chosen)) => {
            shown.iter().position(|i| *i == chosen).map_or(LinkResult::Absent, LinkResult::Chosen)
        }
        Ok(Choice::Manual(_)) => LinkResult::Content,
        Ok(Choice::Nothing) => LinkResult::Absent,
        Err(unresolved) => LinkResult::Failed(unresolved.lines, unresolved.hint),
    };
    let group = &deployment.manifest.instance_groups[consumer.group];
    let job = &group.jobs[consumer.job];
    LinkChoice {
        group: group.name.clone(),
        job: job.name.clone(),
        link: consumer.name.clone(),
        link_type: consumer.link_type.clone(),
        is_optional: consumer.optional,
        rule: rule(consumer),
        place: job.place(),
        candidates: shown.into_iter().map(|i| candidate(deployment, &providers[i], consumer)).collect(),
        result,
    }
}

/// How a consumer finds its provider.
fn rule(consumer: &Consumer) -> String {
    let link_type = &consumer.link_type;
    match &consumer.wanted {
        Wanted::Implicit => format!("the only provider of type '{link_type}', since the manifest names none"),
        Wanted::Blocked => format!("none: the manifest has `consumes: {{{}: nil}}`", consumer.name),
        Wanted::From { alias, network: None } => format!("the provider '{alias}' of type '{link_type}'"),
        Wanted::From { alias, network: Some(network) } => {
            format!("the provider '{alias}' of type '{link_type}' in network '{network}'")
        }
        Wanted::External(key) => format!("the link '{}' that deployment '{}' shares", key.name, key.deployment),
        Wanted::Manual(_) => "what the manifest has as instances, properties and address".to_owned(),
    }
}

fn candidate(deployment: &Deployment, provider: &Provider, consumer: &Consumer) -> Candidate {
    let group = &deployment.manifest.instance_groups[provider.group];
    let job = &group.jobs[provider.job];
    Candidate {
        group: group.name.clone(),
        job: job.name.clone(),
        name: provider.known_as().to_owned(),
        link_type: provider.link_type.clone(),
        properties: provider.property_names.clone(),
        place: job.place(),
        mismatch: mismatch(deployment, provider, consumer),
    }
}

fn mismatch(deployment: &Deployment, provider: &Provider, consumer: &Consumer) -> Option<String> {
    if provider.link_type != consumer.link_type {
        return Some(format!("its type is '{}'", provider.link_type));
    }
    if !provider.consumable {
        return Some(format!("the manifest has `provides: {{{}: nil}}`", provider.original_name));
    }
    match &consumer.wanted {
        Wanted::Implicit => None,
        Wanted::From { alias, .. } if provider.name != *alias => Some(format!("its name is '{}'", provider.name)),
        Wanted::From { network: Some(network), .. } if !matching::has_network(deployment, provider, network) => {
            Some(format!("it does not belong to network '{network}'"))
        }
        Wanted::From { .. } => None,
        Wanted::Blocked | Wanted::External(_) | Wanted::Manual(_) => {
            Some("the manifest asks for no provider".to_owned())
        }
    }
}
