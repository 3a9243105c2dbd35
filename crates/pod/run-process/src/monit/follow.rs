//! Waiting until the process of a service appears, and noticing when another one takes its place.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::poll::PollFd;
use supervisor::{Event, Source, State, Status};

use super::finder::Finder;

/// How often the process is looked for while the process is expected. monit polls each second.
const INTERVAL: Duration = Duration::from_millis(50);

/// When the start program was started; nothing before, and after its process was found.
pub(crate) type StartTime = Rc<Cell<Option<Instant>>>;

/// Looks for the process.
pub(crate) struct Follow {
    finder: Finder,
    /// How long the process may take to appear.
    timeout: Duration,
    /// How often it is looked for while it runs.
    cycle: Duration,
    started: StartTime,
    next: Option<Instant>,
    last: Option<State>,
}

impl Follow {
    pub(crate) fn new(finder: Finder, timeout: Duration, cycle: Duration, started: StartTime) -> Follow {
        Follow { finder, timeout, cycle, started, next: None, last: None }
    }

    fn find(&mut self, since: Instant) -> Vec<Event> {
        if let Some(pid) = self.finder.live() {
            self.started.take();
            return vec![Event::Found(pid)];
        }
        if since.elapsed() >= self.timeout {
            self.started.take();
            return vec![Event::NotFound];
        }
        self.next = Some((Instant::now() + INTERVAL).min(since + self.timeout));
        Vec::new()
    }

    /// A daemon may start another one in its place, and write the other one's id.
    fn find_other(&mut self, status: &Status) -> Vec<Event> {
        self.next = Some(Instant::now() + self.cycle);
        let other = self.finder.live().filter(|pid| status.pid.is_some_and(|known| known.as_raw() != *pid));
        other.map(Event::Found).into_iter().collect()
    }
}

impl Source for Follow {
    fn interests<'a>(&'a self, _wanted: &mut Vec<PollFd<'a>>) {}

    fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        if self.last.replace(status.state) != Some(status.state) {
            self.next = None;
        }
        let is_due = self.next.is_none_or(|next| next <= Instant::now());
        match (status.state, self.started.get()) {
            (State::Starting, Some(since)) if is_due => self.find(since),
            (State::Starting, Some(_)) => Vec::new(),
            (State::Running, _) if is_due => self.find_other(status),
            (State::Running, _) => Vec::new(),
            _ => {
                self.next = None;
                Vec::new()
            }
        }
    }
}
