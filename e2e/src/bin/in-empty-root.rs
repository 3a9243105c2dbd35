//! Runs `/boson` or `/boson-pod` in an otherwise empty root directory, under the name of this program.
//!
//! `.ci/static` makes the root and puts links to this program where the tests look for executables. The directory of
//! temporary files is in the root, under the same path: the only place that can be written to.
//!
//! - `BOSON_EMPTY_ROOT`: the root
//! - `BOSON_EMPTY_ROOT_UID`: the user to become, if any
//! - `BOSON_EMPTY_ROOT_HOSTILE`: a directory in the root, from which nothing may be loaded

use std::error::Error;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, chroot, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use walkdir::WalkDir;

#[allow(clippy::print_stderr, reason = "what becomes of a test must be seen")]
fn main() -> ExitCode {
    let error = match run() {
        Ok(never) => match never {},
        Err(error) => error,
    };
    eprintln!("in-empty-root: {error}");
    ExitCode::from(99)
}

fn run() -> Result<std::convert::Infallible, Box<dyn Error>> {
    let variable = |name: &str| std::env::var_os(name).ok_or(format!("{name} is not set"));
    let root = PathBuf::from(variable("BOSON_EMPTY_ROOT")?);
    let hostile = PathBuf::from(variable("BOSON_EMPTY_ROOT_HOSTILE")?);
    let uid: Option<u32> = std::env::var("BOSON_EMPTY_ROOT_UID").ok().map(|uid| uid.parse()).transpose()?;
    let here = std::env::current_dir()?;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let name = Path::new(&name).file_name().unwrap_or_default();
    let mut command = Command::new(Path::new("/").join(testkit::file_of(&name.to_string_lossy())));
    command.arg0(name).args(arguments);
    for variable in ["BOSON_EMPTY_ROOT", "BOSON_EMPTY_ROOT_UID", "BOSON_EMPTY_ROOT_HOSTILE", "LD_LIBRARY_PATH"] {
        command.env_remove(variable);
    }
    beset(&mut command, &hostile);
    if let Some(uid) = uid {
        give(&std::env::temp_dir(), uid)?;
        command.uid(uid).gid(uid);
    }
    chroot(&root)?;
    std::env::set_current_dir(here)?;
    Err(command.exec().into())
}

/// Variables that make a Ruby or a C library load files of this directory.
fn beset(command: &mut Command, hostile: &Path) {
    for variable in ["RUBYLIB", "GEM_HOME", "GEM_PATH", "LD_LIBRARY_PATH", "OPENSSL_MODULES", "GCONV_PATH", "LOCPATH"] {
        command.env(variable, hostile);
    }
    command.env("RUBYOPT", "-rhostile -W:experimental --jit");
    command.env("LD_PRELOAD", hostile.join("hostile.so"));
    command.env("OPENSSL_CONF", hostile.join("openssl.cnf"));
    command.env("BUNDLE_GEMFILE", hostile.join("Gemfile"));
}

/// Gives a directory to a user. Other tests create and remove files in it meanwhile.
fn give(directory: &Path, uid: u32) -> Result<(), Box<dyn Error>> {
    let is_gone = |error: &walkdir::Error| error.io_error().is_some_and(|e| e.kind() == ErrorKind::NotFound);
    for entry in WalkDir::new(directory) {
        let entry = match entry {
            Err(error) if is_gone(&error) => continue,
            entry => entry?,
        };
        let given = entry.path().symlink_metadata().and_then(|metadata| match metadata.uid() == uid {
            true => Ok(()),
            false => lchown(entry.path(), Some(uid), Some(uid)),
        });
        match given {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}
