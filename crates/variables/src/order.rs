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

/// Generates keys, certificates and random values.
pub trait Generate {
    /// The values of the orders, in their order, in the form that the bosh CLI gives them.
    ///
    /// # Errors
    /// Signers that cannot sign, before anything is generated; failures of the system.
    fn generate(&self, orders: &[Order]) -> Result<Vec<Node>, Error>;
}

/// Makes a [`Generate`] when one is needed.
pub trait Generation {
    /// Does something with a generator.
    ///
    /// # Errors
    /// A generator that does not start; those of `work`.
    fn run(&self, work: &mut (dyn FnMut(&dyn Generate) -> Result<(), Error> + Send)) -> Result<(), Error>;
}

/// Generates nothing: for runs in which all variables have values.
#[derive(Debug, Clone, Copy)]
pub struct NoGeneration;

impl Generation for NoGeneration {
    fn run(&self, work: &mut (dyn FnMut(&dyn Generate) -> Result<(), Error> + Send)) -> Result<(), Error> {
        work(self)
    }
}

impl Generate for NoGeneration {
    fn generate(&self, _orders: &[Order]) -> Result<Vec<Node>, Error> {
        Err(Problem::internal("variables are to be generated where they cannot be").into())
    }
}

/// Why no value is generated.
#[derive(Debug)]
pub enum Error {
    /// Mistakes in definitions, or in the values that they refer to.
    Definitions(Vec<Failure>),
    /// Failures of the system.
    System(Problems),
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
