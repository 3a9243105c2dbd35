//! The lines and messages about instances that `boson up` prints.

use problem::{Problem, code};
use sandbox::Exit;

use super::publish::Publish;
use crate::control::Row;

/// How a process ended.
pub(crate) fn exited(instance: &str, process: &str, exit: Exit) -> String {
    let how = match exit {
        Exit::Code(code) => format!("exited with status {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        Exit::Lost => "ended with its sandbox".to_owned(),
    };
    format!("{instance}: {process} {how}")
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
pub(crate) fn published(publish: &Publish) -> String {
    format!("published {}:{} on 127.0.0.1:{}", publish.instance, publish.port, publish.host_port)
}

/// A process that exited while its group was being started; `output` is the end of what it printed.
pub(crate) fn ended_early(instance: &str, process: &str, exit: u8, output: &str) -> Problem {
    let problem = Problem::internal(format!("{instance}: {process} ended during the start, exit status {exit}"))
        .code(code::PROCESS_ENDED);
    if output.is_empty() { problem } else { problem.because(format!("the end of its output:\n{output}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::State;

    #[test]
    fn lines_name_instance_and_process() {
        assert_eq!(exited("web/0", "web/idle", Exit::Signal(9)), "web/0: web/idle was killed by signal 9");
        assert_eq!(exited("web/0", "web/idle", Exit::Code(3)), "web/0: web/idle exited with status 3");
        assert_eq!(prepared("web", 1), "web: 1 instance prepared and started");
        assert_eq!(prepared("web", 2), "web: 2 instances prepared and started");
        let publish = "8222:nats/1:222".parse().unwrap();
        assert_eq!(published(&publish), "published nats/1:222 on 127.0.0.1:8222");
        let row = Row {
            instance: "web/0".into(),
            az: Some("z1".into()),
            ip: "10.244.0.2".into(),
            process: Some("web/idle".into()),
            state: State::Running,
            pid: None,
            exit: None,
            since: 0,
        };
        assert_eq!(running(&row), "  web/0 in z1 at 10.244.0.2: web/idle running");
        let bare = Row { az: None, process: None, state: State::Ready, ..row };
        assert_eq!(running(&bare), "  web/0 at 10.244.0.2: no process ready");
    }

    #[test]
    fn an_early_end_shows_the_end_of_the_output() {
        let problem = ended_early("web/0", "web/idle", 7, "out of memory\n").to_string();
        assert!(problem.starts_with("error: web/0: web/idle ended during the start, exit status 7"), "{problem}");
        assert!(problem.contains("the end of its output:") && problem.contains("out of memory"), "{problem}");
        assert!(!ended_early("web/0", "web/idle", 7, "").to_string().contains("output"));
    }
}
