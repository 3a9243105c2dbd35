//! Matching consumers with providers (BOSH: links manager), all failures in one report.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use deployment::manifest::{InstanceGroup, Job};
use problem::{Code, Note, Problem, code};
use value::{Map, Value};

use crate::Deployment;
use crate::consumers::{Consumer, Wanted};
use crate::providers::Provider;
use crate::resolved::{self, Link};

/// The links of every job.
pub(crate) struct Links(HashMap<(usize, usize), Vec<Link>>);

impl Links {
    /// The links of job `job` of group `group`, in the order of its spec.
    pub(crate) fn of(&self, group: usize, job: usize) -> Vec<Link> {
        self.0.get(&(group, job)).cloned().unwrap_or_default()
    }
}

/// Resolves every consumer; what fails becomes one problem in BOSH's layout.
pub(crate) fn resolve(
    deployment: &Deployment,
    providers: &[Provider],
    consumers: &[Consumer],
    problems: &mut Vec<Problem>,
) -> Links {
    let mut links: HashMap<(usize, usize), Vec<Link>> = HashMap::new();
    let mut contents: HashMap<usize, Value> = HashMap::new();
    let mut by_type: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, provider) in providers.iter().enumerate().filter(|(_, provider)| provider.consumable) {
        by_type.entry(&provider.link_type).or_default().push(i);
    }
    let mut report = Vec::new();
    let mut codes = BTreeSet::new();
    let mut failing: Vec<(&InstanceGroup, &Job)> = Vec::new();
    for consumer in consumers {
        let of_type = by_type.get(consumer.link_type.as_str()).map(Vec::as_slice).unwrap_or_default();
        let content = match choose(deployment, providers, of_type, consumer) {
            Ok(Choice::Nothing) => continue,
            Ok(Choice::Manual(content)) => content,
            // One provider's content is one value, shared by all who consume it.
            Ok(Choice::Provider(i)) => {
                let content = contents.entry(i).or_insert_with(|| resolved::link_content(deployment, &providers[i]));
                on_network(content, consumer)
            }
            Err(unresolved) => {
                let group = &deployment.manifest.instance_groups[consumer.group];
                let job = &group.jobs[consumer.job];
                if failing.last().is_none_or(|(of, last)| of.name != group.name || last.place() != job.place()) {
                    failing.push((group, job));
                }
                codes.insert(unresolved.code);
                report.extend(unresolved.lines);
                continue;
            }
        };
        let link = Link { name: consumer.name.clone(), link_type: consumer.link_type.clone(), content };
        links.entry((consumer.group, consumer.job)).or_default().push(link);
    }
    if !failing.is_empty() {
        let mut message =
            format!("Failed to resolve links from deployment '{}'. See errors below:", deployment.domain.deployment);
        for line in report {
            message.push_str("\n  ");
            message.push_str(&line);
        }
        // The report is one problem; of several kinds of mistakes in it the general code stands for all.
        let is_ambiguous = codes.iter().all(|code| *code == code::LINK_AMBIGUOUS);
        let code = if is_ambiguous { code::LINK_AMBIGUOUS } else { code::LINK_UNRESOLVED };
        let mut problem = Problem::input(message).code(code);
        let notes = failing.into_iter().map(|(group, job)| Note {
            place: job.place(),
            what: Some(format!("job '{}' in instance group '{}'", job.name, group.name)),
            hint: None,
        });
        problem.notes = notes.collect();
        problems.push(problem);
    }
    Links(links)
}

enum Choice {
    Nothing,
    Provider(usize),
    Manual(Value),
}

/// Why a link has no provider: BOSH's lines about it, and their code.
struct Unresolved {
    code: Code,
    lines: Vec<String>,
}

/// `of_type` are the indexes of the providers that the consumer's type allows.
fn choose(
    deployment: &Deployment,
    providers: &[Provider],
    of_type: &[usize],
    consumer: &Consumer,
) -> Result<Choice, Unresolved> {
    let (found, network) = match &consumer.wanted {
        Wanted::Manual(content) => return Ok(Choice::Manual(with_group_name(content, consumer))),
        Wanted::Blocked => (Vec::new(), None),
        Wanted::Implicit => (of_type.to_vec(), None),
        Wanted::From { alias, network } => {
            (of_type.iter().copied().filter(|i| providers[*i].name == *alias).collect(), network.as_deref())
        }
    };
    let implicit = !matches!(consumer.wanted, Wanted::From { .. });
    let describe = |i: usize| describe(deployment, &providers[i]);
    if found.is_empty() {
        if consumer.optional && implicit {
            return Ok(Choice::Nothing);
        }
        let lines = vec![
            format!("- {} Details below:", headline(deployment, consumer)),
            "  - No link providers found".to_owned(),
        ];
        return Err(Unresolved { code: code::LINK_UNRESOLVED, lines });
    }
    let is_there = |i: &usize| network.is_none_or(|n| has_network(deployment, &providers[*i], n));
    match found.as_slice() {
        [one] if is_there(one) => Ok(Choice::Provider(*one)),
        [one] => {
            let lines = vec![
                format!("- {} Details below:", headline(deployment, consumer)),
                format!("  - {} does not belong to network '{}'", describe(*one), network.unwrap_or_default()),
            ];
            Err(Unresolved { code: code::LINK_UNRESOLVED, lines })
        }
        several => {
            // BOSH reports it for every candidate if a network is given.
            let tail = network.map_or(String::new(), |n| format!(" does not belong to network '{n}'"));
            let mut lines = vec![format!("- {} Multiple link providers found:", headline(deployment, consumer))];
            lines.extend(several.iter().map(|i| format!("  - {}{tail}", describe(*i))));
            Err(Unresolved { code: code::LINK_AMBIGUOUS, lines })
        }
    }
}

fn has_network(deployment: &Deployment, provider: &Provider, network: &str) -> bool {
    let networks = &deployment.manifest.instance_groups[provider.group].networks;
    networks.iter().any(|n| n.name == network) || (networks.is_empty() && network == "default")
}

fn headline(deployment: &Deployment, consumer: &Consumer) -> String {
    let group = &deployment.manifest.instance_groups[consumer.group];
    let alias = match &consumer.wanted {
        Wanted::From { alias, .. } if *alias != consumer.name => format!("alias '{alias}' and "),
        _ => String::new(),
    };
    format!(
        "Failed to resolve link '{}' with {alias}type '{}' from job '{}' in instance group '{}'.",
        consumer.name, consumer.link_type, group.jobs[consumer.job].name, group.name
    )
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
