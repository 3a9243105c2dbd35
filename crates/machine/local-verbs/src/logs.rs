//! `boson logs`: the log files of the jobs.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use problem::{IoContext, Problem, Result, code};
use sandbox::{Command, InstanceSpec, Stdio};
use startup::Common;

use local_state::output;
use local_state::{InstanceDir, StateDir, Which};

/// The arguments of `logs`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the files below /var/vcap/sys/log of the instances of a deployment, each line with its instance and file.",
    after_long_help = "Examples:\n\
        \x20\x20boson logs\n\
        \x20\x20boson logs nats/0 --job nats -f"
)]
pub struct Options {
    /// The instance, as `boson status` names it, or an instance group [default: all]
    #[arg(value_name = "GROUP/INDEX")]
    pub(crate) instance: Option<String>,
    /// Only the files of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Go on printing what is logged from now on
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// This is run inside the instance of this name
    #[arg(long, hide = true, value_name = "GROUP/INDEX")]
    pub(crate) inside: Option<String>,
    /// Serve /dev/log inside an instance
    #[arg(long, hide = true)]
    pub(crate) serve_syslog: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub const ABOUT: &str = "Show what the jobs have logged";

/// How often growing files are polled.
const INTERVAL: Duration = Duration::from_millis(200);

/// The directory of the logs in an instance's `/var/vcap`.
const LOGS: &str = "sys/log";

/// The log of messages sent to `/dev/log`.
const SYSLOG: &str = "syslog.log";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    if options.serve_syslog {
        return tail_logs::serve_syslog(Path::new(sandbox::SYSLOG_SOCKET), &Path::new("/var/vcap").join(LOGS))
            .map(|()| 0);
    }
    if let Some(name) = &options.inside {
        return print(|| Ok(vec![(name.clone(), PathBuf::from("/var/vcap"))]), &options);
    }
    let dir = options.which.find()?;
    let sources = sources(&dir, options.instance.as_deref())?;
    // Where jobs run as ids that only a sandbox has, only a process inside can read what they write.
    if sources.iter().any(|source| is_closed(&source.dir.vcap())) {
        check_job(&sources, &options)?;
        return print_inside(&sources, &options);
    }
    check_job(&sources, &options)?;
    // While following, instances come and go: an errand's, for one.
    let now = || -> Result<Vec<(String, PathBuf)>> {
        if dir.record()?.is_none() {
            return Ok(Vec::new());
        }
        let sources = self::sources(&dir, options.instance.as_deref())?;
        Ok(sources.into_iter().map(|source| (source.instance.clone(), source.dir.vcap())).collect())
    };
    print(now, &options)
}

/// The logs of one instance.
#[derive(Debug, Clone)]
struct Source {
    /// `group/index`.
    instance: String,
    dir: InstanceDir,
}

/// The requested instances.
fn sources(dir: &StateDir, wanted: Option<&str>) -> Result<Vec<Source>> {
    let mut all = Vec::new();
    for name in names(&dir.instances(), "")? {
        // The directory of `group/index` is `group-index`.
        if let Some((group, index)) = name.rsplit_once('-') {
            all.push(Source { instance: format!("{group}/{index}"), dir: dir.instance(&name) });
        }
    }
    let Some(wanted) = wanted else { return Ok(all) };
    let is_wanted = |source: &Source| {
        source.instance == wanted || source.instance.rsplit_once('/').is_some_and(|(group, _)| group == wanted)
    };
    if all.iter().any(is_wanted) {
        return Ok(all.into_iter().filter(is_wanted).collect());
    }
    let known: Vec<&str> = all.iter().map(|source| source.instance.as_str()).collect();
    let problem = Problem::input(format!("unknown instance '{wanted}'")).code(code::INSTANCE_UNKNOWN);
    Err(problem.hint(format!("the instances are: {}", known.join(", "))).into())
}

/// Checks that one of the instances has the job or logs of it: logs outlive their job.
fn check_job(sources: &[Source], options: &Options) -> Result<()> {
    let Some(wanted) = &options.job else { return Ok(()) };
    let mut known = Vec::new();
    for source in sources {
        known.extend(names(&source.dir.vcap(), LOGS)?.into_iter().filter(|name| name != SYSLOG));
    }
    known.sort();
    known.dedup();
    // A job that has not logged yet may do so while its logs are followed.
    if known.contains(wanted) || (known.is_empty() && options.follow) {
        return Ok(());
    }
    let problem = Problem::input(format!("--job: no logs of a job '{wanted}'")).code(code::JOB_UNKNOWN);
    Err(problem.hint(format!("the jobs with logs are: {}", known.join(", "))).into())
}

/// Prints the logs below each instance's `/var/vcap`, and with `--follow` new lines until no sources are left.
fn print(sources: impl Fn() -> Result<Vec<(String, PathBuf)>>, options: &Options) -> Result<u8> {
    let mut reader = Reader { seen: HashMap::new() };
    loop {
        let sources = sources()?;
        for (instance, vcap) in &sources {
            let wanted = |job: &String| options.job.as_ref().is_none_or(|wanted| wanted == job);
            if options.job.is_none() {
                reader.print(&format!("{instance} {SYSLOG}"), vcap, &format!("{LOGS}/{SYSLOG}"))?;
            }
            for job in names(vcap, LOGS)?.into_iter().filter(wanted) {
                for file in names(vcap, &format!("{LOGS}/{job}"))? {
                    reader.print(&format!("{instance} {job}/{file}"), vcap, &format!("{LOGS}/{job}/{file}"))?;
                }
            }
        }
        if !options.follow || sources.is_empty() {
            return Ok(0);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Whether one of the directories has a file that this user may not read.
fn is_closed(vcap: &Path) -> bool {
    let denied = |path: &str| {
        sandbox::open_beneath(vcap, Path::new(path)).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
    };
    let entries = |path: &str| {
        let names = sandbox::names_beneath(vcap, Path::new(path)).unwrap_or_default();
        names.into_iter().map(|name| format!("{path}/{name}")).collect::<Vec<_>>()
    };
    entries(LOGS).iter().any(|job| denied(job) || entries(job).iter().any(|file| denied(file)))
}

/// Has a sandbox with the instance's ids print its logs; all at once when they are followed.
fn print_inside(sources: &[Source], options: &Options) -> Result<u8> {
    if !options.follow {
        return sources.iter().try_fold(0, |code, source| Ok(code.max(print_one_inside(source, options)?)));
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = sources.iter().map(|s| scope.spawn(|| print_one_inside(s, options))).collect();
        running.into_iter().try_fold(0, |code, thread| Ok(code.max(thread.join().unwrap_or(Ok(70))?)))
    })
}

fn print_one_inside(source: &Source, options: &Options) -> Result<u8> {
    let mut argv = [sandbox::EXECUTABLE, "logs", "--inside", &source.instance].map(str::to_owned).to_vec();
    argv.extend(options.job.iter().flat_map(|job| ["--job".to_owned(), job.clone()]));
    argv.extend(options.follow.then(|| "--follow".to_owned()));
    let cannot =
        |e: std::io::Error| Problem::internal(format!("cannot read the logs of {}", source.instance)).because(e);
    let [input, output, error] = output::standard_streams().map(|stream| stream.try_clone_to_owned());
    let stdio = Stdio { input: input.map_err(cannot)?, output: output.map_err(cannot)?, error: error.map_err(cannot)? };
    let spec = InstanceSpec {
        name: source.instance.clone(),
        hostname: "logs".to_owned(),
        address: None,
        base: None,
        name_server: None,
        mount_point: source.dir.root(),
        vcap: source.dir.vcap(),
        hosts: None,
        memory: Vec::new(),
        binds: Vec::new(),
        executable_names: Vec::new(),
    };
    let command = Command { argv, env: Vec::new(), directory: "/".into(), stdio };
    Ok(sandbox::once(spec, command).map_err(cannot)?.code())
}

/// The names in a directory; empty if it does not exist or is not a directory.
fn names(base: &Path, path: &str) -> Result<Vec<String>> {
    match sandbox::names_beneath(base, Path::new(path)) {
        Err(e) if is_nothing(&e) => Ok(Vec::new()),
        other => other.io("read", &base.join(path)),
    }
}

/// Whether there is nothing to read: jobs can create anything there, a link, a pipe, a socket.
fn is_nothing(e: &std::io::Error) -> bool {
    use nix::libc::{ELOOP, ENOENT, ENOTDIR, ENXIO};
    matches!(e.raw_os_error(), Some(ENOENT | ENOTDIR | ELOOP | ENXIO))
}

/// Remembers how far each file has been read.
#[derive(Debug)]
struct Reader {
    seen: HashMap<PathBuf, (u64, u64)>,
}

impl Reader {
    /// Prints the new lines; an incomplete line waits for its end.
    fn print(&mut self, label: &str, vcap: &Path, path: &str) -> Result<()> {
        let opened = sandbox::open_beneath(vcap, Path::new(path));
        let path = &vcap.join(path);
        let mut file = match opened {
            Err(e) if is_nothing(&e) => return Ok(()),
            other => other.io("read", path)?,
        };
        let meta = file.metadata().io("read", path)?;
        if !meta.is_file() {
            return Ok(());
        }
        let (inode, mut at) = self.seen.get(path).copied().unwrap_or((meta.ino(), 0));
        // Rotated by renaming or by truncating.
        if inode != meta.ino() || at > meta.len() {
            at = 0;
        }
        file.seek(SeekFrom::Start(at)).io("read", path)?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).io("read", path)? > 0 && line.ends_with(b"\n") {
            at += line.len() as u64;
            output::line(&format!("[{label}] {}", String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])));
            line.clear();
        }
        self.seen.insert(path.clone(), (meta.ino(), at));
        Ok(())
    }
}
