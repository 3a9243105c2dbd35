//! Answers what the other verbs ask.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use problem::{Problem, Result};
use sandbox::{Channel, Listener};

use super::{Engine, Event, clients};
use crate::control::{Reply, Request, Row, State};

/// Answers from now on, each question in a thread of its own.
pub(super) fn listen(engine: &Arc<Engine>) -> Result<()> {
    let path = engine.dir.control();
    let cannot = |e: std::io::Error| Problem::internal(format!("cannot listen at {}", path.display())).because(e);
    let listener = Listener::bind(&path).map_err(cannot)?;
    let engine = Arc::clone(engine);
    std::thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || {
            while let Ok(channel) = listener.accept() {
                let engine = Arc::clone(&engine);
                std::thread::spawn(move || answer(&engine, channel));
            }
        })
        .map_err(cannot)?;
    Ok(())
}

/// A client that goes before it has its answer needs none.
fn answer(engine: &Arc<Engine>, channel: Channel) {
    let Ok(Some((request, fds))) = channel.receive::<Request>() else { return };
    match request {
        Request::Status => {
            for row in rows(engine) {
                let _ = channel.send(&Reply::Row(row), &[]);
            }
        }
        Request::Stop => {
            let _ = channel.send(&Reply::Line(format!("stopping {}", engine.deployment.name)), &[]);
            // Asking twice is no hurry here: a second `boson down` waits for the same end.
            if !engine.interrupt.is_asked() {
                engine.interrupt.trigger();
            }
            engine.tell(Event::StopAsked);
            // The client waits for the connection's end, which is this process' end.
            loop {
                std::thread::park();
            }
        }
        Request::RunErrand { name } => {
            run(channel, fds, |client, stdio| super::errands::run(engine, &name, client, stdio))
        }
        Request::Exec { instance, argv } => {
            run(channel, fds, |client, stdio| clients::exec(engine, &instance, &argv, client, stdio));
        }
    }
}

/// Does what needs the client's standard streams, and tells how it ended.
fn run(
    channel: Channel,
    fds: Vec<OwnedFd>,
    what: impl FnOnce(&clients::Client, &clients::Streams) -> std::result::Result<u8, super::Failure>,
) {
    let Ok(streams) = clients::Streams::new(fds) else { return };
    let Ok(client) = clients::Client::new(channel) else { return };
    let reply = match what(&client, &streams) {
        Ok(code) => Reply::Exited(code),
        Err(failure) => {
            let (text, code) = failure.report();
            Reply::Failed { text, code }
        }
    };
    client.end(reply);
}

/// The board with what only `/proc` knows.
fn rows(engine: &Engine) -> Vec<Row> {
    let pods: Vec<_> = engine.pods().iter().map(|(name, pod)| (name.clone(), Arc::clone(pod))).collect();
    let pids: Vec<_> =
        pods.iter().flat_map(|(name, pod)| pod.pids().into_iter().map(|(p, pid)| ((name.clone(), p), pid))).collect();
    let stopped: Vec<_> =
        pods.iter().flat_map(|(name, pod)| pod.stopped().into_iter().map(|p| (name.clone(), p))).collect();
    let mut rows = engine.board.rows();
    for row in &mut rows {
        let Some(process) = &row.process else { continue };
        if row.state == State::Running && stopped.iter().any(|(name, p)| *name == row.instance && p == process) {
            row.state = State::Stopped;
        }
        row.pid = pids.iter().find(|((name, p), _)| *name == row.instance && p == process).map(|(_, pid)| *pid);
    }
    rows
}
