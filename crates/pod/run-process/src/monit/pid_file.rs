//! A pid file that a start program or its daemon writes.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, getpid, sysconf};

/// More than a number has.
const LARGEST: u64 = 64;
/// How much younger than its pid file a process may seem: times of files and of processes have different resolutions.
const SLACK: Duration = Duration::from_secs(2);

/// A pid file.
#[derive(Debug, Clone)]
pub(crate) struct PidFile {
    path: PathBuf,
}

impl PidFile {
    pub(crate) fn at(path: PathBuf) -> PidFile {
        PidFile { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The process that the file names, if it lives.
    ///
    /// monit takes any process that has the number. In a container numbers are small and soon another process', while the
    /// pid file of a previous container may still exist. So a process that was started after the file was written is not it.
    pub(crate) fn live(&self) -> Option<i32> {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&self.path).ok()?;
        let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut text = Vec::new();
        file.take(LARGEST).read_to_end(&mut text).ok()?;
        let pid = number(&text).filter(|pid| *pid > 0 && *pid != getpid().as_raw())?;
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let process = Stat::parse(&stat).filter(|process| !process.has_ended)?;
        let written = Duration::new(u64::try_from(meta.mtime()).ok()?, u32::try_from(meta.mtime_nsec()).unwrap_or(0));
        let is_older = process.started().is_none_or(|started| started <= written + SLACK);
        is_older.then_some(pid)
    }

    /// Removes a file that names no live process: scripts often believe it, and refuse to start.
    pub(crate) fn remove_stale(&self) {
        if self.live().is_none() && std::fs::remove_file(&self.path).is_ok() {
            tracing::info!(pid_file = %self.path.display(), "removed a stale pid file");
        }
    }
}

/// As `sscanf("%d")`: white space, then digits; the rest does not matter.
fn number(text: &[u8]) -> Option<i32> {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[start..start + digits]).ok()?.parse().ok()
}

/// Fields of `/proc/<pid>/stat`.
struct Stat {
    has_ended: bool,
    /// In clock ticks since the machine was started.
    start: u64,
}

impl Stat {
    fn parse(stat: &[u8]) -> Option<Stat> {
        // The name may hold anything, parentheses too.
        let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?.split_whitespace();
        let state = fields.next()?;
        Some(Stat { has_ended: matches!(state, "Z" | "X"), start: fields.nth(18)?.parse().ok()? })
    }

    /// When it was started, since 1970.
    fn started(&self) -> Option<Duration> {
        let ticks = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok().filter(|ticks| *ticks > 0)?;
        let now = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME).ok()?);
        let up = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
        let start = Duration::from_secs(self.start / ticks)
            + Duration::from_secs(self.start % ticks) / u32::try_from(ticks).ok()?;
        Some((now + start).saturating_sub(up))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_number_is_read_as_c_reads_it() {
        for (text, pid) in [
            ("12\n", Some(12)),
            (" 7 # x", Some(7)),
            ("9x", Some(9)),
            ("", None),
            ("x", None),
            ("-1", None),
            ("99999999999", None),
        ] {
            assert_eq!(number(text.as_bytes()), pid, "{text}");
        }
    }

    #[test]
    fn only_a_process_that_is_older_than_the_file_counts() {
        let dir = tempfile::tempdir().unwrap();
        let pid_file = PidFile::at(dir.path().join("pid"));
        assert_eq!(pid_file.live(), None);
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let write = |text: &str| std::fs::write(pid_file.path(), text).unwrap();
        write(&format!("{}\n", child.id()));
        assert_eq!(pid_file.live(), i32::try_from(child.id()).ok());
        pid_file.remove_stale();
        assert!(pid_file.path().exists());
        // As if it had been written an hour ago, by another process with the same number.
        let hour = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(pid_file.path()).unwrap().set_modified(hour).unwrap();
        assert_eq!(pid_file.live(), None);
        pid_file.remove_stale();
        assert!(!pid_file.path().exists());
        // This process, one that has ended, and no number.
        write(&std::process::id().to_string());
        assert_eq!(pid_file.live(), None);
        write(&child.id().to_string());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(pid_file.live(), None);
        write("none");
        assert_eq!(pid_file.live(), None);
    }
}
