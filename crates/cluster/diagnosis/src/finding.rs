//! A reason why something is not ready.

use std::fmt;

/// The kind of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A container or a lifecycle script failed.
    Failed,
    /// An image cannot be pulled.
    Image,
    /// A container cannot be created, for example because a Secret does not exist.
    Container,
    /// A volume cannot be mounted, for example because a Secret does not exist.
    Volume,
    /// A claim gets no disk.
    Storage,
    /// No node takes the pod.
    Unschedulable,
    /// The API server refuses to create the pod.
    Refused,
    /// The node of the pod does not answer.
    NodeLost,
    /// A probe fails. That is normal while a process starts.
    Probe,
}

/// A reason why an object is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind of the reason.
    pub cause: Cause,
    /// The object: `pod nats-nats-z1-0`.
    pub subject: String,
    /// What is wrong with it; may have several lines.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// Whether it may end while one waits, without anybody changing something.
    pub may_pass: bool,
}

impl Finding {
    pub(crate) fn new(cause: Cause, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        let message = message.into().trim_end().to_owned();
        Finding { cause, subject: subject.into(), message, hint: None, may_pass: true }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Finding {
        Finding { hint: Some(hint.into()), ..self }
    }

    /// Waiting does not help.
    pub(crate) fn lasting(self) -> Finding {
        Finding { may_pass: false, ..self }
    }
}

impl fmt::Display for Finding {
    /// One line; further lines of the message and the hint are indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.message.replace('\n', "\n    "))?;
        match &self.hint {
            Some(hint) => write!(f, "\n    hint: {hint}"),
            None => Ok(()),
        }
    }
}
