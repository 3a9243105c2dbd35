//! The output of a process: into its log file and to the supervisor's own stdout or stderr.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

/// A pipe that polls as writable takes this much without blocking (`PIPE_BUF`).
const PIPE_BUF: usize = 4096;
/// So often a process' pipe is read before others have their turn: as much as a pipe holds.
const MOST_READS: u32 = 8;
/// A longer line is forwarded in parts.
const LONGEST_LINE: usize = 64 * 1024;
/// So much may wait for a reader before the process is held back.
const MOST_PENDING: usize = 64 * 1024;
/// A reader that reads nothing for this long has stalled: the process continues without it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where one stream of a process goes.
#[derive(Debug, Default)]
pub struct Tee {
    /// Gets everything unchanged.
    pub file: Option<File>,
    /// Gets everything too, as long as its reader reads.
    pub echo: Option<Echo>,
    /// How much of the beginning is kept for [`End`](crate::End).
    pub capture: usize,
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

    /// Forwards whole lines, each with `prefix` before it, so that the lines of several processes can be distinguished.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Echo {
        self.prefix = Some(prefix.into());
        self
    }
}

/// Carries one stream from a process to its [`Tee`].
///
/// A reader that is slower than the process slows the process down, just as if it wrote there itself. A reader that has
/// stalled does not: after [`PATIENCE`] the process goes on, its output to the log file alone, until the reader reads again
/// and gets a note about how much it missed.
#[derive(Debug)]
pub(crate) struct Pump {
    source: Option<File>,
    tee: Tee,
    /// Not yet echoed.
    pending: Vec<u8>,
    /// The unfinished last line, where lines are prefixed.
    line: Vec<u8>,
    captured: Vec<u8>,
    /// Since when the reader has taken nothing although something waits for it.
    waiting: Option<Instant>,
    /// How much the reader has missed; from the first byte on, everything until it reads again.
    missed: Option<usize>,
    log_fails: bool,
    buffer: Box<[u8]>,
}

impl Pump {
    pub(crate) fn new(source: OwnedFd, tee: Tee) -> io::Result<Self> {
        fcntl(&source, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Pump {
            source: Some(source.into()),
            tee,
            pending: Vec::new(),
            line: Vec::new(),
            captured: Vec::new(),
            waiting: None,
            missed: None,
            log_fails: false,
            buffer: vec![0; 2 * PIPE_BUF].into_boxed_slice(),
        })
    }

    /// The events that the pump waits for.
    pub(crate) fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        self.echo_interest(wanted);
        if let (Some(source), false) = (&self.source, self.holds_back()) {
            wanted.push(PollFd::new(source.as_fd(), PollFlags::POLLIN));
        }
    }

    /// The events that it waits for to write its pending output.
    pub(crate) fn echo_interest<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        if let (Some(echo), false) = (&self.tee.echo, self.pending.is_empty()) {
            wanted.push(PollFd::new(echo.fd.as_fd(), PollFlags::POLLOUT));
        }
    }

    /// When a reader that takes nothing has had its time.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.waiting.filter(|_| self.holds_back()).map(|since| since + PATIENCE)
    }

    /// Whether there is nothing to come and nothing left, not even to be taken.
    pub(crate) fn is_done(&self) -> bool {
        self.source.is_none() && self.pending.is_empty() && self.captured.is_empty()
    }

    /// Whether a process still holds the other end.
    pub(crate) fn is_open(&self) -> bool {
        self.source.is_some()
    }

    /// The stream and its log file, while a process still holds the other end.
    pub(crate) fn into_stream(self) -> Option<(File, Option<File>)> {
        self.source.map(|source| (source, self.tee.file))
    }

    /// The beginning of the output; later output is not kept.
    pub(crate) fn take_captured(&mut self) -> Vec<u8> {
        self.tee.capture = 0;
        std::mem::take(&mut self.captured)
    }

    /// Whether the process waits for the reader.
    fn holds_back(&self) -> bool {
        self.missed.is_none() && self.pending.len() >= MOST_PENDING
    }

    /// Moves what can be moved without waiting, but not for ever: signals come between, however much a process prints.
    /// Whether there is more.
    pub(crate) fn advance(&mut self) -> bool {
        for _ in 0..MOST_READS {
            self.echo();
            if self.deadline().is_some_and(|deadline| deadline <= Instant::now()) {
                self.missed = Some(0);
            }
            if self.holds_back() || !self.fill() {
                return false;
            }
        }
        true
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
                self.take(n);
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

    /// Forwards the first `n` bytes of the buffer.
    fn take(&mut self, n: usize) {
        let bytes = &self.buffer[..n];
        // A full disk must stop neither the process nor the echo; once space is available again, the log continues.
        if let Some(file) = &mut self.tee.file {
            let result = file.write_all(bytes);
            if let (Err(error), false) = (&result, self.log_fails) {
                tracing::warn!(%error, "a log file cannot be written; output is lost until it can be");
            }
            self.log_fails = result.is_err();
        }
        let room = self.tee.capture.saturating_sub(self.captured.len());
        self.captured.extend_from_slice(&bytes[..n.min(room)]);
        if let Some(missed) = &mut self.missed {
            *missed += n;
            return;
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

    /// Writes as much as the echo takes without blocking.
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
                // The reader is gone: output goes to the log file alone.
                Err(_) => self.tee.echo = None,
            }
        }
        if self.tee.echo.is_none() {
            written = self.pending.len();
        }
        let ends_line = written == 0 || self.pending[written - 1] == b'\n';
        self.pending.drain(..written);
        if written > 0 {
            self.waiting = None;
        }
        if self.pending.is_empty() {
            self.waiting = None;
            self.note_missed(ends_line);
        } else if self.waiting.is_none() {
            self.waiting = Some(Instant::now());
        }
    }

    /// The reader reads again.
    fn note_missed(&mut self, ends_line: bool) {
        if let (Some(missed), true) = (self.missed.take(), self.tee.echo.is_some())
            && missed > 0
        {
            let start = if ends_line { "" } else { "\n" };
            self.line.clear();
            self.pending.extend_from_slice(
                format!("{start}[run-process: the reader was too slow; {missed} bytes are in the log file only]\n")
                    .as_bytes(),
            );
        }
    }
}

#[cfg(test)]
mod tests;
