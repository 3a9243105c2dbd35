//! A run that may change a deployment: it holds the deployment's Lease, and keeps what it does for `kubectl boson tasks`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cluster::{Cluster, Connection, Kind};
use kubernetes_objects as objects;
use problem::{Problem, Problems, Result, code};

use crate::documents::anchor;
use crate::events::{self, Subject};
use crate::interrupt::Interrupt;
use crate::lease::{self, Beside, Lease, Lost, RENEWAL, VALID};
use crate::tasks::{self, State, Task};

/// How long a run waits until its Lease is renewed: the API server may be away.
const PATIENCE: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(50);
/// How long a process that is to end gives the Lease back.
const LAST_ACT: Duration = Duration::from_secs(5);

/// Who updates a deployment.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The command: `apply`, `recreate`, `rollback`.
    pub command: &'static str,
    /// The person.
    pub by: String,
    /// The process, as other runs see it. One of the same name was this one.
    pub holder: String,
    /// The gather Job.
    pub job: Option<String>,
    /// What it does while another run is under way.
    pub beside: Beside,
}

impl Runner {
    /// The `deploy` of a gather Job.
    ///
    /// # Errors
    /// Failures of the cluster.
    pub(crate) fn of_job(cluster: &Cluster, job: Option<&str>) -> Result<Runner> {
        let job_object = job.map_or(Ok(None), |job| cluster.get(Kind::JOB, job))?;
        let by = job_object.as_ref().and_then(|job| job["metadata"]["annotations"][objects::STARTED_BY].as_str());
        // Of a pod, its name, whatever the Job was called: the pod of another try is another process.
        let holder = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(host);
        let (by, job) = (by.unwrap_or("unknown").to_owned(), job.map(str::to_owned));
        Ok(Runner { command: "apply", by, holder, job, beside: Beside::Wait })
    }

    /// A command on a person's machine.
    pub fn of_person(command: &'static str, beside: Beside) -> Runner {
        let by = person();
        let holder = format!("{by}: kubectl boson {command}, process {}", std::process::id());
        Runner { command, by, holder, job: None, beside }
    }
}

/// The person who has started this process: USER@HOST.
pub fn person() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    let user = user.unwrap_or_else(|| format!("uid {}", nix::unistd::Uid::current()));
    format!("{user}@{}", host())
}

/// The name of this machine; of a pod, its name.
pub(crate) fn host() -> String {
    nix::unistd::gethostname().map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
}

/// A run that holds a deployment.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
    orders: Sender<End>,
}

struct Shared {
    task: Mutex<Task>,
    /// Whether the task has changed since it was written.
    is_new: AtomicBool,
    /// When the Lease was renewed.
    renewed: Mutex<Instant>,
    lost: Mutex<Option<Lost>>,
}

/// How a run ends.
struct End {
    state: State,
    message: Option<String>,
    /// Is sent to when the Lease was given back.
    done: Sender<()>,
}

/// A thread that panics while it has a lock leaves complete values.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("task", &locked(&self.shared.task).task).finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a run: gets the Lease of the deployment, and writes that it is under way. A signal that ends the process gives the Lease back.
    ///
    /// # Errors
    /// A deployment that does not exist; another run that is under way; failures of the cluster.
    pub fn begin(connection: &Connection, deployment: &str, runner: &Runner, interrupt: &Interrupt) -> Result<Session> {
        // The thread has a connection of its own: it renews the Lease while the run waits for an answer.
        let cluster = Cluster::connect(connection)?;
        let anchor = anchor(&cluster, deployment)?;
        let lease = Lease::acquire(&cluster, &anchor, deployment, &runner.holder, runner.beside)?;
        let renewed = Instant::now();
        let task = Task::new(runner.command, &runner.by, &runner.holder, runner.job.clone(), lease::now());
        let shared = Arc::new(Shared {
            task: Mutex::new(task),
            is_new: AtomicBool::new(true),
            renewed: Mutex::new(renewed),
            lost: Mutex::default(),
        });
        let (orders, received) = channel();
        let keeper = Keeper { cluster, lease, deployment: deployment.to_owned(), shared: Arc::clone(&shared) };
        keeper.write();
        keeper.report("RunStarted", "Normal", &format!("{} by {}", runner.command, runner.by));
        let thread = std::thread::Builder::new().name("lease".to_owned()).spawn(move || keeper.keep(&received));
        thread.map_err(|error| Problem::internal("cannot start a thread").because(error))?;
        let stop = orders.clone();
        let act = move || {
            let _ = end(&stop, State::Interrupted, None, Some(LAST_ACT));
        };
        interrupt.set_last_act(Some(Box::new(act)));
        Ok(Session { shared, orders })
    }

    /// Checks that no other run can have taken the deployment over. To be called before each change.
    ///
    /// # Errors
    /// If another run has, or a person has cancelled this one; if the Lease cannot be renewed.
    pub fn check(&self) -> Result<()> {
        let start = Instant::now();
        loop {
            if let Some(lost) = &*locked(&self.shared.lost) {
                return Err(lost.problem().into());
            }
            if locked(&self.shared.renewed).elapsed() < VALID {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let message = format!("the Lease of the run cannot be renewed for {}s", PATIENCE.as_secs());
                return Err(Problem::internal(message).code(code::CLUSTER_UNREACHABLE).into());
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Takes note of what the run does.
    pub(crate) fn note(&self, note: impl FnOnce(&mut Task)) {
        note(&mut locked(&self.shared.task));
        self.shared.is_new.store(true, Ordering::Release);
    }

    /// The number of the run as a task; 0 if it could not be written.
    pub(crate) fn task(&self) -> u32 {
        locked(&self.shared.task).task
    }

    /// Ends the run: writes its result, and gives the Lease back.
    pub fn end<T>(&self, result: &Result<T>, interrupt: &Interrupt) {
        interrupt.set_last_act(None);
        let message = result.as_ref().err().and_then(first_message);
        let state = if result.is_ok() { State::Done } else { State::Error };
        let _ = end(&self.orders, state, message, None);
    }
}

/// The message of the first problem without its notes, which have ends of the output of processes.
fn first_message(problems: &Problems) -> Option<String> {
    problems.iter().next().map(|problem| problem.message.clone())
}

/// Has the thread end, and waits until it has done so.
fn end(
    orders: &Sender<End>,
    state: State,
    message: Option<String>,
    limit: Option<Duration>,
) -> std::result::Result<(), RecvTimeoutError> {
    let (done, ended) = channel();
    // A thread that has ended already does not receive it.
    if orders.send(End { state, message, done }).is_err() {
        return Ok(());
    }
    match limit {
        Some(limit) => ended.recv_timeout(limit),
        None => ended.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

/// What renews the Lease.
struct Keeper {
    cluster: Cluster,
    lease: Lease,
    deployment: String,
    shared: Arc<Shared>,
}

impl Keeper {
    fn keep(self, orders: &Receiver<End>) {
        loop {
            match orders.recv_timeout(RENEWAL) {
                Err(RecvTimeoutError::Timeout) => {
                    self.renew();
                    self.write();
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(End { state, message, done }) => {
                    self.end(state, message);
                    let _ = done.send(());
                    return;
                }
            }
        }
    }

    fn renew(&self) {
        if locked(&self.shared.lost).is_some() {
            return;
        }
        // Before the request: the server counts from its arrival.
        let now = Instant::now();
        match self.lease.renew(&self.cluster) {
            Ok(None) => *locked(&self.shared.renewed) = now,
            Ok(lost) => *locked(&self.shared.lost) = lost,
            // The next try may succeed; without it, nothing is changed any more.
            Err(_) => {}
        }
    }

    fn end(&self, state: State, message: Option<String>) {
        let lost = self.lease.release(&self.cluster).unwrap_or_default();
        let (state, message) = match lost {
            Some(Lost::Cancelled(by)) if state != State::Done => (State::Cancelled, Some(format!("by {by}"))),
            _ => (state, message),
        };
        let (reason, kind) = if state == State::Done { ("RunSucceeded", "Normal") } else { ("RunFailed", "Warning") };
        self.report(reason, kind, message.as_deref().unwrap_or(state.as_str()));
        locked(&self.shared.task).end(state, message, lease::now());
        self.shared.is_new.store(true, Ordering::Release);
        self.write();
    }

    /// An event of the deployment's anchor.
    fn report(&self, reason: &str, kind: &str, message: &str) {
        let task = locked(&self.shared.task).task;
        let about = Subject { object: self.lease.owner(), step: task };
        events::report(&self.cluster, &about, (kind, reason), &format!("task {task}: {message}"));
    }

    /// Writes what is known of the run. If that fails, the run goes on, and the next call tries again.
    fn write(&self) {
        if !self.shared.is_new.swap(false, Ordering::AcqRel) {
            return;
        }
        let mut task = locked(&self.shared.task).clone();
        let written = tasks::write(&self.cluster, &self.deployment, self.lease.owner(), &mut task);
        match written {
            Ok(()) => locked(&self.shared.task).task = task.task,
            Err(problems) => {
                let why = first_message(&problems).unwrap_or_default();
                tracing::debug!("what the run does cannot be written: {why}");
                self.shared.is_new.store(true, Ordering::Release);
            }
        }
    }
}
