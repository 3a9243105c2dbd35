//! The files behind loop devices (see loop(4)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

/// `LOOP_CLR_FD` and `LOOP_GET_STATUS64` of `linux/loop.h`.
const CLEAR: libc::c_ulong = 0x4C01;
const STATUS: libc::c_ulong = 0x4C05;

/// `struct loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rest: [u64; 27],
}

/// Device and inode of the file behind an open loop device.
///
/// # Errors
/// The device has no file.
pub(crate) fn backing_file(device: &File) -> io::Result<(u64, u64)> {
    let mut info = Info { device: 0, inode: 0, rest: [0; 27] };
    // SAFETY: the kernel writes one structure of this size, which outlives the call.
    Errno::result(unsafe { libc::ioctl(device.as_raw_fd(), STATUS as _, &raw mut info) })?;
    Ok((info.device, info.inode))
}

/// Detaches the file; of a device that is in use, when it is not any more.
pub(crate) fn clear(device: &File) -> io::Result<()> {
    // SAFETY: the call takes plain numbers and touches no memory.
    Errno::result(unsafe { libc::ioctl(device.as_raw_fd(), CLEAR as _, 0) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_as_large_as_the_kernels() {
        // Three numbers, two sizes, four numbers of 32 bits, two names, a key, two numbers.
        assert_eq!(size_of::<Info>(), 3 * 8 + 2 * 8 + 4 * 4 + 2 * 64 + 32 + 2 * 8);
    }
}
