//! A command of terraform.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::masks::Masks;
use crate::stream::Stream;

/// How often output, signals and limits are checked while terraform runs; its exit is noticed at once.
const INTERVAL: Duration = Duration::from_millis(50);

/// A command.
#[derive(Debug)]
pub struct Command<'c> {
    /// terraform or tofu.
    pub executable: &'c Path,
    /// Its arguments.
    pub arguments: &'c [String],
    /// The workspace.
    pub directory: &'c Path,
    /// All variables of its environment.
    pub environment: &'c BTreeMap<String, String>,
    /// Keeps stdout, at most so many bytes, instead of logging it.
    pub keep_stdout: Option<u64>,
    /// The lock of what it works on, which lasts as long as terraform does.
    pub lock: &'c File,
    /// Secrets that logs and messages must not have.
    pub masks: &'c Masks,
}

/// How long a command may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// After this time it is interrupted.
    pub timeout: Option<Duration>,
    /// So long after the interruption it is killed.
    pub grace: Duration,
}

/// Interrupts the commands that have it. Clones are the same interruption.
#[derive(Debug, Clone, Default)]
pub struct Interruption(Arc<AtomicUsize>);

impl Interruption {
    /// Lets terraform finish what it has begun; a second call kills it.
    pub fn raise(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether it has been raised.
    pub fn is_raised(&self) -> bool {
        self.count() > 0
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Why a command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited,
    /// It took too long.
    TimedOut,
    /// It was interrupted.
    Interrupted,
    /// Its output was too large.
    TooLarge,
}

/// What a command did.
#[derive(Debug)]
pub struct Outcome {
    /// Why it has ended.
    pub end: End,
    /// Its exit status.
    pub status: ExitStatus,
    /// The beginning and the end of its stderr, without secrets.
    pub stderr: String,
    /// Its stdout, where it is kept.
    pub stdout: Option<File>,
}

impl Outcome {
    /// Whether it did what it was to do.
    pub fn is_success(&self) -> bool {
        self.end == End::Exited && self.status.success()
    }

    /// What terraform reports: each error as one line, without its frame. Where it reports none, all of stderr.
    pub fn errors(&self) -> Vec<String> {
        let mut errors: Vec<String> = Vec::new();
        let mut is_error = false;
        let mut rest: Vec<&str> = Vec::new();
        for line in self.stderr.lines() {
            let line = line.trim_start_matches(['╷', '│', '╵', '|']).trim();
            if let Some(error) = line.strip_prefix("Error: ") {
                errors.push(error.to_owned());
                is_error = true;
            } else if line.starts_with("Warning: ") {
                is_error = false;
            } else if let (true, Some(error)) = (is_error && !line.is_empty(), errors.last_mut()) {
                error.push(' ');
                error.push_str(line);
            } else if !line.is_empty() {
                rest.push(line);
            }
        }
        if errors.is_empty() && !rest.is_empty() {
            errors.push(rest.join(" "));
        }
        errors
    }

    /// How it has ended, for messages.
    pub fn reason(&self) -> String {
        let how = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown status".to_owned(),
        };
        match self.end {
            End::Exited => how,
            End::TimedOut => format!("it took too long and was interrupted ({how})"),
            End::Interrupted => format!("it was interrupted ({how})"),
            End::TooLarge => format!("its output was too large ({how})"),
        }
    }
}

/// A command that runs.
struct Running<'c> {
    command: &'c Command<'c>,
    child: Child,
    exited: Receiver<()>,
    started: Instant,
    /// Why and when it was interrupted.
    interrupted: Option<(End, Instant)>,
    /// How often the interruption had been raised when it was noticed.
    raised: usize,
}

impl Command<'_> {
    /// Runs the command until it ends. `tick` is called now and then while it runs.
    ///
    /// # Errors
    /// An executable that cannot be started; output that cannot be read or written.
    pub fn run(&self, limits: Limits, interruption: &Interruption, tick: &mut dyn FnMut()) -> io::Result<Outcome> {
        let mut stdout = Stream::create()?;
        let mut stderr = Stream::create()?;
        let log = |line: &str| {
            let line = self.masks.hide(line);
            if !line.trim().is_empty() {
                tracing::info!("{line}");
            }
        };
        let mut running = self.start(&stdout, &stderr)?;
        loop {
            let is_running = matches!(running.exited.recv_timeout(INTERVAL), Err(RecvTimeoutError::Timeout));
            match self.keep_stdout {
                None => stdout.follow(&mut |line| log(line))?,
                Some(most) if stdout.writer()?.metadata()?.len() > most => {
                    running.interrupt(End::TooLarge, Signal::SIGKILL)
                }
                Some(_) => {}
            }
            stderr.follow(&mut |line| log(line))?;
            if !is_running {
                break;
            }
            running.check(limits, interruption);
            tick();
        }
        if running.interrupted.is_some() {
            // The rest of its process group has no use any more.
            let _ = killpg(running.group(), Signal::SIGKILL);
        }
        let status = running.child.wait()?;
        let stdout = match self.keep_stdout {
            Some(_) => Some(stdout.into_file()?),
            None => {
                stdout.finish(&mut |line| log(line))?;
                None
            }
        };
        let stderr = self.masks.hide(&stderr.finish(&mut |line| log(line))?);
        let end = running.interrupted.map_or(End::Exited, |(end, _)| end);
        Ok(Outcome { end, status, stderr, stdout })
    }

    fn start(&self, stdout: &Stream, stderr: &Stream) -> io::Result<Running<'_>> {
        let mut command = std::process::Command::new(self.executable);
        command.args(self.arguments).current_dir(self.directory).env_clear().envs(self.environment);
        command.stdin(Stdio::from(self.lock.try_clone()?));
        command.stdout(Stdio::from(stdout.writer()?)).stderr(Stdio::from(stderr.writer()?));
        // A terminal's Ctrl-C must not reach it twice.
        let child = command.process_group(0).spawn()?;
        let (sender, exited) = channel();
        let id = Pid::from_raw(child.id() as i32);
        thread::spawn(move || {
            // The exit status is left for the other thread, so that the id stays the child's until then.
            while waitid(Id::Pid(id), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::errno::Errno::EINTR) {}
            let _ = sender.send(());
        });
        Ok(Running { command: self, child, exited, started: Instant::now(), interrupted: None, raised: 0 })
    }
}

impl Running<'_> {
    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Interrupts or kills the command where it is time.
    fn check(&mut self, limits: Limits, interruption: &Interruption) {
        let raised = interruption.count();
        match self.interrupted {
            None if raised > 0 => {
                self.raised = raised;
                self.interrupt(End::Interrupted, Signal::SIGINT);
            }
            None if limits.timeout.is_some_and(|timeout| self.started.elapsed() > timeout) => {
                self.raised = raised;
                self.interrupt(End::TimedOut, Signal::SIGINT);
            }
            Some((end, since)) if raised > self.raised || since.elapsed() > limits.grace => {
                self.interrupt(end, Signal::SIGKILL);
            }
            _ => {}
        }
    }

    /// terraform alone gets the interrupt, and ends its providers itself; all of its group is killed.
    fn interrupt(&mut self, end: End, signal: Signal) {
        let sent = if signal == Signal::SIGKILL { killpg(self.group(), signal) } else { kill(self.group(), signal) };
        if self.interrupted.is_none() {
            let command = self.command.arguments.first().map_or("", String::as_str);
            tracing::warn!("interrupting {} {command}: {end:?}", self.command.executable.display());
            self.interrupted = Some((end, Instant::now()));
        }
        if let Err(error) = sent {
            tracing::debug!("the signal was not sent: {error}");
        }
    }
}
