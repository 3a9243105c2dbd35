//! What a process prints: into its log file and to the supervisor's own stdout or stderr.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

/// A pipe that polls as writable takes this much without blocking (`PIPE_BUF`).
const PIPE_BUF: usize = 4096;
/// A line that is longer is passed on in parts.
const LONGEST_LINE: usize = 64 * 1024;

/// Where one stream of a process goes.
#[derive(Debug, Default)]
pub struct Tee {
    /// Gets everything as it is.
    pub file: Option<File>,
    /// Gets everything too, as fast as its reader reads.
    pub echo: Option<Echo>,
}

/// The supervisor's own stdout or stderr.
#[derive(Debug)]
pub struct Echo {
    fd: OwnedFd,
    prefix: Option<String>,
}

impl Echo {
    /// The supervisor's own stdout.
    pub fn stdout() -> Option<Echo> {
        Some(Echo { fd: io::stdout().as_fd().try_clone_to_owned().ok()?, prefix: None })
    }

    /// The supervisor's own stderr.
    pub fn stderr() -> Option<Echo> {
        Some(Echo { fd: io::stderr().as_fd().try_clone_to_owned().ok()?, prefix: None })
    }

    /// Passes on whole lines, each with `prefix` before it, so that the lines of several processes can be told apart.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Echo {
        self.prefix = Some(prefix.into());
        self
    }
}

/// Carries one stream from a process to its [`Tee`], never blocking on the echo.
///
/// While the echo's reader is slow the process' pipe is not read, so the process waits just as if it wrote there itself.
#[derive(Debug)]
pub(crate) struct Pump {
    source: Option<File>,
    tee: Tee,
    /// Not yet echoed.
    pending: Vec<u8>,
    /// The unfinished last line, where lines are prefixed.
    line: Vec<u8>,
    buffer: Box<[u8]>,
}

impl Pump {
    pub(crate) fn new(source: OwnedFd, tee: Tee) -> io::Result<Self> {
        fcntl(&source, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let buffer = vec![0; 2 * PIPE_BUF].into_boxed_slice();
        Ok(Pump { source: Some(source.into()), tee, pending: Vec::new(), line: Vec::new(), buffer })
    }

    /// What the pump waits for; nothing once it is done.
    pub(crate) fn interest(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match (&self.tee.echo, &self.source) {
            (Some(echo), _) if !self.pending.is_empty() => Some((echo.fd.as_fd(), PollFlags::POLLOUT)),
            (_, Some(source)) => Some((source.as_fd(), PollFlags::POLLIN)),
            _ => None,
        }
    }

    /// Moves what can be moved without waiting.
    pub(crate) fn advance(&mut self) {
        loop {
            self.echo();
            if !self.pending.is_empty() || !self.fill() {
                return;
            }
        }
    }

    /// Reads once; whether there was something.
    fn fill(&mut self) -> bool {
        let Some(source) = &mut self.source else { return false };
        match source.read(&mut self.buffer) {
            Ok(0) => {
                self.source = None;
                self.end_line();
                false
            }
            Ok(n) => {
                self.log(n);
                true
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => true,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => false,
            Err(e) => {
                tracing::warn!(error = %e, "a process' output can no longer be read");
                self.source = None;
                false
            }
        }
    }

    fn log(&mut self, n: usize) {
        let bytes = &self.buffer[..n];
        // A full disk must not stop the process, nor what is echoed.
        if let Some(file) = &mut self.tee.file
            && let Err(e) = file.write_all(bytes)
        {
            tracing::warn!(error = %e, "a log file can no longer be written");
            self.tee.file = None;
        }
        match self.tee.echo.as_ref().map(|echo| &echo.prefix) {
            None => {}
            Some(None) => self.pending.extend_from_slice(bytes),
            Some(Some(prefix)) => {
                for part in bytes.split_inclusive(|b| *b == b'\n') {
                    self.line.extend_from_slice(part);
                    if part.ends_with(b"\n") || self.line.len() >= LONGEST_LINE {
                        self.pending.extend_from_slice(prefix.as_bytes());
                        self.pending.append(&mut self.line);
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        if let (Some(Echo { prefix: Some(prefix), .. }), false) = (&self.tee.echo, self.line.is_empty()) {
            self.pending.extend_from_slice(prefix.as_bytes());
            self.pending.append(&mut self.line);
            self.pending.push(b'\n');
            self.echo();
        }
    }

    /// Writes what the echo takes without blocking.
    fn echo(&mut self) {
        let mut written = 0;
        while let (Some(echo), true) = (&self.tee.echo, written < self.pending.len()) {
            let mut fds = [PollFd::new(echo.fd.as_fd(), PollFlags::POLLOUT)];
            if !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..)) {
                break;
            }
            let end = self.pending.len().min(written + PIPE_BUF);
            match write(&echo.fd, &self.pending[written..end]) {
                Ok(n) => written += n,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                // Nobody reads any more: the log file goes on alone.
                Err(_) => self.tee.echo = None,
            }
        }
        if self.tee.echo.is_none() {
            written = self.pending.len();
        }
        self.pending.drain(..written);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use nix::unistd::pipe;

    use super::*;

    fn pump(prefix: Option<&str>) -> (File, Pump, File) {
        let (source, writer) = pipe().unwrap();
        let (reader, echo) = pipe().unwrap();
        fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let echo = Echo { fd: echo, prefix: prefix.map(str::to_owned) };
        let tee = Tee { file: None, echo: Some(echo) };
        (writer.into(), Pump::new(source, tee).unwrap(), reader.into())
    }

    fn read_all(reader: &mut File) -> Vec<u8> {
        let mut out = Vec::new();
        let _ = reader.read_to_end(&mut out);
        out
    }

    #[test]
    fn a_slow_reader_holds_the_process_back_and_loses_nothing() {
        let (mut writer, mut pump, mut reader) = pump(None);
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let mut sent = 0usize;
        // Neither end blocks: the pipes and the pump's buffer fill up, and then nothing more is taken.
        for _ in 0..100 {
            while let Ok(n) = writer.write(&[b'x'; 4096]) {
                sent += n;
            }
            pump.advance();
        }
        assert!(sent < 1 << 20, "{sent} bytes were taken although nobody reads");
        let waits_for = pump.interest().map(|(fd, _)| fd.as_raw_fd());
        assert_eq!(waits_for, pump.tee.echo.as_ref().map(|e| e.fd.as_raw_fd()));
        drop(writer);
        let mut received = 0;
        while pump.interest().is_some() {
            received += read_all(&mut reader).len();
            pump.advance();
        }
        received += read_all(&mut reader).len();
        assert_eq!(received, sent);
    }

    #[test]
    fn lines_get_their_prefix_whole() {
        let (mut writer, mut pump, mut reader) = pump(Some("[a] "));
        writer.write_all(b"one\ntw").unwrap();
        pump.advance();
        assert_eq!(read_all(&mut reader), b"[a] one\n");
        writer.write_all(b"o\nthree").unwrap();
        drop(writer);
        pump.advance();
        assert_eq!(read_all(&mut reader), b"[a] two\n[a] three\n");
        assert!(pump.interest().is_none());
    }

    #[test]
    fn an_echo_that_nobody_reads_is_given_up() {
        let (mut writer, mut pump, reader) = pump(None);
        drop(reader);
        writer.write_all(b"x").unwrap();
        pump.advance();
        assert!(pump.tee.echo.is_none() && pump.pending.is_empty());
        drop(writer);
        pump.advance();
        assert!(pump.interest().is_none());
    }
}
