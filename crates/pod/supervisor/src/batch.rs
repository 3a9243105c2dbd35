//! Running programs side by side, as hooks are.

use std::io;
use std::time::Duration;

use nix::unistd::Pid;
use signals::Signals;

use crate::exit::Exit;
use crate::machine::{Batch, Event, Machine as _, Policy, Role, State};
use crate::run::{End, Host, Task, supervise};
use crate::source::Status;
use crate::sys::SpawnError;

/// Events for the caller while the programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The program with this number runs with this id.
    Started(usize, Pid),
    /// The program with this number ended.
    Exited(usize, Exit),
    /// The supervisor received a stop signal.
    StopRequested,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// How each program ended, or why it did not start.
    pub results: Vec<Result<Exit, SpawnError>>,
    /// Whether a signal requested the stop.
    pub stop_requested: bool,
}

/// How long the output of a program that has ended is still read: its helpers (`exec > >(tee ... | logger ...)`) write the last
/// lines after it. BOSH's agent waits without a limit for those of errands and drain scripts.
pub const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// Runs all tasks at once until each has ended and its output is read (see [`OUTPUT_GRACE`]). Descendants that still run then are
/// left running, and their output goes on to the log files, unless a signal requested the stop.
pub fn run(signals: &Signals, tasks: Vec<Task>, policy: Policy, notify: &mut dyn FnMut(Notice)) -> io::Result<Outcome> {
    let mut machine = Batch::new(tasks.len(), policy);
    let mut host = Programs {
        results: (0..tasks.len()).map(|_| None).collect(),
        tasks: tasks.into_iter().map(Some).collect(),
        notify,
    };
    supervise(signals, &mut machine, &mut host, &mut [])?;
    // Nothing is known of one that could not even be killed.
    let results = host.results.into_iter().map(|r| r.unwrap_or(Ok(Exit::Signal(nix::libc::SIGKILL)))).collect();
    Ok(Outcome { results, stop_requested: machine.stop_requested() })
}

struct Programs<'a> {
    tasks: Vec<Option<Task>>,
    results: Vec<Option<Result<Exit, SpawnError>>>,
    notify: &'a mut dyn FnMut(Notice),
}

impl Host for Programs<'_> {
    fn task(&mut self, role: Role) -> Result<Option<Task>, SpawnError> {
        let Role::Task(number) = role else { return Ok(None) };
        Ok(self.tasks.get_mut(number).and_then(Option::take))
    }

    fn started(&mut self, role: Role, pid: Pid) {
        if let Role::Task(number) = role {
            (self.notify)(Notice::Started(number, pid));
        }
    }

    fn output_grace(&self, _role: Role) -> Duration {
        OUTPUT_GRACE
    }

    fn ended(&mut self, end: End) -> Event {
        let event = end.event();
        if let Role::Task(number) = end.role {
            if let Ok(exit) = end.result {
                (self.notify)(Notice::Exited(number, exit));
            }
            self.results[number] = Some(end.result);
        }
        event
    }

    fn changed(&mut self, status: &Status) {
        if status.state == State::Stopping {
            (self.notify)(Notice::StopRequested);
        }
    }
}
