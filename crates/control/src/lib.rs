//! Talking to the supervisor of a process: requests and replies over a socket in the file system.
//!
//! A socket, because a process id means nothing in another container (each has a pid namespace of its own), and a stream
//! with replies, because whoever asks for something wants to know whether it happened. One connection is one request and
//! one reply, each a [`frame`] of JSON:
//!
//! ```text
//! 00 00 00 12 {"request":"stop"}
//! 00 00 00 36 {"reply":"done","state":"stopped","since":1700000000}
//! ```
//!
//! The reply comes when what was asked for is done. The server never waits for a client: what it has to look at is one
//! file descriptor, and a client that hangs costs nothing but one of a few places, which the next client may take.

mod address;
mod client;
pub mod frame;
mod message;
mod server;

pub use client::{Unanswered, ask};
pub use message::{Reply, Request, State, Status};
pub use server::{Caller, Server};
