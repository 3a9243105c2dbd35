//! The documents that cross containers; one module per file. `docs/contract.md` shows each of them whole.

pub mod bpm_info;
pub mod hook_state;
mod line;
pub mod output;
pub mod process_state;
pub mod properties;
