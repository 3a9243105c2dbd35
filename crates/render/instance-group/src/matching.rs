//! Matching consumers with providers (BOSH: links manager), all failures in one report.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use manifest_model::manifest::{InstanceGroup, Job};
use problem::{Code, Note, Place, Problem, code};
use value::{Map, Value};

use crate::Deployment;
use crate::consumers::{Consumer, Wanted};
use crate::link_hints::{Known, Request};
use crate::providers::Provider;
use crate::resolved::{self, Link};

/// A link that a variable's definition consumes, by its name and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableLink {
    /// The variable.
    pub variable: String,
    /// The key in `consumes`.
    pub name: String,
    /// The provider's name.
    pub from: String,
    /// Its type.
    pub link_type: String,
    /// Where the entry stands.
    pub place: Place,
}

/// The links of every job.
pub(crate) struct Links(HashMap<(usize, usize), Vec<Link>>);

impl Links {
    /// The links of job `job` of group `group`, in the order of its spec.
    pub(crate) fn of(&self, group: usize, job: usize) -> Vec<Link> {
        self.0.get(&(group, job)).cloned().unwrap_or_default()
    }
}

/// Resolves every consumer, and gives the address of each variable's link; what fails becomes one problem in BOSH's layout.
pub(crate) fn resolve(
    deployment: &Deployment,
    providers: &[Provider],
    consumers: &[Consumer],
    variables: &[VariableLink],
    problems: &mut Vec<Problem>,
) -> (Links, Vec<String>) {
    let mut links: HashMap<(usize, usize), Vec<Link>> = HashMap::new();
    let mut contents: HashMap<usize, Value> = HashMap::new();
    let mut by_type: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, provider) in providers.iter().enumerate().filter(|(_, provider)| provider.consumable) {
        by_type.entry(&provider.link_type).or_default().push(i);
    }
    let of_type = |link_type: &str| by_type.get(link_type).map(Vec::as_slice).unwrap_or_default();
    let known = Known { deployment, providers };
    let mut report = Report::default();
    let mut addresses = Vec::new();
    for link in variables {
        let found =
            of_type(&link.link_type).iter().copied().filter(|i| providers[*i].name == link.from).collect::<Vec<_>>();
        match only(known, &found, None, &link.request()) {
            Ok(i) => {
                let group = &deployment.manifest.instance_groups[providers[i].group];
                addresses.push(deployment.domain.group_address(&group.name));
            }
            Err(unresolved) => report.add_variable(link, unresolved),
        }
    }
    for consumer in consumers {
        let of_type = of_type(&consumer.link_type);
        let content = match choose(known, of_type, consumer) {
            Ok(Choice::Nothing) => continue,
            Ok(Choice::Manual(content)) => content,
            // One provider's content is one value, shared by all who consume it.
            Ok(Choice::Provider(i)) => {
                let content = contents.entry(i).or_insert_with(|| resolved::link_content(deployment, &providers[i]));
                on_network(content, consumer)
            }
            Err(unresolved) => {
                let group = &deployment.manifest.instance_groups[consumer.group];
                report.add_job(group, &group.jobs[consumer.job], unresolved);
                continue;
            }
        };
        let external = match &consumer.wanted {
            Wanted::External(key) => Some(key.clone()),
            _ => None,
        };
        let link = Link { name: consumer.name.clone(), link_type: consumer.link_type.clone(), content, external };
        links.entry((consumer.group, consumer.job)).or_default().push(link);
    }
    problems.extend(report.problem(&deployment.domain.deployment));
    (Links(links), addresses)
}

/// Collects why links have no provider.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    codes: BTreeSet<Code>,
    /// The consumers, each once.
    notes: Vec<Note>,
}

impl Report {
    fn add_job(&mut self, group: &InstanceGroup, job: &Job, unresolved: Unresolved) {
        self.add(job.place(), format!("job '{}' in instance group '{}'", job.name, group.name), unresolved);
    }

    fn add_variable(&mut self, link: &VariableLink, unresolved: Unresolved) {
        self.add(link.place.clone(), format!("variable '{}'", link.variable), unresolved);
    }

    fn add(&mut self, place: Place, what: String, unresolved: Unresolved) {
        let hint = unresolved.hint;
        match self.notes.last_mut().filter(|note| note.place == place && note.what.as_ref() == Some(&what)) {
            Some(Note { hint: Some(hints), .. }) => {
                if !hints.contains(&hint) {
                    *hints = format!("{hints}\n    {hint}");
                }
            }
            _ => self.notes.push(Note { place, what: Some(what), hint: Some(hint) }),
        }
        self.codes.insert(unresolved.code);
        self.lines.extend(unresolved.lines);
    }

    /// One problem for all, in BOSH's layout.
    fn problem(self, deployment: &str) -> Option<Problem> {
        if self.lines.is_empty() {
            return None;
        }
        let lines: String = self.lines.iter().map(|line| format!("\n  {line}")).collect();
        let message = format!("Failed to resolve links from deployment '{deployment}'. See errors below:{lines}");
        // Of several kinds of mistakes the general code stands for all.
        let is_ambiguous = self.codes.iter().all(|code| *code == code::LINK_AMBIGUOUS);
        let code = if is_ambiguous { code::LINK_AMBIGUOUS } else { code::LINK_UNRESOLVED };
        let mut problem = Problem::input(message).code(code);
        problem.notes = self.notes;
        Some(problem)
    }
}

impl VariableLink {
    fn request(&self) -> Request<'_> {
        Request {
            name: &self.name,
            from: Some(&self.from),
            link_type: &self.link_type,
            owner: format!("variable '{}'", self.variable),
            is_variable: true,
            is_blocked: false,
        }
    }
}

/// What a consumer gets.
pub(crate) enum Choice {
    Nothing,
    Provider(usize),
    Manual(Value),
}

/// Why a link has no provider: BOSH's lines about it and their code, and a hint.
pub(crate) struct Unresolved {
    code: Code,
    pub(crate) lines: Vec<String>,
    pub(crate) hint: String,
}

/// `of_type` are the indexes of the providers that the consumer's type allows.
pub(crate) fn choose(known: Known, of_type: &[usize], consumer: &Consumer) -> Result<Choice, Unresolved> {
    let Known { deployment, providers } = known;
    let (found, network) = match &consumer.wanted {
        Wanted::Manual(content) => return Ok(Choice::Manual(with_group_name(content, consumer))),
        Wanted::External(key) => {
            // One that is not known has been reported.
            let content = deployment.external.get(key).map(|link| link.content.clone());
            return Ok(content.map_or(Choice::Nothing, Choice::Manual));
        }
        Wanted::Blocked => (Vec::new(), None),
        Wanted::Implicit => (of_type.to_vec(), None),
        Wanted::From { alias, network } => {
            (of_type.iter().copied().filter(|i| providers[*i].name == *alias).collect(), network.as_deref())
        }
    };
    let implicit = !matches!(consumer.wanted, Wanted::From { .. });
    if found.is_empty() && consumer.optional && implicit {
        return Ok(Choice::Nothing);
    }
    only(known, &found, network, &request(deployment, consumer)).map(Choice::Provider)
}

/// The only one of the providers that were found, if it belongs to the network.
fn only(known: Known, found: &[usize], network: Option<&str>, request: &Request) -> Result<usize, Unresolved> {
    let Known { deployment, providers } = known;
    let describe = |i: usize| describe(deployment, &providers[i]);
    let is_there = |i: usize| network.is_none_or(|n| has_network(deployment, &providers[i], n));
    let headline = request.headline();
    let unresolved = |line: String, hint: String| Unresolved {
        code: code::LINK_UNRESOLVED,
        lines: vec![format!("- {headline} Details below:"), format!("  - {line}")],
        hint,
    };
    match found {
        [] => Err(unresolved("No link providers found".to_owned(), known.none_matches(request))),
        [one] if is_there(*one) => Ok(*one),
        [one] => {
            let network = network.unwrap_or_default();
            let line = format!("{} does not belong to network '{network}'", describe(*one));
            Err(unresolved(line, known.other_network(request, &providers[*one])))
        }
        several => {
            // BOSH reports it for every candidate if a network is given.
            let tail = network.map_or(String::new(), |n| format!(" does not belong to network '{n}'"));
            let mut lines = vec![format!("- {headline} Multiple link providers found:")];
            lines.extend(several.iter().map(|i| format!("  - {}{tail}", describe(*i))));
            Err(Unresolved { code: code::LINK_AMBIGUOUS, lines, hint: known.several_match(request, several) })
        }
    }
}

pub(crate) fn has_network(deployment: &Deployment, provider: &Provider, network: &str) -> bool {
    let networks = &deployment.manifest.instance_groups[provider.group].networks;
    networks.iter().any(|n| n.name == network) || (networks.is_empty() && network == "default")
}

fn request<'a>(deployment: &'a Deployment, consumer: &'a Consumer) -> Request<'a> {
    let group = &deployment.manifest.instance_groups[consumer.group];
    let from = match &consumer.wanted {
        Wanted::From { alias, .. } => Some(alias.as_str()),
        _ => None,
    };
    Request {
        name: &consumer.name,
        from,
        link_type: &consumer.link_type,
        owner: format!("job '{}' in instance group '{}'", group.jobs[consumer.job].name, group.name),
        is_variable: false,
        is_blocked: matches!(consumer.wanted, Wanted::Blocked),
    }
}

fn describe(deployment: &Deployment, provider: &Provider) -> String {
    let group = &deployment.manifest.instance_groups[provider.group];
    let alias = if provider.name == provider.original_name {
        String::new()
    } else {
        format!(" with alias '{}'", provider.name)
    };
    format!(
        "Link provider '{}'{alias} from job '{}' in instance group '{}' in deployment '{}'",
        provider.original_name, group.jobs[provider.job].name, group.name, deployment.domain.deployment
    )
}

/// The content for a consumer that asks for a network: that one is the link's default then (BOSH).
fn on_network(content: &Value, consumer: &Consumer) -> Value {
    match (&consumer.wanted, content) {
        (Wanted::From { network: Some(network), .. }, Value::Map(map)) => {
            let mut map = Map::clone(map);
            map.set("default_network", Value::str(network.clone()));
            Value::Map(Rc::new(map))
        }
        _ => content.clone(),
    }
}

/// Manual links have no provider to name their group; BOSH names it after the link.
fn with_group_name(content: &Value, consumer: &Consumer) -> Value {
    let mut map = content.as_map().cloned().unwrap_or_default();
    map.set("group_name", Value::str(format!("{}-{}", consumer.name, consumer.link_type)));
    Value::Map(Rc::new(map))
}
