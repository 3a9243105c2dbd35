//! Interrupting what is under way when the user asks for the end.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether the end was asked for, and how to end what is under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    asked: Condvar,
}

#[derive(Default)]
struct Inner {
    asked: u32,
    last: u64,
    under_way: HashMap<u64, Box<dyn Fn() + Send>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("asked", &self.asked).field("under_way", &self.under_way.len()).finish()
    }
}

impl Interrupt {
    /// Asks for the end, and ends what is under way.
    pub(crate) fn trigger(&self) {
        let mut inner = self.inner();
        inner.asked += 1;
        inner.under_way.values().for_each(|end| end());
        drop(inner);
        self.0.asked.notify_all();
    }

    /// Waits for so long, or until the end is asked for; returns whether it was.
    pub(crate) fn wait_for(&self, limit: Duration) -> bool {
        let waited = self.0.asked.wait_timeout_while(self.inner(), limit, |inner| inner.asked == 0);
        drop(waited);
        self.is_asked()
    }

    /// Waits until the end is asked for.
    pub(crate) fn wait(&self) {
        let waited = self.0.asked.wait_while(self.inner(), |inner| inner.asked == 0);
        drop(waited);
    }

    /// Whether the end was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.inner().asked > 0
    }

    /// Whether it was asked for a second time: what does not stop by then is killed.
    pub(crate) fn is_urgent(&self) -> bool {
        self.inner().asked > 1
    }

    /// `end` is what ends something, as long as the guard lives.
    pub(crate) fn guard(&self, end: impl Fn() + Send + 'static) -> Guard {
        let mut inner = self.inner();
        if inner.asked > 0 {
            end();
        }
        inner.last += 1;
        let id = inner.last;
        inner.under_way.insert(id, Box::new(end));
        Guard { interrupt: self.clone(), id }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is under way.
#[derive(Debug)]
pub(crate) struct Guard {
    interrupt: Interrupt,
    id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.interrupt.inner().under_way.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn what_is_under_way_is_ended_and_what_comes_later_too() {
        let ended = Arc::new(AtomicU32::new(0));
        let end = || {
            let ended = Arc::clone(&ended);
            move || {
                ended.fetch_add(1, Ordering::SeqCst);
            }
        };
        let interrupt = Interrupt::default();
        drop(interrupt.guard(end()));
        let _under_way = interrupt.guard(end());
        assert!(!interrupt.is_asked());
        interrupt.trigger();
        assert_eq!((ended.load(Ordering::SeqCst), interrupt.is_asked(), interrupt.is_urgent()), (1, true, false));
        let _late = interrupt.guard(end());
        assert_eq!(ended.load(Ordering::SeqCst), 2);
        interrupt.trigger();
        assert!(interrupt.is_urgent());
    }
}
