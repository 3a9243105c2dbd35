//! The lines and messages about instances that `boson up` prints.

use std::time::Duration;

use problem::{Problem, code};
use sandbox::Exit;

use crate::time_limits::STOP_LIMIT;
use local_state::control::Row;

/// How a process ended, and when it is started again.
pub(crate) fn exited(instance: &str, process: &str, exit: Exit, restart: Duration) -> String {
    let how = match exit {
        Exit::Code(code) => format!("exited with status {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        Exit::Lost => "ended with its sandbox".to_owned(),
    };
    if restart.is_zero() {
        format!("{instance}: {process} {how}; restarting")
    } else {
        format!("{instance}: {process} {how}; restarting in {}s", restart.as_secs())
    }
}

/// An update passed an instance that was stopped on request.
pub(crate) fn stays_stopped(instance: &str) -> String {
    format!("{instance}: stopped, and stays so; `boson start {instance}` starts it with this version")
}

/// What the supervisor of a process warns of.
pub(crate) fn warned(instance: &str, warning: &str) -> String {
    format!("{instance}: warning: {warning}")
}

/// What instances that are privileged in a user namespace lack.
pub(crate) fn privileged_without_root(group: &str) -> String {
    format!(
        "note: {group} is privileged without root: there are no device nodes (mknod, loop devices), no cgroups, and files keep \
         the owners that they have outside"
    )
}

/// That instances were killed because they did not stop in time.
pub(crate) fn killed(instances: &[&str]) -> String {
    format!("killed after {}s: {}", STOP_LIMIT.as_secs(), instances.join(", "))
}

/// That all instances of a group have been prepared.
pub(crate) fn prepared(group: &str, instances: usize) -> String {
    let plural = if instances == 1 { "" } else { "s" };
    format!("{group}: {instances} instance{plural} prepared and started")
}

/// A row of the status table as it is printed when the group runs.
pub(crate) fn running(row: &Row) -> String {
    let az = row.az.as_ref().map_or(String::new(), |az| format!(" in {az}"));
    let process = row.process.as_deref().unwrap_or("no process");
    format!("  {}{az} at {}: {process} {}", row.instance, row.ip, row.state)
}

/// That an instance's port can be reached on this machine.
pub(crate) fn published(instance: &str, port: u16, host_port: u16) -> String {
    format!("published {instance}:{port} on 127.0.0.1:{host_port}")
}

/// That an instance goes on although it was asked to stop.
pub(crate) fn not_stopped(instance: &str) -> String {
    format!("{instance} has not stopped after {}s", STOP_LIMIT.as_secs())
}

/// A process that does not run when the start has failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotRunning {
    pub(crate) job: String,
    /// `job/process`.
    pub(crate) process: String,
    /// How it ended last.
    pub(crate) exit: Option<u8>,
    /// The end of what its supervisor printed.
    pub(crate) output: String,
}

/// The instances that do not run when the start has failed; what fails in the same way is reported once.
pub(crate) fn all_not_running<'a>(instances: impl Iterator<Item = (&'a str, Vec<NotRunning>)>) -> Vec<Problem> {
    let mut alike: Vec<(Vec<&str>, Vec<NotRunning>)> = Vec::new();
    for (instance, failing) in instances.filter(|(_, failing)| !failing.is_empty()) {
        match alike.iter_mut().find(|(_, known)| *known == failing) {
            Some((instances, _)) => instances.push(instance),
            None => alike.push((vec![instance], failing)),
        }
    }
    alike.iter().map(|(instances, failing)| not_running(instances, failing)).collect()
}

/// Instances that do not run, in BOSH's words.
fn not_running(instances: &[&str], failing: &[NotRunning]) -> Problem {
    let mut jobs: Vec<&str> = failing.iter().map(|process| process.job.as_str()).collect();
    jobs.dedup();
    let names: Vec<String> = instances.iter().map(|instance| format!("'{instance}'")).collect();
    let (names, verb) = (names.join(", "), if instances.len() == 1 { "is" } else { "are" });
    let message = format!("{names} {verb} not running after update. Review logs for failed jobs: {}", jobs.join(", "));
    let mut problem = Problem::internal(message).code(code::PROCESS_ENDED);
    for NotRunning { process, exit, output, .. } in failing {
        let how = exit.map_or_else(|| "does not run".to_owned(), |exit| format!("exited with status {exit}"));
        let end = if output.is_empty() { String::new() } else { format!("; the end of its output:\n{output}") };
        problem = problem.because(format!("{process} {how}{end}"));
    }
    let (instance, job) = (instances.first().unwrap_or(&""), jobs.first().unwrap_or(&""));
    problem
        .hint(format!("boson logs {instance} --job {job} shows its logs, boson exec {instance} COMMAND looks around"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use local_state::control::{Health, State};

    #[test]
    fn lines_name_instance_and_process() {
        assert_eq!(
            exited("web/0", "web/idle", Exit::Signal(9), Duration::ZERO),
            "web/0: web/idle was killed by signal 9; restarting"
        );
        assert_eq!(
            exited("web/0", "web/idle", Exit::Code(3), Duration::from_secs(4)),
            "web/0: web/idle exited with status 3; restarting in 4s"
        );
        assert_eq!(prepared("web", 1), "web: 1 instance prepared and started");
        assert_eq!(prepared("web", 2), "web: 2 instances prepared and started");
        assert_eq!(published("nats/1", 222, 8222), "published nats/1:222 on 127.0.0.1:8222");
        let row = Row {
            instance: "web/0".into(),
            az: Some("z1".into()),
            ip: "10.244.0.2".into(),
            process: Some("web/idle".into()),
            state: State::Running,
            pid: None,
            exit: None,
            since: 0,
            restarts: Some(0),
            health: Health::Running,
        };
        assert_eq!(running(&row), "  web/0 in z1 at 10.244.0.2: web/idle running");
        let bare = Row { az: None, process: None, state: State::Ready, ..row };
        assert_eq!(running(&bare), "  web/0 at 10.244.0.2: no process ready");
    }

    #[test]
    fn an_instance_that_does_not_run_is_reported_as_bosh_does_with_the_end_of_the_output() {
        let process = |process: &str, exit, output: &str| NotRunning {
            job: "web".into(),
            process: format!("web/{process}"),
            exit,
            output: output.into(),
        };
        let failing = [process("web", Some(7), "out of memory\n"), process("idle", None, "")];
        let problem = not_running(&["web/0"], &failing).to_string();
        let start = "error: 'web/0' is not running after update. Review logs for failed jobs: web";
        assert!(problem.starts_with(start), "{problem}");
        for part in ["web/web exited with status 7; the end of its output:", "out of memory", "web/idle does not run"] {
            assert!(problem.contains(part), "{part:?} is not in {problem}");
        }
    }

    #[test]
    fn instances_that_fail_in_the_same_way_are_reported_once() {
        let failing = |exit| {
            let (job, process, output) = ("web".to_owned(), "web/web".to_owned(), String::new());
            vec![NotRunning { job, process, exit: Some(exit), output }]
        };
        let instances =
            [("web/0", failing(127)), ("web/1", failing(127)), ("web/2", failing(1)), ("web/3", Vec::new())];
        let messages: Vec<String> = all_not_running(instances.into_iter()).into_iter().map(|p| p.message).collect();
        let end = "not running after update. Review logs for failed jobs: web";
        assert_eq!(messages, [format!("'web/0', 'web/1' are {end}"), format!("'web/2' is {end}")]);
    }
}
