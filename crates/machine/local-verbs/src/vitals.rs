//! What the processes of a deployment use, as `bosh instances --ps --vitals` shows it.

use std::time::Duration;

use local_state::control::Row;
use process_usage::{Snapshot, Usage, all_memory};

/// What a process and all that descends from it use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Vitals {
    /// Thousandths of the machine's processors; nothing at the first look.
    pub(crate) cpu: Option<u64>,
    /// Resident memory in bytes.
    pub(crate) memory: u64,
}

impl Vitals {
    /// Those of two processes.
    pub(crate) fn plus(self, other: Vitals) -> Vitals {
        let cpu = match (self.cpu, other.cpu) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0) + two.unwrap_or(0)),
        };
        Vitals { cpu, memory: self.memory + other.memory }
    }
}

/// Looks at processes, over and over.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    usage: Usage,
}

impl Meter {
    /// What the process of each row uses: memory now, processor time since the last call.
    pub(crate) fn read(&mut self, rows: &[Row]) -> Vec<Option<Vitals>> {
        let now = Snapshot::take();
        let vitals = |pid| Vitals { cpu: self.usage.permille(&now, pid, true), memory: now.memory(pid, true) };
        let all = rows.iter().map(|row| row.pid.map(vitals)).collect();
        self.usage.note(now);
        all
    }
}

/// How long processor time is measured where a verb looks once.
const MEASURED: Duration = Duration::from_millis(500);

/// What the process of each row uses, measured for half a second.
pub(crate) fn measure(rows: &[Row]) -> Vec<Option<Vitals>> {
    let mut meter = Meter::default();
    meter.read(rows);
    std::thread::sleep(MEASURED);
    meter.read(rows)
}

/// `12.3%`, as the bosh CLI prints it.
pub(crate) fn percent(permille: u64) -> String {
    format!("{}.{}%", permille / 10, permille % 10)
}

/// Memory as part of the machine's, as the bosh CLI prints it: `0.4% (92 MiB)`.
pub(crate) fn of_all_memory(bytes: u64) -> String {
    let size = local_state::output::size(bytes);
    match all_memory() {
        Some(all) if all > 0 => format!("{} ({size})", percent(bytes.saturating_mul(1000) / all)),
        _ => size,
    }
}

/// How long a process has run: `1d 2h 3m 4s`, as the bosh CLI prints it.
pub(crate) fn uptime(seconds: u64) -> String {
    format!("{}d {}h {}m {}s", seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_printed_as_the_bosh_cli_prints_them() {
        assert_eq!([0, 4, 123, 1000].map(percent), ["0.0%", "0.4%", "12.3%", "100.0%"]);
        assert_eq!(uptime(93_784), "1d 2h 3m 4s");
        assert!(of_all_memory(0).ends_with("(0 B)"));
        assert_eq!(Vitals { cpu: None, memory: 1 }.plus(Vitals { cpu: Some(2), memory: 3 }).cpu, Some(2));
    }
}
