//! Answers the requests of the other verbs.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use problem::{Problem, Result};
use sandbox::{Channel, Listener};

use super::clients::{self, Client};
use super::failure::Failure;
use super::running::RunningDeployment;
use super::{errands, handover, operations, status_table};
use crate::control::{Reply, Request};

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
            for row in status_table::rows(running) {
                let _ = channel.send(&Reply::Row(row), &[]);
            }
        }
        Request::Stop => {
            let _ = channel.send(&Reply::Line(format!("stopping {}", running.deployment().name)), &[]);
            // Unlike a second Ctrl-C, a second `boson down` does not kill: it waits for the same end.
            if !running.host.interrupt.is_asked() {
                running.host.interrupt.trigger();
            }
            // The client waits for the connection's end, which is this process' end.
            loop {
                std::thread::park();
            }
        }
        Request::Deploy(deploy) => {
            answer_with(channel, |client| handover::take(running, &deploy, client.channel()).map(|()| 0));
        }
        Request::Change { action, instance, job } => {
            answer_with(channel, |client| operations::change(running, action, &instance, job.as_deref(), client));
        }
        Request::RunErrand(errand) => {
            run(channel, fds, |client, streams| errands::run(running, &errand, client, streams));
        }
        Request::Exec { instance, argv, terminal } => {
            let terminal = terminal.as_deref();
            run(channel, fds, |client, streams| clients::exec(running, &instance, &argv, terminal, client, streams));
        }
    }
}

/// Does what needs the client's standard streams, and sends how it ended.
fn run(
    channel: Channel,
    fds: Vec<OwnedFd>,
    what: impl FnOnce(&Client, &clients::Streams) -> std::result::Result<u8, Failure>,
) {
    let Ok(streams) = clients::Streams::new(fds) else { return };
    answer_with(channel, |client| what(client, &streams));
}

/// Does what the client asks for, and sends how it ended.
fn answer_with(channel: Channel, what: impl FnOnce(&Client) -> std::result::Result<u8, Failure>) {
    let Ok(client) = Client::new(channel) else { return };
    let reply = match what(&client) {
        Ok(code) => Reply::Exited(code),
        Err(failure) => {
            let (text, code) = failure.report();
            Reply::Failed { text, code }
        }
    };
    client.end(reply);
}
