//! Messages with descriptors between processes: JSON over a Unix socket that keeps message borders.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, UnixCredentials,
    recvmsg, sendmsg, socket, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Larger than any message; larger content is sent as a file.
const MAX_MESSAGE: usize = 64 * 1024;
/// As many descriptors as one message ever carries.
const MAX_FDS: usize = 8;

/// One end of a connection.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Connects to a listener.
    pub fn connect(path: &Path) -> io::Result<Channel> {
        let (socket, address, _directory) = address(path)?;
        nix::sys::socket::connect(socket.as_raw_fd(), &address)?;
        Ok(Channel(socket))
    }

    /// Two connected ends; neither survives an `exec` unless it is made a standard stream.
    pub fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Channel(ours), theirs))
    }

    /// The end that this process was given as its standard input, which becomes `/dev/null`.
    pub fn from_stdin() -> io::Result<Channel> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        nix::unistd::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        Ok(Channel(fd))
    }

    /// A second handle of the same end.
    pub fn try_clone(&self) -> io::Result<Channel> {
        Ok(Channel(self.0.try_clone()?))
    }

    /// Sends one message.
    pub fn send<M: Serialize>(&self, message: &M, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        if text.len() > MAX_MESSAGE || fds.len() > MAX_FDS {
            return Err(io::Error::other("a message between the sandbox's processes is too large"));
        }
        let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let control = if raw.is_empty() { &rights[..0] } else { &rights[..] };
        retry(|| {
            sendmsg::<UnixAddr>(self.0.as_raw_fd(), &[IoSlice::new(&text)], control, MsgFlags::MSG_NOSIGNAL, None)
        })?;
        Ok(())
    }

    /// Waits for one message; `None` when the other side has closed the connection.
    pub fn receive<M: DeserializeOwned>(&self) -> io::Result<Option<(M, Vec<OwnedFd>)>> {
        Ok(match self.receive_raw()? {
            Some((text, fds, _)) => Some((serde_json::from_slice(&text)?, fds)),
            None => None,
        })
    }

    fn receive_raw(&self) -> io::Result<Option<Received>> {
        let mut text = vec![0u8; MAX_MESSAGE];
        let mut control = nix::cmsg_space!([RawFd; MAX_FDS], UnixCredentials);
        let (mut fds, mut sender) = (Vec::new(), None);
        let length = {
            let mut parts = [IoSliceMut::new(&mut text)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let message = loop {
                match recvmsg::<UnixAddr>(self.0.as_raw_fd(), &mut parts, Some(&mut control), flags) {
                    Err(Errno::EINTR) => {}
                    // The other side exited without having read all messages.
                    Err(Errno::ECONNRESET) => return Ok(None),
                    other => break other?,
                }
            };
            for part in message.cmsgs()? {
                match part {
                    ControlMessageOwned::ScmRights(received) => fds.extend(received.into_iter().map(super::own)),
                    ControlMessageOwned::ScmCredentials(from) => sender = Some(from.pid()),
                    _ => {}
                }
            }
            message.bytes
        };
        text.truncate(length);
        Ok((length > 0).then_some((text, fds, sender)))
    }

    /// From now on the kernel reports the sender of each message.
    pub(crate) fn learn_sender(&self) -> io::Result<()> {
        Ok(nix::sys::socket::setsockopt(&self.0, nix::sys::socket::sockopt::PassCred, &true)?)
    }

    /// One message and its sender's process id, as this process counts; after [`Channel::learn_sender`].
    pub(crate) fn expect_from<M: DeserializeOwned>(&self) -> io::Result<(M, i32)> {
        let (text, _, sender) = self.receive_raw()?.ok_or_else(gone)?;
        let sender = sender.ok_or_else(|| io::Error::other("the kernel did not report the sender of a message"))?;
        Ok((serde_json::from_slice(&text)?, sender))
    }

    /// Ends the connection for all handles of this end.
    pub fn shut_down(&self) {
        // It has ended already if this fails.
        let _ = nix::sys::socket::shutdown(self.0.as_raw_fd(), nix::sys::socket::Shutdown::Both);
    }

    /// As [`Channel::receive`], where the other side's end is an error.
    pub fn expect<M: DeserializeOwned>(&self) -> io::Result<(M, Vec<OwnedFd>)> {
        self.receive()?.ok_or_else(gone)
    }
}

/// Takes connections at a path.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Makes the socket, for this user alone; nothing may be at the path.
    pub fn bind(path: &Path) -> io::Result<Listener> {
        let (socket, address, _directory) = address(path)?;
        nix::sys::socket::bind(socket.as_raw_fd(), &address)?;
        // Independent of the umask; before it listens, so that no client has connected yet.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        nix::sys::socket::listen(&socket, nix::sys::socket::Backlog::MAXCONN)?;
        Ok(Listener(socket))
    }

    /// Waits for a connection.
    pub fn accept(&self) -> io::Result<Channel> {
        let fd = retry(|| nix::sys::socket::accept4(self.0.as_raw_fd(), SockFlag::SOCK_CLOEXEC))?;
        Ok(Channel(super::own(fd)))
    }
}

/// A new socket, and an address for `path` however long it is: a socket's address has room for 107 bytes only.
fn address(path: &Path) -> io::Result<(OwnedFd, UnixAddr, File)> {
    let missing = || io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a directory and a name");
    let directory = File::open(path.parent().ok_or_else(missing)?)?;
    let name = path.file_name().ok_or_else(missing)?;
    let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    let socket = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
    Ok((socket, UnixAddr::new(&short)?, directory))
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> OwnedFd {
        channel.0
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The text, the descriptors, and the sender where the kernel reports it.
type Received = (Vec<u8>, Vec<OwnedFd>, Option<i32>);

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other process has ended")
}

/// Repeats a call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}
