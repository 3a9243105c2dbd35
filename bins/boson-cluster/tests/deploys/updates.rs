//! Updates of running instances: which pods are replaced, in which order, how many at a time, and what is left by runs that are
//! interrupted. A controller of StatefulSets makes the pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use handoff::deployment::{Count, VmStrategy, WatchTime};
use serde_json::{Value, json};
use testkit::api_server::controllers::{PODS, make_deployment_ready, pod, revision, set_ready};
use testkit::api_server::{Request, Store, failure};

use super::Cluster;

const SETS: &str = "/apis/apps/v1/namespaces/test/statefulsets/";

/// What has happened to pods, and how pods behave.
#[derive(Default)]
pub(super) struct Controller {
    /// The pods that were deleted or evicted, in order.
    pub(super) replaced: Vec<String>,
    /// The most pods that were not ready at once since the first update.
    most_away: usize,
    /// Revisions whose pods do not become ready.
    broken: BTreeSet<String>,
    /// Whether their images do not exist.
    has_no_image: bool,
    /// How often a pod was looked at since it was made: it is ready at the second look.
    looks: BTreeMap<String, u32>,
    /// Pods are ready at once.
    pub(super) is_quick: bool,
    /// The version of the store that they were made for, if they are ready at once.
    made: u64,
    /// Refuses evictions with this message.
    pub(super) refusal: Option<&'static str>,
    /// How many further requests are answered; the rest fail.
    left: Option<u32>,
}

impl Controller {
    /// Runs beside a cluster from now on.
    fn start(cluster: &Cluster) -> Arc<Mutex<Controller>> {
        let controller = Arc::new(Mutex::new(Controller::default()));
        let own = Arc::clone(&controller);
        cluster.server.set_hook(Box::new(move |request, store| own.lock().unwrap().act(request, store)));
        controller
    }

    fn act(&mut self, request: &Request, store: &mut Store) -> Option<(u16, Value)> {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return Some(failure(403, "Forbidden", "the run ends here"));
            }
            *left -= 1;
        }
        make_deployment_ready(request, store);
        let evicted = request.path.strip_suffix("/eviction").filter(|_| request.method == "POST");
        if let (Some(_), Some(message)) = (evicted, self.refusal) {
            return Some(failure(429, "TooManyRequests", message));
        }
        let deleted = evicted.or((request.method == "DELETE").then_some(request.path.as_str()));
        if let Some(name) = deleted.and_then(|path| path.strip_prefix(PODS)) {
            let is_same = |pod: &Value| {
                let options = if evicted.is_some() { &request.body["deleteOptions"] } else { &request.body };
                options["preconditions"]["uid"] == pod["metadata"]["uid"]
            };
            assert!(store.objects.get(&format!("{PODS}{name}")).is_some_and(is_same), "{name}: {:?}", request.body);
            store.remove(&format!("{PODS}{name}"));
            self.replaced.push(name.to_owned());
            self.reconcile(store);
            return Some((201, json!({"kind": "Status", "status": "Success"})));
        }
        let is_list = request.method == "GET" && format!("{}/", request.path) == PODS;
        if is_list {
            self.looks.values_mut().for_each(|looks| *looks += 1);
        }
        self.reconcile(store);
        None
    }

    /// Makes the pods that are missing, and tells how they are.
    fn reconcile(&mut self, store: &mut Store) {
        if self.is_quick && std::mem::replace(&mut self.made, store.version()) == store.version() {
            return;
        }
        let sets: Vec<(String, Value)> = store
            .objects
            .iter()
            .filter(|(path, _)| path.starts_with(SETS))
            .map(|(p, set)| (p.clone(), set.clone()))
            .collect();
        let (mut away, mut is_update) = (0, false);
        for (path, set) in sets {
            assert_eq!(set["spec"]["updateStrategy"], json!({"type": "OnDelete"}));
            let revision = revision(&set);
            let (name, replicas) =
                (set["metadata"]["name"].as_str().unwrap(), set["spec"]["replicas"].as_u64().unwrap());
            let mut ready = 0;
            for ordinal in replicas..replicas + 2 {
                store.remove(&format!("{PODS}{name}-{ordinal}"));
            }
            for ordinal in 0..replicas {
                let pod_name = format!("{name}-{ordinal}");
                if !store.objects.contains_key(&format!("{PODS}{pod_name}")) {
                    store.put(&format!("pods/{pod_name}"), pod(&set, &pod_name, &revision));
                    self.looks.insert(pod_name.clone(), if self.replaced.is_empty() || self.is_quick { 2 } else { 0 });
                }
                let own = store.objects[&format!("{PODS}{pod_name}")]["metadata"]["labels"]["controller-revision-hash"]
                    .clone();
                let is_ready = self.looks[&pod_name] >= 2 && !self.broken.contains(own.as_str().unwrap());
                set_ready(store.objects.get_mut(&format!("{PODS}{pod_name}")).unwrap(), is_ready);
                if self.has_no_image && !is_ready && self.broken.contains(own.as_str().unwrap()) {
                    let waiting = json!({"waiting": {"reason": "ImagePullBackOff", "message": "not found"}});
                    let pod = store.objects.get_mut(&format!("{PODS}{pod_name}")).unwrap();
                    pod["status"]["containerStatuses"][0]["state"] = waiting;
                }
                ready += u64::from(is_ready);
                is_update |= own != *revision || !self.replaced.is_empty();
            }
            away += usize::try_from(replicas - ready).unwrap();
            store.objects.get_mut(&path).unwrap()["status"] = json!({"observedGeneration": set["metadata"]["generation"],
                "replicas": replicas, "readyReplicas": ready, "availableReplicas": ready, "updateRevision": revision});
        }
        self.most_away = self.most_away.max(if is_update { away } else { 0 });
    }
}

/// A cluster in which the demo's NATS is up: two instances in each of two AZs.
pub(super) fn deployed() -> (Cluster, Arc<Mutex<Controller>>) {
    let cluster = Cluster::new();
    let controller = Controller::start(&cluster);
    change(&cluster, &[], |_| ());
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 0, "{}{}", printed.out, printed.err);
    assert_eq!(controller.lock().unwrap().replaced, [""; 0]);
    (cluster, controller)
}

/// Watch times begin at once, and end soon.
pub(super) fn at_once(group: &mut handoff::deployment::InstanceGroup) {
    let time = WatchTime { from: 0, to: 3_000 };
    (group.update.canary_watch_time, group.update.update_watch_time) = (time, time);
}

/// Changes what these instances of nats render, and the deployment.
pub(super) fn change(cluster: &Cluster, instances: &[u32], edit: impl Fn(&mut handoff::deployment::InstanceGroup)) {
    cluster.edit_deployment(|deployment| {
        let group = &mut deployment.instance_groups[0];
        at_once(group);
        for instance in group.instances.iter_mut().filter(|instance| instances.contains(&instance.index)) {
            instance.digest = "f".repeat(64);
        }
        edit(group);
    });
}

const ALL: [&str; 4] = ["nats-nats-z1-0", "nats-nats-z1-1", "nats-nats-z2-0", "nats-nats-z2-1"];

#[test]
fn instances_are_replaced_one_after_the_other_and_az_by_az() {
    let (cluster, controller) = deployed();
    change(&cluster, &[0, 1, 2, 3], |_| ());
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 0, "{}{}", printed.out, printed.err);
    let canary = "instance nats/0 (pod nats-nats-z1-0) is replaced, as a canary\n";
    assert!(
        printed.out.contains(canary) && printed.out.contains("nats/3 (pod nats-nats-z2-1) is replaced\n"),
        "{}",
        printed.out
    );
    let mut controller = controller.lock().unwrap();
    assert_eq!((std::mem::take(&mut controller.replaced), controller.most_away), (ALL.map(str::to_owned).to_vec(), 1));
    drop(controller);
    // Nothing is left to do.
    let again = cluster.deploy(&[]);
    assert_eq!((again.code, again.out.as_str()), (0, "instance group nats is ready\n"), "{}", again.err);
    assert_eq!(cluster.run(&["status"]).code, 0);
}

/// Also one below others of its StatefulSet.
#[test]
fn exactly_the_instances_are_replaced_in_which_something_changes() {
    let (cluster, controller) = deployed();
    change(&cluster, &[0, 3], |_| ());
    assert_eq!(cluster.deploy(&[]).code, 0);
    assert_eq!(controller.lock().unwrap().replaced, [ALL[0], ALL[3]]);
}

#[test]
fn as_many_are_away_as_may_be() {
    let (cluster, controller) = deployed();
    change(&cluster, &[0, 1, 2, 3], |group| {
        (group.update.canaries, group.update.max_in_flight) = (Count::Number(1), Count::Percent(50));
    });
    assert_eq!(cluster.deploy(&[]).code, 0);
    assert_eq!(controller.lock().unwrap().most_away, 2);

    // The flags count instead.
    let (cluster, controller) = deployed();
    change(&cluster, &[0, 1, 2, 3], |group| {
        group.update.max_in_flight = Count::Number(4);
        group.update.vm_strategy = VmStrategy::CreateSwapDelete;
    });
    let printed = cluster.deploy(&["--max-in-flight", "1", "--canaries", "0"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let warning = "vm_strategy create-swap-delete of nats has no effect";
    assert_eq!(printed.err.matches(warning).count(), 1, "{}", printed.err);
    assert_eq!(controller.lock().unwrap().most_away, 1);
    let wrong = cluster.deploy(&["--canaries", "few"]);
    assert!(wrong.code == 2 && wrong.err.contains("neither a number nor a percentage of instances"), "{}", wrong.err);
}

#[test]
fn a_failed_canary_leaves_the_others_alone_and_a_corrected_version_replaces_it_first() {
    let (cluster, controller) = deployed();
    let before = revision(cluster.server.store().get("apps/v1/statefulsets/nats-nats-z1").unwrap());
    change(&cluster, &[0, 1, 2, 3], |_| ());
    {
        // Every template that is not the first one.
        let controller = Arc::clone(&controller);
        cluster.server.set_hook(Box::new(move |request, store| {
            let mut controller = controller.lock().unwrap();
            let set = store.get("apps/v1/statefulsets/nats-nats-z1").map(revision);
            controller.broken = set.into_iter().filter(|revision| *revision != before).collect();
            controller.act(request, store)
        }));
    }
    let failed = cluster.deploy(&[]);
    assert_eq!(failed.code, 69, "{}", failed.err);
    for part in [
        "instance group 'nats' is not ready: nats/0 (pod nats-nats-z1-0) is not ready after 3s (canary_watch_time)",
        "nats/1 (pod nats-nats-z1-1) keeps the earlier version",
        "nats/3 (pod nats-nats-z2-1) keeps the earlier version",
    ] {
        assert!(failed.err.contains(part), "{part}: {}", failed.err);
    }
    assert_eq!(controller.lock().unwrap().replaced, [ALL[0]]);
    let status = cluster.run(&["status"]);
    assert_eq!(status.code, 69);
    assert!(status.out.contains("instance nats/1 (pod nats-nats-z1-1) runs an earlier version\n"), "{}", status.out);
    assert!(!status.out.contains("instance nats/0 (pod nats-nats-z1-0) runs an earlier version"), "{}", status.out);

    // The corrected version: all digests are others again.
    let fixed = Arc::clone(&controller);
    cluster.server.set_hook(Box::new(move |request, store| {
        let mut controller = fixed.lock().unwrap();
        let digests =
            store.get("apps/v1/statefulsets/nats-nats-z1").map(|set| set["metadata"]["annotations"].to_string());
        if digests.is_some_and(|digests| digests.contains("eeee")) {
            controller.broken.retain(|revision| {
                let is_old = |pod: &Value| pod["metadata"]["labels"]["controller-revision-hash"] == revision.as_str();
                store.get("pods/nats-nats-z1-0").is_some_and(is_old)
            });
        }
        controller.act(request, store)
    }));
    {
        let mut controller = controller.lock().unwrap();
        controller.replaced.clear();
        // A pod that can never start does not end the run: it is replaced.
        controller.has_no_image = true;
    }
    change(&cluster, &[], |group| group.instances.iter_mut().for_each(|instance| instance.digest = "e".repeat(64)));
    let corrected = cluster.deploy(&[]);
    assert_eq!(corrected.code, 0, "{}{}", corrected.out, corrected.err);
    assert_eq!(controller.lock().unwrap().replaced, ALL);
}

#[test]
fn a_disruption_budget_that_never_allows_ends_the_run_with_its_words() {
    let (cluster, controller) = deployed();
    let budget = "The disruption budget mine needs 4 healthy pods and has 4 currently";
    controller.lock().unwrap().refusal = Some(budget);
    change(&cluster, &[0, 1, 2, 3], |_| ());
    let failed = cluster.deploy(&[]);
    assert_eq!(failed.code, 69, "{}", failed.err);
    let line = format!("nats/0 (pod nats-nats-z1-0) cannot be replaced now: {budget}");
    assert!(failed.out.contains(&line) && failed.err.contains(&line), "{}{}", failed.out, failed.err);
    assert_eq!(controller.lock().unwrap().replaced, [""; 0]);
    controller.lock().unwrap().refusal = None;
    assert_eq!(cluster.deploy(&[]).code, 0);
    assert_eq!(controller.lock().unwrap().replaced, ALL);
}

/// A run that ends at any of its requests is continued by the next: every instance is replaced once, and never two at a time.
#[test]
fn a_run_that_ends_at_any_request_is_continued() {
    const MANY: u32 = 120;
    let next = Mutex::new((0..=MANY).step_by(6));
    let ends = Mutex::new(0);
    // They wait most of the time.
    std::thread::scope(|scope| {
        let run = || {
            while let Some(left) = { next.lock().unwrap().next() } {
                let is_whole = ends_after(left);
                assert!(is_whole || left < MANY, "a run has more than {MANY} requests");
                *ends.lock().unwrap() += u32::from(!is_whole);
            }
        };
        (0..4).for_each(|_| drop(scope.spawn(run)));
    });
    assert!(*ends.lock().unwrap() > 5);
}

/// Ends a run after `left` requests, and starts the next one. Returns whether the first one was complete.
fn ends_after(left: u32) -> bool {
    let (cluster, controller) = deployed();
    change(&cluster, &[1, 2], |_| ());
    controller.lock().unwrap().left = Some(left);
    let first = cluster.deploy(&[]);
    controller.lock().unwrap().left = None;
    if first.code != 0 {
        let second = cluster.deploy(&[]);
        assert_eq!(second.code, 0, "after {left} requests: {}{}", second.out, second.err);
    }
    let controller = controller.lock().unwrap();
    assert_eq!(controller.most_away, 1, "after {left} requests");
    assert_eq!(controller.replaced, ALL[1..3], "after {left} requests");
    first.code == 0
}

#[test]
fn pods_of_a_template_that_was_edited_by_hand_are_replaced() {
    let (cluster, controller) = deployed();
    cluster.write_secrets_of(&["--image", "nats=r/nats:1"]);
    {
        let mut store = cluster.server.store();
        let set = store.objects.get_mut(&format!("{SETS}nats-nats-z2")).unwrap();
        set["spec"]["template"]["spec"]["containers"][0]["image"] = "other".into();
        // Somebody deletes a pod, which comes back with the other image.
        store.remove(&format!("{PODS}nats-nats-z2-1"));
    }
    assert_eq!(cluster.run(&["status"]).code, 69);
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 0, "{}{}", printed.out, printed.err);
    assert_eq!(controller.lock().unwrap().replaced, ["nats-nats-z2-1"]);
}

#[test]
fn instances_are_made_anew_on_request() {
    let (cluster, controller) = deployed();
    cluster.write_secrets_of(&["--image", "nats=r/nats:1"]);
    let unknown = cluster.run(&["recreate", "nats/7", "web"]);
    assert_eq!(unknown.code, 65, "{}", unknown.err);
    assert!(
        unknown.err.contains("no instance 'nats/7'") && unknown.err.contains("no instance 'web'"),
        "{}",
        unknown.err
    );
    assert!(unknown.err.contains("its instances are: nats/0, nats/1, nats/2, nats/3"), "{}", unknown.err);
    assert_eq!(cluster.run(&["recreate"]).code, 2);
    let one = cluster.run(&["recreate", "nats/2"]);
    assert_eq!(one.code, 0, "{}{}", one.out, one.err);
    assert_eq!(std::mem::take(&mut controller.lock().unwrap().replaced), [ALL[2]]);
    let all = cluster.run(&["recreate", "--all"]);
    assert_eq!(all.code, 0, "{}{}", all.out, all.err);
    assert_eq!(controller.lock().unwrap().replaced, ALL);
    assert_eq!(controller.lock().unwrap().most_away, 1);

    // Not beside a run, which `cancel` stops.
    let labels = json!({"quarks.cloudfoundry.org/deployment-name": "nats", "quarks.cloudfoundry.org/kind": "gather",
        "app.kubernetes.io/managed-by": "boson"});
    let job = json!({"kind": "Job", "metadata": {"name": "nats-gather-1", "labels": labels}});
    cluster.server.store().put("batch/v1/jobs/nats-gather-1", job);
    let refused = cluster.run(&["recreate", "nats"]);
    assert_eq!(refused.code, 69);
    assert!(
        refused.err.contains("a run is under way: Job nats-gather-1") && refused.err.contains("kubectl boson cancel"),
        "{}",
        refused.err
    );
    let cancelled = cluster.run(&["cancel", "nats"]);
    assert_eq!((cancelled.code, cancelled.out.as_str()), (0, "Job nats-gather-1 stopped\n"), "{}", cancelled.err);
    let nothing = cluster.run(&["cancel"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (0, "no run of nats is under way\n"), "{}", nothing.err);
}

#[test]
fn all_or_failing_instances_are_replaced_on_request() {
    let (cluster, controller) = deployed();
    let diff = |flag: &str| {
        let planned = cluster.path("output");
        let printed = cluster.deploy(&["--check", planned.to_str().unwrap(), "--diff", flag]);
        let preview: Value = serde_json::from_str(&printed.out).unwrap_or_else(|_| panic!("{}", printed.err));
        preview["groups"].clone()
    };
    assert_eq!(diff("--fix"), json!([]));
    let all = diff("--recreate");
    assert_eq!(all[0]["instances"].as_array().unwrap().len(), 4, "{all}");
    assert_eq!(all[0]["instances"][3]["reasons"], json!(["on request"]), "{all}");
    assert_eq!(cluster.deploy(&["--recreate"]).code, 0);
    assert_eq!(std::mem::take(&mut controller.lock().unwrap().replaced), ALL);

    // Another try of the Job of a run does not begin anew.
    let job =
        json!({"kind": "Job", "metadata": {"name": "nats-gather-1", "creationTimestamp": "2026-01-01T00:00:00Z"}});
    cluster.server.store().put("batch/v1/jobs/nats-gather-1", job);
    cluster.server.store().objects.get_mut(&format!("{PODS}{}", ALL[1])).unwrap()["metadata"]["creationTimestamp"] =
        "2025-12-31T23:59:59Z".into();
    for pod in [ALL[0], ALL[2], ALL[3]] {
        cluster.server.store().objects.get_mut(&format!("{PODS}{pod}")).unwrap()["metadata"]["creationTimestamp"] =
            "2026-01-01T00:00:01Z".into();
    }
    assert_eq!(cluster.deploy(&["--recreate", "--gather-job", "nats-gather-1"]).code, 0);
    assert_eq!(std::mem::take(&mut controller.lock().unwrap().replaced), [ALL[1]]);

    // One that crashes does not recover by itself.
    {
        let own = Arc::clone(&controller);
        cluster.server.set_hook(Box::new(move |request, store| {
            let mut controller = own.lock().unwrap();
            let answer = controller.act(request, store);
            if controller.replaced.is_empty() {
                let pod = store.objects.get_mut(&format!("{PODS}{}", ALL[2])).unwrap();
                set_ready(pod, false);
                pod["status"]["containerStatuses"][0]["restartCount"] = 7.into();
            }
            answer
        }));
    }
    let failing = diff("--fix");
    assert_eq!(failing[0]["instances"], json!([{"name": "nats/2", "effect": "replaced", "reasons": ["failing"]}]));
    let printed = cluster.deploy(&["--fix"]);
    assert_eq!(printed.code, 0, "{}{}", printed.out, printed.err);
    assert_eq!(controller.lock().unwrap().replaced, [ALL[2]]);
}

#[test]
fn diff_says_why_and_which_objects_change() {
    let (cluster, _) = deployed();
    cluster.write_secrets_of(&["--image", "nats=r/nats:1"]);
    let planned = cluster.path("output");
    let text = |more: &[&str]| cluster.run(&[&["diff", planned.to_str().unwrap()][..], more].concat());
    let same = text(&["--image", "nats=r/nats:1"]);
    assert_eq!((same.code, same.out.as_str()), (0, "no changes\n"), "{}", same.err);
    let image = text(&["--image", "nats=r/nats:2"]);
    assert_eq!(image.code, 1, "{}", image.err);
    let lines = "  nats/0, nats/1, nats/2, nats/3: replaced (images, processes or settings of the pod)\n\n4 instances to replace\n";
    assert!(image.out.ends_with(lines) && image.out.contains("  StatefulSet nats-nats-z1: changed\n"), "{}", image.out);

    // The documents of the run, as `plan` writes them.
    let now = cluster.path("now");
    let printed = cluster.run(&["documents", "--output", now.to_str().unwrap()]);
    assert_eq!(
        (printed.code, printed.out.as_str()),
        (0, "5 documents of run 3 of deployment nats\n"),
        "{}",
        printed.err
    );
    for file in ["deployment", "nats/ig-resolved", "nats/bpm", "smoke-tests/ig-resolved", "smoke-tests/bpm"] {
        let file = format!("{file}/output.json");
        let read = |directory: &std::path::Path| std::fs::read_to_string(directory.join(&file)).unwrap();
        assert_eq!(read(&now), read(&planned), "{file}");
    }
    let unknown = cluster.run(&["documents", "--output", now.to_str().unwrap(), "--run", "9"]);
    assert!(unknown.code == 65 && unknown.err.contains("there is no run 9"), "{}", unknown.err);
}
