//! The connection of a verb to a deployment that is up.

use std::os::fd::BorrowedFd;

use problem::{Problem, Result, code};
use sandbox::Channel;

use crate::control::{Reply, Request};
use crate::output;
use crate::state::StateDir;

/// The connection, if the deployment is up.
pub(crate) fn connect(dir: &StateDir) -> Option<Channel> {
    Channel::connect(&dir.control()).ok()
}

/// As [`connect`], for verbs that need a deployment that is up.
pub(crate) fn expect(dir: &StateDir) -> Result<Channel> {
    connect(dir).ok_or_else(|| {
        Problem::input(format!("the deployment at {} is not up: its boson has died", dir.path().display()))
            .code(code::NOT_RUNNING)
            .hint("boson down removes what it left; boson up starts it again")
            .into()
    })
}

/// Sends a request.
pub(crate) fn ask(channel: &Channel, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<()> {
    Ok(channel.send(request, fds).map_err(lost)?)
}

/// The next reply.
pub(crate) fn next(channel: &Channel) -> Result<Option<Reply>> {
    Ok(channel.receive().map_err(lost)?.map(|(reply, _)| reply))
}

/// Prints replies until the request is done; returns its exit code.
pub(crate) fn follow(channel: &Channel) -> Result<u8> {
    let mut text_so_far = String::new();
    while let Some(reply) = next(channel)? {
        match reply {
            Reply::Line(text) => output::error(&text),
            Reply::Part(text) => text_so_far.push_str(&text),
            Reply::Exited(code) => return Ok(code),
            Reply::Failed { text, code } => {
                output::error(&(text_so_far + &text));
                return Ok(code);
            }
            Reply::Row(_) => {}
        }
    }
    Err(Problem::internal("the deployment was stopped meanwhile").code(code::NOT_RUNNING).into())
}

fn lost(e: std::io::Error) -> Problem {
    Problem::internal("cannot talk to the deployment").because(e)
}
