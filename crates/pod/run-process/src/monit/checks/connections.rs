//! The connections of rules, tested by a thread: they may take seconds, and signals must not wait.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use ::monit::{Condition, Connection};
use nix::poll::{PollFd, PollFlags};
use resolver::Resolver;

use super::super::connection;
use super::watched::Checked;

/// Tests that run.
pub(super) struct Tests {
    results: Receiver<Vec<Tested>>,
    /// Readable when they are done.
    wake: UnixStream,
}

/// The result of one.
pub(super) struct Tested {
    /// The index of the service, and of the rule among those of the service.
    pub(super) service: usize,
    pub(super) rule: usize,
    /// Why the connection failed.
    pub(super) failure: Option<String>,
}

impl Tests {
    /// Starts the tests of services that are checked in the next cycle; nothing if these have no connections.
    pub(super) fn start(services: &[Checked], root: &Path) -> io::Result<Option<Tests>> {
        let mut wanted: Vec<(usize, usize, Connection)> = Vec::new();
        for (s, service) in services.iter().enumerate().filter(|(_, service)| service.is_next()) {
            for (r, watched) in service.rules.iter().enumerate() {
                if let Condition::Connection(connection) = &watched.state.rule.condition {
                    wanted.push((s, r, connection.clone()));
                }
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (sender, results) = channel();
        let root = root.to_owned();
        std::thread::Builder::new().spawn(move || {
            let resolver = Resolver::under(&root);
            let test = |(service, rule, tested): &(usize, usize, Connection)| Tested {
                service: *service,
                rule: *rule,
                failure: connection::test(tested, &resolver).err(),
            };
            // No one waits for them any more if the process was restarted.
            let _ = sender.send(wanted.iter().map(test).collect());
            drop(waker);
        })?;
        Ok(Some(Tests { results, wake }))
    }

    /// What to wait for.
    pub(super) fn interest(&self) -> PollFd<'_> {
        PollFd::new(self.wake.as_fd(), PollFlags::POLLIN)
    }

    /// The results when all are done; none if the thread died.
    pub(super) fn results(&self) -> Option<Vec<Tested>> {
        match self.results.try_recv() {
            Ok(tested) => Some(tested),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Vec::new()),
        }
    }
}
