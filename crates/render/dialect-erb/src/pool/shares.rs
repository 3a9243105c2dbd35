//! How tasks are divided among workers: each gets about the same work, and large libraries are loaded by few of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Task;

/// A worker collects no garbage unless a template takes long: what it leaves goes with it, so it must not get too much to do.
/// This much is 60 templates of usual length.
const WORK_OF_A_WORKER: usize = 180_000;

/// What the workers that follow one another get of a share.
pub(super) fn portions(tasks: &[Task], share: &[usize]) -> Vec<Vec<usize>> {
    let mut portions: Vec<Vec<usize>> = Vec::new();
    let mut work = 0;
    for i in share {
        let more = cost(&tasks[*i]);
        match portions.last_mut() {
            Some(portion) if work + more <= WORK_OF_A_WORKER => portion.push(*i),
            _ => {
                portions.push(vec![*i]);
                work = 0;
            }
        }
        work += more;
    }
    portions
}

/// What a task costs in each context beside compiling its code, as a length of code.
const BESIDE: usize = 500;

/// What a task costs beside the libraries that it needs.
fn cost(task: &Task) -> usize {
    task.length + task.contexts.len() * BESIDE
}

/// What forking a worker costs, as a length of code.
const WORKER: usize = 10_000;
/// What loading a library costs, as a length of code (docs/benchmarks.md has the times).
const LIBRARIES: &[(&str, usize)] =
    &[("openssl", 45_000), ("uri", 30_000), ("yaml", 18_000), ("ipaddr", 13_000), ("json", 6_000), ("cgi", 6_000)];
/// What loading any other library costs.
const SMALL_LIBRARY: usize = 2_000;
/// A library that costs more is loaded by as few workers as can be.
const LARGE_LIBRARY: usize = 10_000;

fn loading(feature: &str) -> usize {
    LIBRARIES.iter().find(|(name, _)| *name == feature).map_or(SMALL_LIBRARY, |(_, cost)| *cost)
}

/// Tasks that one worker gets, and what they cost it.
#[derive(Default)]
struct Share {
    tasks: Vec<usize>,
    loaded: BTreeSet<&'static str>,
    cost: usize,
}

impl Share {
    /// What it costs after these tasks: a library is loaded once.
    fn cost_with(&self, tasks: &[Task], more: &[usize]) -> usize {
        let mut loaded = self.loaded.clone();
        more.iter().fold(self.cost, |cost, i| {
            let new = tasks[*i].features.iter().filter(|feature| loaded.insert(feature));
            cost + self::cost(&tasks[*i]) + new.map(|feature| loading(feature)).sum::<usize>()
        })
    }

    fn add(&mut self, tasks: &[Task], more: &[usize]) {
        self.cost = self.cost_with(tasks, more);
        self.loaded.extend(more.iter().flat_map(|i| &tasks[*i].features));
        self.tasks.extend(more);
    }
}

/// Tasks for so many workers at most, which cost each about the same. Tasks that need the same large library stay
/// together: each worker that needs a library loads it for itself.
pub(super) fn shares(tasks: &[Task], workers: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..tasks.len()).collect();
    let total = Share::default().cost_with(tasks, &all);
    // Workers are forked one after the other: beyond so many, the last one would start when the first is done.
    let workers = workers.clamp(1, (total / WORKER).isqrt() + 1);
    let mut shares: Vec<Share> = (0..workers).map(|_| Share::default()).collect();
    for cluster in clusters(tasks, total.div_ceil(workers)) {
        let cheapest = shares.iter_mut().min_by_key(|share| share.cost_with(tasks, &cluster));
        if let Some(share) = cheapest {
            share.add(tasks, &cluster);
        }
    }
    shares.into_iter().map(|share| share.tasks).filter(|tasks| !tasks.is_empty()).collect()
}

/// Tasks whose most costly library is the same large one, the most costly first, none of which costs more than this; and
/// then all other tasks in their order, in which those of a job follow one another: some of them together, because each worker
/// loads their properties and links for itself.
fn clusters(tasks: &[Task], most: usize) -> Vec<Vec<usize>> {
    let mut by_library: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut others: Vec<Vec<usize>> = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        match task.features.iter().max_by_key(|feature| loading(feature)) {
            Some(feature) if loading(feature) > LARGE_LIBRARY => by_library.entry(feature).or_default().push(i),
            _ => match others.last_mut() {
                Some(some) if belongs_to(tasks, some, task) && work_of(tasks, some) + cost(task) <= most / PARTS => {
                    some.push(i)
                }
                _ => others.push(vec![i]),
            },
        }
    }
    let mut clusters: Vec<Share> = Vec::new();
    for of_library in by_library.into_values() {
        let mut cluster = Share::default();
        for i in of_library {
            if !cluster.tasks.is_empty() && cluster.cost_with(tasks, &[i]) > most {
                clusters.push(std::mem::take(&mut cluster));
            }
            cluster.add(tasks, &[i]);
        }
        clusters.push(cluster);
    }
    clusters.sort_by_key(|cluster| Reverse(cluster.cost));
    clusters.into_iter().map(|cluster| cluster.tasks).chain(others).collect()
}

/// A share consists of this many clusters at least, so that shares can cost the same.
const PARTS: usize = 8;

fn belongs_to(tasks: &[Task], some: &[usize], task: &Task) -> bool {
    some.first().is_some_and(|first| tasks[*first].common == task.common)
}

fn work_of(tasks: &[Task], some: &[usize]) -> usize {
    some.iter().map(|i| cost(&tasks[*i])).sum()
}

#[cfg(test)]
mod tests {
    use value::Value;

    use super::*;

    fn task(length: usize, features: &[&'static str]) -> Task {
        Task {
            contexts: vec![0],
            common: 0,
            has_own_process: false,
            unit: Value::Nil,
            features: features.to_vec(),
            length: length - BESIDE,
        }
    }

    #[test]
    fn every_task_is_in_one_share_and_shares_cost_the_same() {
        let tasks: Vec<Task> = (0..100).map(|i| task(3_000 + i, &[])).collect();
        let shares = shares(&tasks, 4);
        assert_eq!(shares.len(), 4);
        let mut all = shares.concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert!(shares.iter().all(|share| (22..28).contains(&share.len())));
    }

    #[test]
    fn a_large_library_is_loaded_by_one_worker() {
        let yaml = |i: usize| if i.is_multiple_of(10) { vec!["yaml"] } else { vec!["json"] };
        let tasks: Vec<Task> = (0..100).map(|i| task(2_000, &yaml(i))).collect();
        let shares = shares(&tasks, 2);
        assert_eq!(shares.len(), 2);
        let with_yaml = shares.iter().filter(|share| share.iter().any(|i| i % 10 == 0)).count();
        assert_eq!(with_yaml, 1);
        assert!(shares[0].len() < shares[1].len());
    }

    #[test]
    fn libraries_are_loaded_by_as_few_workers_as_can_be() {
        let features = |i: usize| match i % 20 {
            0 => vec!["openssl", "yaml"],
            1 => vec!["openssl", "ipaddr"],
            2 => vec!["uri", "json"],
            3 => vec!["yaml"],
            _ => vec![],
        };
        let tasks: Vec<Task> = (0..80).map(|i| task(1_500, &features(i))).collect();
        let shares = shares(&tasks, 2);
        let loading = |library| {
            let needs = |i: &usize| tasks[*i].features.contains(&library);
            shares.iter().filter(|share| share.iter().any(needs)).count()
        };
        assert_eq!([loading("openssl"), loading("uri"), loading("ipaddr")], [1, 1, 1]);
        let cost = |share: &Vec<usize>| Share::default().cost_with(&tasks, share);
        assert!(cost(&shares[0]).abs_diff(cost(&shares[1])) < 20_000);
    }

    #[test]
    fn small_work_gets_few_workers() {
        assert_eq!(shares(&[task(600_000, &[]), task(600_000, &[])], 8), [[0], [1]]);
        assert_eq!(shares(&[task(600, &[]), task(600, &[])], 8), [[0, 1]]);
        assert!(shares(&[], 8).is_empty());
    }

    #[test]
    fn several_workers_share_many_templates() {
        let tasks: Vec<Task> = (0..100).map(|i| task(if i == 50 { 900_000 } else { 3_000 }, &[])).collect();
        let all: Vec<usize> = (0..100).collect();
        let portions = portions(&tasks, &all);
        assert_eq!(portions.concat(), all);
        assert_eq!(portions.iter().map(Vec::len).collect::<Vec<_>>(), [50, 1, 49]);
    }

    #[test]
    fn many_cores_do_not_get_a_worker_each() {
        let tasks: Vec<Task> = (0..100).map(|_| task(3_000, &[])).collect();
        assert!((3..12).contains(&shares(&tasks, 64).len()));
    }
}
