//! What the last runs of a deployment did, as `kubectl boson tasks` shows it: in a ConfigMap, bounded, without any value of a property.

use cluster::{Apply, Cluster, Kind, Object};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The runs that are kept.
const MAX_TASKS: usize = 30;
/// The instances, and the objects, that a run names.
const MAX_NAMES: usize = 100;
/// The bytes of a message.
const MAX_MESSAGE: usize = 1000;
/// The key of the ConfigMap.
const KEY: &str = "tasks.json";
/// Writers that race each other need one try each.
const TRIES: u32 = 100;

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub task: u32,
    /// The command: `apply`, `recreate`, `rollback`.
    pub command: String,
    /// The person who has started it; nothing if that is not known.
    pub by: String,
    /// The process: that of the Lease.
    pub holder: String,
    /// Its gather Job.
    pub job: Option<String>,
    /// The run whose documents it applied, as `versions` lists it.
    pub run: Option<u32>,
    /// When it has begun.
    pub started: String,
    /// When it has ended.
    pub ended: Option<String>,
    /// How far it is.
    pub state: State,
    /// Why it failed.
    pub message: Option<String>,
    /// The instances that it has replaced.
    pub replaced: Vec<String>,
    /// The objects that it has made, changed or deleted.
    pub objects: Vec<String>,
    /// How many more instances and objects there were.
    pub more: usize,
}

/// How far a run is, in the words of BOSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is under way.
    Processing,
    /// It has succeeded.
    Done,
    /// It has failed.
    Error,
    /// A person has cancelled it.
    Cancelled,
    /// It was interrupted or killed.
    Interrupted,
}

impl State {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Processing => "processing",
            State::Done => "done",
            State::Error => "error",
            State::Cancelled => "cancelled",
            State::Interrupted => "interrupted",
        }
    }
}

impl Task {
    /// A run that begins.
    pub(crate) fn new(command: &str, by: &str, holder: &str, job: Option<String>, started: String) -> Task {
        Task {
            task: 0,
            command: command.to_owned(),
            by: by.to_owned(),
            holder: holder.to_owned(),
            job,
            run: None,
            started,
            ended: None,
            state: State::Processing,
            message: None,
            replaced: Vec::new(),
            objects: Vec::new(),
            more: 0,
        }
    }

    /// Takes note of an instance that was replaced.
    pub(crate) fn replaced(&mut self, instance: String) {
        add(&mut self.replaced, &mut self.more, instance);
    }

    /// Takes note of an object that was made, changed or deleted.
    pub(crate) fn object(&mut self, object: String) {
        add(&mut self.objects, &mut self.more, object);
    }

    /// Takes note of its end.
    pub(crate) fn end(&mut self, state: State, message: Option<String>, ended: String) {
        let cut = |text: String| {
            text.chars()
                .scan(0, |length, letter| {
                    *length += letter.len_utf8();
                    (*length <= MAX_MESSAGE).then_some(letter)
                })
                .collect()
        };
        (self.state, self.message, self.ended) = (state, message.map(cut), Some(ended));
    }
}

fn add(names: &mut Vec<String>, more: &mut usize, name: String) {
    if names.len() < MAX_NAMES { names.push(name) } else { *more += 1 }
}

/// The runs of a deployment that are kept, the last one first.
///
/// # Errors
/// A ConfigMap of others, or one that cannot be read; failures of the cluster.
pub fn read(cluster: &Cluster, deployment: &str) -> Result<Vec<Task>> {
    let name = objects::tasks(deployment);
    let Some(present) = cluster.get(Kind::CONFIG_MAP, &name)? else { return Ok(Vec::new()) };
    objects::check_owner(&present, Kind::CONFIG_MAP.kind, deployment)?;
    let text = present["data"][KEY].as_str().unwrap_or_default();
    let invalid = |error| {
        let problem = Problem::internal(format!("ConfigMap {name} is not a list of runs")).because(error);
        problem.code(code::DOCUMENT_INVALID).hint(format!("kubectl delete configmap {name} forgets the runs"))
    };
    Ok(serde_json::from_str(text).map_err(invalid)?)
}

/// Writes what is known of a run; one without a number gets the next one. Runs before it that have not ended are not under way any more,
/// because it has the Lease.
///
/// # Errors
/// A ConfigMap of others; failures of the cluster.
pub(crate) fn write(cluster: &Cluster, deployment: &str, owner: &Object, task: &mut Task) -> Result<()> {
    let name = objects::tasks(deployment);
    let labels = json!({"app.kubernetes.io/managed-by": objects::MANAGER, objects::KIND: "tasks",
        objects::DEPLOYMENT: objects::deployment_label(deployment)});
    for _ in 0..TRIES {
        let present = cluster.get(Kind::CONFIG_MAP, &name)?;
        if let Some(present) = &present {
            objects::check_owner(present, Kind::CONFIG_MAP.kind, deployment)?;
        }
        let text = present.as_ref().and_then(|present| present["data"][KEY].as_str()).unwrap_or_default();
        // A list that cannot be read begins anew: it must not keep a deployment from being updated.
        let mut tasks: Vec<Task> = serde_json::from_str(text).unwrap_or_default();
        put(&mut tasks, task);
        let text = serde_json::to_string(&tasks).unwrap_or_default();
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "data": {KEY: text},
        });
        // The first run has the Lease: no other one makes it.
        if let Some(present) = &present {
            object["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
        }
        let how = Apply { manager: objects::MANAGER, force: true, dry_run: false };
        if cluster.try_apply(&object, how)?.is_some() {
            return Ok(());
        }
    }
    Err(Problem::internal(format!("ConfigMap {name} changes all the time")).code(code::CLUSTER_CONFLICT).into())
}

/// Puts a run among the others, the last one first.
fn put(tasks: &mut Vec<Task>, task: &mut Task) {
    if task.task == 0 {
        let before = tasks.iter_mut().filter(|task| task.state == State::Processing);
        before.for_each(|task| task.state = State::Interrupted);
        task.task = tasks.iter().map(|task| task.task).max().unwrap_or_default() + 1;
        tasks.insert(0, task.clone());
    } else {
        let number = task.task;
        tasks.iter_mut().filter(|known| known.task == number).for_each(|known| known.clone_from(task));
    }
    tasks.truncate(MAX_TASKS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered_and_bounded() {
        let new = || Task::new("apply", "me", "pod", None, "now".to_owned());
        let mut tasks = Vec::new();
        for number in 1..=40 {
            let mut task = new();
            put(&mut tasks, &mut task);
            assert_eq!(task.task, number);
            // One that was killed has no end.
            if number % 2 == 0 {
                task.end(State::Done, None, "later".to_owned());
                put(&mut tasks, &mut task);
            }
        }
        assert_eq!((tasks.len(), tasks[0].task, tasks[0].state), (30, 40, State::Done));
        assert_eq!(tasks[1].state, State::Interrupted);
        let mut task = new();
        (0..300).for_each(|number| task.replaced(format!("web/{number}")));
        task.end(State::Error, Some("ä".repeat(MAX_MESSAGE)), String::new());
        assert_eq!((task.replaced.len(), task.more), (MAX_NAMES, 200));
        assert_eq!(task.message.unwrap().len(), MAX_MESSAGE);
    }
}
