//! The end of a command.

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Together with its sandbox.
    Lost,
}

impl Exit {
    /// The status as a shell shows it: 128 + n for signal n.
    pub fn code(self) -> u8 {
        let code = match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
            Exit::Lost => 128 + Signal::SIGKILL as i32,
        };
        u8::try_from(code & 0xff).unwrap_or(u8::MAX)
    }
}
