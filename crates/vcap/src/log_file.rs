//! Log files that a program running as root opens in directories that belong to jobs.

use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::libc;
use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problem, Result, code};

use crate::own_dir::refused;
use crate::owner::fchown_where_possible;

/// Opens a log file for appending, making it where it is missing, with this mode and owner.
///
/// No link is followed, no file taken that has a second name, no pipe waited for: a job could have put any of them there.
pub fn open_log(path: &Path, mode: u32, owner: (Uid, Gid)) -> Result<File> {
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(mode)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let file = match opened {
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => return Err(refused(path, &e).into()),
        other => other.io("open", path)?,
    };
    let meta = file.metadata().io("open", path)?;
    let unfit = match (meta.is_file(), meta.nlink()) {
        (false, _) => Some("it is not a file"),
        (true, 2..) => Some("it is somewhere else, too"),
        _ => None,
    };
    if let Some(why) = unfit {
        return Err(Problem::internal(format!("cannot open {}", path.display())).code(code::IO).because(why).into());
    }
    fchown_where_possible(&file, owner).io("change the owner of", path)?;
    // Somebody else's file that may be written is good enough.
    let _ = file.set_permissions(Permissions::from_mode(mode));
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_log_file_is_appended_to_and_gets_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        fs::write(&path, "before\n").unwrap();
        let mut file = open_log(&path, 0o600, (Uid::effective(), Gid::effective())).unwrap();
        file.write_all(b"after\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn links_and_pipes_are_refused_whatever_their_target() {
        let dir = tempfile::tempdir().unwrap();
        let [link, pipe, file, twin] = ["link", "pipe", "file", "twin"].map(|name| dir.path().join(name));
        symlink(dir.path().join("target"), &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let open = |path| open_log(path, 0o600, (Uid::effective(), Gid::effective())).unwrap_err().to_string();
        assert!(open(&link).starts_with("error: refusing to open symlink at "));
        assert!(open(&pipe).starts_with("error: cannot open "));
        fs::write(&file, "somebody else's").unwrap();
        fs::hard_link(&file, &twin).unwrap();
        assert!(open(&twin).ends_with("it is somewhere else, too"));
        assert!(!dir.path().join("target").exists());
    }
}
