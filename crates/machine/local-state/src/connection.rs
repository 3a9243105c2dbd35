//! The connection of a verb to a deployment that is up.

use std::io::ErrorKind;
use std::os::fd::BorrowedFd;

use problem::{Problem, Result, code};
use sandbox::Channel;

use crate::control::{Listing, Reply, Request, Row};
use crate::output;
use crate::state_dir::StateDir;

/// A connection to the boson that holds a deployment. It carries one request, whose replies end with one that is the last; if
/// the connection closes before it, the request has failed.
#[derive(Debug)]
pub struct Connection {
    channel: Channel,
    dir: StateDir,
}

impl Connection {
    /// The connection, if the deployment is up.
    pub fn open(dir: &StateDir) -> Option<Connection> {
        Some(Connection { channel: Channel::connect(&dir.control()).ok()?, dir: dir.clone() })
    }

    /// As [`Connection::open`], for verbs that need a deployment that is up.
    pub fn expect(dir: &StateDir) -> Result<Connection> {
        match Connection::open(dir) {
            Some(connection) => Ok(connection),
            None => Err(not_up(dir)?.into()),
        }
    }

    /// A second handle, with which another thread can end the connection.
    pub fn channel(&self) -> Result<Channel> {
        Ok(self.channel.try_clone().map_err(lost)?)
    }

    /// Sends a request.
    pub fn ask(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<()> {
        match self.channel.send(request, fds) {
            // The end of the connection is noticed when the reply is read, which may have come before it.
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(()),
            other => Ok(other.map_err(lost)?),
        }
    }

    /// The next reply; `None` if the connection has closed, which is never the end of what was asked for.
    pub fn next(&self) -> Result<Option<Reply>> {
        Ok(self.channel.receive().map_err(lost)?.map(|(reply, _)| reply))
    }

    /// Prints replies until the request is done; returns its exit code.
    pub fn follow(&self) -> Result<u8> {
        self.follow_with(output::error)
    }

    /// As [`Connection::follow`]; `line` prints each line of progress.
    pub fn follow_with(&self, line: impl FnMut(&str)) -> Result<u8> {
        self.follow_reporting(line, |text| output::error(&text))
    }

    /// As [`Connection::follow_with`]; `failed` takes the report of a failure.
    pub fn follow_reporting(&self, line: impl FnMut(&str), failed: impl FnOnce(String)) -> Result<u8> {
        match self.follow_if_answered(line, failed)? {
            Some(code) => Ok(code),
            None => Err(self.closed()?.into()),
        }
    }

    /// As [`Connection::follow_reporting`]; `None` if the connection has closed without any reply, so that nothing was done.
    pub fn follow_if_answered(&self, mut line: impl FnMut(&str), failed: impl FnOnce(String)) -> Result<Option<u8>> {
        let mut text_so_far = String::new();
        let mut is_answered = false;
        while let Some(reply) = self.next()? {
            is_answered = true;
            match reply {
                Reply::Line(text) => line(&text),
                Reply::Part(text) => text_so_far.push_str(&text),
                Reply::Exited(code) => return Ok(Some(code)),
                Reply::Failed { text, code } => {
                    failed(text_so_far + &text);
                    return Ok(Some(code));
                }
                Reply::Row(_) | Reply::Cells(_) => {}
            }
        }
        if is_answered { Err(self.closed()?.into()) } else { Ok(None) }
    }

    /// Asks for the status table; returns its rows.
    ///
    /// # Errors
    /// The connection closes before the table is complete.
    pub fn status(&self) -> Result<Vec<Row>> {
        self.collect(&Request::Status, |reply| if let Reply::Row(row) = reply { Some(row) } else { None })
    }

    /// Asks for a list; returns the cells of its rows.
    ///
    /// # Errors
    /// The connection closes before the list is complete.
    pub fn list(&self, listing: Listing) -> Result<Vec<Vec<String>>> {
        let cells = |reply| if let Reply::Cells(cells) = reply { Some(cells) } else { None };
        self.collect(&Request::List(listing), cells)
    }

    fn collect<T>(&self, request: &Request, item: impl Fn(Reply) -> Option<T>) -> Result<Vec<T>> {
        self.ask(request, &[])?;
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Some(Reply::Exited(_)) => return Ok(items),
                Some(Reply::Failed { text, .. }) => {
                    return Err(Problem::internal(text.trim_end().trim_start_matches("error: ")).into());
                }
                Some(reply) => items.extend(item(reply)),
                // What came before is not all.
                None => return Err(self.closed()?.into()),
            }
        }
    }

    /// Why the connection has closed before the last reply.
    ///
    /// # Errors
    /// The deployment's record cannot be read.
    pub fn closed(&self) -> Result<Problem> {
        Ok(not_up(&self.dir)?.because("the connection closed before the reply was complete"))
    }
}

/// Why a deployment takes no requests.
fn not_up(dir: &StateDir) -> Result<Problem> {
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
    Ok(problem.code(code::NOT_RUNNING))
}

fn lost(e: std::io::Error) -> Problem {
    Problem::internal("cannot talk to the deployment").because(e)
}
