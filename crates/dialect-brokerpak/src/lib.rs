//! Brokerpaks.

pub mod configuration;
