//! What processes use: memory and processor time, from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

use nix::unistd::{SysconfVar, sysconf};

/// One look at all processes.
#[derive(Debug, Default)]
pub struct Snapshot {
    processes: HashMap<i32, Process>,
}

#[derive(Debug, Clone, Copy)]
struct Process {
    parent: i32,
    /// Processor time in clock ticks.
    ticks: u64,
    /// Resident memory in pages.
    pages: u64,
}

impl Snapshot {
    /// Looks at all processes that `/proc` shows.
    pub fn take() -> Snapshot {
        let mut processes = HashMap::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            // A process that ended meanwhile has no file any more.
            let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
            processes.extend(Process::parse(&stat).map(|process| (pid, process)));
        }
        Snapshot { processes }
    }

    /// The process and all that descends from it.
    fn family(&self, pid: i32) -> Vec<i32> {
        let mut family = vec![pid];
        let mut at = 0;
        while at < family.len() {
            let parent = family[at];
            family.extend(self.processes.iter().filter(|(_, process)| process.parent == parent).map(|(pid, _)| *pid));
            at += 1;
        }
        family
    }

    /// The parent of a process.
    pub fn parent(&self, pid: i32) -> Option<u64> {
        u64::try_from(self.processes.get(&pid)?.parent).ok()
    }

    /// Number of descendants.
    pub fn children(&self, pid: i32) -> u64 {
        self.family(pid).len() as u64 - 1
    }

    /// Resident memory in bytes, of all descendants too if `total`.
    pub fn memory(&self, pid: i32, total: bool) -> u64 {
        self.sum(pid, total, |process| process.pages) * page_size()
    }

    fn ticks(&self, pid: i32, total: bool) -> u64 {
        self.sum(pid, total, |process| process.ticks)
    }

    fn sum(&self, pid: i32, total: bool, of: impl Fn(&Process) -> u64) -> u64 {
        let all = if total { self.family(pid) } else { vec![pid] };
        all.iter().filter_map(|pid| self.processes.get(pid)).map(of).sum()
    }
}

impl Process {
    fn parse(stat: &[u8]) -> Option<Process> {
        let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
        let fields: Vec<&str> = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Process {
            parent: fields.get(1)?.parse().ok()?,
            ticks: number(11)? + number(12)?,
            pages: fields.get(21)?.parse::<i64>().ok()?.try_into().unwrap_or(0),
        })
    }
}

/// Processor time between two looks.
#[derive(Debug, Default)]
pub struct Usage {
    last: Option<(Instant, Snapshot)>,
}

impl Usage {
    /// Thousandths of all processors since the last look, of all descendants too if `total`; nothing at the first look.
    pub fn permille(&self, now: &Snapshot, pid: i32, total: bool) -> Option<u64> {
        let (then, before) = self.last.as_ref()?;
        let used = now.ticks(pid, total).saturating_sub(before.ticks(pid, total));
        let per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let millis = u64::try_from(then.elapsed().as_millis()).ok()?.max(1);
        Some(used * 1_000_000 / per_second.max(1) / millis / processors)
    }

    /// Remembers a look as the last one.
    pub fn note(&mut self, snapshot: Snapshot) {
        self.last = Some((Instant::now(), snapshot));
    }
}

fn page_size() -> u64 {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().and_then(|size| u64::try_from(size).ok()).unwrap_or(4096)
}

/// The machine's memory in bytes; nothing where the kernel does not tell.
pub fn all_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_children_of_a_process_are_counted() {
        let me = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let of_child = i32::try_from(child.id()).unwrap();
        // The kernel counts nothing for a moment when the program begins.
        testkit::waiting::eventually("it has memory", || Snapshot::take().memory(of_child, false) > 0);
        let snapshot = Snapshot::take();
        assert!(snapshot.memory(me, false) > 100_000);
        assert!(snapshot.memory(me, true) > snapshot.memory(me, false));
        assert!(snapshot.children(me) >= 1);
        assert_eq!(snapshot.children(of_child), 0);
        assert!(all_memory().unwrap() > snapshot.memory(me, false));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = b"7 (a) b (c) S 3 7 7 0 -1 4194304 100 0 0 0 20 22 0 0 20 0 1 0 500 1000000 250 184 1 1 0";
        let process = Process::parse(stat).unwrap();
        assert_eq!((process.parent, process.ticks, process.pages), (3, 42, 250));
    }
}
