//! A release as source directory or archive; compiling packages.
//!
//! [`Release::open`] reads and checks a release's directory as BOSH's command line does when it creates a release, and
//! [`Release::open_archive`] what `bosh create-release` or `bosh export-release` made of one. [`Release::stage_jobs`]
//! writes what a release image has in `/var/vcap/jobs-src`, and [`Compiler`] compiles packages as BOSH's agent does,
//! cached by their content.

mod archive;
mod blobs;
mod cache;
mod checksum;
mod compile;
mod digests;
mod fingerprint;
mod job;
mod order;
mod package;
mod release;
mod spec;
mod stage;

pub use archive::Stop;
pub use compile::{CompileStep, CompiledPackage, Compiler, Progress, Runner, compile_targets};
pub use job::Job;
pub use package::{Content, Package};
pub use release::Release;
