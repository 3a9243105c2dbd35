//! The command that checks a result before it replaces the last one.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use problem::{IoContext, Problem, Result};
use signals::{Signals, is_ending};
use vcap::{atomic, flat_dir};

use crate::output::{Content, MODE, Output};

/// Stands for the candidate's path.
const PLACEHOLDER: &str = "{}";
/// The variable with the candidate's path.
const CANDIDATE: &str = "BOSON_CANDIDATE";

/// How long a command may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a check that refused nothing came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    /// The result may be used.
    Passed,
    /// A signal asked the watch to end.
    Ended,
}

/// Runs the command with the candidate, beside the output. `signals` are those of a watch, which may be asked to end.
///
/// # Errors
/// The command cannot be run or does not exit with 0.
pub(crate) fn check(
    command: &str,
    output: Output<'_>,
    content: &Content,
    signals: Option<&Signals>,
) -> Result<Checked> {
    let path = match output {
        Output::File(path) | Output::Dir(path) => path,
        Output::Stdout => return Err(Problem::usage("--check-command needs --output or --output-dir").into()),
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = tempfile::Builder::new().prefix("..candidate-").tempdir_in(parent);
    // A mount point's parent may be read-only.
    let scratch = scratch.or_else(|_| tempfile::tempdir()).io("create a directory beside", path)?;
    let candidate = scratch.path().join(path.file_name().unwrap_or_default());
    match content {
        Content::Text(text) => atomic::replace_file(&candidate, text.as_bytes(), MODE)?,
        Content::Files(files) => {
            let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
            flat_dir::replace(&candidate, &files, MODE)?;
        }
    }
    run(command, &candidate, signals)
}

fn run(command: &str, candidate: &Path, signals: Option<&Signals>) -> Result<Checked> {
    let words =
        words(command).ok_or_else(|| Problem::usage("--check-command: a quote is not closed, or it is empty"))?;
    let with_candidate = |word: &String| match word.split_once(PLACEHOLDER) {
        Some((before, after)) => {
            let mut argument = OsString::from(before);
            argument.push(candidate);
            argument.push(after);
            argument
        }
        None => word.into(),
    };
    let program = &words[0];
    let arguments = std::iter::once(program.into()).chain(words[1..].iter().map(with_candidate)).collect();
    let failed = |e: io::Error| Problem::internal(format!("--check-command: cannot run {program}")).because(e);
    let status =
        spawn(arguments, candidate, signals.is_some()).and_then(|child| wait(child, signals)).map_err(failed)?;
    let refused = match status {
        None => return Ok(Checked::Ended),
        Some(WaitStatus::Exited(_, 0)) => return Ok(Checked::Passed),
        Some(WaitStatus::Signaled(_, signal, _)) => format!("signal: {signal}"),
        Some(status) => format!("exit status: {}", if let WaitStatus::Exited(_, code) = status { code } else { 1 }),
    };
    let problem = Problem::input(format!("--check-command: {program} refused the result: {refused}"));
    Err(problem.hint("the last result stays").into())
}

/// Starts a command, in a process group of its own where it may have to be ended. Signals are blocked here while the template is
/// watched, and SIGPIPE is ignored: the command has neither from here. What it prints may be of the candidate: it goes to the
/// container's log as it does without boson.
fn spawn(arguments: Vec<OsString>, candidate: &Path, has_group: bool) -> io::Result<Pid> {
    let arguments: Vec<CString> = arguments
        .into_iter()
        .map(|argument| CString::new(argument.into_vec()))
        .collect::<std::result::Result<_, _>>()?;
    let variable = |(name, value): (OsString, OsString)| {
        let mut text = name;
        text.push("=");
        text.push(value);
        CString::new(text.into_vec())
    };
    let others = std::env::vars_os().filter(|(name, _)| name != OsStr::new(CANDIDATE));
    let own = std::iter::once((CANDIDATE.into(), candidate.as_os_str().to_owned()));
    let variables: Vec<CString> = others.chain(own).map(variable).collect::<std::result::Result<_, _>>()?;
    let mut actions = PosixSpawnFileActions::init()?;
    actions.add_open(0, "/dev/null", OFlag::O_RDONLY, Mode::empty())?;
    let mut attributes = PosixSpawnAttr::init()?;
    let mut flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF;
    flags.set(PosixSpawnFlags::POSIX_SPAWN_SETPGROUP, has_group);
    attributes.set_flags(flags)?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    let program = arguments.first().ok_or(Errno::EINVAL)?;
    Ok(posix_spawnp(program, &actions, &attributes, &arguments, &variables)?)
}

/// Waits until a command has ended; nothing if a signal asked the watch to end, which ends the command.
fn wait(child: Pid, signals: Option<&Signals>) -> io::Result<Option<WaitStatus>> {
    let Some(signals) = signals else {
        loop {
            match waitpid(child, None) {
                Err(Errno::EINTR) => {}
                status => return Ok(Some(status?)),
            }
        }
    };
    let mut is_asked: Option<Instant> = None;
    loop {
        match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
            status => return status.map(|status| is_asked.is_none().then_some(status)).map_err(Into::into),
        }
        while let Some(signal) = signals.next()? {
            if is_ending(signal) && is_asked.is_none() {
                is_asked = Some(Instant::now());
                let _ = killpg(child, Signal::SIGTERM);
            }
        }
        if is_asked.is_some_and(|since| since.elapsed() >= PATIENCE) {
            let _ = killpg(child, Signal::SIGKILL);
        }
        // SIGCHLD is among the signals; the time limit is for the kill.
        signals.wait(Duration::from_millis(500))?;
    }
}

/// The words of a command: separated by spaces, `'` and `"` quote. `None` if a quote is not closed or no word is there.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        let words = |text| words(text).map(|words| words.join("|"));
        assert_eq!(words("nginx -t  -c {}").as_deref(), Some("nginx|-t|-c|{}"));
        assert_eq!(words("sh -c 'test -s \"$1\"' x {} \"\"").as_deref(), Some("sh|-c|test -s \"$1\"|x|{}|"));
        assert_eq!(words("a'b c'd").as_deref(), Some("ab cd"));
        assert_eq!((words(""), words("a 'b")), (None, None));
    }

    #[test]
    fn the_exit_status_decides() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("out.yaml");
        let check = |command: &str| check(command, Output::File(&file), &Content::Text("text".to_owned()), None);
        check("grep -q text {}").unwrap();
        check("sh -c 'test $(cat $BOSON_CANDIDATE) = text'").unwrap();
        let refused = check("grep -q other {}").unwrap_err();
        assert!(refused.to_string().starts_with("error: --check-command: grep refused the result: exit status: 1"));
        assert_eq!(check("/no/such").unwrap_err().exit_code(), 70);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
