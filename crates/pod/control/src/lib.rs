//! Talking to the supervisor of a process: requests and replies over a socket in the file system.
//!
//! A socket, because a process id means nothing in another container (each has a pid namespace of its own), and one with
//! replies, because a caller wants to know whether the request was fulfilled. One connection is one request and one reply,
//! each one line of JSON:
//!
//! ```text
//! {"version":2,"request":"stop"}
//! {"version":2,"reply":"done","state":"stopped","since":1700000000}
//! ```
//!
//! The reply is sent when the request is fulfilled. The server never waits for a client: it is one file descriptor to poll,
//! and a client that hangs costs nothing but one of a few places, which the next client may take.

mod address;
mod client;
mod message;
mod server;

pub use client::{RequestError, ask};
pub use message::{LONGEST, Reply, Request, State, Status, VERSION};
pub use server::{Caller, Server};
