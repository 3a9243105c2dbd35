//! Runs terraform or tofu: one command at a time, with an environment of its own, output that is bounded and without secrets, and
//! an interruption that lets terraform finish what it has begun.
//!
//! Output goes to files in memory, not through pipes: terraform neither blocks nor dies when the program that has started it is killed. The
//! lock of what it works on is its standard input, so that the lock lasts as long as terraform does.

mod environment;
mod masks;
mod run;
mod stream;

pub use environment::environment;
pub use masks::Masks;
pub use run::{Command, End, Interruption, Limits, Outcome};
