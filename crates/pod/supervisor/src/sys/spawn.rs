//! Starting a process with exactly the identity, limits and privileges it is to have.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::{ffi::CString, fs::File};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Pid, Uid, chdir, getpid, getppid, pipe2, setgid, setgroups, setuid, write};

use super::exec::Exec;
use crate::privileges::{Capability, Privileges};

/// A process to be started. It gets this environment and no other, `/dev/null` as stdin and pipes as stdout and stderr,
/// a process group of its own, no signal blocked, and dies with its supervisor.
#[derive(Debug, Clone)]
pub struct Command {
    /// A path, or a name to be found in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory; the supervisor's own where absent.
    pub dir: Option<PathBuf>,
    /// The user that it runs as; the supervisor's own where absent.
    pub identity: Option<Identity>,
    /// Whether it and its descendants can never gain privileges, say by a set-user-id program.
    pub no_new_privileges: bool,
    /// Its resource limits.
    pub limits: ResourceLimits,
}

/// A user that a process runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// User.
    pub uid: Uid,
    /// Group.
    pub gid: Gid,
    /// What it may do nevertheless, as far as the supervisor may; everything else is dropped from the bounding set.
    pub capabilities: Vec<Capability>,
    /// Whether it keeps the supervisor's supplementary groups and bounding set. monit changes the ids alone.
    pub inherits: bool,
}

/// Limits, soft and hard alike; what is absent stays as inherited, and what is above a hard limit that cannot be raised
/// is that limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// `RLIMIT_NOFILE`.
    pub open_files: Option<u64>,
    /// `RLIMIT_CORE`.
    pub core_file_size: Option<u64>,
}

/// A process that was started.
#[derive(Debug)]
pub struct Child {
    /// Its id, which is its group's too.
    pub pid: Pid,
    /// The reading end of its stdout.
    pub stdout: OwnedFd,
    /// The reading end of its stderr.
    pub stderr: OwnedFd,
}

/// Why a process could not be started.
#[derive(Debug)]
pub struct SpawnError {
    /// The failed step, to follow "cannot".
    pub doing: &'static str,
    /// Why it failed.
    pub error: io::Error,
}

impl SpawnError {
    /// The status a shell gives: 127 for a program that is not there, else 126.
    pub fn status(&self) -> u8 {
        if self.doing == STEPS[EXEC] && self.error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

/// The steps of the child before the program runs; it reports the number of the step that fails.
const STEPS: [&str; 7] = [
    "execute",
    "set the resource limits",
    "drop capabilities",
    "become its user",
    "keep capabilities",
    "change to its working directory",
    "give up new privileges",
];
const EXEC: usize = 0;
const LIMITS: u8 = 1;
const BOUNDING: u8 = 2;
const USER: u8 = 3;
const CAPABILITIES: u8 = 4;
const DIRECTORY: u8 = 5;
const NO_NEW_PRIVILEGES: u8 = 6;

/// Starts `command`.
pub fn spawn(command: &Command) -> Result<Child, SpawnError> {
    let failed = |error| SpawnError { doing: STEPS[EXEC], error };
    let (report, reporter) = pipe2(OFlag::O_CLOEXEC).map_err(|e| failed(e.into()))?;
    let mut preparation = Preparation::new(command).map_err(failed)?;
    let exec = Exec::new(&command.program, &command.args, &command.env).map_err(failed)?;
    // Opened here, so that its absence is not taken for the program's.
    let nothing = File::open("/dev/null").map_err(|error| SpawnError { doing: "open /dev/null", error })?;
    let mut builder = std::process::Command::new(&command.program);
    builder.stdin(nothing).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    // SAFETY: between fork and exec the closure makes system calls only: it neither allocates nor takes a lock.
    unsafe {
        builder.pre_exec(move || {
            let (step, errno) = preparation.apply().map_or_else(|failed| failed, |()| (EXEC as u8, exec.exec()));
            // If even this fails, the exec is blamed.
            let _ = write(reporter.as_fd(), &[step]);
            Err(io::Error::from_raw_os_error(errno as i32))
        });
    }
    let spawned = builder.spawn();
    // Closes this process' copy of the writing end, so that reading sees the end.
    drop(builder);
    match spawned {
        Ok(mut child) => {
            let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
                return Err(failed(io::Error::other("no pipes")));
            };
            let pid = i32::try_from(child.id()).map_err(|e| failed(io::Error::other(e)))?;
            Ok(Child { pid: Pid::from_raw(pid), stdout: stdout.into(), stderr: stderr.into() })
        }
        Err(error) => {
            let mut step = [0];
            let read = File::from(report).read(&mut step).unwrap_or(0);
            let step = if read == 1 { usize::from(step[0]) } else { EXEC };
            Err(SpawnError { doing: STEPS.get(step).copied().unwrap_or(STEPS[EXEC]), error })
        }
    }
}

/// Everything that the child does before the exec, worked out before the fork.
struct Preparation {
    supervisor: Pid,
    limits: [Option<(Resource, u64)>; 2],
    dir: Option<CString>,
    identity: Option<(Uid, Gid)>,
    clear_groups: bool,
    drop_bounding: bool,
    capabilities: u64,
    no_new_privileges: bool,
}

type Step = Result<(), (u8, Errno)>;

impl Preparation {
    fn new(command: &Command) -> io::Result<Self> {
        let privileges = Privileges::current();
        let limit = |resource, wanted: Option<u64>| wanted.map(|w| (resource, attainable(resource, w)));
        let dir = command.dir.as_ref().map(|d| CString::new(d.as_os_str().as_bytes())).transpose()?;
        let inherits = command.identity.as_ref().is_some_and(|identity| identity.inherits);
        let mut capabilities = 0;
        for capability in command.identity.iter().flat_map(|i| &i.capabilities) {
            if privileges.can_pass(*capability) {
                capabilities |= capability.bit();
            }
        }
        Ok(Preparation {
            supervisor: getpid(),
            limits: [
                limit(Resource::RLIMIT_NOFILE, command.limits.open_files),
                limit(Resource::RLIMIT_CORE, command.limits.core_file_size),
            ],
            dir,
            identity: command.identity.as_ref().map(|i| (i.uid, i.gid)),
            clear_groups: privileges.can_clear_groups() && !inherits,
            drop_bounding: command.identity.is_some() && !inherits && privileges.can(Capability::SETPCAP),
            capabilities,
            no_new_privileges: command.no_new_privileges,
        })
    }

    /// Runs in the child, between fork and exec.
    fn apply(&mut self) -> Step {
        reset_signals();
        close_on_exec();
        umask(Mode::from_bits_truncate(0o022));
        for (resource, value) in self.limits.iter().flatten() {
            setrlimit(*resource, *value, *value).map_err(|e| (LIMITS, e))?;
        }
        // A directory may be open to root only, or to the user only (a network file system).
        let entered = self.enter();
        if self.drop_bounding {
            self.drop_bounding_set().map_err(|e| (BOUNDING, e))?;
        }
        if let Some((uid, gid)) = self.identity {
            self.switch(uid, gid).map_err(|e| (USER, e))?;
        }
        if self.capabilities != 0 {
            self.raise_capabilities().map_err(|e| (CAPABILITIES, e))?;
        }
        entered.or_else(|_| self.enter()).map_err(|e| (DIRECTORY, e))?;
        if self.no_new_privileges {
            nix::sys::prctl::set_no_new_privs().map_err(|e| (NO_NEW_PRIVILEGES, e))?;
        }
        // Last: changing the user clears it. Without its supervisor the process could not be stopped.
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(|e| (EXEC as u8, e))?;
        if getppid() != self.supervisor {
            return Err((EXEC as u8, Errno::ESRCH));
        }
        Ok(())
    }

    fn enter(&self) -> nix::Result<()> {
        self.dir.as_ref().map_or(Ok(()), |dir| chdir(dir.as_c_str()))
    }

    fn switch(&self, uid: Uid, gid: Gid) -> nix::Result<()> {
        if self.clear_groups {
            setgroups(&[])?;
        }
        if self.capabilities != 0 {
            nix::sys::prctl::set_keepcaps(true)?;
        }
        setgid(gid)?;
        setuid(uid)
    }

    fn drop_bounding_set(&self) -> nix::Result<()> {
        for number in 0..64u8 {
            if self.capabilities & (1 << number) != 0 {
                continue;
            }
            // SAFETY: this prctl takes a number and touches no memory.
            let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number), 0, 0, 0) };
            match Errno::result(result) {
                Ok(_) => {}
                // Past the last capability that this kernel knows.
                Err(Errno::EINVAL) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Puts the capabilities into the permitted, inheritable and ambient sets, which is how they survive the exec of a
    /// program by a user other than root.
    fn raise_capabilities(&self) -> nix::Result<()> {
        let header = CapabilityHeader { version: 0x2008_0522, pid: 0 };
        let (low, high) = ((self.capabilities & 0xffff_ffff) as u32, (self.capabilities >> 32) as u32);
        let sets = [low, high].map(|bits| CapabilitySets { effective: 0, permitted: bits, inheritable: bits });
        // SAFETY: header and sets are laid out as capset(2) version 3 wants them, two sets long, and outlive the call.
        Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) })?;
        for number in 0..64u8 {
            if self.capabilities & (1 << number) == 0 {
                continue;
            }
            let number = libc::c_ulong::from(number);
            // SAFETY: this prctl takes numbers and touches no memory.
            Errno::result(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, number, 0, 0) })?;
        }
        Ok(())
    }
}

/// The program starts with all signals as they are by default: none blocked, as all are in the supervisor, none ignored.
pub(super) fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: the default disposition runs no code of this process. Numbers that cannot be set are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // Cannot fail: the set is valid.
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
}

/// The program gets its standard streams and nothing that the parent of the supervisor left open in it. Linux 5.11;
/// before, it gets what it always got.
fn close_on_exec() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes plain numbers and touches no memory.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// How much of `wanted` a child can get of a limit: as much as the hard limit allows unless this process may raise it, and never
/// more open files than the kernel allows. A lower limit is better than no process.
///
/// Whether it may raise the limit is tried, on this process itself: a capability of a user namespace does not count for that.
pub fn attainable(resource: Resource, wanted: u64) -> u64 {
    let Ok((soft, hard)) = getrlimit(resource) else { return wanted };
    if wanted <= hard {
        return wanted;
    }
    let is_allowed = |value: &u64| {
        // Lowering a limit needs no privilege.
        setrlimit(resource, soft, *value).is_ok_and(|()| setrlimit(resource, soft, hard).is_ok())
    };
    [Some(wanted), most(resource)].into_iter().flatten().filter(|value| *value > hard).find(is_allowed).unwrap_or(hard)
}

/// The most that the kernel allows, where it has a limit of its own.
fn most(resource: Resource) -> Option<u64> {
    match resource {
        Resource::RLIMIT_NOFILE => std::fs::read_to_string("/proc/sys/fs/nr_open").ok()?.trim().parse().ok(),
        _ => None,
    }
}
