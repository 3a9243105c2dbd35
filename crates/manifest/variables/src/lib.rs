//! Generated variables: `variables:` of a manifest as the bosh CLI and the director's config server generate them.
//!
//! [`complete()`] decides which variables a run generates, checks all their options first, and puts certificates behind the
//! authorities that sign them. Keys and random values come from a [`Generate`]; values are kept in a [`Store`], the document
//! that the CLI's `--vars-store` reads and writes.

mod certificate;
mod complete;
mod graph;
mod links;
mod options;
mod order;
mod rotation;
mod specification;
mod store;

pub use certificate::{AlternativeName, Certificate, ExtendedKeyUsage, KeyUsage, MOST_DAYS};
pub use complete::{Completed, Save, complete, may_generate};
pub use links::{ConsumedLink, LinkNames, LinkedName};
pub use order::{Error, Generate, Keep, Order, Signer};
pub use rotation::{Refusal, Step};
pub use specification::{Password, Specification, User, placeholder};
pub use store::{Invalid, Record, Rotation, Store};
