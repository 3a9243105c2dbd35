//! How the process of a service is found: by its pid file, or by its command line.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;

use ::monit::ProcessId;

use super::expression::Expression;
use super::pid_file::PidFile;

/// Finds the process of a service.
#[derive(Debug, Clone)]
pub(crate) enum Finder {
    /// `with pidfile`
    PidFile(PidFile),
    /// `matching`
    Matching(Rc<Expression>),
}

impl Finder {
    /// `place` tells where a path of the file lies.
    ///
    /// # Errors
    /// Why the expression cannot be carried out.
    pub(crate) fn new(id: &ProcessId, place: impl Fn(&str) -> PathBuf) -> Result<Finder, String> {
        match id {
            ProcessId::Pidfile(path) => Ok(Finder::PidFile(PidFile::at(place(path)))),
            ProcessId::Matching(pattern) => Ok(Finder::Matching(Rc::new(Expression::new(pattern)?))),
        }
    }

    /// The process, if it lives.
    pub(crate) fn live(&self) -> Option<i32> {
        match self {
            Finder::PidFile(file) => file.live(),
            Finder::Matching(expression) => first_match(expression),
        }
    }

    /// Removes a pid file that names no live process.
    pub(crate) fn remove_stale(&self) {
        if let Finder::PidFile(file) = self {
            file.remove_stale();
        }
    }

    /// How to make it findable, for hints.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Finder::PidFile(_) => "has to write it",
            Finder::Matching(_) => "has to start one",
        }
    }
}

/// Why no process was found.
impl fmt::Display for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finder::PidFile(file) => write!(f, "{} does not name a running process", file.path().display()),
            // The expression may contain rendered values.
            Finder::Matching(_) => {
                f.write_str("the command line of no running process matches the expression in monit")
            }
        }
    }
}

/// The process with the lowest id whose command line matches. The programs of boson, whose command lines have the names of jobs
/// and services, do not count: on a VM they do not exist.
fn first_match(expression: &Expression) -> Option<i32> {
    let identity = |path: String| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    let own = identity("/proc/self/exe".to_owned());
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ids: Vec<i32> = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids.into_iter().find(|pid| {
        let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
        // A process that has ended has none.
        let line: Vec<u8> = line.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }).collect();
        let line = line.trim_ascii_end();
        !line.is_empty()
            && expression.is_match(line)
            && identity(format!("/proc/{pid}/exe")).is_none_or(|exe| Some(exe) != own)
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_found_by_its_command_line_and_boson_is_not() {
        let find = |pattern: String| Finder::new(&ProcessId::Matching(pattern), |path| PathBuf::from(path)).unwrap();
        // Unique, and in the command line of this test, too, if it is run by name.
        let mark = format!("needle-{}", std::process::id());
        let mut child = Command::new("sh").args(["-c", "read line", &mark]).stdin(Stdio::piped()).spawn().unwrap();
        let finder = find(format!("^sh -c read line {mark}$"));
        testkit::waiting::eventually("it is found", || finder.live() == i32::try_from(child.id()).ok());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(finder.live(), None);
        let own = std::env::current_exe().unwrap();
        assert_eq!(find(own.display().to_string()).live(), None);
        assert!(Finder::new(&ProcessId::Matching("(".to_owned()), |path| PathBuf::from(path)).is_err());
    }
}
