//! Memory for requests: those that would take too much wait for others, or are refused.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of documents that are worked on at the same time: as nodes, they take up to fifty times as much.
const WORK: usize = 8 * 1024 * 1024;

/// A request counts as at least so many bytes.
const LEAST: usize = WORK / 8;

/// What a request counts as for stored templates, whose size is not known before, and for anchors in YAML.
pub(crate) const STORED: usize = WORK / 2;

/// Bytes of bodies that are in memory at the same time.
const BODIES: usize = 64 * 1024 * 1024;

/// Bytes of answers that wait for their clients at the same time.
const ANSWERS: usize = 256 * 1024 * 1024;

/// Bytes of events that wait for their clients.
const EVENTS: usize = 64 * 1024 * 1024;

/// Bytes of lists whose templates are being sent to watches.
const STATES: usize = 128 * 1024 * 1024;

/// The largest list that is answered.
pub(crate) const LARGEST: usize = ANSWERS / 2;

/// Bodies and answers with no more bytes do not count, and do not wait.
pub(crate) const SMALL: usize = 64 * 1024;

/// Semaphores count units of so many bytes.
const UNIT: usize = 1024;

/// What is left of the memory.
#[derive(Clone)]
pub(crate) struct Budget {
    work: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    states: Arc<Semaphore>,
    events: Arc<Semaphore>,
}

/// A share of the memory, until it is dropped.
pub(crate) struct Share(Option<OwnedSemaphorePermit>);

impl Share {
    pub(crate) fn nothing() -> Share {
        Share(None)
    }

    /// Whether nothing has to be given back.
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }
}

impl Budget {
    pub(crate) fn new() -> Budget {
        let units = |bytes: usize| Arc::new(Semaphore::new(bytes / UNIT));
        Budget {
            work: units(WORK),
            bodies: units(BODIES),
            answers: units(ANSWERS),
            states: units(STATES),
            events: units(EVENTS),
        }
    }

    /// Waits for the memory that work on a document of so many bytes takes.
    pub(crate) async fn work(&self, bytes: usize) -> Share {
        Share(self.work.clone().acquire_many_owned(units(bytes.max(LEAST), WORK)).await.ok())
    }

    /// Waits for the memory of a body.
    pub(crate) async fn body(&self, bytes: usize) -> Share {
        match bytes {
            0..=SMALL => Share(None),
            _ => Share(self.bodies.clone().acquire_many_owned(units(bytes, BODIES)).await.ok()),
        }
    }

    /// The memory of an answer; nothing if there is not enough now. Nobody waits for it: clients that do not read their answers
    /// would stop everybody.
    pub(crate) fn answer(&self, bytes: usize) -> Option<Share> {
        // The largest leave room for others.
        at_once(&self.answers, bytes, LARGEST)
    }

    /// The memory of a list that a watch begins with; nothing if there is not enough now.
    pub(crate) fn state(&self, bytes: usize) -> Option<Share> {
        at_once(&self.states, bytes, STATES)
    }

    /// Waits for the memory of an event of a watch. They are sent or given up in time.
    pub(crate) async fn event(&self, bytes: usize) -> Share {
        match bytes {
            0..=SMALL => Share(None),
            _ => Share(self.events.clone().acquire_many_owned(units(bytes, EVENTS)).await.ok()),
        }
    }

    /// What is left for answers, in units.
    #[cfg(test)]
    pub(crate) fn free_for_answers(&self) -> usize {
        self.answers.available_permits()
    }
}

/// A share for some bytes, at most for `most`, if it is free. Small ones are nothing.
fn at_once(of: &Arc<Semaphore>, bytes: usize, most: usize) -> Option<Share> {
    match bytes {
        0..=SMALL => Some(Share(None)),
        _ => of.clone().try_acquire_many_owned(units(bytes, most)).ok().map(|permit| Share(Some(permit))),
    }
}

/// The units of some bytes, at most of `most`.
fn units(bytes: usize, most: usize) -> u32 {
    u32::try_from(bytes.min(most).div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_too_large_has_everything() {
        let budget = Budget::new();
        let small: Vec<Share> = vec![budget.work(0).await, budget.work(LEAST).await];
        assert_eq!(budget.work.available_permits(), (WORK - 2 * LEAST) / UNIT);
        drop(small);
        let large = budget.work(usize::MAX).await;
        assert_eq!(budget.work.available_permits(), 0);
        drop(large);
        assert_eq!(budget.work.available_permits(), WORK / UNIT);
        let _body = budget.body(SMALL + 1).await;
        assert_eq!(budget.bodies.available_permits(), (BODIES - SMALL) / UNIT - 1);
    }

    #[tokio::test]
    async fn answers_are_refused_when_too_many_wait() {
        let budget = Budget::new();
        assert!(budget.answer(SMALL).is_some_and(|share| share.is_nothing()));
        let waiting = [budget.answer(usize::MAX).unwrap(), budget.answer(ANSWERS / 2).unwrap()];
        assert_eq!(budget.free_for_answers(), 0);
        assert!(budget.answer(SMALL + 1).is_none() && budget.answer(SMALL).is_some());
        drop(waiting);
        assert!(budget.answer(SMALL + 1).is_some_and(|share| !share.is_nothing()));
    }
}
