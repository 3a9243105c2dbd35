//! The life as tables: what happens, and what is done about it.

mod followed;
mod properties;

use Action::{Arm, Claim, Count, Disarm, Finish, Send, Start};
use Event::{Absent, Exited, NoChildren, Signal, Started, Timeout};
use Target::{Child, Everything, Group};

use super::*;
use crate::exit::Exit;
use crate::machine::{Drained, KILL_INTERVAL};

const STOP: Duration = Duration::from_secs(15);
const QUIT: Duration = Duration::from_secs(2);
const WINDOW: Duration = Duration::from_secs(3);
const TERM: Event = Signal(signal::TERM);

fn plan() -> Plan {
    Plan {
        policy: Policy::default(),
        process: true,
        hook: false,
        follows: false,
        start_waits: false,
        stop_program: None,
        stop_tasks: Vec::new(),
        post_start_waits: false,
        scripts: true,
        window: WINDOW,
        limits: None,
    }
}

/// What the others of a pod do.
fn pod(others: u32, asked: u32, before_pre_stopped: u32, before_drained: u32, of_the_job: u32) -> Event {
    Event::Pod(Pod { others, asked, before_pre_stopped, before_drained, of_the_job })
}

/// Starts, and then goes through the steps.
fn check(plan: Plan, steps: &[(Event, &[Action])]) -> Life {
    let mut life = Life::new(plan);
    life.begin();
    for (number, (event, actions)) in steps.iter().enumerate() {
        assert_eq!(life.on(*event), *actions, "step {number}: {event:?}");
    }
    life
}

/// What terminates everything that is left.
const SWEEP: [Action; 3] = [Send(Everything, signal::TERM), Arm(Timer::Sweep, QUIT), Count];
/// What stops the process for good.
const FOR_GOOD: [Action; 5] = [
    Disarm(Timer::Window),
    Disarm(Timer::Pause),
    Disarm(Timer::Scripts),
    Send(Child(Role::Main), signal::TERM),
    Arm(Timer::Main, STOP),
];

fn after_end(role: Role) -> [(Event, Vec<Action>); 2] {
    let sweep: Vec<_> = [Disarm(Timer::Main)].into_iter().chain(SWEEP).collect();
    [(Exited(role, Exit::Code(0)), sweep), (NoChildren, vec![Disarm(Timer::Sweep), Finish])]
}

fn ends(mut life: Life, role: Role) {
    for (event, actions) in after_end(role) {
        assert_eq!(life.on(event), actions, "{event:?}");
    }
    assert!(life.is_done());
}

#[test]
fn a_process_that_exits_ends_the_run_without_scripts() {
    let life = check(plan(), &[(Started(Role::Main), &[Start(Role::PostStart)]), (Absent(Role::PostStart), &[])]);
    assert_eq!((life.state(), life.progress()), (State::Running, Progress::None));
    ends(life, Role::Main);
}

#[test]
fn post_start_waits_for_the_pod_once() {
    let waits = || Plan { post_start_waits: true, ..plan() };
    let post_start = [Start(Role::PostStart)];
    let mut life = check(waits(), &[(Started(Role::Main), &[]), (Event::PodRuns, &post_start), (Event::PodRuns, &[])]);
    // Stopped and started again, it has not to wait any more.
    life.on(Event::Request(Request::Restart));
    life.on(Exited(Role::Main, Exit::Code(0)));
    life.on(NoChildren);
    assert_eq!(life.on(Started(Role::Main)), post_start);
    // While the process does not run, nothing runs beside it.
    let mut life = check(waits(), &[(Started(Role::Main), &[])]);
    life.on(Event::Request(Request::Stop));
    assert_eq!(life.on(Event::PodRuns), []);
    life.on(Exited(Role::Main, Exit::Code(0)));
    life.on(NoChildren);
    life.on(Event::Request(Request::Start));
    assert_eq!(life.on(Started(Role::Main)), post_start);
}

#[test]
fn a_post_start_that_fails_is_run_again_after_longer_and_longer_pauses() {
    const FAILED: Event = Exited(Role::PostStart, Exit::Code(1));
    let post_start = [Start(Role::PostStart)];
    let again = |seconds| [Arm(Timer::PostStart, Duration::from_secs(seconds))];
    let mut life = check(plan(), &[(Started(Role::Main), &post_start)]);
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(life.on(FAILED), again(seconds));
        assert_eq!(life.on(Timeout(Timer::PostStart)), post_start);
    }
    // The process is started again meanwhile: so is the script, once.
    life.on(FAILED);
    life.on(Event::Request(Request::Restart));
    life.on(Exited(Role::Main, Exit::Code(0)));
    life.on(NoChildren);
    assert_eq!(life.on(Started(Role::Main)), post_start);
    assert_eq!(life.on(Timeout(Timer::PostStart)), []);
    assert_eq!(life.on(FAILED), again(1));
    // Beside a process that is about to end nothing is run.
    let mut stopping = life.clone();
    stopping.on(TERM);
    assert_eq!(stopping.on(Timeout(Timer::PostStart)), []);
    life.on(Timeout(Timer::PostStart));
    life.on(TERM);
    assert_eq!(life.on(FAILED), []);
}

#[test]
fn a_hook_runs_before_each_start_and_keeps_the_process_from_starting_if_it_fails() {
    let with_hook = Plan { hook: true, ..plan() };
    let mut life = Life::new(with_hook.clone());
    assert_eq!(life.begin(), [Start(Role::Hook)]);
    assert_eq!(life.state(), State::Starting);
    assert_eq!(life.on(Exited(Role::Hook, Exit::Code(0))), [Start(Role::Main)]);
    life.on(Event::Request(Request::Restart));
    life.on(Exited(Role::Main, Exit::Code(0)));
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Start(Role::Hook)]);
    let mut failing = check(with_hook.clone(), &[]);
    assert_eq!(failing.on(Exited(Role::Hook, Exit::Code(1)))[1..], SWEEP);
    // Asked to end while the hook runs, nothing was started that would need draining.
    let asked = check(with_hook, &[]).on(TERM);
    assert_eq!(asked[3..], [Send(Child(Role::Hook), signal::TERM), Arm(Timer::Main, STOP)]);
}

#[test]
fn a_process_alone_in_its_pod_waits_for_nobody() {
    let life = check(
        plan(),
        &[
            (TERM, &[Arm(Timer::Window, WINDOW)]),
            (pod(0, 0, 0, 0, 0), &[Disarm(Timer::Window), Claim]),
            (Event::Claimed(true), &[Start(Role::PreStop)]),
            (Absent(Role::PreStop), &[Start(Role::Drain)]),
            (Absent(Role::Drain), &FOR_GOOD),
        ],
    );
    assert_eq!(life.progress(), Progress::Drained);
    let mut life = life;
    life.on(Exited(Role::Main, Exit::Code(0)));
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Start(Role::PostStop)]);
    assert_eq!(life.progress(), Progress::Ended);
    assert_eq!(life.on(Absent(Role::PostStop)), SWEEP);
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Finish]);
}

#[test]
fn a_process_that_is_asked_alone_is_stopped_alone() {
    let life = check(
        plan(),
        &[
            (TERM, &[Arm(Timer::Window, WINDOW)]),
            (pod(2, 0, 0, 0, 0), &[]),
            (pod(2, 1, 1, 1, 0), &[Arm(Timer::Window, WINDOW)]),
            (pod(1, 0, 0, 0, 0), &[]),
            (Timeout(Timer::Window), &FOR_GOOD),
        ],
    );
    ends(life, Role::Main);
}

#[test]
fn in_a_pod_all_pre_stops_come_first_then_all_drains_then_the_processes() {
    check(
        plan(),
        &[
            (TERM, &[Arm(Timer::Window, WINDOW)]),
            (pod(2, 2, 2, 2, 1), &[Disarm(Timer::Window), Claim]),
            (Event::Claimed(true), &[Start(Role::PreStop)]),
            (Started(Role::PreStop), &[]),
            (Exited(Role::PreStop, Exit::Code(1)), &[]),
            (pod(2, 2, 1, 2, 1), &[]),
            (pod(2, 2, 0, 2, 1), &[Start(Role::Drain)]),
            (Event::Drained(Drained::Again(QUIT)), &[Arm(Timer::Pause, QUIT)]),
            // The process may end while it is drained.
            (Exited(Role::Main, Exit::Code(0)), &[Disarm(Timer::Main)]),
            (Timeout(Timer::Pause), &[Start(Role::Drain)]),
            (Event::Drained(Drained::After(STOP)), &[Arm(Timer::Pause, STOP)]),
            (Timeout(Timer::Pause), &[]),
            (pod(2, 2, 0, 1, 1), &[]),
            (
                pod(1, 1, 0, 0, 1),
                &[Disarm(Timer::Window), Disarm(Timer::Pause), Disarm(Timer::Scripts), SWEEP[0], SWEEP[1], SWEEP[2]],
            ),
            // Its job's other process still runs.
            (NoChildren, &[Disarm(Timer::Sweep)]),
            (pod(0, 0, 0, 0, 0), &[Start(Role::PostStop)]),
            (Exited(Role::PostStop, Exit::Code(0)), &SWEEP),
            (NoChildren, &[Disarm(Timer::Sweep), Finish]),
        ],
    );
}

#[test]
fn only_one_process_of_a_job_runs_its_scripts() {
    let life = check(
        plan(),
        &[
            (TERM, &[Arm(Timer::Window, WINDOW)]),
            (pod(1, 1, 1, 1, 1), &[Disarm(Timer::Window), Claim]),
            (Event::Claimed(false), &[]),
            (pod(1, 1, 0, 1, 1), &[]),
            (pod(1, 1, 0, 0, 1), &FOR_GOOD),
        ],
    );
    ends(life, Role::Main);
}

#[test]
fn scripts_that_take_too_long_are_stopped_with_the_process() {
    let limits = StopLimits { scripts: WINDOW, total: STOP, stop_timeout: QUIT, quit_timeout: WINDOW, flush: QUIT };
    let mut life = check(
        Plan { limits: Some(limits), ..plan() },
        &[
            (TERM, &[Arm(Timer::Scripts, WINDOW), Arm(Timer::Total, STOP), Arm(Timer::Window, WINDOW)]),
            (pod(0, 0, 0, 0, 0), &[Disarm(Timer::Window), Claim]),
            (Event::Claimed(true), &[Start(Role::PreStop)]),
        ],
    );
    let stopped = life.on(Timeout(Timer::Scripts));
    assert_eq!(stopped[0], Send(Group(Role::PreStop), signal::TERM));
    assert_eq!(stopped[4..], [Send(Child(Role::Main), signal::TERM), Arm(Timer::Main, QUIT)]);
    assert_eq!(life.on(Timeout(Timer::Main)), [Send(Child(Role::Main), signal::QUIT), Arm(Timer::Main, WINDOW)]);
    assert_eq!(life.on(Timeout(Timer::Total))[0], Send(Everything, signal::KILL));
    assert_eq!(life.on(Exited(Role::Main, Exit::Signal(9))), [Disarm(Timer::Main)]);
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Finish]);
}

#[test]
fn without_a_process_only_the_scripts_of_the_job_run() {
    let scripts = || Plan { process: false, post_start_waits: true, ..plan() };
    let mut life = check(
        scripts(),
        &[
            (Event::PodRuns, &[Start(Role::PostStart)]),
            (Started(Role::PostStart), &[]),
            (Exited(Role::PostStart, Exit::Code(1)), &[Arm(Timer::PostStart, Duration::from_secs(1))]),
            (Timeout(Timer::PostStart), &[Start(Role::PostStart)]),
            (Exited(Role::PostStart, Exit::Code(0)), &[]),
            (Event::Request(Request::Stop), &[]),
            (Event::Request(Request::Restart), &[]),
            (Signal(1), &[]),
            (TERM, &[Arm(Timer::Window, WINDOW)]),
            (pod(1, 1, 1, 1, 0), &[Disarm(Timer::Window), Claim]),
            (Event::Claimed(true), &[Start(Role::PreStop)]),
            (Absent(Role::PreStop), &[]),
            (pod(1, 1, 0, 1, 0), &[Start(Role::Drain)]),
            (Event::Drained(Drained::After(Duration::ZERO)), &[]),
        ],
    );
    assert_eq!((life.state(), life.progress()), (State::Ending, Progress::Drained));
    assert_eq!(life.on(pod(1, 1, 0, 0, 0))[3..], SWEEP);
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Start(Role::PostStop)]);
    assert_eq!(life.on(Exited(Role::PostStop, Exit::Code(0))), SWEEP);
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Finish]);
    // Asked alone, none of them runs.
    let mut life = check(scripts(), &[(TERM, &[Arm(Timer::Window, WINDOW)]), (pod(1, 0, 0, 0, 0), &[])]);
    assert_eq!(life.on(Timeout(Timer::Window))[3..], SWEEP);
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Finish]);
}

#[test]
fn signals_reach_the_process_alone_and_once() {
    let life = check(
        plan(),
        &[
            (Signal(1), &[Send(Child(Role::Main), 1)]),
            (Event::Request(Request::Signal(3)), &[Send(Child(Role::Main), 3)]),
            (TERM, &[Arm(Timer::Window, WINDOW)]),
            (TERM, &[]),
            (Signal(signal::INT), &[]),
            (Signal(10), &[Send(Child(Role::Main), 10)]),
            (Exited(Role::Main, Exit::Code(0)), &[Disarm(Timer::Main)]),
            (Signal(10), &[]),
        ],
    );
    assert!(life.stop_requested());
}

#[test]
fn a_start_during_a_stop_is_a_restart() {
    let mut life = check(
        plan(),
        &[
            (Event::Request(Request::Start), &[]),
            (Event::Request(Request::Stop), &[Send(Child(Role::Main), signal::TERM), Arm(Timer::Main, STOP)]),
            (Event::Request(Request::Stop), &[]),
            (Event::Request(Request::Start), &[]),
        ],
    );
    assert_eq!(life.state(), State::Stopping);
    life.on(Exited(Role::Main, Exit::Code(0)));
    assert_eq!(life.state(), State::Stopping, "what it left behind may still run");
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Start(Role::Main)]);
    assert_eq!(life.state(), State::Running);
}

#[test]
fn a_stopped_process_stays_until_it_is_started_or_the_pod_stops() {
    let mut life = check(plan(), &[]);
    life.on(Event::Request(Request::Stop));
    life.on(Exited(Role::Main, Exit::Code(3)));
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep)]);
    assert_eq!((life.state(), life.is_done()), (State::Stopped, false));
    assert_eq!(life.clone().on(Event::Request(Request::Start)), [Start(Role::Main)]);
    assert_eq!(life.clone().on(Event::Request(Request::Restart)), [Start(Role::Main)]);
    assert_eq!(life.on(TERM), [Arm(Timer::Window, WINDOW)]);
    assert_eq!(life.on(Event::Request(Request::Start)), [], "it is on its way out");
    life.on(Timeout(Timer::Window));
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Finish]);
}

#[test]
fn a_drain_script_may_stop_its_process() {
    let mut life = check(plan(), &[]);
    life.on(TERM);
    life.on(pod(0, 0, 0, 0, 0));
    life.on(Event::Claimed(true));
    life.on(Absent(Role::PreStop));
    let stop = [Send(Child(Role::Main), signal::TERM), Arm(Timer::Main, STOP)];
    assert_eq!(life.on(Event::Request(Request::Stop)), stop);
    assert_eq!(life.on(Timeout(Timer::Main)), [Send(Child(Role::Main), signal::QUIT), Arm(Timer::Main, QUIT)]);
    // Not everything: the script goes on.
    let kill = [Send(Group(Role::Main), signal::KILL), Arm(Timer::Main, KILL_INTERVAL)];
    assert_eq!(life.on(Timeout(Timer::Main)), kill);
    assert_eq!(life.on(Exited(Role::Main, Exit::Signal(9))), [Disarm(Timer::Main)]);
    assert_eq!(life.on(Event::Drained(Drained::After(Duration::ZERO)))[3..], SWEEP);
}

#[test]
fn a_stop_that_is_asked_for_while_leftovers_are_swept_away_runs_scripts_afterwards() {
    let mut life = check(plan(), &[]);
    life.on(Event::Request(Request::Stop));
    life.on(Exited(Role::Main, Exit::Code(0)));
    assert_eq!(life.on(TERM), []);
    assert_eq!(life.on(NoChildren), [Disarm(Timer::Sweep), Arm(Timer::Window, WINDOW)]);
    assert_eq!(life.on(pod(0, 0, 0, 0, 0)), [Disarm(Timer::Window), Claim]);
}

#[test]
fn what_cannot_be_killed_does_not_hold_the_run_for_ever() {
    let mut life = check(Plan { scripts: false, ..plan() }, &[]);
    let mut armed = vec![Timer::Main];
    life.on(TERM);
    let steps = (1..1000).find(|_| {
        let Some(timer) = armed.pop() else { return true };
        for action in life.on(Timeout(timer)) {
            match action {
                Arm(timer, _) => armed.push(timer),
                Disarm(timer) => armed.retain(|armed| *armed != timer),
                _ => {}
            }
        }
        life.is_done()
    });
    assert_eq!((steps, life.is_done()), (Some(103), true), "QUIT, fifty KILLs, TERM, fifty KILLs, and then no more");
}

/// BOSH waits for a drain as long as it takes.
#[test]
fn int_stops_without_the_limits_and_a_later_term_applies_them() {
    let limits =
        StopLimits { scripts: WINDOW, total: STOP, stop_timeout: QUIT, quit_timeout: QUIT, flush: Duration::ZERO };
    let plan = Plan { limits: Some(limits), ..plan() };
    let life = check(
        plan,
        &[
            (Signal(signal::INT), &[Arm(Timer::Window, WINDOW)]),
            (Signal(signal::INT), &[]),
            (TERM, &[Arm(Timer::Scripts, WINDOW), Arm(Timer::Total, STOP)]),
            (TERM, &[]),
            (Signal(signal::INT), &[]),
        ],
    );
    assert_eq!(life.flush_timeout(), Duration::ZERO);
}
