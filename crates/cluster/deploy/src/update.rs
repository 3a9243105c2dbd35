//! Which instances of a group are replaced next, as a director updates them: AZ by AZ, canaries first, then at most `max_in_flight` at a
//! time. Pure: everything follows from how the instances are now, so that a run goes on where another one was interrupted.

use manifest_model::update::Update;

/// How an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Its pod runs an earlier version.
    Outdated {
        /// Whether it is ready.
        is_up: bool,
        /// Whether it is the active one, which standbys replace.
        is_active: bool,
    },
    /// It has no pod, or one that stops, or one that has not been ready for long enough.
    InFlight,
    /// It runs what it is to run.
    Done {
        /// Whether this update has made its pod.
        is_new: bool,
    },
    /// Its node does not answer.
    Lost,
}

/// An instance of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instance {
    /// The number of its AZ, in the manifest's order.
    pub(crate) az: u32,
    /// Its index.
    pub(crate) index: u32,
    pub(crate) state: State,
}

/// The instances to be replaced now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Next {
    /// Their positions in the group's list.
    pub(crate) instances: Vec<usize>,
    /// Whether they are canaries: the others wait until these are ready.
    pub(crate) are_canaries: bool,
}

/// Chooses the next instances. An instance that is not ready comes before all others: replacing it takes nothing away, and it may be what
/// an earlier update has broken. If none is ready at all, all are replaced, because nodes of a cluster may wait for each other.
pub(crate) fn next(instances: &[Instance], update: &Update) -> Next {
    let size = u32::try_from(instances.len()).unwrap_or(u32::MAX);
    let mut outdated: Vec<(_, usize)> = Vec::new();
    for (position, instance) in instances.iter().enumerate() {
        if let State::Outdated { is_up, is_active } = instance.state {
            outdated.push(((is_up, is_active, instance.az, instance.index), position));
        }
    }
    outdated.sort_unstable();
    let Some(&((is_up, ..), first)) = outdated.first() else { return Next::default() };
    if !is_up && instances.iter().all(|instance| matches!(instance.state, State::Outdated { is_up: false, .. })) {
        return Next { instances: outdated.into_iter().map(|(_, position)| position).collect(), are_canaries: true };
    }
    let with = |state: State| instances.iter().filter(move |instance| instance.state == state);
    let new = with(State::Done { is_new: true }).count();
    let in_flight: Vec<&Instance> = with(State::InFlight).collect();
    let canaries = (update.canaries_of(size) as usize).min(outdated.len() + in_flight.len() + new);
    let are_canaries = new < canaries;
    let at_a_time = update.max_in_flight_of(size) as usize;
    let limit = if are_canaries { at_a_time.min(canaries - new) } else { at_a_time };
    // The next AZ begins when the one before is done.
    let az = instances[first].az;
    if in_flight.iter().any(|instance| instance.az != az) {
        return Next::default();
    }
    let of_az = outdated.into_iter().map(|(_, position)| position).filter(|position| instances[*position].az == az);
    Next { instances: of_az.take(limit.saturating_sub(in_flight.len())).collect(), are_canaries }
}

#[cfg(test)]
mod tests {
    use manifest_model::update::Count;

    use super::*;

    /// `o` outdated and ready, `x` outdated and not ready, `a` outdated and active, `f` in flight, `n` new, `d` done as it was, `L` lost; a space ends
    /// an AZ.
    fn instances(text: &str) -> Vec<Instance> {
        let mut az = 1;
        let mut all = Vec::new();
        for letter in text.chars() {
            let outdated = |is_up, is_active| State::Outdated { is_up, is_active };
            let state = match letter {
                'o' => outdated(true, false),
                'x' => outdated(false, false),
                'a' => outdated(true, true),
                'f' => State::InFlight,
                'n' => State::Done { is_new: true },
                'd' => State::Done { is_new: false },
                'L' => State::Lost,
                _ => {
                    az += 1;
                    continue;
                }
            };
            all.push(Instance { az, index: u32::try_from(all.len()).unwrap(), state });
        }
        all
    }

    #[track_caller]
    fn assert_next(text: &str, canaries: Count, max_in_flight: Count, expected: &[usize]) {
        let update = Update { canaries, max_in_flight, ..Update::default() };
        assert_eq!(next(&instances(text), &update).instances, expected, "{text}");
    }

    const ONE: Count = Count::Number(1);

    #[test]
    fn one_after_the_other_az_by_az() {
        assert_next("oo oo", ONE, ONE, &[0]);
        assert_next("fo oo", ONE, ONE, &[]);
        assert_next("no oo", ONE, ONE, &[1]);
        assert_next("nn oo", ONE, ONE, &[2]);
        assert_next("nn nf", ONE, ONE, &[]);
        assert_next("nn nn", ONE, ONE, &[]);
        assert_next("dd dd", ONE, ONE, &[]);
    }

    #[test]
    fn canaries_come_first_and_then_as_many_as_may_be_away() {
        let (two, three) = (Count::Number(2), Count::Number(3));
        assert_next("oooooo", two, three, &[0, 1]);
        assert_next("ffoooo", two, three, &[]);
        assert_next("nfoooo", two, three, &[]);
        assert_next("nnoooo", two, three, &[2, 3, 4]);
        assert_next("nnnfoo", two, three, &[4, 5]);
        // Of the whole group, within an AZ.
        assert_next("oo oo", Count::Number(0), Count::Percent(50), &[0, 1]);
        assert_next("fo oo", Count::Number(0), three, &[1]);
        assert_next("nf oo", Count::Number(0), three, &[]);
        assert_next("oooo", Count::Percent(50), ONE, &[0]);
        assert!(next(&instances("nooo"), &Update { canaries: two, ..Update::default() }).are_canaries);
        assert!(!next(&instances("nnoo"), &Update { canaries: two, ..Update::default() }).are_canaries);
    }

    #[test]
    fn what_is_broken_is_replaced_first_and_a_failed_canary_stops_the_rest() {
        assert_next("oxo oo", ONE, ONE, &[1]);
        assert_next("oo ox", ONE, ONE, &[3]);
        // The canary of the new version does not become ready.
        assert_next("ofo oo", ONE, Count::Number(3), &[]);
        // A corrected version replaces the canary, and then the others.
        assert_next("ono oo", ONE, ONE, &[0]);
        assert_next("xx xx", ONE, ONE, &[0, 1, 2, 3]);
        assert_next("fx xx", ONE, ONE, &[]);
        assert_next("xx xo", ONE, Count::Number(9), &[0]);
    }

    #[test]
    fn the_active_instance_comes_last() {
        assert_next("ao o", ONE, ONE, &[1]);
        assert_next("an n", ONE, ONE, &[0]);
    }

    #[test]
    fn lost_instances_neither_count_nor_are_replaced() {
        assert_next("oL oL", ONE, ONE, &[0]);
        assert_next("nL oL", ONE, ONE, &[2]);
        assert_next("nL nL", ONE, ONE, &[]);
        assert_next("xL", ONE, ONE, &[0]);
    }

    #[test]
    fn every_update_ends_and_never_takes_more_away_than_it_may() {
        for (seed, text) in ["oooo oooo oo", "dodod odd", "xxxo oo", "oxnf ood", "ffdo no"].into_iter().enumerate() {
            for at_a_time in 1..4 {
                let update = Update { max_in_flight: Count::Number(at_a_time), ..Update::default() };
                let mut all = instances(text);
                let away = |all: &[Instance]| all.iter().filter(|instance| instance.state == State::InFlight).count();
                let most = away(&all).max(at_a_time as usize);
                for step in 0.. {
                    for position in next(&all, &update).instances {
                        all[position].state = State::InFlight;
                    }
                    assert!(away(&all) <= most, "{text}: {all:?}");
                    // One that is away comes back.
                    let flying: Vec<usize> =
                        (0..all.len()).filter(|position| all[*position].state == State::InFlight).collect();
                    if flying.is_empty() {
                        break;
                    }
                    all[flying[(seed + step) % flying.len()]].state = State::Done { is_new: true };
                }
                assert!(all.iter().all(|instance| matches!(instance.state, State::Done { .. })), "{text}: {all:?}");
            }
        }
    }
}
