//! `kubectl boson status`: the instances of a deployment, and what keeps them from being ready.

use std::collections::BTreeSet;

use clap::Args;
use cluster::{Kind, Object, label, name};
use deploy::report::{self, Reporter};
use deploy::{errands, health, standby};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use startup::Common;
use table::{Table, TableOptions};

use crate::target::{Deployment, Target};

/// One line for `--help`.
pub const ABOUT: &str = "Show the instances of a deployment";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the instances of a deployment with their pods, nodes and restarts. Below them, show what keeps an instance \
        from being ready, instances that run an earlier version, packages that a pod takes from a release other than its \
        container's, and objects that are missing or differ from the documents of the present run. READY and RESTARTS count containers and sidecars, as \
        `kubectl get pods` does. Exit with 0 if all instances are ready, none runs an earlier version, and no object is \
        missing or differs, with 69 if not, with 70 if the API server fails or cannot be reached.",
    after_long_help = "Example:\n\x20\x20kubectl boson status nats"
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Show the containers of each instance, as `bosh instances --ps` shows processes
    #[arg(long)]
    ps: bool,
    #[command(flatten)]
    table: TableOptions,
}

/// The exit code if an instance is not ready or runs an earlier version, or an object is missing or differs: as of an update that fails.
const NOT_READY: u8 = 69;

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let (sets, pods) = (deployment.list(Kind::STATEFUL_SET)?, deployment.pods()?);
    let services = deployment.list(Kind::SERVICE)?;
    let mut table = match options.ps {
        false => Table::new("instances", &INSTANCES),
        true => Table::new("instances", &PROCESSES),
    };
    for pod in &pods {
        match options.ps {
            false => table.push(of_pod(pod, &services)),
            true => of_containers(pod, &services).into_iter().for_each(|cells| table.push(cells)),
        }
    }
    packages(&pods).into_iter().for_each(|packages| table.note(packages));
    troubles(&deployment, &sets)?.into_iter().for_each(|trouble| table.note(trouble));
    let is_ready = |set: &Object| match standby::has_standbys(set) {
        true => standby::have_started(set, &pods),
        false => health::is_ready(set),
    };
    let outdated = outdated(&sets, &pods, &services);
    outdated.iter().for_each(|instance| table.note(format!("{instance} runs an earlier version")));
    let all_ready = sets.iter().all(is_ready) && outdated.is_empty();
    if let Some(job) = deployment.newest_gather()?.filter(|_| sets.is_empty()) {
        table.note(format!("no instance group is deployed yet; the gather Job is {}", name(&job)));
    }
    let is_as_documented = differences(&deployment, &mut table)?;
    table.print(&options.table)?;
    Ok(if all_ready && !sets.is_empty() && is_as_documented { 0 } else { NOT_READY })
}

/// The columns, named as those of `boson status` where they mean the same.
const INSTANCES: [&str; 8] = ["Instance", "AZ", "IP", "Ready", "Restarts", "Instance State", "Pod", "Node"];

/// With containers.
const PROCESSES: [&str; 7] = ["Instance", "AZ", "IP", "Process", "State", "Restarts", "Instance State"];

/// The instances whose pods do not run what their StatefulSets say, because an update was interrupted, has failed or is under way.
pub(crate) fn outdated(sets: &[Object], pods: &[Object], services: &[Object]) -> Vec<String> {
    let of_pod = |pod: &Object| {
        let (set, ordinal) = name(pod).rsplit_once('-')?;
        let set = sets.iter().find(|known| name(known) == set)?;
        let annotation = |name: &str| pod["metadata"]["annotations"][name].as_str();
        let reasons = objects::outdated(annotation, label(pod, "controller-revision-hash"), set, ordinal.parse().ok()?);
        let instance =
            instance(pod, services).map_or_else(|| "-".to_owned(), |(group, index)| format!("{group}/{index}"));
        (!reasons.is_empty()).then(|| format!("instance {instance} (pod {})", name(pod)))
    };
    pods.iter().filter_map(of_pod).collect()
}

/// Notes which objects are missing or differ from what the documents of the present run say; returns whether none was found.
fn differences(deployment: &Deployment, table: &mut Table) -> Result<bool> {
    let Some((versions, _)) = deployment.record()? else { return Ok(true) };
    let Some(run) = versions.runs.first() else { return Ok(true) };
    let options = deploy::Options::of_run(&deployment.name, run, deployment.connection.clone());
    match options.and_then(|options| deploy::differences(options, run)) {
        Ok(found) => {
            found.iter().for_each(|difference| table.note(difference.to_string()));
            if !found.is_empty() {
                table.note("applying the manifest again restores them: kubectl boson apply MANIFEST".to_owned());
            }
            Ok(found.is_empty())
        }
        // A user who may only read still sees the instances.
        Err(problems) => {
            let why = problems.into_vec().into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ");
            table.note(format!("objects are not compared with the documents of run {}: {why}", run.run));
            Ok(true)
        }
    }
}

/// What keeps instances from being ready.
fn troubles(deployment: &Deployment, sets: &[Object]) -> Result<Vec<String>> {
    let reporter = Reporter::of_deployment(&deployment.cluster, &deployment.name)?;
    let evidence = reporter.evidence()?;
    let mut findings: Vec<_> = sets.iter().flat_map(|set| evidence.of_set(set)).collect();
    let jobs = deployment.list(Kind::JOB)?;
    findings.extend(jobs.iter().filter(|job| errands::ended(job) != Some(true)).flat_map(|job| evidence.of_job(job)));
    Ok(report::lines(&findings))
}

fn is_finished(pod: &Object) -> bool {
    pod["status"]["phase"] == "Succeeded"
}

/// Instance, AZ and IP of a pod; an errand's has no index.
fn identity(pod: &Object, services: &[Object]) -> [String; 3] {
    let group = label(pod, objects::GROUP).unwrap_or_default();
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let expressions = affinity["nodeSelectorTerms"][0]["matchExpressions"].as_array();
    let zone =
        expressions.and_then(|all| all.iter().find(|expression| expression["key"] == "topology.kubernetes.io/zone"));
    let instance = index(pod, services).map_or_else(|| group.to_owned(), |index| format!("{group}/{index}"));
    [instance, zone.map_or_else(String::new, |zone| text(&zone["values"][0])), text(&pod["status"]["podIP"])]
}

fn text(value: &Object) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn of_pod(pod: &Object, services: &[Object]) -> Vec<String> {
    let counts = counts(pod);
    let ready = if is_finished(pod) { "completed".to_owned() } else { format!("{}/{}", counts.ready, counts.total) };
    let mut cells = identity(pod, services).to_vec();
    cells.extend([ready, counts.restarts.to_string(), state(pod).to_owned()]);
    cells.extend([name(pod).to_owned(), text(&pod["spec"]["nodeName"])]);
    cells
}

/// A row for each container and sidecar.
fn of_containers(pod: &Object, services: &[Object]) -> Vec<Vec<String>> {
    let statuses = ["initContainerStatuses", "containerStatuses"].map(|key| pod["status"][key].as_array());
    let init = pod["spec"]["initContainers"].as_array();
    let is_step = |status: &&Object| {
        let of_name = |container: &&Object| container["name"] == status["name"];
        init.and_then(|all| all.iter().find(of_name)).is_some_and(|container| container["restartPolicy"] != "Always")
    };
    let row = |status: &Object| {
        let mut cells = identity(pod, services).to_vec();
        let restarts = status["restartCount"].as_u64().unwrap_or_default().to_string();
        cells.extend([text(&status["name"]), of_container(status), restarts, state(pod).to_owned()]);
        cells
    };
    statuses.into_iter().flatten().flatten().filter(|status| !is_step(status)).map(row).collect()
}

/// The state of a container, or why it waits.
fn of_container(status: &Object) -> String {
    let state = &status["state"];
    match (state["running"].is_object(), state["terminated"].is_object()) {
        (true, _) => "running".to_owned(),
        (_, true) => "exited".to_owned(),
        _ => state["waiting"]["reason"].as_str().unwrap_or("waiting").to_owned(),
    }
}

/// The state of an instance in the words of BOSH's agent.
fn state(pod: &Object) -> &'static str {
    let counts = counts(pod);
    let statuses = ["initContainerStatuses", "containerStatuses"].map(|key| pod["status"][key].as_array());
    let is_failing = |status: &Object| {
        let reason = status["state"]["waiting"]["reason"].as_str().unwrap_or_default();
        reason.ends_with("BackOff") || reason.starts_with("Err") || reason.ends_with("Error")
    };
    match pod["status"]["phase"].as_str() {
        Some("Succeeded") => "completed",
        Some("Failed") => "failing",
        _ if !pod["metadata"]["deletionTimestamp"].is_null() => "stopping",
        _ if counts.total > 0 && counts.ready == counts.total => "running",
        _ if statuses.into_iter().flatten().flatten().any(is_failing) => "failing",
        _ => "starting",
    }
}

/// The packages that init containers copy out of the images of other releases, by group.
fn packages(pods: &[Object]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for pod in pods {
        let group = label(pod, objects::GROUP).unwrap_or("-");
        for container in pod["spec"]["initContainers"].as_array().into_iter().flatten() {
            let Some(release) = name_of(container).strip_prefix("copy-packages-") else { continue };
            let command: Vec<&str> =
                container["command"].as_array().into_iter().flatten().filter_map(Object::as_str).collect();
            let names = command.windows(2).filter(|pair| pair[0] == "--package").map(|pair| pair[1]);
            let names = names.collect::<Vec<_>>().join(", ");
            found.insert(format!("{group} has packages of the release {release}: {names}"));
        }
    }
    found
}

fn name_of(container: &Object) -> &str {
    container["name"].as_str().unwrap_or_default()
}

/// The index of a pod's instance: the number at the end of the Service that selects it alone.
fn index(pod: &Object, services: &[Object]) -> Option<String> {
    let label = "statefulset.kubernetes.io/pod-name";
    let service = services.iter().find(|service| service["spec"]["selector"][label] == name(pod))?;
    name(service).rsplit_once('-').map(|(_, index)| index.to_owned())
}

/// The label of the group and the index of a pod's instance; nothing for a pod of an errand.
pub(crate) fn instance(pod: &Object, services: &[Object]) -> Option<(String, String)> {
    Some((label(pod, objects::GROUP)?.to_owned(), index(pod, services)?))
}

/// Whether a pod is of this instance, GROUP/INDEX, or of this group.
pub(crate) fn is_of(wanted: &str, pod: &Object, services: &[Object]) -> bool {
    let (group, number) = wanted.split_once('/').map_or((wanted, None), |(group, index)| (group, Some(index)));
    let is_number = |number| instance(pod, services).is_some_and(|(_, index)| index == number);
    label(pod, objects::GROUP) == Some(&objects::deployment_label(group)) && number.is_none_or(is_number)
}

/// An instance that the deployment does not have, with those that it has.
pub(crate) fn unknown_instance(wanted: &str, pods: &[Object], services: &[Object]) -> Problem {
    let problem = Problem::input(format!("the deployment has no instance '{wanted}'")).code(code::INSTANCE_UNKNOWN);
    let known: Vec<String> = pods
        .iter()
        .filter_map(|pod| instance(pod, services))
        .map(|(group, index)| format!("{group}/{index}"))
        .collect();
    if known.is_empty() { problem } else { problem.hint(format!("its instances are: {}", known.join(", "))) }
}

/// Containers and restarts of a pod, counted as `kubectl get pods` counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    ready: usize,
    total: usize,
    restarts: u64,
}

/// Counts containers and sidecars, which are init containers that go on running. Other init containers count only for the restarts,
/// and only until all of them have ended.
fn counts(pod: &Object) -> Counts {
    let list = |value: &Object| value.as_array().cloned().unwrap_or_default();
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let init = list(&spec["initContainers"]);
    let is_sidecar = |status: &Object| {
        init.iter().any(|container| container["name"] == status["name"] && container["restartPolicy"] == "Always")
    };
    let initialized = list(&status["conditions"])
        .iter()
        .any(|condition| condition["type"] == "Initialized" && condition["status"] == "True");
    let containers = list(&status["containerStatuses"]);
    let (sidecars, steps): (Vec<Object>, Vec<Object>) =
        list(&status["initContainerStatuses"]).into_iter().partition(is_sidecar);
    let restarts =
        |statuses: &[Object]| statuses.iter().filter_map(|status| status["restartCount"].as_u64()).sum::<u64>();
    let is_ready = |status: &&Object| status["ready"] == true;
    Counts {
        ready: sidecars.iter().chain(&containers).filter(is_ready).count(),
        total: list(&spec["containers"]).len()
            + init.iter().filter(|container| container["restartPolicy"] == "Always").count(),
        restarts: restarts(&sidecars) + if initialized { restarts(&containers) } else { restarts(&steps) },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packages_of_other_releases_are_listed_once_for_each_group() {
        let command = ["/bin/copy-packages", "--package", "jq", "--package", "cf-cli"];
        let pod = |group: &str| {
            let containers = json!([{"name": "copy-jobs-web"}, {"name": "copy-packages-tools", "command": command}]);
            json!({"metadata": {"labels": {objects::GROUP: group}}, "spec": {"initContainers": containers}})
        };
        let found: Vec<String> = packages(&[pod("web"), pod("web"), pod("api")]).into_iter().collect();
        let expected = ["api", "web"].map(|group| format!("{group} has packages of the release tools: jq, cf-cli"));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_state_of_an_instance_is_that_of_its_containers() {
        let pod = |phase: &str, ready: bool, state: Object| {
            let status = json!([{"name": "nats", "ready": ready, "restartCount": 2, "state": state}]);
            json!({
                "metadata": {"name": "nats-nats-z1-0", "labels": {objects::GROUP: "nats"}},
                "spec": {"containers": [{"name": "nats"}]},
                "status": {"phase": phase, "podIP": "10.1.2.3", "containerStatuses": status},
            })
        };
        let running = pod("Running", true, json!({"running": {}}));
        let waiting = |reason: &str| pod("Running", false, json!({"waiting": {"reason": reason}}));
        let states = [&running, &waiting("CrashLoopBackOff"), &waiting("ErrImagePull"), &waiting("ContainerCreating")];
        assert_eq!(states.map(state), ["running", "failing", "failing", "starting"]);
        assert_eq!(state(&pod("Succeeded", false, json!({"terminated": {}}))), "completed");
        let cells = of_containers(&running, &[]).concat();
        assert_eq!(cells, ["nats", "", "10.1.2.3", "nats", "running", "2", "running"]);
    }

    #[test]
    fn sidecars_count_as_containers() {
        let status =
            |name: &str, ready: bool, restarts: u32| json!({"name": name, "ready": ready, "restartCount": restarts});
        let pod = |initialized: &str| {
            json!({
                "spec": {"initContainers": [{"name": "pre-start"}, {"name": "tail-logs", "restartPolicy": "Always"}],
                    "containers": [{"name": "nats"}, {"name": "other"}]},
                "status": {"initContainerStatuses": [status("pre-start", true, 4), status("tail-logs", true, 1)],
                    "containerStatuses": [status("nats", true, 2), status("other", false, 0)],
                    "conditions": [{"type": "Initialized", "status": initialized}]},
            })
        };
        assert_eq!(counts(&pod("True")), Counts { ready: 2, total: 3, restarts: 3 });
        assert_eq!(counts(&pod("False")).restarts, 5);
        assert_eq!(
            counts(&json!({"spec": {"containers": [{"name": "a"}]}})),
            Counts { ready: 0, total: 1, restarts: 0 }
        );
    }
}
