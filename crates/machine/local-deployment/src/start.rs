//! Making and starting instances, and waiting until they run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use handoff::deployment::WatchTime;
use problem::Problems;

use crate::deployment::{Deployment, Member};
use crate::failure::Failure;
use crate::host::Host;
use crate::instance::Instance;
use crate::log_excerpt::{content, last_distinct_lines_with, warnings};
use crate::parallel::for_each;
use crate::report;
use crate::running::RunningDeployment;
use crate::start_policy::{Decision, Observation, PostStart, StartWatch, cannot_run};
use crate::supervised::{StopLimit, Supervised, View};
use local_state::control::State;

/// How often the state of processes and scripts is polled.
const INTERVAL: Duration = Duration::from_millis(50);

/// Makes these instances, some of them at the same time, and starts their processes; those that exist are stopped before and
/// replaced.
pub(crate) fn replace(
    running: &RunningDeployment,
    deployment: &Arc<Deployment>,
    members: &[&Member],
    at_a_time: usize,
) -> Result<Vec<Arc<Instance>>, Failure> {
    for_each(members, at_a_time, |member| {
        if let Some(old) = running.instance(&member.name) {
            remove(running, &old);
        }
        if running.host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let instance = Arc::new(Instance::create(&running.host, deployment, member)?);
        running.add(&instance);
        instance.prepare(&running.host)?;
        instance.start_processes(&running.host)
    })?;
    Ok(members.iter().filter_map(|member| running.instance(&member.name)).collect())
}

/// Stops an instance as BOSH does, and removes its sandbox.
pub(crate) fn remove(running: &RunningDeployment, instance: &Instance) {
    // Without the file there is nothing to skip.
    let _ = instance.skip_drain(running.skips_drain());
    instance.request_stop(None, StopLimit::None);
    let progress = &running.host.progress;
    if !instance.wait_until_stopped(None, &running.host, &|line| progress.line(line)) {
        running.host.progress.line(&report::killed(&[instance.name()]));
    }
    instance.kill();
    running.remove(instance.name());
}

/// Waits until every process of the instances runs, and has run for a moment, and until their post-start scripts have
/// succeeded.
pub(crate) fn wait_until_running(host: &Host, instances: &[Arc<Instance>], watch: WatchTime) -> Result<(), Failure> {
    wait_for_processes(host, instances, None, watch)?;
    wait_for_post_start(host, instances)?;
    for instance in instances {
        instance.set_complete(true);
        report_warnings(host, instance);
    }
    Ok(())
}

/// What a sandbox and run-process warn of: limits and privileges that a process does not get.
fn report_warnings(host: &Host, instance: &Instance) {
    instance.report_limits(host);
    for (process, _) in instance.views(None) {
        for warning in warnings(&content(&instance.process_log(&process.name()))) {
            host.progress.line(&report::warned(instance.name(), &warning));
        }
    }
}

/// Waits until every process runs, or those of one job, and has run for a moment.
pub(crate) fn wait_for_processes(
    host: &Host,
    instances: &[Arc<Instance>],
    job: Option<&str>,
    watch: WatchTime,
) -> Result<(), Failure> {
    let limit = Duration::from_millis(watch.to);
    let started = Instant::now();
    let mut start = StartWatch::new(limit);
    loop {
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let views: Vec<Vec<_>> = instances.iter().map(|instance| instance.views(job)).collect();
        let all = || views.iter().flatten();
        let exits = || all().filter(|(_, view)| view.state != State::Running).map(|(_, view)| view.exit);
        let observation = Observation {
            has_processes: all().any(|(supervised, _)| supervised.process.is_some()),
            all_run: all().all(|(_, view)| view.state == State::Running),
            cannot_run: exits().any(|exit| exit.is_some_and(cannot_run)) && exits().all(|exit| exit.is_some()),
        };
        match start.observe(started.elapsed(), observation) {
            Decision::Wait => std::thread::sleep(INTERVAL),
            Decision::Started => return Ok(()),
            Decision::Failed => {
                // What was seen, and not what is to be seen now: a process may just be in another attempt.
                let failing = instances.iter().zip(views).map(|(instance, views)| not_running(instance, views));
                return Ok(Problems::check(report::all_not_running(failing))?);
            }
        }
    }
}

/// The processes of an instance that did not run when they were viewed.
fn not_running(instance: &Instance, views: Vec<(Arc<Supervised>, View)>) -> (&str, Vec<report::NotRunning>) {
    let failing = views.into_iter().filter(|(_, view)| view.state != State::Running);
    let failing = failing.map(|(process, view)| report::NotRunning {
        job: process.job.clone(),
        process: process.name(),
        exit: view.exit,
        // Each attempt mostly prints the same.
        output: last_distinct_lines_with(&content(&instance.process_log(&process.name())), ""),
    });
    (instance.name(), failing.collect())
}

/// Waits for the post-start scripts, which run beside the processes.
fn wait_for_post_start(host: &Host, instances: &[Arc<Instance>]) -> Result<(), Failure> {
    loop {
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let outcomes: Vec<PostStart> =
            instances.iter().map(|instance| PostStart::of(&instance.script_states("post-start"))).collect();
        // What fails in one instance mostly fails in all of them: they are reported together, after the last has ended.
        if !outcomes.contains(&PostStart::Pending) {
            let failures = instances.iter().zip(outcomes).filter_map(|(instance, outcome)| match outcome {
                PostStart::Failed(code) => {
                    Some(instance.failed("post-start", instance.script_output("post-start"), code))
                }
                PostStart::Pending | PostStart::Succeeded => None,
            });
            return Failure::all(failures.collect());
        }
        std::thread::sleep(INTERVAL);
    }
}
