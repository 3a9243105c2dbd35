//! `boson cp`: files and directories into an instance and out of it.
//!
//! This executable runs inside of the instance, too: there it packs or unpacks an archive, which passes through a pipe.

use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use problem::{IoContext, Problem, Result, code};
use startup::Common;
use tar::{Archive, Builder};

use local_state::Connection;
use local_state::Which;
use local_state::control::Request;
use local_state::output;

/// The arguments of `cp`.
#[derive(Debug, Args)]
#[command(
    long_about = "Copy a file or a directory into an instance of a deployment that is up, or out of it. One of the two paths is \
        INSTANCE:PATH, with an absolute path in the instance. A copy in a directory that exists has the name of its source. Modes and \
        times are kept, owners are not: what is copied into an instance belongs to its root.",
    after_long_help = "Examples:\n\
        \x20\x20boson cp nats/0:/var/vcap/jobs/nats/config/nats.conf .\n\
        \x20\x20boson cp certs nats/0:/tmp/certs"
)]
pub struct Options {
    /// A path, or INSTANCE:PATH
    #[arg(value_name = "SOURCE")]
    source: String,
    /// A path, or INSTANCE:PATH
    #[arg(value_name = "DESTINATION")]
    destination: String,
    /// For scp's users: directories are always copied with all that is in them
    #[arg(long, short, hide = true)]
    recursive: bool,
    /// This is run inside an instance: SOURCE goes to standard output under the name DESTINATION
    #[arg(long, hide = true)]
    pack: bool,
    /// This is run inside an instance: standard input becomes DESTINATION, or SOURCE in it
    #[arg(long, hide = true)]
    unpack: bool,
    #[command(flatten)]
    which: Which,
}

/// One line for `--help`.
pub const ABOUT: &str = "Copy files into an instance and out of it";

/// A path on this machine, or one in an instance.
#[derive(Debug, PartialEq, Eq)]
enum End<'a> {
    Here(&'a Path),
    Instance { name: &'a str, path: &'a Path },
}

impl End<'_> {
    /// As scp reads it: a colon behind a name that begins no path.
    fn parse(text: &str) -> Result<End<'_>> {
        let is_instance = |name: &str| name.matches('/').count() == 1 && !name.starts_with(['/', '.']);
        let Some((name, path)) = text.split_once(':').filter(|(name, _)| is_instance(name)) else {
            return Ok(End::Here(Path::new(text)));
        };
        let path = Path::new(path);
        if !path.is_absolute() {
            let problem = Problem::usage(format!("'{text}' needs an absolute path in the instance"));
            return Err(problem.hint(format!("for example {name}:/tmp/{}", path.display())).into());
        }
        Ok(End::Instance { name, path })
    }
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    if options.pack {
        return pack(Path::new(&options.source), Path::new(&options.destination), io::stdout()).map(|()| 0);
    }
    if options.unpack {
        return unpack(io::stdin(), Path::new(&options.source), Path::new(&options.destination)).map(|()| 0);
    }
    let connection = || Connection::expect(&options.which.find()?);
    match (End::parse(&options.source)?, End::parse(&options.destination)?) {
        (End::Instance { name, path }, End::Here(to)) => copy_out(&connection()?, name, path, to),
        (End::Here(from), End::Instance { name, path }) => copy_in(&connection()?, from, name, path),
        _ => {
            let problem = Problem::usage("one of the two paths has to be in an instance");
            Err(problem.hint("it is written as INSTANCE:PATH, for example nats/0:/var/vcap/sys/log").into())
        }
    }
}

fn copy_out(connection: &Connection, instance: &str, from: &Path, to: &Path) -> Result<u8> {
    let (parent, name) = target(&last_name(from)?, to)?;
    let (content, end) = pipe()?;
    let argv = ["--pack", "--", &from.display().to_string(), &name.display().to_string()].map(str::to_owned);
    run_inside(connection, instance, &argv, None, Some(end), || {
        let mut archive = Archive::new(content);
        archive.set_preserve_permissions(true);
        archive.set_preserve_ownerships(false);
        // No program of an instance gets the rights of this user.
        archive.set_mask(0o6000);
        // It refuses paths and links that lead out of the directory.
        archive.unpack(&parent).io("write", &parent.join(&name))
    })
}

fn copy_in(connection: &Connection, from: &Path, instance: &str, to: &Path) -> Result<u8> {
    fs::symlink_metadata(from)
        .map_err(|e| Problem::input(format!("cannot read {}", from.display())).because(e).code(code::INPUT_FILE))?;
    let name = last_name(&from.canonicalize().io("read", from)?)?;
    let (end, content) = pipe()?;
    let argv = ["--unpack", "--", &name.display().to_string(), &to.display().to_string()].map(str::to_owned);
    run_inside(connection, instance, &argv, Some(end), None, || pack(from, &name, content))
}

/// Runs this verb in an instance, with one of its streams, while `work` does the other end's part. Returns the exit code. An error
/// of the instance's end, which is shown, counts more.
fn run_inside(
    connection: &Connection,
    instance: &str,
    argv: &[String],
    input: Option<PipeReader>,
    output: Option<PipeWriter>,
    work: impl FnOnce() -> Result<()> + Send,
) -> Result<u8> {
    let argv = [sandbox::EXECUTABLE, "cp"].map(str::to_owned).into_iter().chain(argv.iter().cloned()).collect();
    let [own_input, own_output, error] = output::standard_streams();
    let streams =
        [input.as_ref().map_or(own_input, AsFd::as_fd), output.as_ref().map_or(own_output, AsFd::as_fd), error];
    connection.ask(&Request::Exec { instance: instance.to_owned(), argv, terminal: None }, &streams)?;
    drop((input, output));
    std::thread::scope(|scope| {
        let work = scope.spawn(work);
        let exit_code = connection.follow()?;
        let done = work.join().map_err(|_| Problem::internal("copying has failed"))?;
        if exit_code == 0 { done.map(|()| 0) } else { Ok(exit_code) }
    })
}

fn pipe() -> Result<(PipeReader, PipeWriter)> {
    Ok(io::pipe().map_err(|e| Problem::internal("cannot make a pipe").because(e))?)
}

fn last_name(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| Problem::usage(format!("'{}' names no file", path.display())))?;
    Ok(PathBuf::from(name))
}

/// The directory and the name of a copy: `to`, or `name` in it if it is a directory.
///
/// # Errors
/// The directory does not exist.
fn target(name: &Path, to: &Path) -> Result<(PathBuf, PathBuf)> {
    let target = if to.is_dir() { to.join(name) } else { to.to_owned() };
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return Err(Problem::input(format!("{} is no directory", parent.display())).code(code::INPUT_FILE).into());
    }
    Ok((parent.to_owned(), last_name(&target)?))
}

/// Writes a file, or a directory with all that is in it, as an archive; it is called `name` there.
fn pack(path: &Path, name: &Path, out: impl Write) -> Result<()> {
    let meta = fs::metadata(path)
        .map_err(|e| Problem::input(format!("cannot read {}", path.display())).because(e).code(code::INPUT_FILE))?;
    let mut builder = Builder::new(out);
    builder.follow_symlinks(false);
    let added = if meta.is_dir() {
        builder.append_dir_all(name, path)
    } else if meta.is_file() {
        File::open(path).and_then(|mut file| builder.append_file(name, &mut file))
    } else {
        let problem = Problem::input(format!("{} is neither a file nor a directory", path.display()));
        return Err(problem.code(code::INPUT_FILE).into());
    };
    added.and_then(|()| builder.into_inner()).and_then(|mut out| out.flush()).io("copy", path)
}

/// Makes `to`, or `name` in it if it is a directory, of the archive of a file or a directory.
fn unpack(content: impl Read, name: &Path, to: &Path) -> Result<()> {
    let (parent, name) = target(name, to)?;
    let target = parent.join(name);
    let mut archive = Archive::new(content);
    archive.set_preserve_permissions(true);
    for entry in archive.entries().io("copy", to)? {
        let mut entry = entry.io("copy", to)?;
        let path = entry.path().io("copy", to)?.into_owned();
        // The first part is the name of the source.
        let below: Vec<Component> = path.components().skip(1).collect();
        if !below.iter().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Problem::internal(format!("cannot copy {}", path.display())).into());
        }
        let path = below.iter().fold(target.clone(), |path, part| path.join(part));
        if entry.header().entry_type().is_dir() {
            fs::create_dir_all(&path).io("create", &path)?;
        }
        entry.unpack(&path).io("write", &path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_an_instance_has_its_name_before_a_colon() {
        let instance = End::Instance { name: "web/0", path: Path::new("/a:b") };
        assert_eq!(End::parse("web/0:/a:b"), Ok(instance));
        for path in ["a", "./web/0:/a", "/web/0:/a", "a:b", "../0:x"] {
            assert_eq!(End::parse(path), Ok(End::Here(Path::new(path))));
        }
        assert!(End::parse("web/0:a").unwrap_err().to_string().contains("web/0:/tmp/a"));
    }

    #[test]
    fn what_was_packed_is_unpacked_under_its_new_name() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        fs::create_dir_all(d.join("from/sub/empty")).unwrap();
        fs::write(d.join("from/sub/a"), "a").unwrap();
        std::os::unix::fs::symlink("a", d.join("from/sub/link")).unwrap();
        let packed = |path: &str| {
            let mut archive = Vec::new();
            pack(&d.join(path), Path::new("name"), &mut archive).unwrap();
            archive
        };
        let all = packed("from");
        unpack(&all[..], Path::new("from"), &d.join("new")).unwrap();
        assert_eq!(fs::read_to_string(d.join("new/sub/link")).unwrap(), "a");
        assert!(d.join("new/sub/empty").is_dir() && d.join("new/sub/link").is_symlink());
        unpack(&all[..], Path::new("from"), &d.join("new")).unwrap();
        assert_eq!(fs::read_to_string(d.join("new/from/sub/a")).unwrap(), "a", "the directory exists");
        unpack(&packed("from/sub/a")[..], Path::new("a"), &d.join("b")).unwrap();
        assert_eq!(fs::read_to_string(d.join("b")).unwrap(), "a");
    }
}
