//! Processes of the host as `/proc` shows them.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: i32,
    /// When it started, in the kernel's ticks since the machine started.
    pub started: u64,
}

impl ProcessId {
    /// The process that has this number now.
    pub fn of(pid: i32) -> Option<ProcessId> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold anything; field 3 follows it, the start is field 22.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (state != "Z" && state != "X").then_some(ProcessId { pid, started })
    }

    /// This process.
    pub fn own() -> Option<ProcessId> {
        ProcessId::of(nix::unistd::getpid().as_raw())
    }

    /// Whether it still runs.
    pub fn is_alive(self) -> bool {
        ProcessId::of(self.pid) == Some(self)
    }

    /// Signals it, if it still runs.
    pub fn signal(self, signal: Signal) {
        if self.is_alive() {
            // It may have ended in between.
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }
}

/// The host's number of the process that has number `inner` in the pid namespace whose PID 1 is `init` on the host.
pub fn pid_of(init: i32, inner: i32) -> Option<i32> {
    let depth = namespace_pids(init)?.len();
    let is_wanted =
        |pid: &i32| namespace_pids(*pid).is_some_and(|pids| pids.len() == depth && pids.last() == Some(&inner));
    // The way down is short; where the kernel does not show it (CONFIG_PROC_CHILDREN), every process is checked.
    let mut level = vec![init];
    while !level.is_empty() {
        if let Some(found) = level.iter().copied().find(is_wanted) {
            return Some(found);
        }
        level = level.into_iter().flat_map(children).collect();
    }
    let all = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    all.filter(is_wanted).find(|pid| is_below(*pid, init))
}

/// The children of all threads of a process.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let of_thread =
        |thread: std::io::Result<fs::DirEntry>| fs::read_to_string(thread.ok()?.path().join("children")).ok();
    let texts: Vec<String> = threads.filter_map(of_thread).collect();
    texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
}

/// Its numbers from this program's pid namespace inwards.
fn namespace_pids(pid: i32) -> Option<Vec<i32>> {
    status_field(pid, "NSpid:")?.split_whitespace().map(|n| n.parse().ok()).collect()
}

/// Whether `init` is an ancestor of `pid`; orphans belong to PID 1, so that every process of the namespace is.
fn is_below(pid: i32, init: i32) -> bool {
    let mut pid = pid;
    while pid > 1 {
        if pid == init {
            return true;
        }
        let Some(parent) = status_field(pid, "PPid:").and_then(|n| n.trim().parse().ok()) else { return false };
        pid = parent;
    }
    false
}

fn status_field(pid: i32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_identified_by_pid_and_start_time() {
        let own = ProcessId::own().unwrap();
        assert!(own.is_alive());
        assert!(!ProcessId { started: own.started + 1, ..own }.is_alive());
        assert_eq!(ProcessId::of(i32::MAX), None);
    }
}
