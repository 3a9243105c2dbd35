//! Going down: within the processes' own stop time, and then nothing is left.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::{Engine, Event};
use crate::control::State;

/// How long an instance has to stop, its scripts and its processes: run-process keeps to it.
pub(super) const GRACE: Duration = Duration::from_secs(60);
/// How long a stop may take: who has not kept to it by then never will.
pub(crate) const STOP_LIMIT: Duration = GRACE.saturating_add(Duration::from_secs(3));

/// Stops all processes, the last group's first, then ends the network; gives whether the user did not want to wait.
pub(super) fn stop(engine: &Engine, events: &Receiver<Event>) -> bool {
    let step = engine.progress.step("stopping");
    let pods: Vec<_> = {
        let pods = engine.pods();
        let members = engine.deployment.groups.iter().rev().flat_map(|group| group.members.iter().rev());
        members.filter_map(|member| pods.get(&member.name).cloned()).collect()
    };
    for pod in &pods {
        pod.ask_to_stop(engine);
    }
    let started = Instant::now();
    while !engine.interrupt.is_urgent() {
        let rows = engine.board.rows();
        let rest: Vec<&str> =
            rows.iter().filter(|row| row.state == State::Stopping).map(|row| row.instance.as_str()).collect();
        if rest.is_empty() {
            break;
        }
        step.at(format!("stopping {}", rest.join(", ")));
        // Whatever wakes it, the board and the interrupt tell what has changed.
        if events.recv_timeout(STOP_LIMIT.saturating_sub(started.elapsed())).is_err() {
            engine.progress.line(&format!("killed after {} s: {}", STOP_LIMIT.as_secs(), rest.join(", ")));
            break;
        }
    }
    engine.network.stop();
    let killed = engine.interrupt.is_urgent();
    step.done(if killed { "killed" } else { "stopped" });
    killed
}
