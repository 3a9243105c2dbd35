//! System calls of other processes that this process looks at before the kernel carries them out.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;

/// `AUDIT_ARCH_*` of this program; calls by other conventions of the same processor are not looked at.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// Offsets in `seccomp_data`: the number, the architecture, and the two halves of the third argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const THIRD: [u32; 2] = [32, 36];

/// A process that has asked for other limits, and waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitCall {
    id: u64,
    /// The process that asks.
    pub(crate) caller: u32,
    /// The process whose limit it is.
    pub(crate) process: u32,
    /// The number of the resource.
    pub(crate) resource: u64,
    /// Where the caller has the new limits: two 64-bit numbers, soft and hard.
    pub(crate) address: u64,
}

/// Where the calls arrive.
#[derive(Debug)]
pub(crate) struct LimitCalls(OwnedFd);

impl LimitCalls {
    /// From now on every change of a limit, by this thread and all that it starts, waits for [`LimitCalls::proceed`].
    ///
    /// # Errors
    /// Not permitted; unknown to the kernel (before Linux 5.5); somebody else looks at calls already.
    pub(crate) fn watch() -> io::Result<LimitCalls> {
        let mut program = program();
        let filter = libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
        // SAFETY: `filter` describes `program`; both outlive the call, which only reads them.
        let fd = Errno::result(unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::c_ulong::from(libc::SECCOMP_SET_MODE_FILTER),
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
                &raw const filter,
            )
        })?;
        Ok(LimitCalls(super::own(i32::try_from(fd).map_err(io::Error::other)?)))
    }

    /// Waits for the next call.
    pub(crate) fn next(&self) -> io::Result<LimitCall> {
        loop {
            // SAFETY: the structure consists of numbers, of which all may be 0.
            let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel writes one structure of this type, which outlives the call.
            let result = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
            match Errno::result(result) {
                // The caller was killed meanwhile.
                Err(Errno::EINTR | Errno::ENOENT) => continue,
                other => other?,
            };
            let [first, second, third, ..] = call.data.args;
            let is_own = call.data.nr == libc::SYS_setrlimit as libc::c_int;
            let (process, resource, address) = if is_own { (0, first, second) } else { (first, second, third) };
            let process = if process == 0 { call.pid } else { process as u32 };
            return Ok(LimitCall { id: call.id, caller: call.pid, process, resource, address });
        }
    }

    /// Whether the caller still waits; else its number may be another process' by now.
    pub(crate) fn waits(&self, call: &LimitCall) -> bool {
        // SAFETY: the kernel reads one number, which outlives the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const call.id) == 0 }
    }

    /// Lets the kernel carry out the call.
    pub(crate) fn proceed(&self, call: &LimitCall) {
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        let answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags };
        // A caller that was killed meanwhile needs no answer.
        // SAFETY: the kernel reads one structure of this type, which outlives the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
    }
}

/// Reports `setrlimit`, and `prlimit64` with new limits; allows everything else.
fn program() -> [libc::sock_filter; 11] {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, k: u32, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    [
        step(LOAD, ARCH, 0, 0),
        step(EQUAL, ARCHITECTURE, 0, 7),
        step(LOAD, NUMBER, 0, 0),
        step(EQUAL, libc::SYS_setrlimit as u32, 6, 0),
        step(EQUAL, libc::SYS_prlimit64 as u32, 0, 4),
        step(LOAD, THIRD[0], 0, 0),
        step(EQUAL, 0, 0, 3),
        step(LOAD, THIRD[1], 0, 0),
        step(EQUAL, 0, 0, 1),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0),
    ]
}
