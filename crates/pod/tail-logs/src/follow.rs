//! The loop: what is new is read, committed and sent; a stalled reader blocks nothing.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signals::Signals;

use crate::ended::Processes;
use crate::logs::Logs;
use crate::syslog::Syslog;

/// So often everything is looked at even where the kernel reports changes: it reports none that are made through a\n/// mapping.
const SWEEP: Duration = Duration::from_secs(10);
/// The polling interval where it does not.
const LOOK: Duration = Duration::from_millis(250);
/// Polling takes at most this share of the time, however many logs exist.
const SHARE: u32 = 20;
/// How often the processes' ends are polled.
const ENDED: Duration = Duration::from_millis(200);

/// Why the loop should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    /// It goes on.
    None,
    /// When the processes have ended: this was asked to stop, and so were they.
    WithProcesses,
    /// When everything has been forwarded that there is now.
    Flush,
    /// At once. What is committed is sent by the next run.
    Now,
}

/// When to end.
#[derive(Debug)]
pub(crate) struct Until {
    pub(crate) processes: Processes,
    /// Without being asked, when all processes have ended.
    pub(crate) ended: bool,
}

/// Why it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it should.
    Done,
    /// The reader of stdout is gone.
    Closed,
}

/// Follows the logs to the end.
pub(crate) fn follow(
    logs: &mut Logs,
    mut syslog: Option<&mut Syslog>,
    until: &Until,
    signals: &Signals,
    stdout: &impl AsFd,
) -> io::Result<Outcome> {
    let mut run =
        Run { ending: Ending::None, walk: Instant::now(), look: Instant::now(), is_last: false, takes_all: false };
    loop {
        run.take_signals(signals)?;
        if run.ending == Ending::Now {
            return Ok(Outcome::Done);
        }
        run.look_for_end(until);
        if let (Some(syslog), false) = (&mut syslog, run.is_last) {
            // Before the last look at the logs, all of it.
            while syslog.receive() && run.ending == Ending::Flush {}
        }
        if !run.is_last {
            run.look_for_changes(logs);
        }
        if !logs.journal().is_sending() {
            if run.ending == Ending::Flush && !run.is_last {
                run.is_last = true;
                // A line that has no end will not get one; unless somebody still writes, and another run goes on with it.
                run.takes_all = !until.processes.any_runs();
                logs.look_last();
            }
            logs.rotate();
            logs.read(run.takes_all)?;
            if run.is_last && !logs.journal().is_sending() && !logs.is_behind() {
                return Ok(Outcome::Done);
            }
        }
        if run.wait(logs, syslog.as_deref(), until, signals, stdout)? {
            return Ok(Outcome::Closed);
        }
    }
}

struct Run {
    ending: Ending,
    /// When everything is looked at next.
    walk: Instant,
    /// When it is looked next whether the processes have ended.
    look: Instant,
    /// What is read now is the last.
    is_last: bool,
    /// Lines without an end are forwarded, too.
    takes_all: bool,
}

impl Run {
    fn take_signals(&mut self, signals: &Signals) -> io::Result<()> {
        while let Some(signal) = signals.next()? {
            let asked = match signal {
                SIGTERM => Ending::WithProcesses,
                SIGINT | SIGQUIT | SIGHUP => Ending::Flush,
                _ => continue,
            };
            // A second request skips the waiting.
            self.ending = if self.ending == Ending::None { asked } else { next(self.ending) };
        }
        Ok(())
    }

    fn look_for_end(&mut self, until: &Until) {
        let is_waiting = self.ending == Ending::WithProcesses || (self.ending == Ending::None && until.ended);
        if !is_waiting || self.look > Instant::now() {
            return;
        }
        self.look = Instant::now() + ENDED;
        let is_over = match self.ending {
            Ending::WithProcesses => !until.processes.any_runs(),
            _ => until.processes.all_ended(),
        };
        if is_over {
            self.ending = Ending::Flush;
        }
    }

    fn look_for_changes(&mut self, logs: &mut Logs) {
        let now = Instant::now();
        let is_due = self.walk <= now;
        logs.look(is_due);
        if is_due {
            let pause = if logs.tree().is_watched() { SWEEP } else { LOOK };
            self.walk = now + pause.max(now.elapsed() * SHARE);
        }
    }

    /// Waits until there is something to do, and sends when stdout takes something; whether its reader is gone.
    fn wait(
        &mut self,
        logs: &mut Logs,
        syslog: Option<&Syslog>,
        until: &Until,
        signals: &Signals,
        stdout: &impl AsFd,
    ) -> io::Result<bool> {
        let is_sending = logs.journal().is_sending();
        let is_idle = !is_sending && !logs.is_behind();
        let mut deadline = self.walk;
        if self.ending == Ending::WithProcesses || until.ended {
            deadline = deadline.min(self.look);
        }
        if let Some(unfinished) = logs.next_deadline().filter(|_| !is_sending) {
            deadline = deadline.min(unfinished);
        }
        let can_wait = is_sending || (is_idle && !self.is_last);
        let timeout = if can_wait { until_then(deadline) } else { PollTimeout::ZERO };
        let wanted = if is_sending { PollFlags::POLLOUT } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(stdout.as_fd(), wanted), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        // What arrives after the last look is left to the next run.
        fds.extend(syslog.filter(|_| !self.is_last).map(|syslog| PollFd::new(syslog.as_fd(), PollFlags::POLLIN)));
        fds.extend(logs.tree().as_fd().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        match poll(&mut fds, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        let is_ready = fds[0].revents().unwrap_or(PollFlags::empty());
        if is_ready.contains(PollFlags::POLLERR) {
            return Ok(true);
        }
        if is_sending && is_ready.contains(PollFlags::POLLOUT) {
            return send(logs, stdout);
        }
        Ok(false)
    }
}

/// Sends as long as stdout takes something without waiting.
fn send(logs: &mut Logs, stdout: &impl AsFd) -> io::Result<bool> {
    loop {
        match logs.journal().send(stdout) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(true),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(false),
            Err(e) => return Err(e),
        }
        let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLOUT)];
        if !logs.journal().is_sending() || !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..)) {
            return Ok(false);
        }
    }
}

fn next(ending: Ending) -> Ending {
    match ending {
        Ending::None => Ending::WithProcesses,
        Ending::WithProcesses => Ending::Flush,
        Ending::Flush | Ending::Now => Ending::Now,
    }
}

/// Milliseconds until then, rounded up so that it has passed afterwards.
fn until_then(deadline: Instant) -> PollTimeout {
    let left = deadline.saturating_duration_since(Instant::now());
    PollTimeout::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(PollTimeout::MAX)
}
