//! A service whose rules are checked, and what its rules compare.

use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ::monit::{Action, Change, Condition, Kind, Mode, Rate, Rule, Service};

use super::super::rule::RuleState;

/// What a service is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// The process that is supervised here.
    Process,
    /// A file, a directory or the like.
    Path(PathBuf),
    /// Something that only connections tell about.
    Host,
}

/// A service and its rules.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) target: Target,
    /// Whether it is only observed.
    pub(super) is_passive: bool,
    /// Whether BOSH's agent sees it, so that the instance fails with it.
    pub(super) counts: bool,
    /// `every`: it is checked in each so many cycles.
    pub(super) every: u32,
    /// In how many cycles it is checked next.
    pub(super) due: u32,
    /// A rule has ended its checks.
    pub(super) is_unmonitored: bool,
    /// The numbers of its start and stop programs; those of the process are not run from here.
    pub(super) start: Option<usize>,
    pub(super) stop: Option<usize>,
    /// Whether the process depends on it.
    pub(super) is_dependency: bool,
    pub(super) rules: Vec<Watched>,
}

/// A rule and what was seen last.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) state: RuleState,
    /// What `exec` runs, and what it runs on recovery: by number.
    pub(super) exec: Option<usize>,
    pub(super) recovery: Option<usize>,
    last: Option<u64>,
}

impl Checked {
    /// The service with its rules; `number` gives programs their numbers. For a path, the rule comes first that monit adds: one
    /// that does not exist is started again.
    pub(super) fn new(
        service: &Service,
        target: Target,
        number: &mut dyn FnMut(&::monit::Program) -> usize,
    ) -> Checked {
        let mut exec = |action: Option<&Action>| match action {
            Some(Action::Exec(program)) => Some(number(program)),
            _ => None,
        };
        let is_process = target == Target::Process;
        let is_missing = |rule: &Rule| rule.condition == Condition::Missing;
        let added = matches!(target, Target::Path(_)) && !service.rules.iter().any(is_missing);
        let missing = Rule {
            condition: Condition::Missing,
            rate: Rate::default(),
            action: Action::Start,
            recovery: None,
            at: service.at,
        };
        let rules = added.then_some(missing).into_iter().chain(service.rules.iter().cloned());
        let rules = rules.map(|rule| Watched {
            exec: exec(Some(&rule.action)),
            recovery: exec(rule.recovery.as_ref().map(|recovery| &recovery.action)),
            state: RuleState::new(rule),
            last: None,
        });
        let rules = rules.collect();
        let mut own = |program: Option<&::monit::Program>| program.filter(|_| !is_process).map(&mut *number);
        Checked {
            name: service.name.clone(),
            is_passive: service.mode == Mode::Passive,
            counts: is_process || service.is_of_agent(),
            every: service.every.unwrap_or(1).max(1),
            due: 0,
            is_unmonitored: false,
            start: own(service.start.as_ref().filter(|_| service.is_started())),
            stop: own(service.stop.as_ref()),
            is_dependency: false,
            target,
            rules,
        }
    }

    /// What is checked of a service that is not a process; nothing if nothing can be.
    pub(super) fn target_of(kind: &Kind, place: impl Fn(&str) -> PathBuf) -> Option<Target> {
        match kind {
            Kind::File(path) | Kind::Directory(path) | Kind::Fifo(path) | Kind::Filesystem(path) => {
                Some(Target::Path(place(path)))
            }
            Kind::Host(_) => Some(Target::Host),
            Kind::Process(_) | Kind::System | Kind::Status(_) => None,
        }
    }

    /// The service was started: its checks begin anew. What a path is like now is what a change is measured against.
    pub(super) fn begin(&mut self) {
        (self.is_unmonitored, self.due) = (false, self.every);
        for watched in &mut self.rules {
            watched.state.forget();
            watched.last = match &self.target {
                Target::Path(path) => watched.state.fingerprint(path),
                _ => None,
            };
        }
    }

    /// A cycle begins; returns whether the service is checked in it.
    pub(super) fn is_due(&mut self) -> bool {
        self.due = self.due.saturating_sub(1);
        if self.due == 0 {
            self.due = self.every;
        }
        !self.is_unmonitored && self.due == self.every
    }

    /// Whether a check comes in the next cycle.
    pub(super) fn is_next(&self) -> bool {
        !self.is_unmonitored && self.due <= 1
    }
}

impl Watched {
    /// Whether `now` is another value than at the last check; nothing at the first one.
    pub(super) fn change(&mut self, now: Option<u64>) -> Option<Option<String>> {
        let now = now?;
        let before = self.last.replace(now)?;
        Some((before != now).then(|| "it has changed".to_owned()))
    }
}

impl RuleState {
    /// A number that changes with what the rule watches; nothing if the file does not exist.
    pub(super) fn fingerprint(&self, path: &Path) -> Option<u64> {
        let Condition::Changed(change) = &self.rule.condition else { return None };
        let meta = path.metadata().ok()?;
        let mut hasher = DefaultHasher::new();
        match change {
            Change::Timestamp => hasher.write_i128(i128::from(meta.mtime()) << 64 | i128::from(meta.mtime_nsec())),
            Change::Size => hasher.write_u64(meta.size()),
            Change::Checksum => hash(path, &mut hasher).ok()?,
            Change::Pid | Change::ParentPid => return None,
        }
        Some(hasher.finish())
    }
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> std::io::Result<()> {
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            n => hasher.write(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Checked {
        let config = ::monit::parse(text, "monit").unwrap();
        let mut programs = 0;
        let mut number = |_: &::monit::Program| {
            programs += 1;
            programs - 1
        };
        let service = &config.services[0];
        let target = Checked::target_of(&service.kind, |path| PathBuf::from(path)).unwrap_or(Target::Process);
        Checked::new(service, target, &mut number)
    }

    #[test]
    fn a_path_is_started_where_it_is_missing_unless_a_rule_differs() {
        let added = checked("check directory d with path /d start program \"/s\" stop program \"/t\" group vcap");
        assert_eq!(added.rules.len(), 1);
        assert_eq!(added.rules[0].state.rule.action, Action::Start);
        assert_eq!((added.start, added.stop, added.counts), (Some(0), Some(1), true));
        let own = checked("check file f with path /f if does not exist then exec \"/x\"");
        assert_eq!((own.rules.len(), own.rules[0].exec, own.counts), (1, Some(0), false));
        let host = checked("check host h with address localhost if failed port 80 then alert");
        assert_eq!((&host.target, host.rules.len(), host.start), (&Target::Host, 1, None));
        let process = checked("check process p with pidfile /p start program \"/s\"");
        assert_eq!((&process.target, process.start, process.counts), (&Target::Process, None, true));
    }

    #[test]
    fn every_so_many_cycles_a_service_is_checked() {
        let mut service = checked("check file f with path /f every 3 cycles");
        service.begin();
        let due: Vec<bool> = (0..7).map(|_| service.is_due()).collect();
        assert_eq!(due, [false, false, true, false, false, true, false]);
        let mut service = checked("check file f with path /f");
        service.begin();
        assert!(service.is_due() && service.is_due());
        service.is_unmonitored = true;
        assert!(!service.is_due());
    }
}
