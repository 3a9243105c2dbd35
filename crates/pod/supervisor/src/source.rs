//! What else a run waits for and answers to: a control socket, the other processes of the pod.
//!
//! ```
//! use nix::poll::PollFd;
//! use supervisor::{Event, Request, Source, Status};
//!
//! /// Stops the process as soon as it runs for the second time.
//! struct Once;
//!
//! impl Source for Once {
//!     fn interests<'a>(&'a self, _wanted: &mut Vec<PollFd<'a>>) {}
//!
//!     fn advance(&mut self, status: &Status) -> Vec<Event> {
//!         if status.starts == 2 { vec![Event::Request(Request::Stop)] } else { Vec::new() }
//!     }
//! }
//! ```

use std::time::Instant;

use nix::poll::PollFd;
use nix::unistd::Pid;

use crate::exit::Exit;
use crate::machine::{Event, Progress, State};

/// The current state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The machine's state.
    pub state: State,
    /// How far the stop of the pod has come.
    pub progress: Progress,
    /// The process' id, in the supervisor's namespace, while it runs.
    pub pid: Option<Pid>,
    /// How often the process has been started.
    pub starts: u64,
    /// How it ended last.
    pub exit: Option<Exit>,
}

/// Something that the loop waits for in addition to signals, children and their output.
///
/// To be given to [`supervise`](crate::supervise). The loop calls `advance` once before each wait and asks for `interests`
/// only then; whatever `advance` gives is applied to the machine at once, and `advance` is called again until it has
/// nothing more to say. So a source needs no thread, and answers that wait for a state (a `stop` that replies when the
/// process has ended) are given from `advance` by looking at its `status`.
pub trait Source {
    /// The descriptors to be waited for, with what for; they must not block.
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>);

    /// When `advance` is to be called even if nothing happens.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Does all work that does not block (accept, read, write), and returns the requests to the machine.
    fn advance(&mut self, status: &Status) -> Vec<Event>;
}
