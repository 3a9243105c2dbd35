//! Forwarding parts of a file so that even a killed process leaves its position behind.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// The place in the file of the number of bytes that were forwarded.
const AT: u64 = 8;
/// The mapped range: the first page.
const MAPPED: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// A file whose bytes are forwarded, and which holds the number of the first byte that was not: in its bytes 8 to 15, in
/// the machine's byte order.
///
/// A process that writes and then notes that it has written may be killed between the two. Here both are one system call,
/// in which no signal, not even KILL, can step in: `sendfile` adds what it has moved to a number in the caller's memory
/// before it returns, and that memory is the file's own page, which outlives the process.
#[derive(Debug)]
pub struct Outlet {
    file: File,
    page: NonNull<libc::c_void>,
}

impl Outlet {
    /// `file` can be read and written, and has at least one page.
    pub fn new(file: File) -> io::Result<Outlet> {
        if file.metadata()?.len() < MAPPED.get() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses a free address. No reference into the mapping is ever made: only the kernel reads and
        // writes there, on behalf of `sendfile`, and reports an address that is gone (the file was cut) as EFAULT.
        let page = unsafe { mmap(None, MAPPED, protection, MapFlags::MAP_SHARED, &file, 0) }?;
        Ok(Outlet { file, page })
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The first byte that was not forwarded.
    pub fn position(&self) -> io::Result<u64> {
        let mut number = [0; 8];
        self.file.read_exact_at(&mut number, AT)?;
        Ok(u64::from_ne_bytes(number))
    }

    /// Goes on from there.
    pub fn set_position(&self, position: u64) -> io::Result<()> {
        self.file.write_all_at(&position.to_ne_bytes(), AT)
    }

    /// Forwards up to `count` bytes from the position, and moves it; gives how many they were.
    ///
    /// Not every descriptor can be sent to: EINVAL is the answer of one that appends.
    pub fn send(&self, to: impl AsFd, count: usize) -> io::Result<usize> {
        // SAFETY: the address lies in the page that is mapped as long as this lives, is aligned, and the kernel alone
        // writes to it.
        let sent = unsafe {
            let number = self.page.as_ptr().cast::<u8>().add(AT as usize).cast::<libc::off_t>();
            libc::sendfile(to.as_fd().as_raw_fd(), self.file.as_raw_fd(), number, count)
        };
        let sent = Errno::result(sent)?;
        usize::try_from(sent).map_err(io::Error::other)
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the mapping, which is this object's own. Fails for no valid mapping.
        let _ = unsafe { munmap(self.page, MAPPED.get()) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn forwarded_bytes_are_counted_in_the_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        file.write_all_at(b"hello world", 4096).unwrap();
        let outlet = Outlet::new(file.try_clone().unwrap()).unwrap();
        outlet.set_position(4096).unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        assert_eq!(outlet.send(&writer, 5).unwrap(), 5);
        assert_eq!((outlet.position().unwrap(), file.metadata().unwrap().len()), (4101, 4107));
        assert_eq!(outlet.send(&writer, 100).unwrap(), 6);
        assert_eq!(outlet.send(&writer, 100).unwrap(), 0);
        drop((outlet, writer));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello world");
        let mut number = [0; 8];
        file.read_exact_at(&mut number, 8).unwrap();
        assert_eq!(u64::from_ne_bytes(number), 4107);
    }

    #[test]
    fn a_file_that_is_truncated_meanwhile_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(Outlet::new(file.try_clone().unwrap()).is_err());
        file.set_len(8192).unwrap();
        let outlet = Outlet::new(file.try_clone().unwrap()).unwrap();
        outlet.set_position(4096).unwrap();
        file.set_len(0).unwrap();
        let (_reader, writer) = io::pipe().unwrap();
        assert_eq!(outlet.send(&writer, 5).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert!(outlet.position().is_err());
    }

    #[test]
    fn a_descriptor_that_appends_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let outlet = Outlet::new(file).unwrap();
        outlet.set_position(4096).unwrap();
        let target = tempfile::NamedTempFile::new().unwrap();
        let target = File::options().append(true).open(target.path()).unwrap();
        assert_eq!(outlet.send(&target, 5).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(outlet.position().unwrap(), 4096);
    }
}
