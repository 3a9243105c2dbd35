//! `boson self check`: whether the installed files are those that were installed.
//!
//! Packages and `install.sh` install two lists: `share/boson/installed`, the SHA-256 sums of all files as `sha256sum` prints them, and
//! `share/boson/links`, with a line `PATH -> TARGET` for each link. All paths are below the prefix.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};
use problem::{IoContext, Place, Problem, Result, code};
use sha2::{Digest, Sha256};
use startup::Common;

/// The sums of the installed files, below the prefix.
const FILES: &str = "share/boson/installed";
/// The installed links, below the prefix.
const LINKS: &str = "share/boson/links";

/// The arguments of `self`.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Compare the installed files with the list of what was installed
    #[command(
        long_about = "Compare the installed files with the list of what was installed: the sum of every file, the links and their \
            targets, and the version that each executable prints. An executable whose sum differs is not run.\n\n\
            The list is part of packages and of the tarball. It shows files that are damaged, missing or of another version; it \
            is no protection from someone who can write the list.",
        after_long_help = "Example:\n\
            \x20\x20boson self check\n\n\
            Exit codes: 0 nothing differs; 1 something differs; 65 this boson has no list, as it was built from its sources."
    )]
    Check(Check),
}

#[derive(Debug, Args)]
struct Check {
    /// The directory that contains bin/ and share/ [default: that of this executable]
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// One line for `--help`.
pub const ABOUT: &str = "Check the files of this installation";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let Verb::Check(Check { prefix }) = options.verb;
    let prefix = prefix.map_or_else(own_prefix, Ok)?;
    let rows = compared(&prefix)?;
    let wrong = rows.iter().filter(|row| row.state != State::Ok).count();
    let summary = match wrong {
        0 => format!("boson below {} is as it was installed", prefix.display()),
        _ => format!("{wrong} of {} entries below {} differ: install boson again", rows.len(), prefix.display()),
    };
    startup::write_stdout(|out| writeln!(out, "{}{summary}", table(&rows)))?;
    Ok(u8::from(wrong > 0))
}

/// The directory above that of this executable.
fn own_prefix() -> Result<PathBuf> {
    let executable = std::env::current_exe().io("find", Path::new("/proc/self/exe"))?;
    let prefix = executable.parent().and_then(Path::parent).map(Path::to_path_buf);
    prefix.ok_or_else(|| Problem::input(format!("{} is in no bin directory", executable.display())).into())
}

/// A file or link of the installation.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    path: String,
    /// That of an executable which was run, or the target of a link.
    detail: String,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Ok,
    Missing,
    Changed,
    Unreadable(io::ErrorKind),
    OtherVersion,
    NotRunning,
    OtherTarget,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Ok => f.write_str("ok"),
            State::Missing => f.write_str("missing"),
            State::Changed => f.write_str("changed"),
            State::Unreadable(kind) => write!(f, "unreadable: {kind}"),
            State::OtherVersion => write!(f, "not version {}", startup::version()),
            State::NotRunning => f.write_str("does not run"),
            State::OtherTarget => f.write_str("has another target"),
        }
    }
}

/// Compares what is below the prefix with its lists.
///
/// # Errors
/// A list that is missing or that has other lines than those described.
fn compared(prefix: &Path) -> Result<Vec<Row>> {
    let files = list(prefix, FILES, |line| {
        let (sum, path) = line.split_once("  ")?;
        (sum.len() == 64).then(|| file(prefix, path, sum))
    })?;
    let links = list(prefix, LINKS, |line| {
        let (path, target) = line.split_once(" -> ")?;
        Some(link(prefix, path, target))
    })?;
    let mut rows: Vec<Row> = files.into_iter().chain(links).collect();
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(rows)
}

fn list(prefix: &Path, name: &str, row: impl Fn(&str) -> Option<Row>) -> Result<Vec<Row>> {
    let path = prefix.join(name);
    let text = match fs::read_to_string(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let message = format!("there is no list of what was installed below {}", prefix.display());
            let hint = "a boson that was built from its sources has none; name another directory with --prefix";
            return Err(Problem::input(message).at(Place::file(path.display().to_string())).hint(hint).into());
        }
        other => other.io("read", &path)?,
    };
    let numbered = text.lines().enumerate();
    let rows = numbered.map(|(number, line)| row(line).ok_or(number + 1));
    rows.collect::<std::result::Result<_, usize>>().map_err(|line| {
        let message = format!("line {line} of the list of what was installed is invalid");
        Problem::input(message).code(code::INPUT_INVALID).at(Place::file(path.display().to_string())).into()
    })
}

fn file(prefix: &Path, path: &str, expected: &str) -> Row {
    let whole = prefix.join(path);
    let (detail, state) = match sum(&whole) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => (String::new(), State::Missing),
        Err(e) => (String::new(), State::Unreadable(e.kind())),
        Ok(sum) if sum != expected => (String::new(), State::Changed),
        Ok(_) if path.starts_with("bin/") => match version(&whole) {
            None => (String::new(), State::NotRunning),
            Some(version) if version != startup::version() => (version, State::OtherVersion),
            Some(version) => (version, State::Ok),
        },
        Ok(_) => (String::new(), State::Ok),
    };
    Row { path: path.to_owned(), detail, state }
}

fn link(prefix: &Path, path: &str, expected: &str) -> Row {
    let (detail, state) = match fs::read_link(prefix.join(path)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => (String::new(), State::Missing),
        Ok(target) if target == Path::new(expected) => (format!("-> {expected}"), State::Ok),
        // A file in its place, too.
        Ok(_) | Err(_) => (String::new(), State::OtherTarget),
    };
    Row { path: path.to_owned(), detail, state }
}

/// The SHA-256 sum of a file, in hexadecimal digits.
fn sum(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The version that an executable prints: the first line of `--version`, after its name.
fn version(path: &Path) -> Option<String> {
    // An empty root lacks /dev/null, which is the standard input otherwise.
    let output = Command::new(path).arg("--version").stdin(Stdio::inherit()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.lines().next()?.split_once(' ')?.1.to_owned())
}

/// The table: what is in `bin/` and what differs, then the number of the other files.
fn table(rows: &[Row]) -> String {
    let is_shown = |row: &&Row| row.path.starts_with("bin/") || row.state != State::Ok;
    let shown: Vec<[String; 3]> =
        rows.iter().filter(is_shown).map(|row| [row.path.clone(), row.detail.clone(), row.state.to_string()]).collect();
    let others = rows.len() - shown.len();
    let head = ["FILE", "VERSION", "STATE"].map(str::to_owned);
    let others = (others > 0).then(|| [format!("other files: {others}"), String::new(), State::Ok.to_string()]);
    let lines: Vec<[String; 3]> = std::iter::once(head).chain(shown).chain(others).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    lines.iter().map(|[file, version, state]| format!("{file:first$}  {version:second$}  {state}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// One test at a time: an executable that another thread's child still has open for writing cannot be run.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An installation of an executable that prints this version, a link to it and a text.
    fn installation(version: &str) -> tempfile::TempDir {
        let prefix = tempfile::tempdir().unwrap();
        let at = |path: &str| prefix.path().join(path);
        for directory in ["bin", "share/boson"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        fs::write(at("bin/boson"), format!("#!/bin/sh\necho 'boson {version}'\n")).unwrap();
        fs::set_permissions(at("bin/boson"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("boson", at("bin/alias")).unwrap();
        fs::write(at("share/boson/text"), "text").unwrap();
        let line = |path: &str| format!("{}  {path}\n", sum(&at(path)).unwrap());
        fs::write(at(FILES), line("bin/boson") + &line("share/boson/text")).unwrap();
        fs::write(at(LINKS), "bin/alias -> boson\n").unwrap();
        prefix
    }

    #[test]
    fn a_sound_installation_is_a_short_table() {
        let _alone = alone();
        let prefix = installation(startup::version());
        let rows = compared(prefix.path()).unwrap();
        let version = startup::version();
        assert_eq!(
            table(&rows),
            format!(
                "FILE            VERSION   STATE\nbin/alias       -> boson  ok\nbin/boson       {version:8}  ok\nother files: 1  {:8}  ok\n",
                ""
            )
        );
    }

    #[test]
    fn every_difference_is_found() {
        let _alone = alone();
        let prefix = installation("0.0.9");
        let states = || -> Vec<String> {
            compared(prefix.path()).unwrap().into_iter().map(|row| format!("{} {}", row.path, row.state)).collect()
        };
        let other_version = format!("bin/boson not version {}", startup::version());
        assert_eq!(states(), ["bin/alias ok", &other_version, "share/boson/text ok"]);
        fs::remove_file(prefix.path().join("bin/alias")).unwrap();
        symlink("other", prefix.path().join("bin/alias")).unwrap();
        // It is changed, so it is not run: it would write a file.
        let mark = prefix.path().join("mark");
        fs::write(prefix.path().join("bin/boson"), format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
        fs::remove_file(prefix.path().join("share/boson/text")).unwrap();
        assert_eq!(states(), ["bin/alias has another target", "bin/boson changed", "share/boson/text missing"]);
        assert!(!mark.exists());
    }

    #[test]
    fn an_installation_without_a_sound_list_is_an_error() {
        let _alone = alone();
        let prefix = installation(startup::version());
        fs::write(prefix.path().join(LINKS), "bin/alias\n").unwrap();
        let message = |prefix: &Path| compared(prefix).unwrap_err().to_string();
        assert!(message(prefix.path()).contains("line 1 of the list"), "{}", message(prefix.path()));
        fs::remove_file(prefix.path().join(LINKS)).unwrap();
        assert!(message(prefix.path()).contains("there is no list of what was installed"));
    }
}
