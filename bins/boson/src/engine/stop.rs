//! Going down: within the processes' own stop time, and then nothing is left.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Engine, Event};
use crate::control::State;

/// How long a stop may take: BPM gives a process 15 seconds from TERM and 2 more from QUIT.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(15 + 2 + 3);

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
    let mut killed = false;
    loop {
        let rest: Vec<String> = engine
            .board
            .rows()
            .into_iter()
            .filter(|row| row.state == State::Stopping)
            .map(|row| row.instance)
            .collect();
        if rest.is_empty() {
            break;
        }
        step.at(format!("stopping {}", rest.join(", ")));
        let left = STOP_LIMIT.saturating_sub(started.elapsed());
        match events.recv_timeout(left) {
            Ok(Event::Changed(_) | Event::Ended) => {}
            Ok(Event::StopAsked) => killed = true,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                engine.progress.line(&format!("killed after {} s: {}", STOP_LIMIT.as_secs(), rest.join(", ")));
                break;
            }
        }
        if killed {
            break;
        }
    }
    engine.network.stop();
    step.done(if killed { "killed" } else { "stopped" });
    killed
}
