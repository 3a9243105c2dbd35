//! Doing things that need each other by several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use problem::{Problems, Result};

/// How many processors this process may use.
pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

struct State<T> {
    waiting: BTreeSet<usize>,
    running: usize,
    done: BTreeMap<usize, T>,
    problems: Vec<problem::Problem>,
}

/// Does everything in `needs` (the numbers that each one needs), each after what it needs, by so many threads; gives the
/// results in order.
///
/// What needs something that failed is not done; everything else is, and all problems are reported.
pub(super) fn in_order<T: Clone + Send>(
    needs: &[Vec<usize>],
    threads: usize,
    work: impl Fn(usize, &BTreeMap<usize, T>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let waiting = (0..needs.len()).collect();
    let state: Mutex<State<T>> = Mutex::new(State { waiting, running: 0, done: BTreeMap::new(), problems: Vec::new() });
    let changed = Condvar::new();
    let worker = || {
        let mut now = lock(&state);
        loop {
            let ready =
                now.waiting.iter().copied().find(|at| needs[*at].iter().all(|need| now.done.contains_key(need)));
            let Some(at) = ready else {
                if now.running == 0 {
                    changed.notify_all();
                    return;
                }
                now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            now.waiting.remove(&at);
            now.running += 1;
            let own: BTreeMap<usize, T> =
                needs[at].iter().filter_map(|need| Some((*need, now.done.get(need)?.clone()))).collect();
            drop(now);
            let result = work(at, &own);
            now = lock(&state);
            now.running -= 1;
            match result {
                Ok(result) => drop(now.done.insert(at, result)),
                Err(found) => now.problems.extend(found.into_vec()),
            }
            changed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(needs.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    Problems::check(state.problems)?;
    Ok(state.done.into_values().collect())
}

fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use problem::Problem;

    use super::*;

    #[test]
    fn independent_steps_run_in_parallel() {
        // Neither of 1 and 2 ends before the other has started.
        let both = Barrier::new(2);
        let done = in_order(&[vec![], vec![0], vec![0], vec![1, 2]], 4, |at, done: &BTreeMap<usize, usize>| {
            if at == 1 || at == 2 {
                both.wait();
            }
            Ok(done.len() * 10 + at)
        });
        assert_eq!(done.unwrap(), [0, 11, 12, 23]);
    }

    #[test]
    fn only_steps_that_depend_on_a_failure_are_skipped() {
        let done = Mutex::new(BTreeSet::new());
        let needs = [vec![], vec![0], vec![1], vec![], vec![3]];
        let problems = in_order(&needs, 2, |at, _: &BTreeMap<usize, ()>| {
            done.lock().unwrap().insert(at);
            if at == 1 || at == 4 { Err(Problem::input(format!("{at} failed")).into()) } else { Ok(()) }
        });
        let mut messages: Vec<_> = problems.unwrap_err().iter().map(|problem| problem.message.clone()).collect();
        messages.sort();
        assert_eq!(messages, ["1 failed", "4 failed"]);
        assert_eq!(done.into_inner().unwrap(), BTreeSet::from([0, 1, 3, 4]));
    }
}
