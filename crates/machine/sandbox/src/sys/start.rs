//! The descriptors, signals and terminal that a started program inherits.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

use super::privileges::give_up;

/// Makes what `command` starts inherit no descriptor but its standard streams.
///
/// The parent of this program may have left descriptors open: a directory of the host would be a way out of a sandbox,
/// a lock or a pipe would be held as long as a deployment runs.
pub fn streams_only(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor takes a lock.
    unsafe { command.pre_exec(close_on_exec) }
}

/// Makes what `command` starts block no signal, whatever this thread blocks: `std` keeps the mask.
pub(crate) fn nothing_blocked(command: &mut Command) -> &mut Command {
    // SAFETY: as above.
    unsafe { command.pre_exec(|| Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?)) }
}

/// Makes what `command` starts ignore no signal, whatever this process ignores: `nohup` and a script's background jobs
/// have some ignored, `std` keeps that, and no shell can undo it.
pub(crate) fn nothing_ignored(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor takes a lock.
    unsafe { command.pre_exec(default_signals) }
}

/// Makes what `command` starts the leader of a session, whose terminal is its standard input.
pub(crate) fn own_terminal(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor takes a lock.
    unsafe { command.pre_exec(control_terminal) }
}

/// Makes what `command` starts have none of these capabilities, ever.
pub(crate) fn without<'a>(command: &'a mut Command, capabilities: &'static [u32]) -> &'a mut Command {
    // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor takes a lock.
    unsafe { command.pre_exec(|| give_up(capabilities)) }
}

/// Gives every signal its default disposition.
fn default_signals() -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default disposition runs no code of this process. Numbers that cannot be set are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}

/// Takes standard input as the controlling terminal. One that another session has stays there: signals do not come from it.
fn control_terminal() -> io::Result<()> {
    nix::unistd::setsid()?;
    // SAFETY: the call takes plain numbers and touches no memory.
    unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) };
    Ok(())
}

/// Marks all descriptors from 3 on to be closed by the exec.
fn close_on_exec() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes plain numbers and touches no memory.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_uint)
    };
    match Errno::result(result) {
        // Before Linux 5.11: one by one, as far as there can be any.
        Err(Errno::ENOSYS | Errno::EINVAL) => {}
        other => return Ok(other.map(drop)?),
    }
    let (limit, _) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE)?;
    for fd in 3..libc::c_int::try_from(limit).unwrap_or(libc::c_int::MAX) {
        // SAFETY: the call takes plain numbers; one that is not an open descriptor is refused.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}
