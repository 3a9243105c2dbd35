//! `boson top`: a live view of a deployment on this machine.

mod model;
mod restore;
mod screen;
mod tail;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, SystemTime};

use clap::Args;
use local_state::control::{Action, Request, Row};

use local_state::{Connection, Signals, StateDir, Which};
use problem::{Problem, Result};
use process_usage::all_memory;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{Clear, ClearType};
use startup::{Common, confirmation, parse_duration};

use model::{Key, Line, Model, Step, Subject};
use restore::Guardian;
use tail::Tail;

use crate::vitals::Meter;

/// The arguments of `top`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the instances and processes of a deployment that is up, what they use, and the end of a job's log, until a key \
        ends it. Keys restart, stop and start the chosen job; `?` lists them.\n\n\
        CPU is the share of all processors of the machine since the last look; MEMORY is what a process and its children have in \
        memory. Programs read the same figures from `boson status --vitals --json`.",
    after_long_help = "Examples:\n\
        \x20\x20boson top\n\
        \x20\x20boson top -d nats --interval 5s\n\n\
        Exit codes: 0 left by a key; 2 usage, or no terminal; 65 the deployment is unknown, or is not up; 143 ended by a signal."
)]
pub struct Options {
    /// How often to look
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Restore the terminal when the program that started this one has died
    #[arg(long, hide = true)]
    pub(crate) restore_terminal: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub const ABOUT: &str = "Watch instances and processes, and what they use";

/// The shortest interval: a look reads all of `/proc`.
const SHORTEST: Duration = Duration::from_millis(200);

/// For how long keys are awaited before other events are looked at.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// For how long the view may go on after a signal.
const PATIENCE: Duration = Duration::from_secs(1);

/// The exit code of a program that SIGTERM has ended.
const ENDED: u8 = 143;

fn interval(text: &str) -> std::result::Result<Duration, String> {
    let interval = parse_duration(text)?;
    if interval < SHORTEST { Err("at least 200ms".to_owned()) } else { Ok(interval) }
}

/// What other threads report.
#[derive(Debug)]
enum Event {
    /// What runs, and the machine's memory.
    Lines(Vec<Line>),
    /// The deployment cannot be asked.
    Unknown(String),
    /// A line of the tail with this number.
    LogLine(u64, String),
    /// Progress or the end of a change, and whether it is a failure.
    Message(String, bool),
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let cannot = |e: io::Error| Problem::internal("cannot use the terminal").because(e);
    if options.restore_terminal {
        return restore::guard().map(|()| 0).map_err(|e| cannot(e).into());
    }
    let dir = options.which.find()?;
    // Before anything is drawn, so that its error can be read.
    Connection::expect(&dir)?.status()?;
    if !confirmation::is_possible() {
        let problem = Problem::usage("top needs a terminal for its input and output");
        return Err(problem.hint("boson status --vitals prints the same once, with --json for programs").into());
    }
    let signals = Signals::block()?;
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    signals.forward(move || {
        flag.store(true, Ordering::Relaxed);
        // Nothing more comes from a terminal that is gone, and reading it may not end. The guardian does the rest.
        std::thread::sleep(PATIENCE);
        std::process::exit(ENDED.into());
    })?;
    let deployment = dir.record()?.map(|record| record.deployment).unwrap_or_default();
    // It needs a controlling terminal, without which everything else works.
    let guardian = Guardian::start().ok();
    let mut terminal = ratatui::try_init().map_err(cannot)?;
    let (sender, events) = mpsc::channel();
    watch(dir.clone(), options.interval, sender.clone());
    let screen = Screen { model: Model::new(deployment), dir, sender, events, tail: None, changes: 0 };
    let left = screen.run(&mut terminal, &ended);
    ratatui::restore();
    if let Some(guardian) = guardian {
        guardian.dismiss();
    }
    left.map_err(|e| cannot(e).into())
}

/// Looks at the deployment at every interval.
fn watch(dir: StateDir, interval: Duration, events: Sender<Event>) {
    std::thread::spawn(move || {
        let mut meter = Meter::default();
        loop {
            let event = match Connection::expect(&dir).and_then(|connection| connection.status()) {
                Ok(rows) => Event::Lines(lines(rows, &mut meter)),
                Err(problems) => Event::Unknown(first_line(&problems.to_string())),
            };
            if events.send(event).is_err() {
                return;
            }
            std::thread::sleep(interval);
        }
    });
}

fn lines(rows: Vec<Row>, meter: &mut Meter) -> Vec<Line> {
    let vitals = meter.read(&rows);
    rows.into_iter().zip(vitals).map(|(row, vitals)| Line { row, vitals }).collect()
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The state, and where its events come from.
struct Screen {
    model: Model,
    dir: StateDir,
    sender: Sender<Event>,
    events: Receiver<Event>,
    tail: Option<(Subject, Tail)>,
    /// How many tails there were.
    changes: u64,
}

impl Screen {
    /// Shows it until a key or a signal ends it; returns the exit code.
    fn run(mut self, terminal: &mut DefaultTerminal, ended: &AtomicBool) -> io::Result<u8> {
        let colored = startup::is_colored(&io::stdout());
        // Some terminals show there what was before. `Terminal::clear` would ask for the cursor, which not all answer.
        execute!(io::stdout(), Clear(ClearType::All))?;
        loop {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
            terminal.draw(|frame| screen::draw(frame, &self.model, colored, now))?;
            if ended.load(Ordering::Relaxed) {
                return Ok(ENDED);
            }
            if self.has_ended_by_key()? {
                return Ok(0);
            }
            self.take_events();
            self.follow_chosen();
        }
    }

    /// Reads the keys that were pressed; returns whether one of them ends the view.
    fn has_ended_by_key(&mut self) -> io::Result<bool> {
        let mut wait = KEY_WAIT;
        while event::poll(wait)? {
            wait = Duration::ZERO;
            let Input::Key(pressed) = event::read()? else { continue };
            let Some(key) = key(pressed) else { continue };
            self.model.message = None;
            match self.model.press(key) {
                Step::Stay => {}
                Step::Quit => return Ok(true),
                Step::Change(action, subject) => self.change(action, subject),
            }
        }
        Ok(false)
    }

    fn take_events(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Lines(lines) => {
                    self.model.machine_memory = all_memory();
                    self.model.update(lines);
                }
                Event::Unknown(text) => self.model.message = Some((text, true)),
                Event::LogLine(number, line) if self.tail.as_ref().is_some_and(|(_, tail)| tail.number == number) => {
                    self.model.add_to_log(&line);
                }
                Event::LogLine(..) => {}
                Event::Message(text, is_failure) => self.model.message = Some((text, is_failure)),
            }
        }
    }

    /// Follows the log of the job that is chosen now.
    fn follow_chosen(&mut self) {
        let chosen = self.model.subject();
        if chosen == self.tail.as_ref().map(|(subject, _)| subject.clone()) {
            return;
        }
        self.tail = None;
        self.model.clear_log();
        let Some(subject) = chosen else { return };
        self.changes += 1;
        match Tail::start(&self.dir, &subject, self.changes, self.sender.clone()) {
            Ok(tail) => self.tail = Some((subject, tail)),
            Err(e) => self.model.message = Some((format!("cannot follow the log: {e}"), true)),
        }
    }

    /// Asks for a change in the background, and reports its progress.
    fn change(&self, action: Action, subject: Subject) {
        let (dir, events) = (self.dir.clone(), self.sender.clone());
        std::thread::spawn(move || {
            // The channel is closed if the view has ended.
            let tell = |text: &str, is_failure| drop(events.send(Event::Message(first_line(text), is_failure)));
            let Subject { instance, job } = subject;
            let request = Request::Change { action, instance, job, skip_drain: false };
            let asked = Connection::expect(&dir).and_then(|connection| {
                connection.ask(&request, &[])?;
                connection.follow_reporting(|line| tell(line, false), |text| tell(&text, true))
            });
            if let Err(problems) = asked {
                tell(&problems.to_string(), true);
            }
        });
    }
}

fn key(pressed: KeyEvent) -> Option<Key> {
    if pressed.kind == KeyEventKind::Release {
        return None;
    }
    Some(match pressed.code {
        KeyCode::Char('c') if pressed.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}
