//! A process of its own that reads on, for descendants that outlive their supervisor.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{ForkResult, fork, read, write};

use super::spawn::reset_signals;

const BUFFER: usize = 16 * 1024;

/// Copies each stream to its log file until all who can write to it have closed it, in a new process of a session of its own,
/// which has nothing else open. Without it, they would get SIGPIPE as soon as this process has exited.
///
/// BOSH's agent gives a script the log files themselves; here the output is also forwarded, so scripts get pipes.
pub fn keep_reading(streams: Vec<(File, Option<File>)>) -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    // Everything that allocates comes before the fork: another thread may hold the allocator's lock then.
    let mut kept: Vec<RawFd> = streams
        .iter()
        .flat_map(|(source, file)| [Some(source.as_raw_fd()), file.as_ref().map(File::as_raw_fd)])
        .flatten()
        .chain([null.as_raw_fd()])
        .collect();
    kept.sort_unstable();
    let mut fds: Vec<PollFd> =
        streams.iter().map(|(source, _)| PollFd::new(borrow(source), PollFlags::POLLIN)).collect();
    let mut open = vec![true; streams.len()];
    let mut buffer = vec![0; BUFFER];
    // SAFETY: until it exits the child makes system calls only, on memory that exists already.
    match unsafe { fork() }? {
        ForkResult::Parent { .. } => Ok(()),
        ForkResult::Child => {
            detach(&null, &kept);
            while open.contains(&true) {
                if !matches!(poll(&mut fds, PollTimeout::NONE), Ok(_) | Err(Errno::EINTR)) {
                    break;
                }
                for (number, (source, file)) in streams.iter().enumerate() {
                    let is_ready = fds[number].revents().is_some_and(|events| !events.is_empty());
                    if open[number] && is_ready && !copy(source, file.as_ref(), &mut buffer) {
                        open[number] = false;
                        // A stream that has ended is always ready; `/dev/null` without events is not.
                        fds[number] = PollFd::new(borrow(&null), PollFlags::empty());
                    }
                }
            }
            // SAFETY: ends this process without running anything that belongs to the parent (exit handlers, buffers).
            unsafe { libc::_exit(0) }
        }
    }
}

/// The file stays open as long as the loop that polls it.
fn borrow(file: &File) -> BorrowedFd<'_> {
    use std::os::fd::AsFd;
    file.as_fd()
}

/// Copies the available bytes; returns whether the stream continues.
fn copy(source: &File, file: Option<&File>, buffer: &mut [u8]) -> bool {
    match read(source, buffer) {
        Ok(0) => false,
        Ok(n) => {
            let mut written = 0;
            // A full disk must not stop the writers.
            while let (Some(file), true) = (file, written < n) {
                match write(file, &buffer[written..n]) {
                    Ok(more) => written += more,
                    Err(Errno::EINTR) => {}
                    Err(_) => break,
                }
            }
            true
        }
        Err(Errno::EINTR | Errno::EAGAIN) => true,
        Err(_) => false,
    }
}

/// A session of its own, `/dev/null` as standard streams, and nothing open but `kept`, which is sorted.
fn detach(null: &File, kept: &[RawFd]) {
    let _ = nix::unistd::setsid();
    reset_signals();
    for standard in 0..3 {
        // SAFETY: duplicates a descriptor onto another one; both are plain numbers.
        unsafe { libc::dup2(null.as_raw_fd(), standard) };
    }
    let mut first: RawFd = 3;
    for fd in kept.iter().copied().filter(|fd| *fd > 2) {
        close_range(first, fd - 1);
        first = fd + 1;
    }
    close_range(first, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: closes descriptors that nothing in this process uses any more. Before Linux 5.9 they stay open.
        unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, last as libc::c_uint, 0) };
    }
}
