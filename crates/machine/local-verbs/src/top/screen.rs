//! Draws the state of `boson top` on a screen of any size.

use local_state::control::{Action, Health, Row, State};
use local_state::output::size;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Row as TableRow, Table, TableState, Wrap};

use super::model::{Line, Model, Order, View};
use crate::status::age;
use crate::vitals::percent;

/// The fewest lines of the list beside which the log has room.
const LIST: u16 = 6;

/// Draws everything; `now` is in seconds since 1970.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, colored: bool, now: u64) {
    let painter = Painter { colored };
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(Paragraph::new(painter.head(model)), head);
    match model.view {
        View::Help => frame.render_widget(Paragraph::new(HELP).wrap(Wrap { trim: false }), body),
        View::Log => painter.log(frame, body, model),
        View::List | View::Question(..) => {
            let rows = u16::try_from(model.lines.len()).unwrap_or(u16::MAX).saturating_add(1);
            let list = if body.height < 2 * LIST { body.height } else { rows.clamp(LIST, body.height / 2) };
            let [above, below] = Layout::vertical([Constraint::Length(list), Constraint::Min(0)]).areas(body);
            painter.list(frame, above, model, now);
            painter.log(frame, below, model);
        }
    }
    frame.render_widget(Paragraph::new(painter.foot(model)), foot);
}

const HELP: &str = "\
Each line is a process; CPU is the share of all processors of the machine,
MEMORY what the process and its children have in memory.

  up, down, k, j     choose a process; page up, page down, home, end
  enter, l           show the log of its job alone, and leave it; arrows scroll
  r, R               restart the job, or all of the instance
  s, a               stop the job, start it again
  c, m, d            order by CPU, by memory, as in the deployment
  q, escape, Ctrl-C  leave

Any key closes this page.";

/// A column: its title, its width, and the screen's width from which it is shown.
struct Column {
    title: &'static str,
    width: Constraint,
    from: u16,
    cell: fn(&Line, u64) -> String,
}

const COLUMNS: [Column; 8] = [
    Column { title: "INSTANCE", width: Constraint::Fill(2), from: 0, cell: |line, _| line.row.instance.clone() },
    Column { title: "PROCESS", width: Constraint::Fill(3), from: 40, cell: |line, _| of(line.row.process.as_ref()) },
    Column { title: "STATE", width: Constraint::Length(9), from: 0, cell: |line, _| line.row.state.to_string() },
    Column { title: "PID", width: Constraint::Length(7), from: 70, cell: |line, _| of(line.row.pid) },
    Column { title: "CPU", width: Constraint::Length(6), from: 30, cell: |line, _| cpu(line) },
    Column { title: "MEMORY", width: Constraint::Length(8), from: 40, cell: |line, _| memory(line) },
    Column { title: "SINCE", width: Constraint::Length(5), from: 60, cell: |line, now| since(&line.row, now) },
    Column { title: "RESTARTS", width: Constraint::Length(8), from: 80, cell: |line, _| of(line.row.restarts) },
];

fn of(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn cpu(line: &Line) -> String {
    of(line.vitals.and_then(|vitals| vitals.cpu).map(percent))
}

fn memory(line: &Line) -> String {
    of(line.vitals.map(|vitals| size(vitals.memory)))
}

fn since(row: &Row, now: u64) -> String {
    age(std::time::Duration::from_secs(now.saturating_sub(row.since)))
}

/// Colours where they are wanted; all are among the sixteen that every terminal has on its own background.
struct Painter {
    colored: bool,
}

impl Painter {
    fn color(&self, color: Color) -> Style {
        if self.colored { Style::new().fg(color) } else { Style::new() }
    }

    fn head(&self, model: &Model) -> Text<'static> {
        let (instances, running) = model.instances();
        let memory = match model.machine_memory {
            Some(all) => format!("{} of {}", size(model.all.memory), size(all)),
            None => size(model.all.memory),
        };
        let cpu = of(model.all.cpu.map(percent));
        let failing = model.lines.iter().any(|line| line.row.health == Health::Failing);
        let state = Style::new().add_modifier(Modifier::BOLD);
        let state = if failing { state.patch(self.color(Color::Red)) } else { state };
        Text::from(vec![
            Span::styled(model.deployment.clone(), Style::new().add_modifier(Modifier::BOLD)),
            Span::raw("  "),
            Span::styled(format!("{running} of {instances} instances run"), state),
            Span::raw(format!("  CPU {cpu}  memory {memory}")),
        ])
    }

    fn list(&self, frame: &mut Frame<'_>, area: Rect, model: &Model, now: u64) {
        let columns: Vec<&Column> = COLUMNS.iter().filter(|column| area.width >= column.from).collect();
        let rows = model.lines.iter().map(|line| {
            let cells: Vec<String> = columns.iter().map(|column| (column.cell)(line, now)).collect();
            TableRow::new(cells).style(self.state(&line.row))
        });
        let title = |column: &&Column| match (column.title, model.order) {
            ("CPU", Order::Cpu) => "CPU v".to_owned(),
            ("MEMORY", Order::Memory) => "MEMORY v".to_owned(),
            (title, _) => title.to_owned(),
        };
        let head = TableRow::new(columns.iter().map(title).collect::<Vec<_>>());
        let table = Table::new(rows, columns.iter().map(|column| column.width))
            .header(head.style(Style::new().add_modifier(Modifier::BOLD)))
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        let mut state = TableState::new().with_selected(Some(model.selected()));
        frame.render_stateful_widget(table, area, &mut state);
    }

    fn state(&self, row: &Row) -> Style {
        match row.state {
            State::Failed | State::Exited | State::Failing => self.color(Color::Red),
            State::Running | State::Ready => Style::new(),
            _ => self.color(Color::Yellow),
        }
    }

    fn log(&self, frame: &mut Frame<'_>, area: Rect, model: &Model) {
        if area.height < 2 {
            return;
        }
        let title = match model.subject() {
            Some(subject) => format!(" log of {subject} "),
            None => " log ".to_owned(),
        };
        let block = Block::new().borders(Borders::TOP).title(title);
        let rows = usize::from(area.height - 1);
        let end = model.log.len().saturating_sub(model.log_offset).max(rows.min(model.log.len()));
        let shown = model.log.iter().take(end).skip(end.saturating_sub(rows));
        let lines: Vec<Text<'_>> = match model.log.is_empty() {
            true => vec![Text::from("(no lines)")],
            false => shown.map(|line| Text::from(line.as_str())).collect(),
        };
        frame.render_widget(Paragraph::new(lines).scroll((0, model.log_column)).block(block), area);
    }

    fn foot(&self, model: &Model) -> Text<'static> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let text = match (&model.view, &model.message) {
            (View::Question(action, subject), _) => {
                let question = format!("{} {subject}? y/n", verb(*action));
                return Text::from(Span::styled(question, bold.patch(self.color(Color::Yellow))));
            }
            (View::List, Some((text, is_failure))) => {
                let style = if *is_failure { bold.patch(self.color(Color::Red)) } else { bold };
                return Text::from(Span::styled(text.clone(), style));
            }
            (View::Log, _) => "arrows, page up, page down, home, end: scroll  l: back",
            (View::Help, _) => "any key: back",
            (View::List, None) => "r: restart  s: stop  a: start  l: log  c, m, d: order  ?: help  q: leave",
        };
        Text::from(text)
    }
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Start => "Start",
        Action::Stop => "Stop",
        Action::Restart => "Restart",
        Action::Recreate => "Recreate",
    }
}
