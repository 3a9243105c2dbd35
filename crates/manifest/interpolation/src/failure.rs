//! Why a document cannot be interpolated.

use std::fmt;

use go_yaml::Origin;

/// A mistake in the use of a variable. Never shows a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong; the CLI's words where it reports it, too.
    pub message: String,
    /// What led to it.
    pub cause: Option<String>,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// Where the reference or the definition stands.
    pub origin: Origin,
}

impl Failure {
    /// A failure with a message, at a place.
    pub fn new(message: impl Into<String>, origin: Origin) -> Failure {
        Failure { message: message.into(), cause: None, hint: None, origin }
    }

    /// The options of a definition refer, over another variable or alone, to the variable itself.
    pub fn recursion(variable: &str, other: &str, origin: Origin) -> Failure {
        let message = format!("Interpolating variable '{variable}' definition options");
        let cause = format!("Finding variable '{other}': Detected recursion");
        Failure { cause: Some(cause), ..Failure::new(message, origin) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.cause.iter().try_for_each(|cause| write!(f, "\n  {cause}"))
    }
}

impl std::error::Error for Failure {}
