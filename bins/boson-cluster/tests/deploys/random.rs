//! Edits at random: what `diff` names before is exactly what a run replaces, makes and removes, by the uids of pods. In this process, and
//! in many clusters at once: runs wait most of the time.

use std::collections::BTreeMap;

use clap::Parser;
use deploy::lease::Beside;
use deploy::{Interrupt, Options, Runner, Session};
use deployment_diff::{Diff, Effect};
use handoff::deployment::{Count, Deployment};
use handoff::versions::{Run, VERSIONS_YAML, Versions};
use serde_json::Value;
use testkit::api_server::controllers::PODS;
use testkit::random::Random;

use super::Cluster;
use super::updates::{at_once, deployed};

/// Clusters, and edits of each.
const CLUSTERS: u64 = 10;
const EDITS: u32 = 20;
const SEED: u64 = 20_261_128;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Deploy {
    #[command(flatten)]
    options: Options,
}

#[derive(Parser)]
#[command(no_binary_name = true)]
struct WriteSecrets {
    #[command(flatten)]
    options: write_secrets::Options,
    #[command(flatten)]
    common: startup::Common,
}

/// What a person changes.
#[derive(Debug, Clone)]
struct State {
    /// What each instance renders.
    digests: [String; 4],
    /// Which instances the deployment has: the first of each AZ, and these.
    has_second: [bool; 2],
    image: u32,
    max_in_flight: u32,
}

impl State {
    fn edited(&self, random: &mut Random) -> State {
        let mut next = self.clone();
        for digest in &mut next.digests {
            if random.one_in(4) {
                *digest = format!("{:016x}{:048}", random.number(), 0);
            }
        }
        for has in &mut next.has_second {
            *has ^= random.one_in(6);
        }
        next.image += u32::from(random.one_in(8));
        next.max_in_flight = 1 + u32::try_from(random.below(4)).unwrap();
        next
    }

    fn apply(&self, deployment: &mut Deployment) {
        let group = &mut deployment.instance_groups[0];
        at_once(group);
        let (canaries, max_in_flight) = (Count::Number(0), Count::Number(self.max_in_flight));
        (group.update.canaries, group.update.max_in_flight) = (canaries, max_in_flight);
        group.instances.iter_mut().for_each(|one| one.digest.clone_from(&self.digests[one.index as usize]));
        for (az, has) in group.azs.iter_mut().zip(self.has_second) {
            az.instances = 1 + u32::from(has);
        }
        group.instances.retain(|one| one.ordinal == 0 || self.has_second[one.az_index as usize - 1]);
        group.replicas = group.azs.iter().map(|az| az.instances).max().unwrap();
    }
}

/// The commands of a run, in this process.
struct Commands<'a> {
    cluster: &'a Cluster,
    interrupt: &'a Interrupt,
}

impl Commands<'_> {
    fn options(&self, image: u32) -> Options {
        let kubeconfig = self.cluster.path("kubeconfig");
        let flags =
            ["-d", "nats", "--image", &format!("nats=r/nats:{image}"), "--kubeconfig", kubeconfig.to_str().unwrap()];
        Deploy::parse_from(flags).options
    }

    fn diff(&self, image: u32) -> (Diff, Vec<String>) {
        let options = self.options(image);
        let connection = options.connection.clone();
        let options = Options::of_flags("nats", options.pods, None, connection);
        let preview = deploy::preview(options, &self.cluster.path("output"), present(self.cluster).as_ref()).unwrap();
        (preview.instances, preview.objects)
    }

    fn run(&self, image: u32) {
        let (from, kubeconfig) = (self.cluster.path("output"), self.cluster.path("kubeconfig"));
        let flags = ["--from", from.to_str().unwrap(), "--kubeconfig", kubeconfig.to_str().unwrap()];
        let parsed = WriteSecrets::parse_from(flags);
        write_secrets::run(parsed.options, &parsed.common).unwrap();
        let options = self.options(image);
        let runner = Runner::of_person("apply", Beside::Refuse);
        let session = Session::begin(&options.connection, "nats", &runner, self.interrupt).unwrap();
        let result = deploy::run_in(options, &session);
        session.end(&result, self.interrupt);
        result.unwrap();
    }
}

fn present(cluster: &Cluster) -> Option<Run> {
    let store = cluster.server.store();
    let text = store.get("configmaps/nats-versions").unwrap()["data"][VERSIONS_YAML].as_str().unwrap().to_owned();
    Versions::decode(&text, "versions").unwrap().runs.into_iter().next()
}

/// The uids of pods.
fn pods(cluster: &Cluster) -> BTreeMap<String, Value> {
    let store = cluster.server.store();
    let pods = store.objects.iter().filter_map(|(path, pod)| Some((path.strip_prefix(PODS)?, pod)));
    pods.map(|(name, pod)| (name.to_owned(), pod["metadata"]["uid"].clone())).collect()
}

/// The pods with each effect: from the names of instances, or of pods that no instance has any more.
fn predicted(diff: &Diff) -> BTreeMap<Effect, Vec<String>> {
    let names = ["nats-nats-z1-0", "nats-nats-z1-1", "nats-nats-z2-0", "nats-nats-z2-1"];
    let mut found: BTreeMap<Effect, Vec<String>> = BTreeMap::new();
    for instance in diff.groups.iter().flat_map(|group| &group.instances) {
        let pod = match instance.name.split_once(" (pod ") {
            Some((_, pod)) => pod.trim_end_matches(')').to_owned(),
            None => names[instance.name.trim_start_matches("nats/").parse::<usize>().unwrap()].to_owned(),
        };
        found.entry(instance.effect).or_default().push(pod);
    }
    found.values_mut().for_each(|pods| pods.sort());
    found
}

/// What has become of pods.
fn happened(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> BTreeMap<Effect, Vec<String>> {
    let mut found: BTreeMap<Effect, Vec<String>> = BTreeMap::new();
    for (name, uid) in after {
        match before.get(name) {
            None => found.entry(Effect::New).or_default().push(name.clone()),
            Some(known) if known != uid => found.entry(Effect::Replaced).or_default().push(name.clone()),
            Some(_) => {}
        }
    }
    let gone: Vec<String> = before.keys().filter(|name| !after.contains_key(*name)).cloned().collect();
    if !gone.is_empty() {
        found.insert(Effect::Removed, gone);
    }
    found
}

fn edit_at_random(seed: u64, interrupt: &Interrupt) {
    let (cluster, controller) = deployed();
    controller.lock().unwrap().is_quick = true;
    let commands = Commands { cluster: &cluster, interrupt };
    let mut random = Random::new(seed);
    let mut state = State {
        digests: std::array::from_fn(|number| format!("{number:064}")),
        has_second: [true; 2],
        image: 1,
        max_in_flight: 1,
    };
    for edit in 0..EDITS {
        state = state.edited(&mut random);
        cluster.plan(|deployment| state.apply(deployment));
        let (before, versions) = (pods(&cluster), cluster.versions());
        let (diff, objects) = commands.diff(state.image);
        assert_eq!(cluster.versions(), versions, "diff has changed something");
        commands.run(state.image);
        let context = format!("seed {seed}, edit {edit}: {state:?}: {objects:?}");
        assert_eq!(predicted(&diff), happened(&before, &pods(&cluster)), "{context}");
        if edit % 5 == 0 {
            let (diff, objects) = commands.diff(state.image);
            assert!(diff.is_empty() && objects.is_empty(), "{context}: {diff:?} {objects:?}");
        }
    }
}

#[test]
fn exactly_those_pods_change_that_diff_names() {
    let interrupt = Interrupt::handle().unwrap();
    std::thread::scope(|scope| {
        let interrupt = &interrupt;
        (0..CLUSTERS).for_each(|number| drop(scope.spawn(move || edit_at_random(SEED + number, interrupt))));
    });
}
