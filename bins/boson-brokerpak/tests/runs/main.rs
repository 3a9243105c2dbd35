//! Operations with the real terraform and tofu, and the resource that both have built in.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod failures;
mod harness;
mod imports;
mod kills;
mod lifecycle;
mod packed;
mod serve;
