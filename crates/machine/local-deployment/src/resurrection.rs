//! Instances whose sandboxes have ended are made again, as BOSH resurrects VMs.

use std::sync::Arc;
use std::time::Duration;

use sandbox::ProcessId;

use crate::instance::Instance;
use crate::running::RunningDeployment;
use crate::{name_server, start};
use local_state::control::State;
use local_state::output;

/// How often instances are polled: their first processes are not children of this one.
const INTERVAL: Duration = Duration::from_millis(500);

/// Watches the instances and their network from now on, in a thread of its own.
pub(crate) fn watch(running: &Arc<RunningDeployment>) -> problem::Result<()> {
    let running = Arc::clone(running);
    let spawned = std::thread::Builder::new().name("resurrection".to_owned()).spawn(move || {
        while !running.host.interrupt.wait_for(INTERVAL) {
            if !running.host.network().process().is_some_and(ProcessId::is_alive) {
                restore_network(&running);
            }
            resurrect(&running);
        }
        // A network ends with the thread that made it, and this one may have made the current one.
        loop {
            std::thread::park();
        }
    });
    Ok(spawned.map(drop).map_err(|e| problem::Problem::internal("cannot start a thread").because(e))?)
}

/// The process that holds the network was killed, and all instances ended with it: makes another network for them.
fn restore_network(running: &Arc<RunningDeployment>) {
    if running.host.interrupt.is_asked() {
        return;
    }
    running
        .host
        .progress
        .line("the network of the deployment has ended, and all instances with it; starting them again");
    if let Err(problems) = new_network(running) {
        output::error(&format!("{problems}\n  hint: the deployment has ended; boson up starts it again"));
        std::process::exit(i32::from(problems.exit_code()));
    }
}

fn new_network(running: &Arc<RunningDeployment>) -> problem::Result<()> {
    let host = &running.host;
    host.replace_network(super::start_network(&host.dir)?);
    running.record()?;
    name_server::start(running)?;
    running.published.forward_again(host, &running.deployment())
}

fn resurrect(running: &RunningDeployment) {
    let is_lost = |instance: &Arc<Instance>| {
        !instance.is_alive() && !instance.group().pod.is_errand() && instance.stage().0 != State::Stopped
    };
    if !running.instances().iter().any(is_lost) {
        return;
    }
    // While the deployment changes, instances come and go.
    let Ok(_changing) = running.change() else { return };
    for instance in running.instances().iter().filter(|instance| is_lost(instance)) {
        let (name, deployment) = (instance.name(), running.deployment());
        let Some(member) = deployment.member(name) else { continue };
        running.host.progress.line(&format!("{name}: its sandbox has ended; starting it again"));
        let watch = instance.group().update.update_watch_time;
        let result = start::replace(running, &deployment, &[member], 1)
            .and_then(|instances| start::wait_until_running(&running.host, &instances, watch));
        match result {
            Ok(()) => running.host.progress.line(&format!("{name}: runs again")),
            Err(failure) => running.host.progress.line(&failure.report().0),
        }
    }
}
