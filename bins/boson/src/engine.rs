//! A deployment on this machine, from its input to its end.

mod board;
mod clients;
mod deployment;
mod errands;
mod failure;
mod input;
mod pod;
mod publish;
mod server;
mod stages;
mod start;
mod stop;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use problem::{Problem, Result};
use sandbox::Network;

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::state::{Lock, StateDir};
use crate::up::Options;
use board::Board;
use deployment::Deployment;
use failure::Failure;
use input::Input;
pub(crate) use input::read_manifest;
use pod::Pod;
pub(crate) use publish::Publish;
use stages::{Packages, Sources};
pub(crate) use stop::STOP_LIMIT;

/// A deployment that is up, or coming up.
#[derive(Debug)]
pub(crate) struct Engine {
    dir: StateDir,
    network: Network,
    deployment: Deployment,
    packages: Packages,
    sources: Sources,
    board: Board,
    progress: Progress,
    interrupt: Interrupt,
    events: Sender<Event>,
    published: Vec<(Publish, TcpListener)>,
    pods: Mutex<BTreeMap<String, Arc<Pod>>>,
}

/// What the main thread waits for.
#[derive(Debug)]
enum Event {
    /// A line for the user.
    Changed(String),
    /// A process has ended.
    Ended,
    /// Somebody wants the end.
    StopAsked,
}

impl Engine {
    fn pods(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Pod>>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: Event) {
        // The main thread listens as long as there is anything to tell.
        let _ = self.events.send(event);
    }
}

/// What is done when everything runs.
pub(crate) type Ready<'a> = &'a mut dyn FnMut(&StateDir, &Progress) -> Result<()>;

/// Brings the deployment up, calls `ready` when everything runs, and stays until it is to end; gives the exit code.
pub(crate) fn up(options: &Options, signals: Signals, ready: Ready) -> Result<u8> {
    let input = Input::read(options)?;
    let Some(lock) = input.dir.lock()? else {
        let message = format!("the deployment {} is up already", input.name);
        return Err(Problem::input(message).hint("boson down stops it").into());
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
        // The main thread has ended if nobody listens.
        let _ = to_main.send(Event::StopAsked);
    })?;
    match start::prepare(&input, progress, interrupt, events) {
        Ok(engine) => hold(&input, &Arc::new(engine), &receiver, lock, ready),
        Err(failure) => {
            let (text, code) = failure.report();
            output::complain(&text);
            input.dir.remove(lock)?;
            Ok(code)
        }
    }
}

/// Starts everything, keeps it until it is to end, ends it.
fn hold(input: &Input, engine: &Arc<Engine>, events: &Receiver<Event>, lock: Lock, ready: Ready) -> Result<u8> {
    let result = server::listen(engine)
        .map_err(Failure::from)
        .and_then(|()| start::start(engine, events))
        .and_then(|()| Ok(ready(&engine.dir, &engine.progress)?))
        .map(|()| watch(engine, events));
    let (text, code) = match &result {
        Ok(()) => (String::new(), 0),
        Err(failure) => failure.report(),
    };
    if !text.is_empty() {
        output::complain(&text);
    }
    let killed = stop::stop(engine, events);
    if result.is_err() && code != 130 {
        let logs = input.dir.instances();
        output::complain(&format!(
            "boson: what was logged stays in {} until the next `boson up` or `boson down`",
            logs.display()
        ));
        drop(lock);
    } else {
        input.dir.remove(lock)?;
    }
    Ok(if killed && code == 0 { 130 } else { code })
}

/// Shows what changes, until somebody wants the end.
fn watch(engine: &Engine, events: &Receiver<Event>) {
    engine.progress.line(&format!("{} is up; Ctrl-C or `boson down` stops it", engine.deployment.name));
    for event in events {
        match event {
            Event::Changed(text) => engine.progress.line(&text),
            Event::Ended => {}
            Event::StopAsked => return,
        }
    }
}
