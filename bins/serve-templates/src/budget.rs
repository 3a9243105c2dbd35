//! Memory for requests: those that would take too much wait for others.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of documents that are worked on at the same time: as nodes, they take up to fifty times as much.
const WORK: usize = 8 * 1024 * 1024;

/// A request counts as at least so many bytes.
const LEAST: usize = WORK / 8;

/// What a request for stored templates counts as, whose size is not known before.
pub(crate) const STORED: usize = WORK / 2;

/// Bytes of bodies that are in memory at the same time.
const BODIES: usize = 64 * 1024 * 1024;

/// Semaphores count units of so many bytes.
const UNIT: usize = 1024;

/// What is left of the memory.
#[derive(Clone)]
pub(crate) struct Budget {
    work: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

/// A share of the memory, until it is dropped.
pub(crate) struct Share(
    #[expect(dead_code, reason = "it is given back when it is dropped")] Option<OwnedSemaphorePermit>,
);

impl Budget {
    pub(crate) fn new() -> Budget {
        let units = |bytes: usize| Arc::new(Semaphore::new(bytes / UNIT));
        Budget { work: units(WORK), bodies: units(BODIES) }
    }

    /// Waits for the memory that work on a document of so many bytes takes.
    pub(crate) async fn work(&self, bytes: usize) -> Share {
        share(&self.work, bytes.max(LEAST), WORK).await
    }

    /// Waits for the memory of a body.
    pub(crate) async fn body(&self, bytes: usize) -> Share {
        share(&self.bodies, bytes, BODIES).await
    }
}

/// A share for some bytes, at most for all.
async fn share(of: &Arc<Semaphore>, bytes: usize, most: usize) -> Share {
    let units = u32::try_from(bytes.min(most).div_ceil(UNIT)).unwrap_or(u32::MAX);
    Share(of.clone().acquire_many_owned(units).await.ok())
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
        let _body = budget.body(UNIT + 1).await;
        assert_eq!(budget.bodies.available_permits(), BODIES / UNIT - 2);
    }
}
