//! Sockets at paths of any length.
//!
//! An address holds 107 bytes and an end (`sun_path`), which a root directory and long names of job and process exceed.
//! So the directory is opened and the socket named through `/proc/self/fd`, whatever the path's length.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, listen, socket};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};

/// What an address holds without the NUL at its end.
const LONGEST: usize = 107;
/// Clients that wait to be accepted; the server accepts whenever it polls.
const BACKLOG: i32 = 16;

/// Listens at `path`, whose directory exists, in place of whatever was there: a socket whose server was killed, say.
///
/// The caller ensures that no other process listens at the same path. The socket listens before it has its name, so
/// that no client ever finds a socket without a server. Only its owner can connect to it.
pub(crate) fn listen_at(path: &Path) -> io::Result<OwnedFd> {
    let (directory, name) = parts(path)?;
    let directory = open_path(directory, libc::O_DIRECTORY)?;
    let temporary = temporary_name(name);
    remove(&directory, &temporary)?;
    let listener = stream(SockFlag::SOCK_NONBLOCK)?;
    let address = through(&directory, Some(OsStr::new(&temporary)));
    bind(listener.as_raw_fd(), &UnixAddr::new(&address)?)?;
    let named = || {
        fchmodat(&directory, temporary.as_str(), Mode::S_IRUSR | Mode::S_IWUSR, FchmodatFlags::FollowSymlink)?;
        listen(&listener, Backlog::new(BACKLOG)?)?;
        nix::fcntl::renameat(&directory, temporary.as_str(), &directory, name)
    };
    named().inspect_err(|_| {
        // Best effort: the failure itself is reported.
        let _ = remove(&directory, &temporary);
    })?;
    Ok(listener)
}

/// A connection to the server at `path`; `prepare` sets its limits before it is made.
pub(crate) fn connect_to(path: &Path, prepare: impl Fn(&OwnedFd) -> io::Result<()>) -> io::Result<OwnedFd> {
    let stream = stream(SockFlag::empty())?;
    prepare(&stream)?;
    if path.as_os_str().len() <= LONGEST {
        connect(stream.as_raw_fd(), &UnixAddr::new(path)?)?;
        return Ok(stream);
    }
    let target = open_path(path, libc::O_NOFOLLOW)?;
    connect(stream.as_raw_fd(), &UnixAddr::new(&through(&target, None))?)?;
    Ok(stream)
}

fn stream(flags: SockFlag) -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Unix, SockType::Stream, flags | SockFlag::SOCK_CLOEXEC, None)?)
}

fn parts(path: &Path) -> io::Result<(&Path, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(name)) if !directory.as_os_str().is_empty() => Ok((directory, name)),
        (Some(_), Some(name)) => Ok((Path::new("."), name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn open_path(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | flags).open(path)
}

/// The short way to an open file or to what lies in an open directory.
fn through(file: &File, name: Option<&OsStr>) -> PathBuf {
    let mut path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    path.extend(name);
    path
}

/// Short, whatever `name` is, and always the same for it, so that what a server left that was killed is found again.
fn temporary_name(name: &OsStr) -> String {
    let mut hasher = DefaultHasher::new();
    name.as_bytes().hash(&mut hasher);
    format!(".socket-{:016x}", hasher.finish())
}

fn remove(directory: &File, name: &str) -> io::Result<()> {
    match nix::unistd::unlinkat(directory.as_fd(), name, nix::unistd::UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
