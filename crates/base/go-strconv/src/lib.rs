//! What Go's packages `strconv`, `unicode` and `utf8` do, for crates that behave as programs written in Go: quoting, numbers,
//! UTF-8 with replacement characters, categories of characters.

pub mod number;
pub mod quote;
pub mod unicode;
mod unicode_tables;
