//! Supervising processes as PID 1 would: pure state machines and the system calls below them.
//!
//! [`machine`] decides, [`sys`] does, [`supervise`] is the loop between them: wait for one event, apply it, perform the
//! actions, end when done. One thread, no async, no signal handlers. What is to be polled in addition, such as a
//! control socket, is a [`Source`]; the caller is the loop's [`Host`].

mod batch;
pub mod exit;
pub mod failures;
pub mod machine;
pub mod output;
pub mod privileges;
pub mod run;
mod source;
pub mod sys;

pub use batch::{Notice, OUTPUT_GRACE, Outcome, run};
pub use exit::Exit;
pub use machine::{Drained, Event, Life, Machine, Plan, Pod, Policy, Progress, Request, Role, State, StopLimits};
pub use output::{Echo, Tee};
pub use privileges::{Capability, Privileges};
pub use run::{End, FIND, Host, Task, supervise};
pub use source::{Source, Status};
pub use sys::{Command, Identity, Outlet, ResourceLimits, SpawnError};
