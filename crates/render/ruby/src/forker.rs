//! Processes forked from the VM.
//!
//! They are not forked from the process that resolves a deployment, whose memory grows with it: each fork would copy the tables of
//! its pages, and then the pages that either side changes. They are forked from one that was forked while there was little.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut, PipeReader, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recv, recvmsg, sendmsg,
    socketpair,
};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use problem::Problem;
use value::Value;

use crate::marshal;

/// A process that forks others from the VM as it was when this one was forked. It ends when this is dropped. Threads may share it.
#[derive(Debug)]
pub struct Forker {
    socket: OwnedFd,
    /// Its id, if it was started; asked for when it is first needed.
    pid: OnceLock<Option<Pid>>,
    /// The processes that it has forked and that have not been waited for. Whoever locks them may send a request.
    running: Mutex<HashSet<Pid>>,
}

/// A process that runs an operation.
#[derive(Debug)]
pub struct Forked {
    /// Its id.
    pub pid: Pid,
    /// What it writes.
    pub output: PipeReader,
}

/// The longest message, either way.
const MAX_MESSAGE: usize = 128;
/// Files of the longest message: the request and the output.
const MAX_FILES: usize = 2;

impl Forker {
    /// The forker and the end of the connection that its process reads.
    pub(crate) fn connect() -> io::Result<(Forker, OwnedFd)> {
        let (socket, served) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Forker { socket, pid: OnceLock::new(), running: Mutex::default() }, served))
    }

    /// The end of the connection that the forker's process must not keep.
    pub(crate) fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Runs an operation in a new process. It is the caller's: to be read from, and to be [waited for](Forker::wait).
    ///
    /// # Errors
    /// A system that has no more processes, pipes or memory.
    pub fn fork(&self, operation: &str, argument: Value) -> problem::Result<Forked> {
        let request = marshal::dump(&Value::array([Value::str(operation), argument]));
        self.start(&request)
            .map_err(|e| {
                let problem = Problem::internal("the embedded Ruby cannot start a process").because(&e);
                let is_gone = e.kind() == gone().kind();
                if is_gone {
                    problem.hint("a template may have killed the process that starts others")
                } else {
                    problem
                }
            })
            .map_err(Into::into)
    }

    fn start(&self, request: &[u8]) -> io::Result<Forked> {
        let mut running = self.lock();
        // First of all: the forker's process must not inherit the pipe, whose end would never come.
        self.pid().ok_or_else(gone)?;
        let mut file = File::from(memfd_create(c"request", MFdFlags::MFD_CLOEXEC)?);
        file.write_all(request)?;
        file.rewind()?;
        let (output, input) = io::pipe()?;
        self.send("fork", &[file.as_raw_fd(), input.as_raw_fd()])?;
        let answer = self.answer()?;
        let pid = answer.parse().map(Pid::from_raw).map_err(|_| io::Error::other(answer))?;
        running.insert(pid);
        Ok(Forked { pid, output })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a process of [`Forker::fork`] has ended, which the caller has made sure of, and kills the processes that it has
    /// left behind: those that have gone into the background are the forker's.
    pub fn wait(&self, pid: Pid) {
        let mut running = self.lock();
        // If the forker has ended, so has the process.
        let _ = self.send(&format!("wait {pid}"), &[]).and_then(|()| self.answer());
        running.remove(&pid);
        self.end_orphans(&running);
    }

    /// Kills the children of the forker's process that it has not forked. Each may leave others behind.
    fn end_orphans(&self, running: &HashSet<Pid>) {
        let Some(forker) = self.pid() else { return };
        for _ in 0..MAX_GENERATIONS {
            // Without the file, or if the forker has ended, there is nothing that could be found.
            let children = fs::read_to_string(format!("/proc/{forker}/task/{forker}/children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|id| id.parse().ok().map(Pid::from_raw));
            let orphans: Vec<Pid> = children.filter(|id| !running.contains(id) && is_running(*id)).collect();
            if orphans.is_empty() {
                return;
            }
            for orphan in orphans {
                let _ = kill(orphan, Signal::SIGKILL);
            }
        }
    }

    fn pid(&self) -> Option<Pid> {
        *self.pid.get_or_init(|| self.answer().ok()?.parse().map(Pid::from_raw).ok())
    }

    fn send(&self, text: &str, files: &[RawFd]) -> io::Result<()> {
        let rights = [ControlMessage::ScmRights(files)];
        let control = if files.is_empty() { &rights[..0] } else { &rights[..] };
        let parts = [IoSlice::new(text.as_bytes())];
        retry(|| sendmsg::<UnixAddr>(self.socket.as_raw_fd(), &parts, control, MsgFlags::MSG_NOSIGNAL, None))?;
        Ok(())
    }

    fn answer(&self) -> io::Result<String> {
        let mut text = [0; MAX_MESSAGE];
        let length = retry(|| recv(self.socket.as_raw_fd(), &mut text, MsgFlags::empty()))?;
        if length == 0 { Err(gone()) } else { Ok(String::from_utf8_lossy(&text[..length]).into_owned()) }
    }
}

/// How often orphans of orphans are looked for.
const MAX_GENERATIONS: usize = 1000;

/// Whether a process exists and is no zombie.
fn is_running(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may contain anything.
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

impl Drop for Forker {
    fn drop(&mut self) {
        self.end_orphans(&self.lock());
        if let Some(pid) = self.pid() {
            let _ = kill(pid, Signal::SIGKILL);
            let _ = retry(|| waitpid(pid, None));
        }
    }
}

/// A message at the end of a connection that a forker's process reads: its text and the numbers of its files.
pub(crate) fn receive(socket: RawFd) -> Option<String> {
    let mut text = [0; MAX_MESSAGE];
    let mut control = nix::cmsg_space!([RawFd; MAX_FILES]);
    let mut files = Vec::new();
    let mut parts = [IoSliceMut::new(&mut text)];
    let length = loop {
        match recvmsg::<UnixAddr>(socket, &mut parts, Some(&mut control), MsgFlags::MSG_CMSG_CLOEXEC) {
            Err(Errno::EINTR) => {}
            Err(_) => return None,
            Ok(message) => {
                for part in message.cmsgs().ok()? {
                    if let ControlMessageOwned::ScmRights(received) = part {
                        files.extend(received);
                    }
                }
                break message.bytes;
            }
        }
    };
    let words =
        files.iter().fold(String::from_utf8_lossy(&text[..length]).into_owned(), |text, fd| format!("{text} {fd}"));
    (length > 0).then_some(words)
}

fn retry<T>(mut call: impl FnMut() -> nix::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            result => return Ok(result?),
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "it is not running")
}
