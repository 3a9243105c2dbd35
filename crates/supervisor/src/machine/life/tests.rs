//! The life as tables: what happens, and what is done about it.

use super::*;
use crate::exit::Exit;

fn life() -> Life {
    Life::new(Plan {
        policy: Policy::default(),
        hook: false,
        scripts: false,
        window: Duration::from_secs(3),
        limits: None,
    })
}

/// A start while the old process is still being stopped waits for its end; what the old one does then changes nothing.
#[test]
fn a_start_during_a_stop_is_a_restart() {
    let mut life = life();
    assert_eq!(life.begin(), [Action::Start(Role::Main)]);
    life.on(Event::Started(Role::Main));
    let stop = life.on(Event::Request(Request::Stop));
    assert_eq!(
        stop,
        [Action::Send(Target::Child(Role::Main), signal::TERM), Action::Arm(Timer::Main, Duration::from_secs(15))]
    );
    assert_eq!(life.on(Event::Request(Request::Start)), []);
    assert_eq!(life.state(), State::Stopping);
    life.on(Event::Exited(Role::Main, Exit::Code(0)));
    let started = life.on(Event::NoChildren);
    assert_eq!(started, [Action::Disarm(Timer::Sweep), Action::Start(Role::Main)]);
    assert_eq!(life.state(), State::Running);
}
