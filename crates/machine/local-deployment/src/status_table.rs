//! The rows of the status table.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::deployment::Member;
use crate::instance::Instance;
use crate::running::RunningDeployment;
use crate::supervised::{Supervised, View};
use local_state::control::{Health, Row, State};

/// All rows, in the deployment's order. Instances of errands have rows while they exist.
pub(crate) fn rows(running: &RunningDeployment) -> Vec<Row> {
    let deployment = running.deployment();
    let mut rows = Vec::new();
    let mut shown = BTreeSet::new();
    for group in &deployment.groups {
        for member in &group.members {
            match running.instance(&member.name) {
                Some(instance) => rows.extend(rows_of(&instance)),
                None if group.pod.is_errand() => continue,
                None => rows.push(row(member)),
            }
            shown.insert(member.name.clone());
        }
    }
    // Those that leave.
    let others = running.instances().into_iter().filter(|instance| !shown.contains(instance.name()));
    rows.extend(others.flat_map(|instance| rows_of(&instance)));
    rows
}

/// The rows of an instance: one for each process, or one for itself.
pub(crate) fn rows_of(instance: &Arc<Instance>) -> Vec<Row> {
    let (stage, since) = instance.stage();
    let own = Row { since, ..row(&instance.member) };
    let processes = instance.processes(None);
    if processes.is_empty() {
        let health = health(&stage, &[]);
        return vec![Row { state: stage, health, ..own }];
    }
    let health = health(&stage, &states(&processes));
    let rows = processes.into_iter().map(|(process, view)| Row {
        process: Some(process.name()),
        state: view.state,
        pid: view.pid.and_then(|pid| instance.pid_on_host(pid)),
        exit: view.exit,
        since: view.since,
        restarts: Some(view.restarts),
        health,
        ..own.clone()
    });
    rows.collect()
}

/// The state of an instance as BOSH's agent reports it.
pub(crate) fn health_of(instance: &Instance) -> Health {
    health(&instance.stage().0, &states(&instance.processes(None)))
}

fn states(processes: &[(Arc<Supervised>, View)]) -> Vec<State> {
    processes.iter().map(|(_, view)| view.state.clone()).collect()
}

/// The row of an instance whose turn has not come.
fn row(member: &Member) -> Row {
    Row {
        instance: member.name.clone(),
        az: member.instance.az.clone(),
        ip: member.ip.to_string(),
        process: None,
        state: State::Waiting,
        pid: None,
        exit: None,
        since: crate::supervised::now(),
        restarts: None,
        health: Health::Starting,
    }
}

/// What BOSH's agent reports of an instance whose processes are in these states.
fn health(stage: &State, processes: &[State]) -> Health {
    match stage {
        State::Stopped | State::Stopping => return Health::Stopped,
        State::Failed => return Health::Failing,
        State::Ready | State::Running => {}
        _ => return Health::Starting,
    }
    if processes.contains(&State::Starting) {
        Health::Starting
    } else if processes.iter().all(State::is_well) {
        Health::Running
    } else {
        Health::Failing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_runs_if_all_its_processes_do() {
        let ready = |states: &[State]| health(&State::Ready, states);
        assert_eq!(ready(&[]), Health::Running);
        assert_eq!(ready(&[State::Running, State::Running]), Health::Running);
        assert_eq!(ready(&[State::Running, State::Exited]), Health::Failing);
        assert_eq!(ready(&[State::Running, State::Stopped]), Health::Failing);
        assert_eq!(ready(&[State::Exited, State::Starting]), Health::Starting);
        assert_eq!(health(&State::Stage("pre-start".into()), &[]), Health::Starting);
        assert_eq!(health(&State::Failed, &[]), Health::Failing);
        assert_eq!(health(&State::Stopped, &[State::Stopped]), Health::Stopped);
    }
}
