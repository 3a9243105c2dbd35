//! Reading files that somebody else wrote.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;

/// More than any manifest or template has; without a limit a device or a mistaken path would fill the memory.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Reads a file that the user names: it may be a pipe, as `<(...)` of a shell is.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, LARGEST)
}

/// As [`read`], for a file of at most so many bytes, in whole MiB.
pub fn read_up_to(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    up_to(File::open(path)?, largest)
}

/// Reads a file of a release: nothing else stands for one, and no pipe is waited for.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    up_to(file, LARGEST)
}

fn up_to(file: File, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let why = format!("it has more than {} MiB", largest / (1024 * 1024));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
        std::fs::write(&file, "text").unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(read_file(&file).unwrap(), b"text");
        assert_eq!(read_file(dir.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        for no_file in [pipe.as_path(), Path::new("/dev/zero")] {
            assert_eq!(read_file(no_file).unwrap_err().to_string(), "it is not a regular file");
        }
        assert_eq!(read_file(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_endless_input_is_not_read_completely() {
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
        let error = up_to(File::open("/dev/zero").unwrap(), 2 * 1024 * 1024).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 2 MiB");
    }
}
