//! What a run generates.

use std::fmt;

use go_yaml::{Node, Origin};
use interpolation::Failure;
use problem::{Problem, Problems};

use crate::specification::Specification;

/// A value that is to be generated.
#[derive(Debug, Clone)]
pub struct Order {
    /// The variable.
    pub name: String,
    /// Where its definition is.
    pub origin: Origin,
    /// Its type and options.
    pub specification: Specification,
    /// What signs it, if it is a certificate.
    pub signer: Signer,
}

/// What signs a certificate.
#[derive(Clone)]
pub enum Signer {
    /// Its own key.
    Itself,
    /// The certificate of an earlier order, by its index.
    Ordered(usize),
    /// A certificate that exists.
    Existing {
        /// The variable that has it.
        name: String,
        /// The certificate, PEM.
        certificate: String,
        /// Its private key, PEM.
        private_key: String,
    },
}

impl fmt::Debug for Signer {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Signer::Itself => f.write_str("Itself"),
            Signer::Ordered(index) => write!(f, "Ordered({index})"),
            Signer::Existing { name, .. } => write!(f, "Existing({name:?})"),
        }
    }
}

/// Takes values when they are generated: each with the index of its order.
pub type Keep<'a> = dyn FnMut(Vec<(usize, Node)>) -> problem::Result<()> + 'a;

/// Generates keys, certificates and random values.
pub trait Generate {
    /// Generates the values of the orders, in the form that the bosh CLI gives them, and passes each to `keep` as soon as it
    /// exists, whatever becomes of the others.
    ///
    /// # Errors
    /// Signers that cannot sign, before anything is generated; each value that cannot be generated, after all others; errors of
    /// `keep`, which end the generation; failures of the system.
    fn generate(&self, orders: &[Order], keep: &mut Keep) -> Result<(), Error>;
}

/// Why a run did not generate all values.
#[derive(Debug)]
pub enum Error {
    /// Mistakes in definitions, or in the values that they refer to.
    Definitions(Vec<Failure>),
    /// Failures of the system.
    System(Problems),
    /// The user asked for the end. Values that were handed over are kept.
    Interrupted {
        /// The number of the signal.
        signal: i32,
    },
}

impl From<Vec<Failure>> for Error {
    fn from(failures: Vec<Failure>) -> Error {
        Error::Definitions(failures)
    }
}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Error {
        Error::System(problems)
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error::System(problem.into())
    }
}
