//! The screen as a person sees it, and what keys do.

use local_state::control::{Action, Health, Row, State};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::model::{Key, Line, Model, Step, Subject, View};
use super::screen::draw;
use crate::status;
use crate::vitals::Vitals;

fn line(instance: &str, process: &str, cpu: u64, memory: u64) -> Line {
    let row = Row { instance: instance.to_owned(), process: Some(process.to_owned()), ..status::tests::row() };
    Line { row, vitals: Some(Vitals { cpu: Some(cpu), memory: memory << 20 }) }
}

fn model() -> Model {
    let mut model = Model::new("nats".to_owned());
    let mut dead = line("web/0", "web/worker", 0, 0);
    dead.row = Row { state: State::Exited, pid: None, restarts: Some(12), health: Health::Failing, ..dead.row };
    dead.vitals = None;
    let mut beside = line("web/0", "web/nginx", 125, 64);
    beside.row.health = Health::Failing;
    model.update(vec![line("nats/0", "nats/nats", 3, 12), beside, dead]);
    model.machine_memory = Some(16 << 30);
    for number in 1..=40 {
        model.add_to_log(&format!("[nats/0 nats/nats.log] line\x1b[31m {number}"));
    }
    model
}

fn picture(model: &Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, true, 250)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect()
}

#[test]
fn eighty_by_twenty_four_shows_processes_and_the_log() {
    let lines = picture(&model(), 80, 24);
    assert_eq!(lines[0], "nats  1 of 2 instances run  CPU 12.8%  memory 76 MiB of 16 GiB");
    assert_eq!(lines[1], "INSTANCE     PROCESS            STATE     PID     CPU    MEMORY   SINCE RESTARTS");
    assert_eq!(lines[2], "nats/0       nats/nats          running   4711    0.3%   12 MiB   2m    0");
    assert_eq!(lines[4], "web/0        web/worker         exited    -       -      -        2m    12");
    assert!(lines[7].contains("log of nats/0/nats"), "{lines:#?}");
    assert_eq!(lines[22], "[nats.log] line[31m 40");
    assert!(lines[23].starts_with("r: restart") && lines[23].ends_with("q: leave"), "{lines:#?}");
}

#[test]
fn a_small_screen_shows_what_fits() {
    let lines = picture(&model(), 36, 8);
    assert_eq!(lines[1], "INSTANCE            STATE     CPU");
    assert_eq!(lines[4], "web/0               exited    -");
    assert!(!lines.iter().any(|line| line.contains("log of")), "{lines:#?}");
    // No size is too small.
    for (width, height) in [(1, 1), (1, 24), (200, 1), (2, 2), (80, 3)] {
        for view in [View::List, View::Log, View::Help] {
            picture(&Model { view, ..model() }, width, height);
        }
    }
}

#[test]
fn the_chosen_process_stays_chosen_in_another_order() {
    let mut model = model();
    model.press(Key::Down);
    assert_eq!(model.subject().unwrap().to_string(), "web/0/web");
    model.press(Key::Char('c'));
    assert_eq!((model.selected(), model.lines[0].row.process.as_deref()), (0, Some("web/nginx")));
    model.press(Key::Char('d'));
    let (one, two) = (line("nats/0", "nats/nats", 3, 12), line("web/0", "web/nginx", 125, 64));
    model.update(vec![one, two]);
    assert_eq!(model.selected(), 1);
    // The chosen one is gone.
    model.update(vec![line("nats/0", "nats/nats", 3, 12)]);
    assert_eq!(model.selected(), 0);
    model.update(Vec::new());
    assert_eq!((model.selected(), model.subject()), (0, None));
    assert_eq!(model.press(Key::Char('r')), Step::Stay);
    picture(&model, 80, 24);
}

#[test]
fn a_change_is_asked_for_and_confirmed() {
    let mut model = model();
    model.press(Key::End);
    assert_eq!(model.press(Key::Char('r')), Step::Stay);
    assert_eq!(picture(&model, 80, 24)[23], "Restart web/0/web? y/n");
    assert_eq!(model.press(Key::Char('n')), Step::Stay);
    assert_eq!(model.view, View::List);
    model.press(Key::Char('R'));
    let subject = Subject { instance: "web/0".to_owned(), job: None };
    assert_eq!(model.press(Key::Char('y')), Step::Change(Action::Restart, subject));
    assert_eq!([Key::Escape, Key::Interrupt].map(|key| model.press(key)), [Step::Quit, Step::Quit]);
}

#[test]
fn the_log_alone_scrolls_and_stays_where_it_is() {
    let mut model = model();
    model.press(Key::Enter);
    assert_eq!(picture(&model, 80, 24)[22], "[nats.log] line[31m 40");
    model.press(Key::PageUp);
    model.add_to_log("new");
    assert_eq!(picture(&model, 80, 24)[22], "[nats.log] line[31m 30");
    model.press(Key::Home);
    assert_eq!(picture(&model, 80, 24)[2], "[nats.log] line[31m 1");
    model.add_to_log("[nats/0 nats/nats.log] 0123456789 to the right");
    model.press(Key::Right);
    model.press(Key::End);
    assert_eq!(picture(&model, 80, 24)[22], "9 to the right");
    model.press(Key::Left);
    assert_eq!(picture(&model, 80, 24)[21], "new");
    model.press(Key::Char('q'));
    assert_eq!(model.view, View::List);
}
