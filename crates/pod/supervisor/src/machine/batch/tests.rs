//! Tests of the machine as tables: events and the resulting actions.

use super::*;
use crate::exit::Exit;
use Action::{Count, Finish, Send};
use Event::{NoChildren, Signal};
use Target::Everything;

const HUP: i32 = 1;
const STOP: Duration = Duration::from_secs(15);
const QUIT: Duration = Duration::from_secs(2);
const DEADLINE: Event = Event::Timeout(Timer::Sweep);

const fn exited(number: usize, exit: Exit) -> Event {
    Event::Exited(Role::Task(number), exit)
}

const fn process(number: usize) -> Target {
    Target::Child(Role::Task(number))
}

fn check(processes: usize, stop_signal: i32, steps: &[(Event, &[Action])]) -> Batch {
    let mut machine = Batch::new(processes, Policy { stop_signal, ..Policy::default() });
    for (number, (event, actions)) in steps.iter().enumerate() {
        assert_eq!(machine.on(*event), *actions, "step {number}: {event:?}");
    }
    machine
}

#[test]
fn a_process_that_exits_completes_the_run() {
    let machine = check(1, 15, &[(exited(0, Exit::Code(3)), &[Finish]), (NoChildren, &[]), (DEADLINE, &[])]);
    assert!(machine.is_done() && !machine.stop_requested());
    assert!(machine.leaves_descendants(), "a daemon that a script started runs on");
}

#[test]
fn a_stop_escalates_from_the_shutdown_signal_over_quit_to_kill() {
    let machine = check(
        1,
        2,
        &[
            (Signal(15), &[Send(process(0), 2), arm(STOP)]),
            (DEADLINE, &[Send(process(0), 3), arm(QUIT)]),
            (DEADLINE, &[Send(Everything, 9), arm(KILL_INTERVAL)]),
            (exited(0, Exit::Signal(9)), &[]),
            (DEADLINE, &[Send(Everything, 9), arm(KILL_INTERVAL)]),
            (NoChildren, &[Finish]),
        ],
    );
    assert!(machine.is_done() && machine.stop_requested());
}

#[test]
fn int_stops_as_term_does_and_a_second_one_changes_nothing() {
    check(
        1,
        15,
        &[
            (Signal(2), &[Send(process(0), 15), arm(STOP)]),
            (Signal(2), &[]),
            (Signal(15), &[]),
            (exited(0, Exit::Code(0)), &[Send(Everything, 15), arm(QUIT), Count]),
            (NoChildren, &[Finish]),
        ],
    );
}

#[test]
fn other_signals_are_forwarded_as_long_as_the_process_lives() {
    check(
        1,
        15,
        &[
            (Signal(HUP), &[Send(process(0), HUP)]),
            (Signal(40), &[Send(process(0), 40)]),
            (Signal(15), &[Send(process(0), 15), arm(STOP)]),
            (Signal(HUP), &[Send(process(0), HUP)]),
            (exited(0, Exit::Code(0)), &[Send(Everything, 15), arm(QUIT), Count]),
            (Signal(HUP), &[]),
        ],
    );
}

#[test]
fn after_a_stop_descendants_are_terminated_and_then_killed() {
    let machine = check(
        1,
        15,
        &[
            (Signal(15), &[Send(process(0), 15), arm(STOP)]),
            (exited(0, Exit::Code(0)), &[Send(Everything, 15), arm(QUIT), Count]),
            (Signal(15), &[]),
            (DEADLINE, &[Send(Everything, 9), arm(KILL_INTERVAL)]),
            (NoChildren, &[Finish]),
        ],
    );
    assert!(!machine.leaves_descendants());
}

#[test]
fn several_processes_are_one_run() {
    check(
        3,
        15,
        &[
            (exited(1, Exit::Code(1)), &[]),
            (NoChildren, &[]),
            (Signal(HUP), &[Send(process(0), HUP), Send(process(2), HUP)]),
            (Signal(15), &[Send(process(0), 15), Send(process(2), 15), arm(STOP)]),
            (exited(0, Exit::Code(0)), &[]),
            (DEADLINE, &[Send(process(2), 3), arm(QUIT)]),
            (exited(2, Exit::Signal(3)), &[Send(Everything, 15), arm(QUIT), Count]),
            (NoChildren, &[Finish]),
        ],
    );
}

#[test]
fn a_process_that_cannot_be_killed_does_not_block_the_run() {
    let mut machine = Batch::new(1, Policy::default());
    machine.on(Signal(15));
    let deadlines = (1..1000).find(|_| machine.on(DEADLINE) == [Finish]);
    assert_eq!(deadlines, Some(52), "QUIT, fifty times KILL, and the end");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (1..64i32).prop_map(Signal),
            (0..3usize, any::<u8>()).prop_map(|(process, code)| exited(process, Exit::Code(code))),
            Just(NoChildren),
            Just(DEADLINE),
        ]
    }

    proptest! {
        #[test]
        fn every_stop_completes_with_kill_or_exit(events in prop::collection::vec(event(), 0..40)) {
            let mut machine = Batch::new(3, Policy::default());
            let mut alive = [true; 3];
            let mut killed = false;
            let mut armed = false;
            let mut finished = 0;
            let until_done = [Signal(15)].into_iter().chain(std::iter::repeat_n(DEADLINE, 60));
            for event in events.into_iter().chain(until_done) {
                // Impossible: an unarmed deadline, a process that exits twice, no children while one is alive.
                match event {
                    Event::Timeout(_) if !armed => continue,
                    Event::Exited(Role::Task(process), _) if !std::mem::take(&mut alive[process]) => continue,
                    NoChildren if alive.contains(&true) => continue,
                    _ => {}
                }
                for action in machine.on(event) {
                    match action {
                        Send(Everything, 9) => killed = true,
                        Send(Target::Child(Role::Task(process)), _) => prop_assert!(alive[process], "a dead process got a signal"),
                        Send(Everything, _) => {}
                        Action::Arm(..) => armed = true,
                        Finish => finished += 1,
                        _ => {}
                    }
                }
            }
            prop_assert!(machine.is_done());
            prop_assert_eq!(finished, 1);
            prop_assert!(killed || !alive.contains(&true), "a process was left alone without KILL");
        }
    }
}
