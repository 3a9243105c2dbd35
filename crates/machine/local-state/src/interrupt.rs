//! Interrupts running work when the user asks boson to stop.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether a stop was requested, and how to stop running work.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Shared>);

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
    /// Requests the stop, and interrupts running work.
    pub fn trigger(&self) {
        let mut inner = self.inner();
        inner.asked += 1;
        inner.under_way.values().for_each(|end| end());
        drop(inner);
        self.0.asked.notify_all();
    }

    /// Waits for this time or until a stop is requested; returns whether one was.
    pub fn wait_for(&self, limit: Duration) -> bool {
        let waited = self.0.asked.wait_timeout_while(self.inner(), limit, |inner| inner.asked == 0);
        drop(waited);
        self.is_asked()
    }

    /// Waits until a stop is requested.
    pub fn wait(&self) {
        let waited = self.0.asked.wait_while(self.inner(), |inner| inner.asked == 0);
        drop(waited);
    }

    /// Whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.inner().asked > 0
    }

    /// Whether a stop was requested twice: what still runs then is killed.
    pub fn is_urgent(&self) -> bool {
        self.inner().asked > 1
    }

    /// Calls `end` on a stop request, as long as the guard exists.
    pub fn guard(&self, end: impl Fn() + Send + 'static) -> Guard {
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

/// A piece of running work.
#[derive(Debug)]
pub struct Guard {
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
    fn running_and_later_steps_are_interrupted() {
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
