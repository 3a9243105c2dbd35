//! Start and stop programs, run as monit runs them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ::monit::{Account, Program, Service};
use nix::unistd::{Gid, Uid};
use problem::{Place, Problem, Result};
use supervisor::{Command, Identity, ResourceLimits};

use super::finder::Finder;
use super::follow::StartTime;
use super::{Follow, all_of};
use crate::context::Context;
use crate::environment::with;

/// monit purges its environment; this is the `PATH` that it sets.
const PATH: &str = "/bin:/usr/bin:/sbin:/usr/sbin";

/// A process that a start program starts in the background, and a stop program stops.
pub(crate) struct Managed {
    service: String,
    start: Command,
    stop: Option<Command>,
    start_timeout: Duration,
    pub(crate) stop_timeout: Duration,
    pub(crate) finder: Finder,
    /// When the start program was started, for [`Follow`].
    started: StartTime,
}

impl Managed {
    /// # Errors
    /// An unknown user or group.
    pub(crate) fn new(context: &Context, service: &Service, start: &Program, finder: Finder) -> Result<Managed> {
        let stop = service.stop.as_ref().map(|stop| command(context, stop)).transpose();
        let (start_command, stop_command) = all_of(command(context, start), stop)?;
        Ok(Managed {
            service: service.name.clone(),
            start: start_command,
            stop: stop_command,
            start_timeout: start.timeout,
            stop_timeout: service.stop.as_ref().map_or(Duration::ZERO, |stop| stop.timeout),
            finder,
            started: StartTime::default(),
        })
    }

    /// Whether there is a stop program.
    pub(crate) fn has_stop(&self) -> bool {
        self.stop.is_some()
    }

    /// The start program, to be run now; nothing if the process runs already, which monit follows then.
    pub(crate) fn start(&self) -> Option<Command> {
        self.started.set(Some(std::time::Instant::now()));
        if self.finder.live().is_some() {
            return None;
        }
        self.finder.remove_stale();
        Some(self.with_environment(&self.start, "Started", None))
    }

    /// The stop program, to be run now.
    pub(crate) fn stop(&self, pid: Option<i32>) -> Option<Command> {
        self.stop.as_ref().map(|stop| self.with_environment(stop, "Stopped", pid))
    }

    /// What finds the process.
    pub(crate) fn follow(&self, cycle: Duration) -> Follow {
        Follow::new(self.finder.clone(), self.start_timeout, cycle, self.started.clone())
    }

    /// The start program, for messages.
    pub(crate) fn start_program(&self) -> &Path {
        Path::new(&self.start.program)
    }

    /// Why the process does not run.
    pub(crate) fn not_found(&self) -> Problem {
        let (program, seconds) = (self.start_program().display(), self.start_timeout.as_secs());
        Problem::internal(format!("the process did not start within {seconds}s"))
            .code(problem::code::PROCESS_NOT_STARTED)
            .because(&self.finder)
            .hint(format!("{program} {}; monit's \"with timeout\" sets the time", self.finder.hint()))
    }

    fn with_environment(&self, command: &Command, event: &str, pid: Option<i32>) -> Command {
        Command { env: with(environment(&self.service, event, pid), &command.env), ..command.clone() }
    }
}

/// The program; its environment is what the container passes.
pub(super) fn command(context: &Context, program: &Program) -> Result<Command> {
    let Some((executable, args)) = program.argv.split_first() else {
        return Err(Problem::input("a program has no words").into());
    };
    Ok(Command {
        program: executable.into(),
        args: args.iter().map(Into::into).collect(),
        env: context.passed.clone(),
        dir: Some(PathBuf::from("/")),
        identity: identity(context, program)?,
        no_new_privileges: false,
        limits: ResourceLimits::default(),
    })
}

/// monit's: nothing of its own environment but `TZ`.
pub(super) fn environment(service: &str, event: &str, pid: Option<i32>) -> Vec<(OsString, OsString)> {
    let host = nix::unistd::gethostname().unwrap_or_default();
    let mut env: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), PATH.into()),
        ("MONIT_DATE".into(), date(SystemTime::now()).into()),
        ("MONIT_SERVICE".into(), service.into()),
        ("MONIT_HOST".into(), host),
        ("MONIT_EVENT".into(), event.into()),
        ("MONIT_DESCRIPTION".into(), event.into()),
        ("MONIT_PROCESS_PID".into(), pid.unwrap_or(0).to_string().into()),
        ("MONIT_PROCESS_MEMORY".into(), "0".into()),
        ("MONIT_PROCESS_CHILDREN".into(), "0".into()),
        ("MONIT_PROCESS_CPU_PERCENT".into(), "0.0".into()),
    ];
    env.extend(std::env::var_os("TZ").map(|zone| ("TZ".into(), zone)));
    env
}

/// `as uid U and gid G`: monit changes these ids and nothing else. Where this process is not root, nothing can be changed.
fn identity(context: &Context, program: &Program) -> Result<Option<Identity>> {
    let user = program.uid.as_ref().map(|account| id(context, account, "passwd", "user", program));
    let group = program.gid.as_ref().map(|account| id(context, account, "group", "group", program));
    let (uid, gid) = all_of(user.transpose(), group.transpose())?;
    if (uid, gid) == (None, None) || !Uid::effective().is_root() {
        return Ok(None);
    }
    let (uid, gid) = (uid.map_or(Uid::effective(), Uid::from_raw), gid.map_or(Gid::effective(), Gid::from_raw));
    if !supervisor::Privileges::current().can_become(uid, gid) {
        tracing::warn!(
            "{}: cannot become user {uid}, group {gid}; the program runs as {}",
            context.subject(),
            Uid::effective()
        );
        return Ok(None);
    }
    Ok(Some(Identity { uid, gid, capabilities: Vec::new(), inherits: true }))
}

/// The number of a user or group; by name, it is looked up in the root's `/etc/passwd` or `/etc/group`.
fn id(context: &Context, account: &Account, file: &str, kind: &str, program: &Program) -> Result<u32> {
    let name = match account {
        Account::Id(id) => return Ok(*id),
        Account::Name(name) => name,
    };
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let path = context.vcap.base().ancestors().nth(2).map(|root| root.join("etc").join(file));
    let text = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let found = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    if let Some(id) = found {
        return Ok(id);
    }
    // BOSH: vcap exists wherever there is a stemcell.
    let (uid, gid) = context.owner;
    if name == "vcap" {
        return Ok(if kind == "user" { uid.as_raw() } else { gid.as_raw() });
    }
    let monit = hooks::services::monit_path(&context.vcap, &context.job);
    let place = Place::line(monit.to_string_lossy(), program.at.line);
    Err(Problem::input(format!("unknown {kind} \"{name}\"")).at(place).into())
}

/// RFC 822's form in UTC: `Sun, 22 Nov 2026 17:00:00 +0000`.
fn date(time: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut left) = (1970, days);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    let weekday = DAYS[usize::try_from(days % 7).unwrap_or_default()];
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{weekday}, {:02} {} {year} {hours:02}:{minutes:02}:{seconds:02} +0000", left + 1, MONTHS[month])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_form_of_mail() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 +0000"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 +0000"),
            (1_795_366_800, "Sun, 22 Nov 2026 17:00:00 +0000"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 +0000"),
        ] {
            assert_eq!(date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
