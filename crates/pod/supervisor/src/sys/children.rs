//! Children and what descends from them.

use std::collections::HashMap;
use std::{fs, io};

use nix::errno::Errno;
use nix::libc;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, getpid};

use crate::exit::Exit;

/// What there was to reap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// A child ended, perhaps an adopted one.
    Child(Pid, Exit),
    /// Children are alive, none has exited.
    Nothing,
    /// No children.
    NoChildren,
}

/// Makes orphaned descendants this process' children, as they are of PID 1.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

/// Takes the status of one child that has ended, without waiting.
///
/// Not by nix' `waitpid`, which knows no real-time signals and fails when one of them ended a child.
pub fn reap() -> io::Result<Reaped> {
    loop {
        let mut status = 0;
        // SAFETY: the status is written to a variable that outlives the call.
        let result = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
        return match Errno::result(result) {
            Ok(0) => Ok(Reaped::Nothing),
            Ok(pid) if libc::WIFEXITED(status) => {
                Ok(Reaped::Child(Pid::from_raw(pid), Exit::Code((libc::WEXITSTATUS(status) & 0xff) as u8)))
            }
            Ok(pid) if libc::WIFSIGNALED(status) => {
                Ok(Reaped::Child(Pid::from_raw(pid), Exit::Signal(libc::WTERMSIG(status))))
            }
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(Errno::ECHILD) => Ok(Reaped::NoChildren),
            Err(e) => Err(e.into()),
        };
    }
}

/// Whether there are no children, not even one that has exited and was not reaped.
pub fn is_childless() -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT | WaitPidFlag::__WALL;
    matches!(waitid(Id::All, flags), Err(Errno::ECHILD))
}

/// Sends a signal, real-time ones included; a process that has ended is not an error.
pub fn send(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: kill touches no memory of this process.
    tolerate(unsafe { libc::kill(pid.as_raw(), signal) })
}

/// Sends a signal to a process group; a group that has ended is not an error.
pub fn send_group(leader: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: kill touches no memory of this process.
    tolerate(unsafe { libc::kill(-leader.as_raw(), signal) })
}

/// Sends a signal to everything that descends from this process, adopted ones included.
///
/// Where /proc does not list them, PID 1 of a namespace reaches everything in it, and any other process the groups of
/// `leaders` only.
pub fn send_everything(leaders: impl Iterator<Item = Pid>, signal: i32) -> io::Result<()> {
    if let Some(pids) = descendants() {
        return pids.into_iter().map(|pid| send(pid, signal)).fold(Ok(()), io::Result::and);
    }
    if getpid().as_raw() == 1 {
        // SAFETY: kill touches no memory of this process, and -1 does not mean PID 1 itself.
        return tolerate(unsafe { libc::kill(-1, signal) });
    }
    leaders.map(|leader| send_group(leader, signal)).fold(Ok(()), io::Result::and)
}

fn tolerate(result: libc::c_int) -> io::Result<()> {
    match Errno::result(result) {
        Ok(_) | Err(Errno::ESRCH) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// All processes that descend from this one; `None` where /proc does not list them (absent, or another namespace's).
fn descendants() -> Option<Vec<Pid>> {
    let me = getpid();
    if fs::read_link("/proc/self").ok()?.to_str()? != me.to_string() {
        return None;
    }
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // A process that ended meanwhile has no file any more.
        let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
        if let Some(parent) = parent_in_stat(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![me.as_raw()];
    while let Some(pid) = open.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(Pid::from_raw(child));
            open.push(child);
        }
    }
    Some(found)
}

/// The parent in `/proc/<pid>/stat`: the second field after the name, which may hold anything, parentheses too.
fn parent_in_stat(stat: &[u8]) -> Option<i32> {
    let end_of_name = stat.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_after_any_process_name() {
        assert_eq!(parent_in_stat(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in_stat(b"12 (a) b (c) 9) R 8 1 1"), Some(8));
        assert_eq!(parent_in_stat(b"12 (\xff) R 8 1 1"), Some(8));
        assert_eq!(parent_in_stat(b"garbage"), None);
    }
}
