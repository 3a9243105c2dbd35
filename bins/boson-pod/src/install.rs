//! `install`: the executable copies itself to where the containers of a pod find it.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::Mode;
use problem::{IoContext, Result};
use startup::Common;
use vcap::Vcap;

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Copy this program into a volume, under all its names";

/// How the names begin of the program and of another name of it before they are in place.
const PARTS: [&str; 2] = [".boson-pod.", ".link."];

/// The flags of `install`.
#[derive(Debug, Args)]
#[command(
    long_about = "Write boson-pod and its other names (copy-jobs, run-process, bpm and all other verbs, as links to the one file) \
        into a directory, so that containers of other images find them there. Each file is replaced at once. The image \
        needs neither a shell nor anything else.",
    after_long_help = "Examples:\n\
        \x20\x20boson-pod install\n\
        \x20\x20boson-pod install --to /var/vcap/all-releases/.boson/bin"
)]
pub(crate) struct Options {
    /// The directory that gets the program and its names [default: /var/vcap/all-releases/.boson/bin]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
}

/// Runs the verb; gives the exit code.
pub(crate) fn run(options: Options, common: &Common) -> Result<u8> {
    let default = Vcap::under(&common.root).installed();
    let dir = options.to.unwrap_or(default);
    // Containers with other users run what is in it.
    nix::sys::stat::umask(Mode::from_bits_truncate(0o022));
    fs::create_dir_all(&dir).io("create", &dir)?;
    let _alone = alone(&dir);
    let program = dir.join(crate::EXECUTABLE.name);
    copy_itself(&dir, &program)?;
    for name in crate::links() {
        link(&program, &dir, &dir.join(name)).io("create", &dir.join(name))?;
    }
    Ok(0)
}

/// Waits until no other process installs into the directory, and removes the rest of installations that were killed. Where there are no
/// locks, nothing is removed: somebody may be at work.
fn alone(dir: &Path) -> Option<Flock<File>> {
    let lock = Flock::lock(File::open(dir).ok()?, FlockArg::LockExclusive).ok()?;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if PARTS.iter().any(|part| entry.file_name().as_bytes().starts_with(part.as_bytes())) {
            // Best effort: it takes some space and does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
    Some(lock)
}

/// Renamed into place when complete: a program that runs keeps the file that it was started from.
fn copy_itself(dir: &Path, program: &Path) -> Result<()> {
    let source = Path::new("/proc/self/exe");
    let mut from = File::open(source).io("read", source)?;
    let mut to = tempfile::Builder::new().prefix(PARTS[0]).tempfile_in(dir).io("write", program)?;
    io::copy(&mut from, to.as_file_mut()).io("write", program)?;
    to.as_file().set_permissions(Permissions::from_mode(0o755)).io("write", program)?;
    to.as_file().sync_all().io("write", program)?;
    to.persist(program).map_err(|e| e.error).io("write", program)?;
    Ok(())
}

/// Another name for the program: a hard link, or a symbolic one on a file system that has none.
fn link(program: &Path, dir: &Path, name: &Path) -> io::Result<()> {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PARTS[1]);
        builder
    };
    let made = builder().make_in(dir, |path| fs::hard_link(program, path));
    let made =
        made.or_else(|_| builder().make_in(dir, |path| std::os::unix::fs::symlink(crate::EXECUTABLE.name, path)))?;
    // Where `name` is the same file already, the rename does nothing and dropping the path removes the second name.
    let temporary = made.into_temp_path();
    fs::rename(&temporary, name)
}
