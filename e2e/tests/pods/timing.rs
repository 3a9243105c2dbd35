//! How long a deployment takes from `kubectl apply` until it is ready, in parts, beside the same pods without boson. Nothing
//! asserts a time: the numbers are printed (`--nocapture`).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gathered::{Gathered, RESTRICTED};

/// Pods that are started beside each other for one number.
const INSTANCES: usize = 4;

#[test]
fn the_time_until_a_deployment_is_ready_is_printed_in_parts() {
    let nats = Gathered::new("times", "nats");
    let start = Instant::now();
    let job = nats.run(&RESTRICTED);
    let all = start.elapsed();
    nats.assert_complete(&job);
    assert_eq!(ready(&nats, "nats"), INSTANCES);

    println!("from kubectl apply until the gather Job is complete: {}", seconds(all));
    println!("| container of the gather Job | from | to |\n| --- | ---: | ---: |");
    for (name, from, to) in steps(&nats, &job) {
        println!("| {name} | {from} s | {to} s |");
    }

    // The same sets once more, and with a bare program in each container; and with one container alone.
    let sets = take_sets(&nats);
    println!("| pods of the instance group | until all are ready | of bare programs |\n| --- | ---: | ---: |");
    let bare = apply(&nats, &sets, "bare", |set| each_container(set, false));
    let row = |name: &str, time: Duration| {
        println!("| {name} | {} | {:.2}x |", seconds(time), time.as_secs_f64() / bare.as_secs_f64());
    };
    row("the same containers, each with a bare program", bare);
    row("boson's", apply(&nats, &sets, "again", |_| ()));
    row("one container that sleeps", apply(&nats, &sets, "lone", |set| each_container(set, true)));
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Each container of the Job's pod: its name, and the seconds after the pod's creation in which it started and ended. Kubernetes
/// counts whole seconds.
fn steps(nats: &Gathered, job: &str) -> Vec<(String, i64, i64)> {
    let pods = nats.namespace.kubectl(&["get", "pods", "--selector", &format!("job-name={job}"), "--output", "json"]);
    let pods: Value = serde_json::from_str(&pods).unwrap();
    let pod = &pods["items"][0];
    let begin = of_day(&pod["metadata"]["creationTimestamp"]);
    let statuses = ["initContainerStatuses", "containerStatuses"].map(|list| pod["status"][list].as_array().unwrap());
    let of = |status: &Value| {
        let ended = &status["state"]["terminated"];
        let after = |time: &Value| (of_day(time) - begin).rem_euclid(86_400);
        (status["name"].as_str().unwrap().to_owned(), after(&ended["startedAt"]), after(&ended["finishedAt"]))
    };
    let steps: Vec<_> = statuses.into_iter().flatten().map(of).collect();
    assert!(steps.windows(2).all(|pair| pair[0].2 <= pair[1].1), "{steps:?}");
    steps
}

/// The second of its day of a time such as `2024-01-31T10:20:30Z`.
fn of_day(time: &Value) -> i64 {
    let time = time.as_str().unwrap_or_else(|| panic!("no time: {time}"));
    let clock = time.split_once('T').unwrap().1.trim_end_matches('Z');
    clock.split(':').fold(0, |seconds, part| seconds * 60 + part.parse::<i64>().unwrap())
}

/// Takes the sets of the group from the cluster, with their pods.
fn take_sets(nats: &Gathered) -> Vec<Value> {
    let selector = "quarks.cloudfoundry.org/instance-group-name=nats";
    let list = nats.namespace.kubectl(&["get", "statefulsets", "--selector", selector, "--output", "json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    nats.namespace.kubectl(&["delete", "statefulsets", "--selector", selector, "--cascade=foreground"]);
    nats.namespace.wait_until("no pod is left", || nats.pods("nats").is_empty());
    list["items"].as_array().unwrap().clone()
}

/// Applies the sets under other names, changed; gives the time until all pods are ready, and removes them.
fn apply(nats: &Gathered, sets: &[Value], suffix: &str, change: impl Fn(&mut Value)) -> Duration {
    let objects = sets.iter().map(|set| {
        let name = format!("{}-{suffix}", set["metadata"]["name"].as_str().unwrap());
        let mut spec = set["spec"].clone();
        let label = |labels: &mut Value| labels["quarks.cloudfoundry.org/instance-group-name"] = json!(suffix);
        label(&mut spec["selector"]["matchLabels"]);
        label(&mut spec["template"]["metadata"]["labels"]);
        change(&mut spec["template"]["spec"]);
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec})
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>()});
    let start = Instant::now();
    nats.namespace.apply(&list.to_string());
    nats.namespace.wait_until(&format!("{suffix} is ready"), || ready(nats, suffix) == INSTANCES);
    let time = start.elapsed();
    let names: Vec<String> = list["items"].as_array().unwrap().iter().map(name_of).collect();
    let arguments = ["delete", "statefulsets", "--cascade=foreground"].into_iter();
    nats.namespace.kubectl(&arguments.chain(names.iter().map(String::as_str)).collect::<Vec<_>>());
    nats.namespace.wait_until(&format!("{suffix} is deleted"), || nats.pods(suffix).is_empty());
    time
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// How many pods of a group are ready.
fn ready(nats: &Gathered, group: &str) -> usize {
    let is_ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|of| of["type"] == "Ready" && of["status"] == "True"))
    };
    nats.pods(group).iter().filter(is_ready).count()
}

/// Replaces the program of each container of a pod by one of the release's image that does nothing; with `only_one`, leaves one.
fn each_container(pod: &mut Value, only_one: bool) {
    let image = pod["containers"][0]["image"].clone();
    if only_one {
        pod["initContainers"] = json!([]);
        pod["containers"].as_array_mut().unwrap().truncate(1);
    }
    for list in ["initContainers", "containers"] {
        for container in pod[list].as_array_mut().unwrap() {
            let runs = list == "containers" || container["restartPolicy"] == "Always";
            container["image"] = image.clone();
            container["command"] = if runs { json!(["/bin/sleep", "infinity"]) } else { json!(["/bin/true"]) };
            container["args"] = json!([]);
            container.as_object_mut().unwrap().remove("lifecycle");
            for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
                if let Some(probe) = container.get_mut(probe).and_then(Value::as_object_mut) {
                    probe["exec"] = json!({"command": ["/bin/true"]});
                }
            }
        }
    }
    pod["terminationGracePeriodSeconds"] = json!(1);
}
