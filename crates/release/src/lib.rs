//! A release as source directory; compiling packages.
//!
//! [`SourceRelease::open`] reads and checks a release's directory as BOSH's command line does when it creates a release,
//! [`SourceRelease::stage_jobs`] writes what a release image has in `/var/vcap/jobs-src`, and [`Compiler`] compiles
//! packages as BOSH's agent does, cached by their content.

mod compile;
mod digests;
mod fingerprint;
mod job;
mod order;
mod package;
mod source;
mod spec;
mod stage;

pub use compile::{CompileStep, CompiledPackage, Compiler, Progress, Runner};
pub use job::SourceJob;
pub use package::SourcePackage;
pub use source::SourceRelease;
