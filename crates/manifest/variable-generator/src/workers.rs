//! Threads that generate RSA keys, one for each core.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use problem::{Problem, Result};
use rsa::PrivateKey;

use crate::keys;

/// A key to be generated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    /// The index of the order.
    pub(crate) order: usize,
    pub(crate) bits: u32,
}

/// What a thread reports.
pub(crate) enum Event {
    /// It generates the key of this order.
    Started(usize),
    /// The key of this order, or why there is none.
    Done(usize, std::result::Result<Box<PrivateKey>, String>),
}

/// The threads; they end when this is dropped, after the key that each of them is generating.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    pub(crate) events: Receiver<Event>,
}

struct Queue {
    tasks: Vec<Task>,
    next: AtomicUsize,
}

impl Workers {
    /// Starts to generate the keys, the first tasks first.
    ///
    /// # Errors
    /// A system that has no more threads.
    pub(crate) fn start(tasks: Vec<Task>) -> Result<Workers> {
        let count = thread::available_parallelism().map_or(1, usize::from).min(tasks.len());
        let (sender, events) = channel();
        let workers = Workers { queue: Arc::new(Queue { tasks, next: AtomicUsize::new(0) }), events };
        for _ in 0..count {
            let (queue, sender) = (Arc::clone(&workers.queue), sender.clone());
            let thread = thread::Builder::new().name("keys".to_owned());
            thread
                .spawn(move || work(&queue, &sender))
                .map_err(|e| Problem::internal("cannot start a thread").because(e))?;
        }
        Ok(workers)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.next.store(self.queue.tasks.len(), Ordering::Relaxed);
    }
}

fn work(queue: &Queue, events: &Sender<Event>) {
    while let Some(task) = queue.tasks.get(queue.next.fetch_add(1, Ordering::Relaxed)) {
        let is_heard = events.send(Event::Started(task.order)).is_ok()
            && events.send(Event::Done(task.order, keys::generate(task.bits).map(Box::new))).is_ok();
        if !is_heard {
            return;
        }
    }
}
