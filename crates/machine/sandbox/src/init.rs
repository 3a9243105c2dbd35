//! PID 1 of a sandbox: runs commands on request, reaps every process, reports the exits of the commands.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::error::context;
use crate::exit::Exit;
use crate::hosts::merge;
use crate::ids::Ids;
use crate::message::{FromInit, ToInit};
use crate::rlimits;
use crate::root;
use crate::settings_watch::SettingsWatch;
use crate::spec::InstanceSpec;
use crate::sys::channel::Channel;

/// Capabilities that reach beyond the sandbox where it was made by root; a pod's root does not have them either.
/// (Numbers from `linux/capability.h`: DAC_READ_SEARCH, LINUX_IMMUTABLE, SYS_MODULE, SYS_RAWIO, SYS_PACCT, SYS_ADMIN,
/// SYS_BOOT, SYS_TIME, SYS_TTY_CONFIG, MKNOD, AUDIT_CONTROL, MAC_OVERRIDE, MAC_ADMIN, SYSLOG, WAKE_ALARM, BLOCK_SUSPEND,
/// AUDIT_READ, PERFMON, BPF, CHECKPOINT_RESTORE.)
const TOO_POWERFUL: [u32; 20] = [2, 9, 16, 17, 20, 21, 22, 25, 26, 27, 30, 32, 33, 34, 35, 36, 37, 38, 39, 40];

/// Those of them that a privileged command does not have either: each serves to change the machine, and nothing in the sandbox's
/// namespaces. (SYS_MODULE, SYS_RAWIO, SYS_TIME, MAC_OVERRIDE, MAC_ADMIN, SYSLOG, WAKE_ALARM, BLOCK_SUSPEND.)
const OF_MACHINE: [u32; 8] = [16, 17, 25, 32, 33, 34, 35, 36];

/// The file of host names inside.
const HOSTS: &str = "/etc/hosts";

/// Makes the root file system, then serves until the program exits; every process of the sandbox exits with it.
pub(crate) fn run(program: &Channel) -> io::Result<()> {
    let (ToInit::Start { spec, ids, cgroup }, _) = program.expect()? else {
        return Err(io::Error::other("a sandbox's first message is its specification"));
    };
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    // Before any other thread exists, which would take the signal.
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    mask.thread_block()?;
    let mut settings = match set_up(&spec, ids, cgroup.as_deref(), program) {
        Ok(settings) => settings,
        Err(e) => return program.send(&FromInit::Failed { message: e.to_string() }, &[]),
    };
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    program.send(&FromInit::Ready, &[])?;

    let names = fs::read_to_string(HOSTS)?;
    let mut commands = Commands { running: HashMap::new(), names };
    loop {
        let fds = [program.as_fd(), signals.as_fd()].into_iter().chain(settings.as_ref().map(AsFd::as_fd));
        let mut ready: Vec<PollFd> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut ready, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            other => other?,
        };
        let is_ready = |n: usize| ready.get(n).is_some_and(|fd| fd.any() == Some(true));
        let (asked, child, written) = (is_ready(0), is_ready(1), is_ready(2));
        if let Some(settings) = settings.as_mut().filter(|_| written) {
            report_settings(settings, program)?;
        }
        if child {
            while signals.read_signal()?.is_some() {}
            commands.reap(program)?;
        }
        if asked {
            match program.receive()? {
                Some((request, fds)) => commands.serve(program, request, fds)?,
                None => return Ok(()),
            }
        }
    }
}

/// Makes the sandbox; of a privileged one, returns the watch on its kernel settings.
fn set_up(
    spec: &InstanceSpec,
    ids: Ids,
    cgroup: Option<&Path>,
    program: &Channel,
) -> io::Result<Option<SettingsWatch>> {
    nix::unistd::sethostname(&spec.hostname).map_err(|e| context("set the host name", e))?;
    let program = program.try_clone()?;
    // A program that has exited needs no warning.
    let warn = move |message| drop(program.send(&FromInit::Warned { message }, &[]));
    let entered = cgroup.map(crate::cgroup::enter);
    let has_cgroup = matches!(entered, Some(Ok(())));
    if let (Some(Err(e)), true) = (entered, spec.privileged) {
        warn(format!("it has no cgroup of its own, and /sys/fs/cgroup is empty: {e}"));
    }
    root::enter(spec, ids, has_cgroup)?;
    let mut settings = None;
    if spec.privileged {
        settings = SettingsWatch::new()
            .map_err(|e| {
                warn(format!("writes to settings of the whole machine have no effect, and are not reported: {e}"))
            })
            .ok();
    }
    rlimits::clamp(warn).map_err(|e| context("watch the resource limits", e))?;
    // This process drops them too: root inside may trace any process that has no more capabilities than itself.
    let given_up: &[u32] = if spec.privileged { &OF_MACHINE } else { &TOO_POWERFUL };
    crate::sys::privileges::give_up(given_up).map_err(|e| context("give up capabilities", e))?;
    Ok(settings)
}

/// Reports the settings of the whole machine that a process has written.
fn report_settings(settings: &mut SettingsWatch, program: &Channel) -> io::Result<()> {
    for path in settings.take()? {
        let path = path.display();
        let message = format!("{path} is a setting of the whole machine: the value is written for this instance alone");
        program.send(&FromInit::Warned { message }, &[])?;
    }
    Ok(())
}

/// What is done on request.
#[derive(Debug)]
struct Commands {
    /// The commands that run, by their process ids.
    running: HashMap<i32, u64>,
    /// The names that the program has given `/etc/hosts`.
    names: String,
}

impl Commands {
    fn serve(&mut self, program: &Channel, request: ToInit, fds: Vec<OwnedFd>) -> io::Result<()> {
        match request {
            ToInit::Start { .. } => Ok(()),
            ToInit::Run { id, argv, env, directory, privileged } => {
                let answer = match start(&argv, env, &directory, privileged, fds) {
                    Ok(pid) => {
                        self.running.insert(pid, id);
                        FromInit::Started { id, pid }
                    }
                    Err(e) => FromInit::NotDone { id, message: e.to_string() },
                };
                program.send(&answer, &[])
            }
            ToInit::Signal { id, signal, group } => {
                self.signal(id, signal, group);
                Ok(())
            }
            ToInit::Write { id, path, mode } => {
                let written = write(&path, mode, fds).map_err(|e| context(&format!("write {}", path.display()), e));
                program.send(&answer(id, written), &[])
            }
            ToInit::Hosts { id } => {
                let updated = self.update_hosts(fds).map_err(|e| context(&format!("update {HOSTS}"), e));
                program.send(&answer(id, updated), &[])
            }
        }
    }

    fn update_hosts(&mut self, fds: Vec<OwnedFd>) -> io::Result<()> {
        const NEW: &str = "/etc/.hosts.new";
        let mut names = String::new();
        received(fds)?.read_to_string(&mut names)?;
        // A script may have removed it.
        let current = fs::read(HOSTS).unwrap_or_default();
        let merged = merge(&String::from_utf8_lossy(&current), &self.names, &names);
        // By a rename: a program that reads the file sees all names of one version.
        fs::write(NEW, merged)?;
        fs::rename(NEW, HOSTS)?;
        self.names = names;
        Ok(())
    }

    /// Signals a command that has not been reaped, so that its number is still its own.
    fn signal(&self, id: u64, signal: i32, group: bool) {
        let pid = self.running.iter().find_map(|(pid, of)| (*of == id).then(|| Pid::from_raw(*pid)));
        if let (Some(pid), Ok(signal)) = (pid, Signal::try_from(signal)) {
            // It may be a zombie by now.
            let _ = if group { killpg(pid, signal) } else { kill(pid, signal) };
        }
    }

    fn reap(&mut self, program: &Channel) -> io::Result<()> {
        loop {
            let (pid, exit) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, Exit::Code(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, Exit::Signal(signal as i32)),
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(()),
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(e) => return Err(e.into()),
            };
            if let Some(id) = self.running.remove(&pid.as_raw()) {
                program.send(&FromInit::Exited { id, exit }, &[])?;
            }
        }
    }
}

fn start(
    argv: &[String],
    env: Vec<(String, String)>,
    directory: &Path,
    privileged: bool,
    fds: Vec<OwnedFd>,
) -> io::Result<i32> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::other("a command came without a program"))?;
    let [input, output, error] =
        <[OwnedFd; 3]>::try_from(fds).map_err(|_| io::Error::other("a command came without its standard streams"))?;
    let mut command = Command::new(program);
    if input.is_terminal() {
        crate::sys::own_terminal(&mut command);
    } else {
        command.process_group(0);
    }
    if !privileged {
        // In a sandbox without privileged commands this process does not have them either.
        crate::sys::without(&mut command, &TOO_POWERFUL);
    }
    // This process waits for its signals instead of taking them.
    let child = crate::sys::nothing_ignored(crate::sys::nothing_blocked(crate::sys::streams_only(&mut command)))
        .args(arguments)
        .env_clear()
        .envs(env)
        .current_dir(directory)
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(error))
        .spawn()
        .map_err(|e| context(&format!("run {program}"), e))?;
    i32::try_from(child.id()).map_err(io::Error::other)
}

fn answer(id: u64, done: io::Result<()>) -> FromInit {
    match done {
        Ok(()) => FromInit::Written { id },
        Err(e) => FromInit::NotDone { id, message: e.to_string() },
    }
}

/// The file that came along with a request.
fn received(fds: Vec<OwnedFd>) -> io::Result<File> {
    Ok(File::from(fds.into_iter().next().ok_or(io::ErrorKind::InvalidInput)?))
}

fn write(path: &Path, mode: u32, fds: Vec<OwnedFd>) -> io::Result<()> {
    let mut content = received(fds)?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // Never into a file that another process has open, nor through a link.
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    io::copy(&mut content, &mut file).map(drop)
}
