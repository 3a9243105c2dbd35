//! Answers the requests of the other verbs.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use problem::{Problem, Result};
use sandbox::{Channel, Listener};

use crate::clients::{self, Client};
use crate::failure::Failure;
use crate::running::RunningDeployment;
use crate::{errands, handover, operations, preview, status_table};
use local_state::control::{Reply, Request};

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

/// Every request gets a last reply. Failures to send are ignored: a client that has exited needs no answer.
fn answer(running: &RunningDeployment, channel: Channel) {
    let (request, fds) = match channel.receive::<Request>() {
        Ok(Some(received)) => received,
        Ok(None) => return,
        Err(e) => return fail(&channel, "the deployment's boson cannot read the request", e),
    };
    match request {
        Request::Status => {
            for row in status_table::rows(running) {
                let _ = channel.send(&Reply::Row(row), &[]);
            }
            let _ = channel.send(&Reply::Exited(0), &[]);
        }
        Request::List(listing) => {
            for cells in running.deployment().list(listing) {
                let _ = channel.send(&Reply::Cells(cells), &[]);
            }
            let _ = channel.send(&Reply::Exited(0), &[]);
        }
        Request::Stop { skip_drain } => {
            running.skip_drain(skip_drain);
            let _ = channel.send(&Reply::Line(format!("stopping {}", running.deployment().name)), &[]);
            // It is answered when everything has stopped.
            running.host.stopping.add(channel);
            // Unlike a second Ctrl-C, a second `boson down` does not kill: it waits for the same end.
            if !running.host.interrupt.is_asked() {
                running.host.interrupt.trigger();
            }
        }
        Request::Deploy(deploy) => {
            answer_with(channel, |client| handover::take(running, &deploy, client.channel()).map(|()| 0));
        }
        Request::Preview(request) => {
            answer_with(channel, |_| preview::write(running, &request).map(|()| 0));
        }
        Request::Change { action, instance, job, skip_drain } => {
            let change = operations::Change { action, instance: &instance, job: job.as_deref(), skip_drain };
            answer_with(channel, |client| operations::change(running, &change, client));
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

/// Sends that nothing was done.
fn fail(channel: &Channel, what: &str, error: std::io::Error) {
    let (text, code) = Failure::from(Problem::internal(what).because(error)).report();
    let _ = channel.send(&Reply::Failed { text, code }, &[]);
}

/// Does what needs the client's standard streams, and sends how it ended.
fn run(
    channel: Channel,
    fds: Vec<OwnedFd>,
    what: impl FnOnce(&Client, &clients::Streams) -> std::result::Result<u8, Failure>,
) {
    let streams = match clients::Streams::new(fds) {
        Ok(streams) => streams,
        Err(e) => return fail(&channel, "cannot forward the standard streams", e),
    };
    answer_with(channel, |client| what(client, &streams));
}

/// Does what the client asks for, and sends how it ended.
fn answer_with(channel: Channel, what: impl FnOnce(&Client) -> std::result::Result<u8, Failure>) {
    let client = match Client::new(&channel) {
        Ok(client) => client,
        Err(e) => return fail(&channel, "cannot serve the request", e),
    };
    let reply = match what(&client) {
        Ok(code) => Reply::Exited(code),
        Err(failure) => {
            let (text, code) = failure.report();
            Reply::Failed { text, code }
        }
    };
    client.end(reply);
}
