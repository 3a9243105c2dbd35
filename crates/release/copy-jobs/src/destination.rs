//! Where a copy goes.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use problem::{IoContext, Problem, Result, code};
use startup::Common;
use vcap::Vcap;
use vcap::dirs::{MadeDirs, make_dirs};

/// A name leaves room for what the hidden names of a copy add to it (a file name has at most 255 bytes).
const MAX_NAME: usize = 200;

/// The directory that is to be replaced, as a name in its parent.
#[derive(Debug)]
pub(crate) struct Destination {
    /// The part whose links are followed.
    base: PathBuf,
    /// A directory below it that must not be a link, since others can write into the base.
    below: Option<&'static str>,
    /// The name there.
    pub(crate) name: OsString,
}

impl Destination {
    /// As the flags say; everything wrong with them is reported.
    pub(crate) fn resolve(to: Option<&Path>, release: Option<&str>, common: &Common) -> Result<Self> {
        if let Some(to) = to {
            // A link as the last component is replaced, never followed: a slash at its end must not change that.
            let name = match to.components().next_back() {
                Some(Component::Normal(name)) => name.to_owned(),
                _ => return Err(Problem::usage(format!("--to {} names no directory", to.display())).into()),
            };
            let base = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf();
            return Ok(Destination { base, below: None, name });
        }
        let release = release.ok_or_else(|| {
            Problem::usage("the release's name is missing").hint("give it with --release or RELEASE_NAME, or use --to")
        })?;
        if let Some(fault) = fault(release) {
            return Err(Problem::usage(format!("'{}' is not a release name: {fault}", release.escape_debug())).into());
        }
        let base = Vcap::under(&common.root).all_releases();
        Ok(Destination { base, below: Some("jobs-src"), name: release.into() })
    }

    /// The whole path.
    pub(crate) fn path(&self) -> PathBuf {
        self.parent().join(&self.name)
    }

    fn parent(&self) -> PathBuf {
        self.below.map_or_else(|| self.base.clone(), |below| self.base.join(below))
    }

    /// Refuses to replace what is neither a directory nor a link.
    pub(crate) fn check_replaceable(&self, parent: BorrowedFd) -> Result<()> {
        let kind = |meta: FileStat| SFlag::from_bits_truncate(meta.st_mode) & SFlag::S_IFMT;
        match fstatat(parent, self.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW).map(kind) {
            Ok(SFlag::S_IFDIR | SFlag::S_IFLNK) | Err(_) => Ok(()),
            Ok(_) => {
                let problem = Problem::internal(format!("cannot write {}", self.path().display())).code(code::IO);
                Err(problem.because("it is not a directory").into())
            }
        }
    }

    /// Opens the directory that holds the destination, making it where it is missing.
    pub(crate) fn open_parent(&self) -> Result<(OwnedFd, MadeDirs)> {
        let mut made = make_dirs(&self.base)?;
        let base = File::open(&self.base).io("open", &self.base)?;
        let Some(below) = self.below else {
            let directory = base.metadata().io("open", &self.base)?.is_dir();
            let no_dir =
                || Problem::internal(format!("{} is not a directory", self.base.display())).code(code::IO).into();
            return if directory { Ok((base.into(), made)) } else { Err(no_dir()) };
        };
        match mkdirat(&base, below, Mode::from_bits_truncate(0o755)) {
            Ok(()) => made.add(self.parent()),
            Err(Errno::EEXIST) => {}
            Err(e) => return Err(io::Error::from(e)).io("create", &self.parent()),
        }
        let directory = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(&base, below, directory, Mode::empty());
        if matches!(opened, Err(Errno::ELOOP | Errno::ENOTDIR)) {
            let problem = Problem::internal(format!("{} is not a directory", self.parent().display()))
                .code(code::IO)
                .hint("a link there is not followed: every release can write into the shared volume");
            return Err(problem.into());
        }
        Ok((opened.map_err(io::Error::from).io("open", &self.parent())?, made))
    }
}

/// What is wrong with a release's name.
fn fault(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("it is empty"),
        name if name.starts_with('.') => Some("it begins with a dot"),
        name if name.contains('/') => Some("it has a slash"),
        name if name.chars().any(char::is_control) => Some("it has a control character"),
        name if name.len() > MAX_NAME => Some("it is longer than 200 bytes"),
        _ => None,
    }
}
