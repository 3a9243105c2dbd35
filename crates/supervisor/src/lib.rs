//! Supervising processes as PID 1 would: a pure state machine and the system calls below it.
//!
//! [`machine`] decides, [`sys`] does, [`run()`] is the loop between them: wait for one event, apply it, perform the
//! actions, end when done. One thread, no async, no signal handlers.

pub mod exit;
pub mod machine;
pub mod output;
pub mod privileges;
pub mod run;
pub mod sys;

pub use exit::Exit;
pub use machine::Policy;
pub use output::{Echo, Tee};
pub use privileges::{Capability, Privileges};
pub use run::{Notice, Outcome, Task, run};
pub use sys::{Command, Identity, Outlet, ResourceLimits, Signals, SpawnError};
