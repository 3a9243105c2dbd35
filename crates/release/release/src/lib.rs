//! A release as source directory or archive; compiling packages.
//!
//! [`Release::open`] reads and checks a release's directory as BOSH's command line does when it creates a release, and
//! [`Release::open_archive`] what `bosh create-release` or `bosh export-release` made of one. [`Release::stage_jobs`]
//! writes what a release image has in `/var/vcap/jobs-src`, and [`Compiler`] compiles packages as BOSH's agent does,
//! cached by their content.

mod archive;
mod argument;
mod blobs;
mod cache;
mod cache_entries;
mod checksum;
mod collect;
mod compile;
mod digests;
mod download;
mod fingerprint;
mod job;
mod order;
mod package;
mod package_file;
mod pattern;
mod release;
mod runner;
mod spec;
mod stage;
mod stemcell;
mod submodules;
mod tree;

pub use argument::{parse_release_argument, release_arguments};
pub use cache::Stop;
pub use cache_entries::{CacheEntry, cache_entries, prune_cache};
pub use compile::{CompiledPackage, Compiler, Progress};
pub use download::Download;
pub use job::Job;
pub use package::{Content, Package};
pub use release::Release;
pub use runner::{CompileStep, Runner, compile_targets};
pub use stemcell::Stemcell;
