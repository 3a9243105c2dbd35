//! The same work for several instances at a time.

use std::sync::Mutex;

use crate::failure::Failure;

/// Does `work` for all items, `at_a_time` of them at the same time, and goes on with the others when one fails.
///
/// # Errors
/// All failures together, in the items' order.
pub(crate) fn for_each<T: Sync>(
    items: &[T],
    at_a_time: usize,
    work: impl Fn(&T) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let queue = Mutex::new(items.iter().enumerate());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.min(items.len()) {
            scope.spawn(|| {
                while let Some((place, item)) = next() {
                    if let Err(failure) = work(item)
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push((place, failure));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort_by_key(|(place, _)| *place);
    Failure::all(failures.into_iter().map(|(_, failure)| failure).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use problem::Problem;

    use super::*;

    #[test]
    fn all_items_are_worked_on_and_failures_keep_their_order() {
        let done = AtomicU32::new(0);
        let result = for_each(&[1, 2, 3, 4, 5], 2, |n| {
            done.fetch_add(1, Ordering::SeqCst);
            if n % 2 == 0 { Err(Problem::internal(format!("item {n}")).into()) } else { Ok(()) }
        });
        assert_eq!(done.load(Ordering::SeqCst), 5);
        let (text, code) = result.unwrap_err().report();
        assert_eq!((text.as_str(), code), ("error: item 2\nerror: item 4\n", 70));
        for_each(&[0; 0], 2, |_| Ok(())).unwrap();
    }
}
