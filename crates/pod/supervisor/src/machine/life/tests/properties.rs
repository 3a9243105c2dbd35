//! In every order of events: no lost child, no double start, and every stop completes.

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;

/// The next event of a world; its meaning depends on the processes that are alive.
#[derive(Debug, Clone, Copy)]
enum Step {
    Signal(i32),
    Request(Request),
    /// One of the living processes exits.
    End(usize, u8),
    /// One of the armed timers expires.
    Timeout(usize),
    Pod(Pod),
    PodRuns,
    /// What has to run before does, or does not.
    Dependency(bool),
    /// An orphan appears or exits.
    Orphan(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let request = prop_oneof![
        Just(Request::Start),
        Just(Request::Stop),
        Just(Request::Restart),
        (1..32i32).prop_map(Request::Signal)
    ];
    let pod = (0..3u32, 0..3u32, 0..3u32, 0..3u32, 0..2u32).prop_map(|(others, asked, a, b, of_the_job)| {
        let asked = asked.min(others);
        Pod {
            others,
            asked,
            before_pre_stopped: a.min(asked),
            before_drained: b.max(a).min(asked),
            of_the_job: of_the_job.min(asked),
        }
    });
    prop_oneof![
        1 => (1..64i32).prop_map(Step::Signal),
        1 => Just(Step::Signal(15)),
        3 => request.prop_map(Step::Request),
        4 => (0..4usize, 0..2u8).prop_map(|(n, code)| Step::End(n, code)),
        4 => (0..4usize).prop_map(Step::Timeout),
        3 => pod.prop_map(Step::Pod),
        1 => Just(Step::PodRuns),
        1 => any::<bool>().prop_map(Step::Dependency),
        1 => any::<bool>().prop_map(Step::Orphan),
    ]
}

/// A world in which children are alive, time passes, and scripts exist or not.
struct World {
    life: Life,
    existing: BTreeSet<Role>,
    alive: BTreeSet<Role>,
    orphans: u32,
    armed: BTreeSet<usize>,
    /// Whether processes can be killed.
    mortal: bool,
    /// Whether the pod's other processes ran.
    pod_ran: bool,
    finished: u32,
    history: Vec<Action>,
    /// Events that the machine has not received yet, in the order in which they happened.
    events: VecDeque<Event>,
}

impl World {
    fn new(plan: Plan, existing: BTreeSet<Role>, mortal: bool) -> World {
        let life = Life::new(plan);
        let (alive, armed) = (BTreeSet::new(), BTreeSet::new());
        let mut world = World {
            life,
            existing,
            alive,
            orphans: 0,
            armed,
            mortal,
            pod_ran: false,
            finished: 0,
            history: Vec::new(),
            events: VecDeque::new(),
        };
        let first = world.life.begin();
        world.perform(first);
        world.apply_pending();
        world
    }

    fn apply(&mut self, event: Event) {
        self.events.push_back(event);
        self.apply_pending();
    }

    fn apply_pending(&mut self) {
        while let Some(event) = self.events.pop_front() {
            let before = self.life.clone();
            let actions = self.life.on(event);
            assert!(!before.is_done() || actions.is_empty(), "it is over, and yet {actions:?}");
            self.perform(actions);
        }
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            self.history.push(action);
            if action == Action::Start(Role::PostStart) {
                assert!(self.pod_ran || !self.life.plan.post_start_waits, "post-start has not waited");
            }
            match action {
                Action::Start(role) if self.existing.contains(&role) => {
                    let another = matches!(role, Role::Main | Role::Hook)
                        && (self.alive.contains(&Role::Main) || self.alive.contains(&Role::Hook));
                    assert!(!another || !self.mortal, "started twice");
                    assert!(!self.alive.contains(&role) || !self.mortal, "{role:?} started twice");
                    self.alive.insert(role);
                    self.events.push_back(Event::Started(role));
                }
                Action::Start(role) => self.events.push_back(Event::Absent(role)),
                Action::Send(Target::Child(role), signal) => {
                    assert!(self.alive.contains(&role), "{role:?} got {signal} although it does not live");
                }
                Action::Send(Target::Group(role), signal::KILL) if self.mortal => {
                    if self.alive.remove(&role) {
                        self.events.push_back(Event::Exited(role, Exit::Signal(9)));
                    }
                }
                Action::Send(Target::Everything, signal::KILL) if self.mortal => {
                    self.orphans = 0;
                    let killed = std::mem::take(&mut self.alive);
                    self.events.extend(killed.into_iter().map(|role| Event::Exited(role, Exit::Signal(9))));
                    self.events.push_back(Event::NoChildren);
                }
                Action::Send(..) => {}
                Action::Arm(timer, _) => drop(self.armed.insert(timer as usize)),
                Action::Disarm(timer) => drop(self.armed.remove(&(timer as usize))),
                Action::Count if self.alive.is_empty() && self.orphans == 0 => self.events.push_back(Event::NoChildren),
                Action::Count => {}
                Action::Claim => self.events.push_back(Event::Claimed(true)),
                Action::Finish => self.finished += 1,
            }
        }
    }

    fn end(&mut self, role: Role, code: u8) {
        self.alive.remove(&role);
        let event = match (role, code) {
            (Role::Drain, 0) => Event::Drained(Drained::After(QUIT)),
            (Role::Drain, _) => Event::Drained(Drained::Again(QUIT)),
            _ => Event::Exited(role, Exit::Code(code)),
        };
        self.apply(event);
        self.maybe_childless();
    }

    fn maybe_childless(&mut self) {
        if self.alive.is_empty() && self.orphans == 0 {
            self.apply(Event::NoChildren);
        }
    }

    fn timeout(&mut self, n: usize) -> bool {
        let Some(timer) = self.armed.iter().copied().nth(n) else { return false };
        self.armed.remove(&timer);
        self.apply(Event::Timeout(Timer::ALL[timer]));
        true
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Signal(signal) => self.apply(Event::Signal(signal)),
            Step::Request(request) => self.apply(Event::Request(request)),
            Step::End(n, code) => {
                if let Some(role) = self.alive.iter().copied().nth(n) {
                    self.end(role, code);
                }
            }
            Step::Timeout(n) => drop(self.timeout(n)),
            Step::Pod(pod) => self.apply(Event::Pod(pod)),
            Step::PodRuns => {
                self.pod_ran = true;
                self.apply(Event::PodRuns);
            }
            Step::Dependency(runs) => self.apply(if runs { Event::MayStart } else { Event::MustWait }),
            Step::Orphan(true) if !self.alive.is_empty() => self.orphans += 1,
            Step::Orphan(true) => {}
            Step::Orphan(false) => {
                let had = self.orphans > 0;
                self.orphans = self.orphans.saturating_sub(1);
                if had {
                    self.maybe_childless();
                }
            }
        }
    }

    /// The order in which BOSH stops an instance, applied to the events since the stop was requested.
    fn check_order(&self) {
        let at = |action: Action| self.history.iter().position(|a| *a == action);
        let last = |action: Action| self.history.iter().rposition(|a| *a == action);
        let in_order =
            |first: Option<usize>, then: Option<usize>| then.is_none_or(|then| first.is_some_and(|first| first < then));
        assert!(in_order(at(Action::Start(Role::PreStop)), at(Action::Start(Role::Drain))));
        assert!(in_order(at(Action::Claim), at(Action::Start(Role::PreStop))));
        assert!(in_order(at(Action::Claim), at(Action::Start(Role::PostStop))));
        let post_stop = at(Action::Start(Role::PostStop));
        assert!(post_stop.is_none() || last(Action::Start(Role::Main)) < post_stop);
    }
}

fn roles() -> impl Strategy<Value = BTreeSet<Role>> {
    let optional = vec![Role::PostStart, Role::PreStop, Role::Drain, Role::PostStop];
    prop::sample::subsequence(optional, 0..=4).prop_map(|some| {
        let always = [Role::Main, Role::Hook];
        some.into_iter().chain(always).collect()
    })
}

fn plans() -> impl Strategy<Value = Plan> {
    // Mostly with a process.
    let process = prop::bool::weighted(0.8);
    (process, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(process, hook, post_start_waits, scripts, limited)| {
            let limits =
                StopLimits { scripts: WINDOW, total: STOP, stop_timeout: QUIT, quit_timeout: QUIT, flush: QUIT };
            Plan { process, hook, post_start_waits, scripts, limits: limited.then_some(limits), ..plan() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// No process reacts and time passes: the stop completes with everything killed.
    #[test]
    fn every_stop_completes_and_leaves_no_process(
        plan in plans(),
        roles in roles(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = World::new(plan, roles, true);
        for step in steps {
            world.step(step);
        }
        world.apply(TERM);
        world.apply(Event::Pod(Pod::default()));
        // Endless drains and stuck processes of the pod are outside of this property.
        for _ in 0..200 {
            if world.life.is_done() {
                break;
            }
            if !world.timeout(0) {
                let script = world.alive.iter().copied().find(|role| !matches!(role, Role::Main | Role::Hook));
                match script {
                    Some(role) => world.end(role, 0),
                    None => world.apply(Event::Pod(Pod::default())),
                }
            }
        }
        prop_assert!(world.life.is_done(), "{:?}", world.life);
        prop_assert_eq!((world.finished, world.orphans), (1, 0));
        prop_assert!(world.alive.is_empty(), "{:?} still live", world.alive);
        world.check_order();
    }

    /// Within the total time the stop completes even if scripts never exit and other processes make no progress.
    #[test]
    fn the_total_time_limit_stops_everything(
        plan in plans(),
        roles in roles(),
        steps in prop::collection::vec(step(), 0..60),
        mortal in any::<bool>(),
    ) {
        let limits = StopLimits { scripts: WINDOW, total: STOP, stop_timeout: QUIT, quit_timeout: QUIT, flush: QUIT };
        let mut world = World::new(Plan { limits: Some(limits), ..plan }, roles, mortal);
        for step in steps {
            world.step(step);
        }
        world.apply(TERM);
        if !world.life.is_done() {
            world.armed.insert(Timer::Total as usize);
            let total = world.armed.iter().position(|timer| *timer == Timer::Total as usize).unwrap();
            world.timeout(total);
        }
        for _ in 0..60 {
            let sweep = world.armed.iter().position(|timer| *timer == Timer::Sweep as usize);
            if let (Some(sweep), false) = (sweep, world.life.is_done()) {
                world.timeout(sweep);
            }
        }
        prop_assert!(world.life.is_done(), "{:?}", world.life);
        prop_assert!(!mortal || world.alive.is_empty(), "{:?} still live", world.alive);
    }
}
