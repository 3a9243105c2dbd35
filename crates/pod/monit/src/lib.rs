//! monit's control language as typed services: what a job's `monit` file starts, stops and checks.
//!
//! The grammar is that of monit 5.2.5, which BOSH's stemcells have: keywords are case-insensitive, words such as `is`, `with`
//! and `for` have no meaning, and a program is split into words without a shell. Like monit, [`parse`] stops at the first
//! syntax error, and collects errors of meaning (a name that is defined twice, a number that is out of range).
//!
//! What monit accepts and boson does not carry out (mail alerts, `set` statements, checks of files' content) parses and is
//! listed in [`Config::unsupported`]. [`check`] applies the rules that hold over all jobs of an instance, [`start_order`] gives
//! the order that `depends on` asks for, and [`Program::bpm_start`] recognises a program that starts a BPM process.
//!
//! The `monit` file of a job for Windows is JSON, which [`parse`] rejects and [`is_for_windows`] recognises.

mod bpm_start;
mod conditions;
mod lexer;
mod model;
mod parser;
mod programs;
mod services;
mod windows;

pub use bpm_start::BpmStart;
pub use model::{
    Account, Action, Change, Condition, Config, Connection, Endpoint, Kind, Limit, Mode, Operator, ProcessId, Program,
    Protocol, Rate, Recovery, Resource, ResourceLimit, Rule, Service, Span, Transport, Unsupported,
};
pub use services::{check, start_order};
pub use windows::is_for_windows;

use problem::Result;

/// Reads a rendered `monit` file; `path` is named in problems. An empty file, or one with comments alone, has no services.
///
/// # Errors
/// A syntax error, in monit's wording (`syntax error 'TOKEN'`), or what monit's own checks of one file refuse; all have
/// [`problem::Class::Template`] and a line and column. Messages quote words of the file, which may be rendered values: the
/// caller who knows them masks them.
pub fn parse(text: &str, path: &str) -> Result<Config> {
    parser::parse(text, path)
}
