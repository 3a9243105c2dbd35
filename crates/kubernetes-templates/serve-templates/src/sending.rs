//! Answers on their way. They count until they are sent: a client that does not read its answer must not keep the memory for ever.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::task::AbortHandle;

use crate::budget::Share;

/// An answer is sent within this time,
const LONGEST: Duration = Duration::from_secs(60);
/// and a large one with at least so many bytes per second.
const SLOWEST: usize = 256 * 1024;

/// So many bytes are handed over at once.
const CHUNK: usize = 64 * 1024;

/// A text on its way, with its share of the memory for answers.
pub(crate) struct Sending {
    text: Arc<Mutex<Option<(String, Share)>>>,
    length: usize,
    sent: usize,
    /// Drops the text when its time is over; small ones have all time.
    timer: Option<AbortHandle>,
}

impl Sending {
    pub(crate) fn new(text: String, share: Share) -> Sending {
        let longest = LONGEST + Duration::from_secs((text.len() / SLOWEST) as u64);
        Sending::within(longest, text, share)
    }

    fn within(longest: Duration, text: String, share: Share) -> Sending {
        let (length, is_counted) = (text.len(), !share.is_nothing());
        let text = Arc::new(Mutex::new(Some((text, share))));
        let kept = text.clone();
        let timer = async move {
            tokio::time::sleep(longest).await;
            drop(kept.lock().unwrap_or_else(PoisonError::into_inner).take());
        };
        let timer = is_counted.then(|| tokio::spawn(timer).abort_handle());
        Sending { text, length, sent: 0, timer }
    }

    /// The next bytes; nothing at the end.
    ///
    /// # Errors
    /// If the time is over.
    pub(crate) fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.sent == self.length {
            return Ok(None);
        }
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((text, _)) = &*text else { return Err(io::ErrorKind::TimedOut.into()) };
        // A copy: a part of the text would keep all of it.
        let end = self.length.min(self.sent + CHUNK);
        let chunk = Bytes::copy_from_slice(&text.as_bytes()[self.sent..end]);
        self.sent = end;
        Ok(Some(chunk))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.timer.iter().for_each(AbortHandle::abort);
    }
}

/// The body of an answer.
pub(crate) fn body(text: String, share: Share) -> Body {
    if share.is_nothing() { text.into() } else { Body::new(Sending::new(text, share)) }
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(self.next().map(|chunk| chunk.map(Frame::data)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.sent == self.length
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.length - self.sent) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, SMALL};

    #[tokio::test]
    async fn a_text_is_handed_over_in_chunks_and_counts_until_its_end() {
        let budget = Budget::new();
        let text = "x".repeat(CHUNK + 1);
        let mut sending = Sending::new(text.clone(), budget.answer(text.len()).unwrap());
        assert_eq!(sending.size_hint().exact(), Some(CHUNK as u64 + 1));
        assert_eq!(sending.next().unwrap().unwrap().len(), CHUNK);
        assert!(!sending.is_end_stream());
        assert_eq!(sending.next().unwrap().unwrap(), "x");
        assert!(sending.is_end_stream() && sending.next().unwrap().is_none());
    }

    #[tokio::test]
    async fn a_text_that_nobody_takes_is_dropped() {
        let budget = Budget::new();
        let text = "x".repeat(2 * SMALL);
        let all = budget.free_for_answers();
        let mut sending = Sending::within(Duration::from_millis(1), text.clone(), budget.answer(text.len()).unwrap());
        assert!(budget.free_for_answers() < all);
        while budget.free_for_answers() < all {
            tokio::task::yield_now().await;
        }
        assert_eq!(sending.next().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
