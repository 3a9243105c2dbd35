//! Privileges that a process drops permanently.

use std::io;

use nix::errno::Errno;

/// `_LINUX_CAPABILITY_VERSION_3`: sets of 64 bits, in two halves.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Drops capabilities: neither this process nor any program that it executes later can regain them.
pub(crate) fn give_up(capabilities: &[u32]) -> io::Result<()> {
    for capability in capabilities {
        // SAFETY: the call takes plain numbers and touches no memory.
        let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(*capability), 0, 0, 0) };
        match Errno::result(result) {
            // Unknown to an older kernel.
            Ok(_) | Err(Errno::EINVAL) => {}
            Err(e) => return Err(e.into()),
        }
    }
    let header = Header { version: VERSION, pid: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: header and sets are laid out as capget(2) wants them in this version, and outlive the call.
    Errno::result(unsafe { libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) })?;
    let kept = capabilities.iter().fold(u64::MAX, |kept, capability| kept & !(1 << capability));
    for (set, kept) in sets.iter_mut().zip([kept as u32, (kept >> 32) as u32]) {
        set.effective &= kept;
        set.permitted &= kept;
        set.inheritable &= kept;
    }
    // SAFETY: as above; the call only reads.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) })?;
    Ok(())
}

/// Replaces the session keyring of the user, which may hold tickets and keys, with an empty one.
pub(crate) fn leave_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // A kernel without keyrings has none to leave.
    // SAFETY: a null name asks for an anonymous keyring; no memory is touched.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
}
