//! The kernel calls that neither `std` nor `nix` offers in a safe form; the only `unsafe` of this crate.
#![allow(unsafe_code)]

pub(crate) mod channel;
pub(crate) mod loops;
pub(crate) mod netlink;
pub(crate) mod privileges;
pub(crate) mod seccomp;
mod start;

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use start::streams_only;
pub(crate) use start::{nothing_blocked, nothing_ignored, own_terminal, without};

/// Adds attributes (`libc::MOUNT_ATTR_*`) to a mount and everything mounted below it.
///
/// A remount of one mount would have to repeat the flags that are locked in a user namespace, and would miss the mounts
/// below it; this call only adds. Linux 5.12.
pub(crate) fn restrict_mounts(at: &Path, attributes: u64) -> io::Result<()> {
    let path = CString::new(at.as_os_str().as_bytes())?;
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: `path` is a C string and `attr` a structure of the size given; both outlive the call, which only reads.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE as libc::c_uint,
            std::ptr::from_ref(&attr),
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Owns a descriptor that the kernel has just made for us.
fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just installed this descriptor, received or accepted; it has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
