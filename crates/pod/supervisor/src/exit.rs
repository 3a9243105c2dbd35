//! How a process ended.

use std::fmt;

use nix::sys::signal::Signal;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It exited with this code.
    Code(u8),
    /// This signal ended it.
    Signal(i32),
}

impl Exit {
    /// The status that the supervisor exits with: its code, or 128 + the signal, as shells do.
    pub fn status(self) -> u8 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX)),
        }
    }

    /// The signal that ended it, if one did.
    pub fn signal(self) -> Option<i32> {
        match self {
            Exit::Code(_) => None,
            Exit::Signal(signal) => Some(signal),
        }
    }

    /// Whether it exited with 0.
    pub fn is_success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "exit status {code}"),
            Exit::Signal(signal) => match Signal::try_from(signal) {
                Ok(name) => write!(f, "killed by {name}"),
                Err(_) => write!(f, "killed by signal {signal}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_128_plus_its_number() {
        let cases = [
            (Exit::Code(0), 0, "exit status 0"),
            (Exit::Code(255), 255, "exit status 255"),
            (Exit::Signal(9), 137, "killed by SIGKILL"),
            (Exit::Signal(15), 143, "killed by SIGTERM"),
            (Exit::Signal(64), 192, "killed by signal 64"),
        ];
        for (exit, status, text) in cases {
            assert_eq!((exit.status(), exit.to_string().as_str()), (status, text));
        }
    }
}
