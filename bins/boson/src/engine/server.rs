//! Answers the requests of the other verbs.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use handoff::process_state::State as ProcessStateName;
use problem::{Problem, Result};
use sandbox::{Channel, Listener};

use super::clients;
use super::failure::Failure;
use super::host::Event;
use super::running::RunningDeployment;
use crate::control::{Reply, Request, Row, State};

/// Answers from now on, each request in a thread of its own.
pub(crate) fn listen(running: &Arc<RunningDeployment>) -> Result<()> {
    let path = running.host.dir.control();
    let cannot = |e: std::io::Error| Problem::internal(format!("cannot listen at {}", path.display())).because(e);
    let listener = Listener::bind(&path).map_err(cannot)?;
    let running = Arc::clone(running);
    std::thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || {
            while let Ok(channel) = listener.accept() {
                let running = Arc::clone(&running);
                std::thread::spawn(move || answer(&running, channel));
            }
        })
        .map_err(cannot)?;
    Ok(())
}

/// Failures to send are ignored: a client that has exited needs no answer.
fn answer(running: &RunningDeployment, channel: Channel) {
    let Ok(Some((request, fds))) = channel.receive::<Request>() else { return };
    match request {
        Request::Status => {
            for row in rows(running) {
                let _ = channel.send(&Reply::Row(row), &[]);
            }
        }
        Request::Stop => {
            let _ = channel.send(&Reply::Line(format!("stopping {}", running.deployment.name)), &[]);
            // Unlike a second Ctrl-C, a second `boson down` does not kill: it waits for the same end.
            if !running.host.interrupt.is_asked() {
                running.host.interrupt.trigger();
            }
            running.host.report(Event::StopRequested);
            // The client waits for the connection's end, which is this process' end.
            loop {
                std::thread::park();
            }
        }
        Request::RunErrand { name } => {
            run(channel, fds, |client, stdio| super::errands::run(running, &name, client, stdio))
        }
        Request::Exec { instance, argv } => {
            run(channel, fds, |client, stdio| clients::exec(running, &instance, &argv, client, stdio));
        }
    }
}

/// Does what needs the client's standard streams, and sends how it ended.
fn run(
    channel: Channel,
    fds: Vec<OwnedFd>,
    what: impl FnOnce(&clients::Client, &clients::Streams) -> std::result::Result<u8, Failure>,
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

/// The status table, with process ids and what was stopped through `bpm`.
fn rows(running: &RunningDeployment) -> Vec<Row> {
    let instances = running.instances();
    let (mut pids, mut stopped) = (HashMap::new(), HashSet::new());
    for instance in &instances {
        let key = |process: String| (instance.name().to_owned(), process);
        pids.extend(instance.pids().into_iter().map(|(process, pid)| (key(process), pid)));
        stopped.extend(instance.processes_in(ProcessStateName::Stopped).into_iter().map(key));
    }
    let mut rows = running.host.status.rows();
    for row in &mut rows {
        let Some(process) = &row.process else { continue };
        let key = (row.instance.clone(), process.clone());
        if row.state == State::Running && stopped.contains(&key) {
            row.state = State::Stopped;
        }
        row.pid = pids.get(&key).copied();
    }
    rows
}
