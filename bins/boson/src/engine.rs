//! A deployment on this machine, from its input to its end.

mod clients;
mod deployment;
mod errands;
mod failure;
mod host;
mod input;
mod instance;
mod log_excerpt;
mod parallel;
mod prepare;
mod publish;
mod report;
mod running;
mod sandbox_spec;
mod server;
mod settings;
mod stages;
mod start;
mod start_policy;
mod state_files;
mod status_table;
mod stop;

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use problem::{Problem, Result, code};

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::state::{Lock, StateDir};
use failure::Failure;
use host::{Event, Host};
use input::Input;
pub(crate) use input::{Config, read_manifest};
pub(crate) use publish::Publish;
use running::RunningDeployment;

/// What is done when everything runs.
pub(crate) type Ready<'a> = &'a mut dyn FnMut(&StateDir, &Progress) -> Result<()>;

/// Brings the deployment up, calls `ready` when everything runs, and stays until it is to stop; returns the exit code.
pub(crate) fn up(config: Config, signals: Signals, ready: Ready) -> Result<u8> {
    let input = Input::read(config)?;
    let Some(lock) = input.dir.lock()? else {
        let message = format!("the deployment {} is up already", input.name);
        return Err(Problem::input(message).code(code::ALREADY_RUNNING).hint("boson down stops it").into());
    };
    let progress = Progress::new();
    if input.dir.record().is_some() {
        progress.line("removed what an earlier boson left");
        input.dir.clean()?;
    }
    let (events, receiver) = std::sync::mpsc::channel();
    let interrupt = Interrupt::default();
    let (of_signals, to_main) = (interrupt.clone(), events.clone());
    signals.forward(move || {
        of_signals.trigger();
        // The main thread has exited if nobody receives.
        let _ = to_main.send(Event::StopRequested);
    })?;
    match prepare::prepare(&input, progress, interrupt, events) {
        Ok(running) => hold(&input, &Arc::new(running), &receiver, lock, ready),
        Err(failure) => {
            let (text, code) = failure.report();
            output::error(&text);
            input.dir.remove(lock)?;
            Ok(code)
        }
    }
}

/// Starts everything, keeps it until it is to stop, stops it.
fn hold(
    input: &Input,
    running: &Arc<RunningDeployment>,
    events: &Receiver<Event>,
    lock: Lock,
    ready: Ready,
) -> Result<u8> {
    let host = &running.host;
    let result = server::listen(running)
        .map_err(Failure::from)
        .and_then(|()| start::start(running, events))
        .and_then(|()| Ok(ready(&host.dir, &host.progress)?))
        .map(|()| watch(host, &running.deployment.name, events));
    let (text, code) = match &result {
        Ok(()) => (String::new(), 0),
        Err(failure) => failure.report(),
    };
    if !text.is_empty() {
        output::error(&text);
    }
    let killed = stop::stop(running, events);
    if result.is_err() && code != 130 {
        let logs = input.dir.instances();
        output::error(&format!(
            "boson: what was logged stays in {} until the next `boson up` or `boson down`",
            logs.display()
        ));
        drop(lock);
    } else {
        input.dir.remove(lock)?;
    }
    Ok(if killed && code == 0 { 130 } else { code })
}

/// Prints what changes, until the stop is requested.
fn watch(host: &Host, deployment: &str, events: &Receiver<Event>) {
    host.progress.line(&format!("{deployment} is up; Ctrl-C or `boson down` stops it"));
    for event in events {
        match event {
            Event::Changed(text) => host.progress.line(&text),
            Event::Exited => {}
            Event::StopRequested => return,
        }
    }
}
