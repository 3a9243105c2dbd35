//! Answers that are kept for a short time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// The digest of a question: tokens are not kept.
type Key = [u8; 32];

/// Answers by the digests of their questions.
pub(super) struct Cache<V> {
    answers: Mutex<HashMap<Key, (Instant, V)>>,
    time: Duration,
    most: usize,
}

impl<V: Clone> Cache<V> {
    /// Keeps `most` answers for `time`.
    pub(super) fn new(time: Duration, most: usize) -> Cache<V> {
        Cache { answers: Mutex::default(), time, most }
    }

    /// The answer to a question, if it is known.
    pub(super) fn get(&self, question: &str, now: Instant) -> Option<V> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, answer) = answers.get(&key(question))?;
        (now.duration_since(*since) < self.time).then(|| answer.clone())
    }

    /// Keeps an answer.
    pub(super) fn put(&self, question: &str, answer: V, now: Instant) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= self.most {
            answers.retain(|_, (since, _)| now.duration_since(*since) < self.time);
        }
        if answers.len() >= self.most {
            answers.clear();
        }
        answers.insert(key(question), (now, answer));
    }
}

fn key(question: &str) -> Key {
    Sha256::digest(question).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_for_a_while() {
        let (cache, now) = (Cache::new(Duration::from_secs(10), 2), Instant::now());
        cache.put("a", 1, now);
        assert_eq!(cache.get("a", now + Duration::from_secs(9)), Some(1));
        assert_eq!(cache.get("a", now + Duration::from_secs(10)), None);
        assert_eq!(cache.get("b", now), None);
        cache.put("b", 2, now + Duration::from_secs(5));
        // What is too old goes first, then everything.
        cache.put("c", 3, now + Duration::from_secs(12));
        let found = |cache: &Cache<i32>, at| {
            ["a", "b", "c", "d"].map(|question| cache.get(question, now + Duration::from_secs(at)))
        };
        assert_eq!(found(&cache, 13), [None, Some(2), Some(3), None]);
        cache.put("d", 4, now + Duration::from_secs(13));
        assert_eq!(found(&cache, 13), [None, None, None, Some(4)]);
    }
}
