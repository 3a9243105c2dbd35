//! What the pods of a group wait for: other groups, or names.

use std::collections::BTreeMap;

use handoff::deployment::Lifecycle;
use pod_settings::GroupSettings;
use problem::{Problem, code, did_you_mean};
use workload::Pod;

use super::{GroupWorkload, Workloads};
use crate::services::host;

/// Something for which pods wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wait {
    /// An instance group, until one of its instances is ready: then its address resolves.
    Group { name: String, address: String },
    /// A target of `wait-for`.
    Name(String),
}

impl Wait {
    /// As `wait-for` has it.
    pub(crate) fn target(&self) -> String {
        match self {
            Wait::Group { address, .. } => format!("dns:{address}"),
            Wait::Name(name) => name.clone(),
        }
    }

    pub(crate) fn group(self) -> Option<String> {
        match self {
            Wait::Group { name, .. } => Some(name),
            Wait::Name(_) => None,
        }
    }
}

impl Workloads<'_> {
    /// What a group waits for, each once: what its settings name, and the groups whose links it consumes if they ask so.
    pub(crate) fn waits(&self, workload: &GroupWorkload, given: &GroupSettings) -> Vec<Wait> {
        let mut waits: Vec<Wait> = Vec::new();
        let named = given.wait_for.iter().map(|name| self.named(name));
        let providers = workload.group.jobs.iter().flat_map(|job| &job.consumes).filter_map(|link| {
            let provider = link.instance_group.as_deref().filter(|provider| *provider != workload.group.name)?;
            // Nobody can wait for what may never run.
            self.group(provider)
                .filter(|workload| address(&workload.pod).is_some())
                .map(|workload| wait_for(&workload.pod))
        });
        for wait in named.chain(providers.filter(|_| given.wait_for_links)) {
            if !waits.contains(&wait) {
                waits.push(wait);
            }
        }
        waits
    }

    fn group(&self, name: &str) -> Option<&GroupWorkload<'_>> {
        self.groups.iter().find(|workload| workload.group.name == name)
    }

    /// A name of the manifest: that of an instance group or of its Service, or any other.
    fn named(&self, name: &str) -> Wait {
        let service = |workload: &&GroupWorkload| workload.pod.address().is_some_and(|address| host(&address) == name);
        match self.group(name).or_else(|| self.groups.iter().find(service)) {
            Some(workload) => wait_for(&workload.pod),
            None => Wait::Name(name.to_owned()),
        }
    }

    /// Groups that wait for themselves, for each other, or for what never runs.
    pub(crate) fn problems_of_waits(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut edges: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let names = || self.groups.iter().map(|workload| workload.group.name.as_str());
        for workload in &self.groups {
            let given = GroupSettings::read(&workload.group.env.settings).0;
            let wrong = |what: &str| {
                let message = format!("instance group '{}' waits for {what}", workload.group.name);
                Problem::input(message).code(code::MANIFEST_INVALID)
            };
            for wait in self.waits(workload, &given) {
                match wait {
                    Wait::Name(name) if name.starts_with("https:") => {
                        let hint = "wait for the port: tcp:HOST:PORT";
                        problems.push(wrong(&format!("'{name}': https is not supported")).hint(hint));
                    }
                    Wait::Name(name) => {
                        // A name of another deployment is as good as any, but a similar one of this is a mistake.
                        if let Some(near) = did_you_mean(&name, names()).filter(|_| !name.contains(['.', ':', '/'])) {
                            let what = format!("'{name}', which is not an instance group");
                            problems.push(wrong(&what).hint(format!("did you mean '{near}'?")));
                        }
                    }
                    Wait::Group { name, .. } => {
                        if self.group(&name).is_none_or(|workload| address(&workload.pod).is_none()) {
                            let what = format!("instance group '{name}', which is an errand or has no instances");
                            problems.push(wrong(&what));
                        }
                        edges.entry(&workload.group.name).or_default().push(name);
                    }
                }
            }
        }
        problems.extend(cycle(&edges).map(|groups| {
            let message = format!("instance groups wait for each other: {}", groups.join(" -> "));
            Problem::input(message)
                .code(code::MANIFEST_INVALID)
                .hint("none of their pods would ever start; remove one from 'wait_for' or 'wait_for_links'")
        }));
        problems
    }
}

fn wait_for(pod: &Pod) -> Wait {
    Wait::Group { name: pod.group.clone(), address: pod.address().unwrap_or_default() }
}

/// The address of a group that is ready some time.
fn address(pod: &Pod) -> Option<String> {
    pod.address().filter(|_| pod.lifecycle == Lifecycle::Service)
}

/// Groups each of which waits for the next, and the last one for the first.
fn cycle(edges: &BTreeMap<&str, Vec<String>>) -> Option<Vec<String>> {
    fn walk(
        edges: &BTreeMap<&str, Vec<String>>,
        path: &mut Vec<String>,
        done: &mut Vec<String>,
    ) -> Option<Vec<String>> {
        let last = path.last()?.clone();
        for next in edges.get(last.as_str()).into_iter().flatten() {
            if let Some(start) = path.iter().position(|group| group == next) {
                let mut found = path[start..].to_vec();
                found.push(next.clone());
                return Some(found);
            }
            if !done.contains(next) {
                path.push(next.clone());
                let found = walk(edges, path, done);
                if found.is_some() {
                    return found;
                }
                path.pop();
            }
        }
        done.push(last);
        None
    }
    let mut done = Vec::new();
    edges.keys().find_map(|start| walk(edges, &mut vec![(*start).to_owned()], &mut done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_wait_for_each_other_are_found() {
        let edges = |list: &[(&'static str, &[&str])]| -> BTreeMap<&str, Vec<String>> {
            list.iter().map(|(from, to)| (*from, to.iter().map(|name| (*name).to_owned()).collect())).collect()
        };
        assert_eq!(cycle(&edges(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"])])), None);
        let found = cycle(&edges(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])])).unwrap();
        assert_eq!(found.join(" "), "b c b");
        assert_eq!(cycle(&edges(&[("a", &["a"])])).unwrap().join(" "), "a a");
    }
}
