//! Why a program did not start, and what helps.

mod elf;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::libc::ENOEXEC;
use problem::{Problem, code};

use crate::sys::SpawnError;

/// The part of a program that is inspected.
const START: usize = 4096;

/// Why `program` did not start, as a problem to be printed.
///
/// `dir` is its working directory, where it has one of its own.
pub fn not_started(program: &Path, dir: Option<&Path>, error: &SpawnError) -> Problem {
    let problem = match (error.doing, dir) {
        ("execute", _) => {
            Problem::internal(format!("cannot execute {}", program.display())).code(code::PROCESS_NOT_STARTED)
        }
        (doing @ "change to its working directory", Some(dir)) => {
            Problem::internal(format!("cannot {doing} {} to execute {}", dir.display(), program.display()))
                .code(code::PROCESS_NOT_STARTED)
        }
        (doing, _) => Problem::internal(format!("cannot {doing} to execute {}", program.display()))
            .code(code::PROCESS_NOT_STARTED),
    };
    let problem = problem.because(&error.error);
    match hint(program, error) {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// Why a program could not be executed, where the error itself does not say it.
pub fn hint(program: &Path, error: &SpawnError) -> Option<String> {
    if error.doing != "execute" || !program.is_absolute() {
        return None;
    }
    let meta = program.metadata().ok()?;
    match (error.error.kind(), error.error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => Some(match interpreter(program) {
            // Invisible, and for the kernel a part of the name.
            Some(interpreter) if interpreter.as_os_str().as_bytes().ends_with(b"\r") => {
                "its first line ends as lines do on Windows (CR LF), so that no such interpreter exists".to_owned()
            }
            Some(interpreter) => format!("its interpreter {} does not exist here", interpreter.display()),
            None => "the program that it needs to be loaded or interpreted does not exist here".to_owned(),
        }),
        (io::ErrorKind::PermissionDenied, _) if meta.is_dir() => Some("it is a directory".to_owned()),
        (io::ErrorKind::PermissionDenied, _) if meta.permissions().mode() & 0o111 == 0 => {
            Some(format!("it is not executable (mode {:04o})", meta.permissions().mode() & 0o7777))
        }
        (io::ErrorKind::PermissionDenied, _) => {
            Some("the process' user may not execute it or not get to it, or it is mounted noexec".to_owned())
        }
        (_, Some(ENOEXEC)) => Some(match elf::machine(&start(program)) {
            Some(machine) if machine != elf::MINE => {
                format!("it was built for {}, and this is {}", elf::name(machine), elf::name(elf::MINE))
            }
            Some(_) => "its ELF header is damaged".to_owned(),
            None => "it has neither an ELF header nor a first line with #!, such as #!/bin/bash".to_owned(),
        }),
        _ => None,
    }
}

fn start(program: &Path) -> Vec<u8> {
    let mut start = vec![0; START];
    // Only a regular file has a start.
    let read = if program.is_file() { File::open(program).and_then(|mut file| file.read(&mut start)) } else { Ok(0) };
    start.truncate(read.unwrap_or(0));
    start
}

/// The program in the first line of a script, or the loader of an executable.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let start = start(program);
    let Some(line) = start.strip_prefix(b"#!") else { return elf::loader(&start) };
    let line = line.split(|b| *b == b'\n').next()?;
    let path = std::str::from_utf8(line).ok()?.split([' ', '\t']).find(|word| !word.is_empty())?;
    Some(PathBuf::from(path))
}
