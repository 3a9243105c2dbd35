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
    if let Some(channel) = connect(dir) {
        return Ok(channel);
    }
    let at = dir.path().display();
    let problem = match dir.record()?.and_then(|record| record.boson) {
        Some(boson) if boson.is_alive() => {
            Problem::input(format!("the deployment at {at} is not up yet, or is being stopped"))
        }
        Some(_) => Problem::input(format!("the deployment at {at} is not up: its boson has died"))
            .hint("boson up starts it again; boson down removes what it left, except persistent disks"),
        None => Problem::input(format!("the deployment at {at} is down"))
            .hint("boson up starts it again, with its persistent disks"),
    };
    Err(problem.code(code::NOT_RUNNING).into())
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
    follow_with(channel, output::error)
}

/// As [`follow`]; `line` prints each line of progress.
pub(crate) fn follow_with(channel: &Channel, line: impl Fn(&str)) -> Result<u8> {
    follow_reporting(channel, line, |text| output::error(&text))
}

/// As [`follow_with`]; `failed` takes the report of a failure.
pub(crate) fn follow_reporting(channel: &Channel, line: impl Fn(&str), failed: impl FnOnce(String)) -> Result<u8> {
    let mut text_so_far = String::new();
    while let Some(reply) = next(channel)? {
        match reply {
            Reply::Line(text) => line(&text),
            Reply::Part(text) => text_so_far.push_str(&text),
            Reply::Exited(code) => return Ok(code),
            Reply::Failed { text, code } => {
                failed(text_so_far + &text);
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
