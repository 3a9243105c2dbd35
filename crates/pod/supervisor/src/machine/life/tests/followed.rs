//! Processes that a start program leaves behind, and stop programs.

use super::*;

/// A process that a start program starts in the background, and a stop program stops.
fn managed() -> Plan {
    Plan { hook: true, follows: true, stop_program: Some(STOP_PROGRAM), scripts: false, ..plan() }
}

const STOP_PROGRAM: Duration = Duration::from_secs(30);
const REQUEST_STOP: Event = Event::Request(Request::Stop);

#[test]
fn a_followed_process_runs_when_it_is_found_whatever_became_of_its_start_program() {
    let mut life = check(managed(), &[(Exited(Role::Hook, Exit::Code(3)), &[])]);
    assert_eq!(life.state(), State::Starting);
    assert_eq!(life.on(Started(Role::Main)), [Start(Role::PostStart)]);
    assert_eq!(life.state(), State::Running);
    ends(life, Role::Main);
    // It runs already, or the start program stays.
    let life = check(managed(), &[(Absent(Role::Hook), &[]), (Started(Role::Main), &[Start(Role::PostStart)])]);
    ends(life, Role::Main);
    let life = check(managed(), &[(Started(Role::Main), &[Start(Role::PostStart)])]);
    assert_eq!(life.state(), State::Running);
    // It has not appeared in time.
    ends(check(managed(), &[(Exited(Role::Hook, Exit::Code(0)), &[])]), Role::Main);
}

#[test]
fn a_stop_program_has_its_time_before_the_signals() {
    let run: [(Event, &[Action]); 1] = [(Started(Role::Main), &[Start(Role::PostStart)])];
    let stop: (Event, &[Action]) = (
        TERM,
        &[
            Disarm(Timer::Window),
            Disarm(Timer::Pause),
            Disarm(Timer::Scripts),
            Start(Role::Stop),
            Arm(Timer::Main, STOP_PROGRAM),
        ],
    );
    let term: &[Action] = &[Send(Child(Role::Main), signal::TERM), Arm(Timer::Main, STOP)];
    let sweep: Vec<Action> = [Disarm(Timer::Main)].into_iter().chain(SWEEP).collect();
    // It ends, the process does not.
    let ended = (Exited(Role::Stop, Exit::Code(0)), &[] as &[Action]);
    let life = check(managed(), &[run[0], stop, ended, (Timeout(Timer::Main), term)]);
    ends(life, Role::Main);
    // It could not be run.
    check(managed(), &[run[0], stop, (Absent(Role::Stop), term)]);
    // The process ends first: the program may clear up, but not for ever.
    let outlived = (Exited(Role::Main, Exit::Code(0)), &[] as &[Action]);
    check(managed(), &[run[0], stop, outlived, (Exited(Role::Stop, Exit::Code(0)), &sweep)]);
    check(managed(), &[run[0], stop, outlived, (Timeout(Timer::Main), &sweep)]);
    // A request stops it in the same way, and it can be started again.
    let halt: &[Action] = &[Start(Role::Stop), Arm(Timer::Main, STOP_PROGRAM)];
    let start: &[Action] = &[Start(Role::Hook)];
    let life = check(
        managed(),
        &[
            run[0],
            (REQUEST_STOP, halt),
            ended,
            (Exited(Role::Main, Exit::Code(0)), &sweep),
            (NoChildren, &[Disarm(Timer::Sweep)]),
            (Event::Request(Request::Start), start),
        ],
    );
    assert_eq!(life.state(), State::Starting);
}

#[test]
fn a_stop_before_the_process_appears_ends_at_once() {
    let stop = [Disarm(Timer::Window), Disarm(Timer::Pause), Disarm(Timer::Scripts)];
    let sweep = [Disarm(Timer::Main)].into_iter().chain(SWEEP);
    let at_once: Vec<Action> = stop.into_iter().chain(sweep.clone()).collect();
    check(managed(), &[(Exited(Role::Hook, Exit::Code(0)), &[]), (TERM, &at_once)]);
    // The start program is stopped first.
    let term = [Send(Child(Role::Hook), signal::TERM), Arm(Timer::Main, STOP)];
    let first: Vec<Action> = stop.into_iter().chain(term).collect();
    check(managed(), &[(TERM, &first), (Exited(Role::Hook, Exit::Signal(15)), &sweep.collect::<Vec<_>>())]);
}

#[test]
fn a_start_may_wait_for_others() {
    let waits = || Plan { start_waits: true, scripts: false, ..plan() };
    let mut life = Life::new(waits());
    assert_eq!((life.begin(), life.state()), (Vec::new(), State::Starting));
    assert_eq!(life.on(Event::MayStart), [Start(Role::Main)]);
    assert_eq!(life.on(Event::MayStart), []);
    assert_eq!(life.state(), State::Running);
    // A request does not wait, a stop neither.
    assert_eq!(check(waits(), &[(Event::Request(Request::Start), &[Start(Role::Main)])]).state(), State::Running);
    assert_eq!(check(waits(), &[(REQUEST_STOP, &[]), (Event::MayStart, &[])]).state(), State::Stopped);
    let mut life = check(waits(), &[]);
    life.on(TERM);
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Finish]);
}

#[test]
fn a_process_is_stopped_while_a_dependency_does_not_run() {
    let term: &[Action] = &[Send(Child(Role::Main), signal::TERM), Arm(Timer::Main, STOP)];
    let sweep: Vec<Action> = [Disarm(Timer::Main)].into_iter().chain(SWEEP).collect();
    let gone = Exited(Role::Main, Exit::Signal(15));
    let waiting = || {
        let steps = [(Event::MustWait, term), (Event::MustWait, &[] as &[Action]), (gone, &sweep)];
        check(Plan { scripts: false, ..plan() }, &[&steps[..], &[(NoChildren, &[Disarm(Timer::Sweep)])]].concat())
    };
    let mut life = waiting();
    assert_eq!(life.state(), State::Starting);
    assert_eq!(life.on(Event::MayStart), [Start(Role::Main)]);
    assert_eq!((life.on(Event::MayStart), life.state()), (Vec::new(), State::Running));
    // A request does not wait, and a stop lasts.
    assert_eq!(waiting().on(Event::Request(Request::Start)), [Start(Role::Main)]);
    let mut life = waiting();
    assert_eq!((life.on(REQUEST_STOP), life.on(Event::MayStart)), (Vec::new(), Vec::new()));
    assert_eq!(life.state(), State::Stopped);
    assert_eq!(life.on(Event::MustWait), []);
    // It runs again before the process has stopped.
    let steps = [(Event::MustWait, term), (Event::MayStart, &[] as &[Action]), (gone, &sweep)];
    check(plan(), &[&steps[..], &[(NoChildren, &[Disarm(Timer::Sweep), Start(Role::Main)])]].concat());
    // A request to stop lasts.
    let steps = [(Event::MustWait, term), (REQUEST_STOP, &[] as &[Action]), (gone, &sweep)];
    let life = check(plan(), &[&steps[..], &[(NoChildren, &[Disarm(Timer::Sweep)])]].concat());
    assert_eq!(life.state(), State::Stopped);
}

#[test]
fn stop_tasks_run_beside_the_last_stop_and_are_waited_for() {
    let plan = || Plan { stop_tasks: vec![4, 2], scripts: false, ..plan() };
    let ended = |task| Exited(Role::Task(task), Exit::Code(1));
    let stop = [
        Disarm(Timer::Window),
        Disarm(Timer::Pause),
        Disarm(Timer::Scripts),
        Start(Role::Task(4)),
        Start(Role::Task(2)),
        Send(Child(Role::Main), signal::TERM),
        Arm(Timer::Main, STOP),
    ];
    let main = Exited(Role::Main, Exit::Code(0));
    let alone: [Action; 2] = [Disarm(Timer::Main), Arm(Timer::Main, STOP)];
    let sweep: Vec<Action> = [Disarm(Timer::Main)].into_iter().chain(SWEEP).collect();
    // They end before the process does, after it, or not at all. The end of another task means nothing.
    check(plan(), &[(TERM, &stop), (ended(2), &[]), (ended(4), &[]), (main, &sweep)]);
    check(plan(), &[(TERM, &stop), (ended(4), &[]), (main, &alone), (ended(9), &[]), (Absent(Role::Task(2)), &sweep)]);
    check(plan(), &[(TERM, &stop), (main, &alone), (Timeout(Timer::Main), &SWEEP), (ended(2), &[])]);
    // A request may start the process again, so that it stops without them.
    let halt = [Send(Child(Role::Main), signal::TERM), Arm(Timer::Main, STOP)];
    let mut life = check(plan(), &[(REQUEST_STOP, &halt), (main, &sweep), (NoChildren, &[Disarm(Timer::Sweep)])]);
    assert_eq!(life.state(), State::Stopped);
    assert_eq!(life.on(TERM)[3..], [Start(Role::Task(4)), Start(Role::Task(2)), Arm(Timer::Main, STOP)]);
    life.on(ended(4));
    assert_eq!(life.on(ended(2)), sweep);
}
