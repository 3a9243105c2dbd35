//! Going down: within the processes' own stop time, and then nothing is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::instance::Instance;
use crate::report;
use crate::running::RunningDeployment;
use crate::supervised::StopLimit;
use crate::time_limits::STOP_LIMIT;
use local_state::control::State;

/// How often instances that stop are polled.
const INTERVAL: Duration = Duration::from_millis(20);

/// Stops all processes, the last group's first, then the network; returns whether the user asked to kill instead.
pub(crate) fn stop(running: &RunningDeployment) -> bool {
    let host = &running.host;
    // What a request is doing ends by itself, as it was interrupted.
    let _changing = running.wait_for_change();
    let step = host.progress.step("stopping");
    let deployment = running.deployment();
    let order = |instance: &Arc<Instance>| deployment.members().position(|member| member.name == instance.name());
    let mut instances = running.instances();
    instances.sort_by_key(|instance| std::cmp::Reverse(order(instance)));
    for instance in &instances {
        instance.set_stage(State::Stopping);
        // An instance whose sandbox has ended has nothing to skip.
        let _ = instance.skip_drain(running.skips_drain());
        instance.request_stop(None, StopLimit::Grace);
    }
    let started = Instant::now();
    while !host.interrupt.is_urgent() {
        let rest: Vec<&str> =
            instances.iter().filter(|instance| !instance.is_stopped(None)).map(|instance| instance.name()).collect();
        if rest.is_empty() {
            break;
        }
        step.at(format!("stopping {}", rest.join(", ")));
        if started.elapsed() > STOP_LIMIT {
            host.progress.line(&report::killed(&rest));
            break;
        }
        std::thread::sleep(INTERVAL);
    }
    host.network().stop();
    let killed = host.interrupt.is_urgent();
    step.done(if killed { "killed" } else { "stopped" });
    killed
}
