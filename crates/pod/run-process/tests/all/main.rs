//! `run-process` itself, with real children.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod errands;
mod files;
mod monit;
mod monit_depends;
mod monit_rules;
mod namespaces;
mod outputs;
mod pods;
mod pre_start;
mod problems;
mod quarks_defects;
mod status;
mod stopping;
mod stress;
mod support;
mod unmet_requirements;
