//! Variables in documents: `((name))` as `bosh interpolate` replaces it.
//!
//! [`Sources`] collects values in the precedence of the CLI's flags, [`interpolate`] replaces the references of a document.
//! Everything is in memory. Messages are the CLI's, without the values that some of them show.

mod definitions;
mod failure;
mod reference;
mod replace;
mod sources;

pub use definitions::Definition;
pub use failure::Failure;
pub use reference::{in_braces, references, referred};
pub use replace::{Interpolated, Missing, interpolate, replaced};
pub use sources::{Kind, Sources, parse_assignment, parse_value};
