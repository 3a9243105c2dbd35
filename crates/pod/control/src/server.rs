//! The side that answers requests.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, getsockopt, send, sockopt};
use nix::unistd::Uid;

use crate::address;
use crate::message::{self, LONGEST, Reply, Request};

/// So many clients at once; the next one takes the place of the one that has been without a request for longest.
const CLIENTS: usize = 32;
/// Stands for the listener among the clients' numbers.
const LISTENER: u64 = 0;

/// A caller who waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller(u64);

/// Listens and answers, without ever waiting: it is readable, as a file descriptor, when there are
/// [requests](Server::requests) to be taken.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    inode: u64,
    epoll: Epoll,
    listener: UnixListener,
    clients: BTreeMap<u64, Client>,
    newest: u64,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    received: Vec<u8>,
    /// Whether its request was taken and is not answered yet.
    waits: bool,
}

impl Server {
    /// Listens at `path`, in place of a socket that a killed predecessor left. The directory exists, and the caller has
    /// made sure that no predecessor lives.
    pub fn listen(path: &Path) -> io::Result<Server> {
        let listener = UnixListener::from(address::listen_at(path)?);
        let inode = fs::symlink_metadata(path)?.ino();
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        Ok(Server { path: path.to_owned(), inode, epoll, listener, clients: BTreeMap::new(), newest: LISTENER })
    }

    /// The requests that have arrived. Each is to be answered by [`reply`](Server::reply), now or later.
    ///
    /// Requests of root and of the user of this process are accepted; others are refused.
    pub fn requests(&mut self) -> Vec<(Caller, Request)> {
        let mut events = [EpollEvent::empty(); CLIENTS + 1];
        let count = match self.epoll.wait(&mut events, EpollTimeout::ZERO) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => {
                tracing::warn!(%error, "the control socket can no longer be watched");
                0
            }
        };
        let mut requests = Vec::new();
        for event in &events[..count] {
            match event.data() {
                LISTENER => self.accept(),
                number => requests.extend(self.receive(number).map(|request| (Caller(number), request))),
            }
        }
        requests
    }

    /// Answers; a caller who has gone meanwhile does not matter.
    pub fn reply(&mut self, caller: Caller, reply: &Reply) {
        let Some(client) = self.clients.remove(&caller.0) else { return };
        // It fits into the socket's empty buffer. A client without a reply sees the end of the connection. Without SIGPIPE:
        // the supervisor forwards signals to its process.
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        let message = message::encode(reply).unwrap_or_default();
        if let Err(error) = send(client.stream.as_raw_fd(), &message, flags) {
            tracing::debug!(%error, "a reply did not reach its client");
        }
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if let Err(error) = self.admit(stream) {
                        tracing::debug!(%error, "a client of the control socket was lost");
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {}
                Err(error) => {
                    // Out of file descriptors, say: a client that hangs loses its place, and the next poll tries again.
                    tracing::warn!(%error, "the control socket cannot accept a client");
                    if !self.evict() {
                        // Looking again and again would be all that this process does.
                        let _ = self.epoll.delete(&self.listener);
                    }
                    return;
                }
            }
        }
    }

    fn admit(&mut self, stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        let uid = Uid::from_raw(getsockopt(&stream, sockopt::PeerCredentials)?.uid());
        if self.clients.len() >= CLIENTS {
            self.evict();
        }
        self.newest += 1;
        let client = Client { stream, received: Vec::new(), waits: false };
        let refusal = if !uid.is_root() && uid != Uid::effective() {
            Some(format!("user {uid} may not control this process: only root and the user of its supervisor may"))
        } else if self.clients.len() >= CLIENTS {
            Some("too many requests wait for their replies".to_owned())
        } else {
            self.epoll
                .add(&client.stream, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, self.newest))?;
            None
        };
        self.clients.insert(self.newest, client);
        if let Some(message) = refusal {
            self.reply(Caller(self.newest), &Reply::Refused { message });
        }
        Ok(())
    }

    /// Gives up the client that has sent no request for longest; whether there is one.
    fn evict(&mut self) -> bool {
        let idle = self.clients.iter().find(|(_, client)| !client.waits).map(|(number, _)| *number);
        if let Some(number) = idle {
            self.reply(Caller(number), &Reply::refused("others want to ask, too"));
        }
        idle.is_some()
    }

    /// Reads what a client has sent; its request once that is complete.
    fn receive(&mut self, number: u64) -> Option<Request> {
        let client = self.clients.get_mut(&number)?;
        if client.waits {
            // It can only close the connection: nothing is read after its request.
            self.clients.remove(&number);
            return None;
        }
        let mut buffer = [0; 4096];
        match client.stream.read(&mut buffer) {
            Ok(n) if n > 0 => client.received.extend_from_slice(&buffer[..n]),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return None,
            _ => {
                self.clients.remove(&number);
                return None;
            }
        }
        let request = match client.received.as_slice() {
            received if received.ends_with(b"\n") => message::decode(received),
            received if received.len() > LONGEST => Err("it is too long".to_owned()),
            [b'{', ..] => return None,
            // A client of version 1 would wait for a reply.
            _ => Err("it is malformed".to_owned()),
        };
        match request {
            Ok(request) => {
                client.waits = true;
                let gone = &mut EpollEvent::new(EpollFlags::EPOLLRDHUP, number);
                if let Err(error) = self.epoll.modify(&client.stream, gone) {
                    tracing::debug!(%error, "a client of the control socket cannot be watched");
                }
                Some(request)
            }
            Err(why) => {
                self.reply(Caller(number), &Reply::refused(format!("invalid request: {why}")));
                None
            }
        }
    }
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A socket that is another one by now belongs to a successor.
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.ino() == self.inode) {
            // Best effort: clients recognise a socket without a server.
            let _ = fs::remove_file(&self.path);
        }
    }
}
