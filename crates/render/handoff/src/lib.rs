//! The documents that cross containers; one module per file. `docs/contract.md` shows each of them whole.
//!
//! Every document has a version at its top and is read strictly: another version or none, and a field that the reader does
//! not know, are refused.

pub mod bpm_info;
pub mod deployment;
mod document;
pub mod hook_state;
pub mod identities;
pub mod links;
pub mod output;
pub mod packages;
mod process;
pub mod process_state;
pub mod properties;
pub mod requests;
pub mod versions;
