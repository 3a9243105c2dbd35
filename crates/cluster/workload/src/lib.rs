//! What runs in the instances of an instance group, as data.
//!
//! [`Pod::new`] computes it from the documents that `plan` writes. A program that runs instances reads the value and decides nothing
//! about BOSH: `boson up` executes it in sandboxes, Kubernetes objects are another reading of it. The value has no secret in
//! it: neither properties nor the arguments and environment of a process, which `run-process` reads from the `bpm.yml` that
//! was rendered in the instance.
//!
//! # Order
//!
//! Each step begins when the one before it has succeeded.
//!
//! | step | field | how |
//! |---|---|---|
//! | 1 | [`Pod::supply`] | containers in order, each to its end |
//! | 2 | [`Pod::prepare`] | containers in order, each to its end |
//! | 3 | [`Pod::tail_logs`] | started; it runs as long as the instance exists |
//! | 4 | [`Pod::pre_start`] | to its end |
//! | 5 | [`Pod::processes`], [`Pod::scripts_only`] | all at the same time, as long as the instance exists. When all processes run, each job's post-start runs there |
//! | 6 | [`Pod::post_deploy`] | when step 5 has been reached in all groups: in all instances at the same time |
//!
//! With [`Lifecycle::Errand`], the instances exist only while an errand runs. Step 5 starts what is colocated with the errand, if
//! anything is; when its processes run and its post-start scripts have succeeded, the requested one of [`Pod::errands`] runs to
//! its end ([`Pod::errands_named`]): its command waits for them itself, so that all containers may be started at the same time. Then the instance is deleted, without scripts of the stop; step 6 does not take place. The
//! errands of a service run on request, in its instances or beside them. The groups of a deployment start in the order of `plan`'s documents.
//!
//! # Images and file systems
//!
//! A container has the image of boson or that of a release ([`Image`]). A release's image has the packages of that release
//! alone, so the scripts of a group with several releases need several containers. In a sandbox one file system has
//! the packages of all releases, as on a VM: there [`Scripts::command`] is one command for all jobs, and
//! [`Pod::post_start_command`] replaces `scripts_only`.
//!
//! Packages of other releases that a job uses ([`Container::foreign_packages`]) are copied out of their images before anything
//! else runs.
//!
//! Scripts that run as root may write to their root file system (`/etc`, `/usr/local`), as on a VM; in a container only they and
//! what runs in the same container see what they wrote.
//!
//! # Services
//!
//! A process is what `monit` starts on a VM: a process of `bpm.yml`, or a program of `monit`'s own, which `run-process --monit`
//! runs as monit does. If only some instances start it ([`Process::runs_in`]), `run-process --monit` reads the `monit` that was
//! rendered in the instance, and stays idle where that does not have the service. A service that depends on others starts when
//! they run: `run-process` waits.

mod build;
mod container;
mod foreign_packages;
mod pod;
mod privileges;
mod volume;
mod windows;

pub use container::{Command, Container, EnvValue, EnvVar, Image, Privileges, Program, RootUse, User};
pub use handoff::deployment::{Lifecycle, Script};
pub use pod::{Errand, Job, JobRequests, JobScripts, Pod, Process, Scripts, Settings};
pub use volume::{Mount, Source, Volume, VolumeName};
pub use windows::check_platform;
