//! A socket in place of `/dev/log`: what programs send with `logger` or `syslog()` becomes lines of a log file, which is forwarded
//! and rotated like all others.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problem, Result, code};
use vcap::log_file::open_log;

/// The log file, in the directory of logs.
const LOG: &str = "syslog.log";
/// rsyslog's: of `/var/log/syslog`.
const MODE: u32 = 0o640;
/// Every user of the container may log.
const SOCKET_MODE: u32 = 0o666;
/// More than a message may have (glibc and `logger` send less); the rest of a longer one is lost, as with rsyslog.
const LONGEST: usize = 64 * 1024;
/// The number of messages received at once, before other work has its turn.
const AT_ONCE: usize = 256;

/// The socket and its log file.
#[derive(Debug)]
pub(crate) struct Syslog {
    path: PathBuf,
    inode: u64,
    socket: UnixDatagram,
    log: File,
    buffer: Vec<u8>,
    is_failing: bool,
}

impl Syslog {
    /// Binds the socket, in place of one that a predecessor left, and opens the log file in `logs_dir`.
    ///
    /// A socket that exists is replaced by a rename: Kubernetes mounts it into other containers (`subPath`) whenever one of them
    /// starts, and creates an empty directory where nothing exists.
    pub(crate) fn open(path: &Path, logs_dir: &Path) -> Result<Syslog> {
        make_way(path)?;
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let _ = fs::remove_file(&new);
        let socket = UnixDatagram::bind(&new).io("create", &new)?;
        socket.set_nonblocking(true).io("create", &new)?;
        fs::set_permissions(&new, Permissions::from_mode(SOCKET_MODE)).io("change the mode of", &new)?;
        fs::rename(&new, path).io("create", path)?;
        fs::create_dir_all(logs_dir).io("create", logs_dir)?;
        Ok(Syslog {
            path: path.to_owned(),
            inode: fs::symlink_metadata(path).io("read", path)?.ino(),
            socket,
            log: open_log(&logs_dir.join(LOG), MODE, (Uid::effective(), Gid::effective()))?,
            buffer: vec![0; LONGEST],
            is_failing: false,
        })
    }

    /// Appends the messages that have arrived to the log file; whether there may be more.
    pub(crate) fn receive(&mut self) -> bool {
        let mut lines = Vec::new();
        let mut count = 0;
        while count < AT_ONCE {
            match self.socket.recv(&mut self.buffer) {
                Ok(length) => append(&self.buffer[..length], &mut lines),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            count += 1;
        }
        if !lines.is_empty() {
            // A full disk must not stop the forwarding of other logs.
            let result = self.log.write_all(&lines);
            if let (Err(error), false) = (&result, self.is_failing) {
                tracing::warn!(%error, log = LOG, "syslog messages are lost until the log file can be written");
            }
            self.is_failing = result.is_err();
        }
        count == AT_ONCE
    }
}

/// Removes an empty directory at the socket's path, and refuses anything else that is not a socket.
fn make_way(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() => Ok(()),
        Ok(meta) if meta.is_dir() && fs::remove_dir(path).is_ok() => Ok(()),
        Ok(_) => {
            let problem = Problem::usage(format!("--logs-syslog: {} exists and is not a socket", path.display()));
            Err(problem.code(code::USAGE).into())
        }
        Err(_) => Ok(()),
    }
}

impl AsFd for Syslog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Syslog {
    fn drop(&mut self) {
        // A successor may have replaced it.
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Appends a message as one line: without its priority, and with control characters as rsyslog escapes them (`#012`).
fn append(message: &[u8], lines: &mut Vec<u8>) {
    let end = message.iter().rposition(|byte| !matches!(byte, b'\n' | 0)).map_or(0, |last| last + 1);
    let message = without_priority(&message[..end]);
    if message.is_empty() {
        return;
    }
    for byte in message {
        if *byte < b' ' && *byte != b'\t' {
            lines.extend_from_slice(format!("#{byte:03o}").as_bytes());
        } else {
            lines.push(*byte);
        }
    }
    lines.push(b'\n');
}

/// `<13>` before a message: facility and severity (RFC 3164).
fn without_priority(message: &[u8]) -> &[u8] {
    let priority = message.strip_prefix(b"<").and_then(|rest| {
        let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0).then(|| rest[digits..].strip_prefix(b">")).flatten()
    });
    priority.unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_one_line() {
        let line = |message: &[u8]| {
            let mut lines = Vec::new();
            append(message, &mut lines);
            String::from_utf8(lines).unwrap()
        };
        assert_eq!(line(b"<13>Nov 22 17:00:00 web: started\0"), "Nov 22 17:00:00 web: started\n");
        assert_eq!(line(b"<191>two\nlines\tand a tab\n"), "two#012lines\tand a tab\n");
        assert_eq!(line(b"<x>no priority"), "<x>no priority\n");
        assert_eq!(line(b"<1234>too long"), "<1234>too long\n");
        assert_eq!(line(b"<>"), "<>\n");
        assert_eq!(line(b"<13>\n\0"), "");
        assert_eq!(line("<13>€".as_bytes()), "€\n");
    }
}
