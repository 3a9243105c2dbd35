//! Going down: within the processes' own stop time, and then nothing is left.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::host::Event;
use super::running::RunningDeployment;
use crate::control::State;
use crate::time_limits::STOP_LIMIT;

/// Stops all processes, the last group's first, then the network; returns whether the user asked to kill instead.
pub(crate) fn stop(running: &RunningDeployment, events: &Receiver<Event>) -> bool {
    let host = &running.host;
    let step = host.progress.step("stopping");
    let members = running.deployment.groups.iter().rev().flat_map(|group| group.members.iter().rev());
    let instances: Vec<_> = members.filter_map(|member| running.instance(&member.name)).collect();
    for instance in &instances {
        instance.request_stop(host);
    }
    let started = Instant::now();
    while !host.interrupt.is_urgent() {
        let rows = host.status.rows();
        let rest: Vec<&str> =
            rows.iter().filter(|row| row.state == State::Stopping).map(|row| row.instance.as_str()).collect();
        if rest.is_empty() {
            break;
        }
        step.at(format!("stopping {}", rest.join(", ")));
        // Whatever event it is: the status table and the interrupt have what has changed.
        if events.recv_timeout(STOP_LIMIT.saturating_sub(started.elapsed())).is_err() {
            host.progress.line(&format!("killed after {} s: {}", STOP_LIMIT.as_secs(), rest.join(", ")));
            break;
        }
    }
    host.network.stop();
    let killed = host.interrupt.is_urgent();
    step.done(if killed { "killed" } else { "stopped" });
    killed
}
