//! What `boson top` shows, and what a key does to it. Nothing here knows a terminal.

use std::collections::VecDeque;

use local_state::control::{Action, Health, Row};

use crate::vitals::Vitals;

/// Lines of a log that are kept.
const LOG_LINES: usize = 1000;

/// Columns by which the log moves to the side.
const COLUMNS: u16 = 20;

/// A line of the list: a process, or an instance without one.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) row: Row,
    pub(super) vitals: Option<Vitals>,
}

impl Line {
    /// The instance, and the job whose process this is.
    pub(super) fn subject(&self) -> Subject {
        let job = self.row.process.as_ref().map(|name| name.split('/').next().unwrap_or(name).to_owned());
        Subject { instance: self.row.instance.clone(), job }
    }
}

/// An instance, or a job of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    /// `group/index`.
    pub(super) instance: String,
    pub(super) job: Option<String>,
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.job {
            Some(job) => write!(f, "{}/{job}", self.instance),
            None => f.write_str(&self.instance),
        }
    }
}

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// That of the deployment.
    Deployment,
    Cpu,
    Memory,
}

/// What the screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum View {
    /// The list, and the end of the chosen job's log.
    List,
    /// The log alone.
    Log,
    Help,
    /// A question: is this to be done?
    Question(Action, Subject),
}

/// A key as far as this program knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Interrupt,
}

/// What a key asks for outside the screen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    Quit,
    Change(Action, Subject),
}

/// The whole state.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) deployment: String,
    pub(super) lines: Vec<Line>,
    /// Processor time of all listed processes in thousandths of the machine, and their memory in bytes.
    pub(super) all: Vitals,
    /// The machine's memory in bytes.
    pub(super) machine_memory: Option<u64>,
    pub(super) order: Order,
    pub(super) view: View,
    /// The process that is chosen; it stays chosen wherever the order moves it.
    pub(super) chosen: Option<(String, Option<String>)>,
    pub(super) log: VecDeque<String>,
    /// How many of the log's last lines are below the screen.
    pub(super) log_offset: usize,
    /// How many columns of the log are left of the screen.
    pub(super) log_column: u16,
    /// The last event, and whether it is a failure.
    pub(super) message: Option<(String, bool)>,
}

impl Model {
    pub(super) fn new(deployment: String) -> Model {
        Model {
            deployment,
            lines: Vec::new(),
            all: Vitals::default(),
            machine_memory: None,
            order: Order::Deployment,
            view: View::List,
            chosen: None,
            log: VecDeque::new(),
            log_offset: 0,
            log_column: 0,
            message: None,
        }
    }

    /// Takes what runs now.
    pub(super) fn update(&mut self, lines: Vec<Line>) {
        self.all = lines.iter().filter_map(|line| line.vitals).fold(Vitals::default(), Vitals::plus);
        self.lines = lines;
        self.sort();
    }

    fn sort(&mut self) {
        let by = |of: fn(&Vitals) -> u64| move |line: &Line| std::cmp::Reverse(line.vitals.as_ref().map_or(0, of));
        match self.order {
            Order::Deployment => {}
            Order::Cpu => self.lines.sort_by_key(by(|vitals| vitals.cpu.unwrap_or(0))),
            Order::Memory => self.lines.sort_by_key(by(|vitals| vitals.memory)),
        }
    }

    /// The position of the chosen line.
    pub(super) fn selected(&self) -> usize {
        let is_chosen = |line: &Line| {
            self.chosen
                .as_ref()
                .is_some_and(|(instance, process)| line.row.instance == *instance && line.row.process == *process)
        };
        self.lines.iter().position(is_chosen).unwrap_or(0)
    }

    /// The instance and job that are chosen.
    pub(super) fn subject(&self) -> Option<Subject> {
        self.lines.get(self.selected()).map(Line::subject)
    }

    /// How many instances there are, and how many of them run.
    pub(super) fn instances(&self) -> (usize, usize) {
        let mut seen: Vec<(&str, Health)> =
            self.lines.iter().map(|line| (line.row.instance.as_str(), line.row.health)).collect();
        seen.sort_by_key(|(name, _)| *name);
        seen.dedup_by_key(|(name, _)| *name);
        (seen.len(), seen.iter().filter(|(_, health)| *health == Health::Running).count())
    }

    /// Adds a line to the log, as `boson logs` prints it, without the names of the chosen instance and job. Characters that
    /// would move the terminal's cursor are left out.
    pub(super) fn add_to_log(&mut self, line: &str) {
        let prefix = self.subject().map(|subject| match subject.job {
            Some(job) => format!("[{} {job}/", subject.instance),
            None => format!("[{} ", subject.instance),
        });
        let rest = prefix.and_then(|prefix| line.strip_prefix(&prefix));
        let line = rest.map_or_else(|| line.to_owned(), |rest| format!("[{rest}"));
        if self.log.len() == LOG_LINES {
            self.log.pop_front();
        }
        self.log.push_back(line.replace('\t', "    ").chars().filter(|c| !c.is_control()).collect());
        if self.log_offset > 0 {
            self.log_offset = (self.log_offset + 1).min(self.log.len());
        }
    }

    /// Forgets the log of the job that was chosen before.
    pub(super) fn clear_log(&mut self) {
        self.log.clear();
        self.log_offset = 0;
        self.log_column = 0;
    }

    /// Does what a key means in this view.
    pub(super) fn press(&mut self, key: Key) -> Step {
        if key == Key::Interrupt {
            return Step::Quit;
        }
        match self.view.clone() {
            View::Question(action, subject) => {
                self.view = View::List;
                if matches!(key, Key::Char('y' | 'Y')) {
                    return Step::Change(action, subject);
                }
            }
            View::Help => self.view = View::List,
            View::Log => self.press_in_log(key),
            View::List => return self.press_in_list(key),
        }
        Step::Stay
    }

    fn press_in_log(&mut self, key: Key) {
        let last = self.log.len();
        match key {
            Key::Up | Key::Char('k') => self.log_offset = (self.log_offset + 1).min(last),
            Key::Down | Key::Char('j') => self.log_offset = self.log_offset.saturating_sub(1),
            Key::PageUp => self.log_offset = (self.log_offset + 10).min(last),
            Key::PageDown => self.log_offset = self.log_offset.saturating_sub(10),
            Key::Right => self.log_column = self.log_column.saturating_add(COLUMNS),
            Key::Left => self.log_column = self.log_column.saturating_sub(COLUMNS),
            Key::Home => self.log_offset = last,
            Key::End => self.log_offset = 0,
            Key::Escape | Key::Enter | Key::Char('l' | 'q') => {
                self.view = View::List;
                (self.log_offset, self.log_column) = (0, 0);
            }
            _ => {}
        }
    }

    fn press_in_list(&mut self, key: Key) -> Step {
        let (at, last) = (self.selected(), self.lines.len().saturating_sub(1));
        match key {
            Key::Up | Key::Char('k') => self.choose(at.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.choose((at + 1).min(last)),
            Key::PageUp => self.choose(at.saturating_sub(10)),
            Key::PageDown => self.choose((at + 10).min(last)),
            Key::Home => self.choose(0),
            Key::End => self.choose(last),
            Key::Enter | Key::Char('l') => self.view = View::Log,
            Key::Char('?' | 'h') => self.view = View::Help,
            Key::Char('c') => self.order_by(Order::Cpu),
            Key::Char('m') => self.order_by(Order::Memory),
            Key::Char('d') => self.order_by(Order::Deployment),
            Key::Char('r') => self.ask(Action::Restart, |subject| subject),
            Key::Char('s') => self.ask(Action::Stop, |subject| subject),
            Key::Char('a') => self.ask(Action::Start, |subject| subject),
            Key::Char('R') => self.ask(Action::Restart, |subject| Subject { job: None, ..subject }),
            Key::Char('q') | Key::Escape => return Step::Quit,
            Key::Char(_) | Key::Left | Key::Right | Key::Interrupt => {}
        }
        Step::Stay
    }

    fn choose(&mut self, at: usize) {
        self.chosen = self.lines.get(at).map(|line| (line.row.instance.clone(), line.row.process.clone()));
    }

    fn order_by(&mut self, order: Order) {
        // The chosen process stays so where the order moves it.
        self.choose(self.selected());
        self.order = order;
        self.sort();
    }

    fn ask(&mut self, action: Action, subject: impl FnOnce(Subject) -> Subject) {
        if let Some(chosen) = self.subject() {
            self.choose(self.selected());
            self.view = View::Question(action, subject(chosen));
        }
    }
}
