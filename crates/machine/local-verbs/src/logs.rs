//! `boson logs`: the log files of the jobs.

mod archive;
mod files;
mod line_time;
mod reading;

use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use problem::{Problem, Result, code};
use sandbox::{Command, InstanceSpec, Stdio};
use startup::{Common, parse_duration};

use files::{Files, LOGS, SYSLOG};
use local_state::output;
use local_state::{InstanceDir, StateDir, Which};
use reading::{Limits, Line, Lines, Reader};

/// The arguments of `logs`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the files below /var/vcap/sys/log of the instances of a deployment, each line with its instance and file.\n\n\
        The lines of all files are shown in the order of their times. A line's time is the date and time of day near its start, or the \
        timestamp of a line in JSON; without a zone it is UTC. Lines without a time belong to the line before them. A file without any \
        time has the time of its last change.",
    after_long_help = "Examples:\n\
        \x20\x20boson logs\n\
        \x20\x20boson logs nats/0 --job nats -f\n\
        \x20\x20boson logs --since 10m --only 'nats/*.stderr.log,syslog.log'\n\
        \x20\x20boson logs nats --num 20 --timestamps\n\
        \x20\x20boson logs --archive logs.tgz"
)]
pub struct Options {
    /// The instance, as `boson status` names it, or an instance group [default: all]
    #[arg(value_name = "GROUP/INDEX")]
    pub(crate) instance: Option<String>,
    /// Only the files of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Only these files: JOB, JOB/FILE or a pattern (`*` within a name, `**` over directories); separated by commas or repeated
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only lines logged since then: a length of time until now (10m, 1h30m, 2d), or a time (2026-11-27T22:00:00Z)
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub(crate) since: Option<Duration>,
    /// Only the last lines of each file
    #[arg(long, short, value_name = "NUMBER")]
    pub(crate) num: Option<usize>,
    /// Go on printing what is logged from now on
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print the time by which a line was ordered before it, in UTC
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Write the files into a tar archive with gzip instead: JOB/FILE, of several instances GROUP/INDEX/JOB/FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["follow", "since", "num", "timestamps"])]
    pub(crate) archive: Option<PathBuf>,
    /// This is run inside the instance of this name
    #[arg(long, hide = true, value_name = "GROUP/INDEX")]
    pub(crate) inside: Option<String>,
    /// Print lines for another process, which merges them
    #[arg(long, hide = true, requires = "inside")]
    pub(crate) records: bool,
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

/// What a process inside an instance prints when all lines were printed that were there.
const CAUGHT_UP: &str = "null";

/// The value of `--since` as a time since 1970.
fn parse_since(text: &str) -> std::result::Result<Duration, String> {
    if let Some(time) = line_time::parse_time(text) {
        return Ok(time);
    }
    let ago = parse_duration(text).map_err(|_| {
        "must be a length of time such as 10m, 1h30m, 2d, or a time such as 2026-11-27T22:00:00Z".to_owned()
    })?;
    Ok(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(ago))
}

impl Options {
    fn limits(&self) -> Limits {
        Limits { since: self.since, count: self.num }
    }
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    if options.serve_syslog {
        return tail_logs::serve_syslog(Path::new(sandbox::SYSLOG_SOCKET), &Path::new("/var/vcap").join(LOGS))
            .map(|()| 0);
    }
    let files = Files::new(options.job.clone(), &options.only)?;
    if let Some(name) = &options.inside {
        return inside(name, &files, &options);
    }
    let dir = options.which.find()?;
    let sources = sources(&dir, options.instance.as_deref())?;
    check_job(&sources, &options)?;
    // Where jobs run as ids that only a sandbox has, only a process inside can read what they write.
    let is_closed = sources.iter().any(|source| files::is_closed(&source.dir.vcap()));
    if let Some(path) = &options.archive {
        return archive::write(path, &sources, &files, is_closed.then_some(&options));
    }
    if is_closed {
        return print_of_insides(&sources, &options);
    }
    // While following, instances come and go: an errand's, for one.
    let now = || -> Result<Vec<(String, PathBuf)>> {
        if dir.record()?.is_none() {
            return Ok(Vec::new());
        }
        let sources = self::sources(&dir, options.instance.as_deref())?;
        Ok(sources.into_iter().map(|source| (source.instance.clone(), source.dir.vcap())).collect())
    };
    print(now, &files, &options, |line| Ok(show(&line, options.timestamps)), || true)
}

/// All files are open while their lines are merged.
fn allow_many_files() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // With the limit as it was, there may be enough all the same.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Prints a line for people; returns whether anybody still reads.
fn show(line: &Line, timestamps: bool) -> bool {
    let time = if timestamps { format!("{} ", line_time::shown(line.time)) } else { String::new() };
    writeln!(io::stdout(), "{time}[{}] {}", line.label, line.text).is_ok()
}

/// Prints the logs of the instance that this process runs in.
fn inside(name: &str, files: &Files, options: &Options) -> Result<u8> {
    let vcap = Path::new("/var/vcap");
    if options.archive.is_some() {
        return archive::to_stdout(vcap, files).map(|()| 0);
    }
    let sources = || Ok(vec![(name.to_owned(), vcap.to_owned())]);
    if !options.records {
        return print(sources, files, options, |line| Ok(show(&line, options.timestamps)), || true);
    }
    let pass = |line: Line| {
        let json = serde_json::to_string(&line).map_err(|e| Problem::internal("cannot pass a line on").because(e))?;
        Ok(writeln!(io::stdout(), "{json}").is_ok())
    };
    print(sources, files, options, pass, || writeln!(io::stdout(), "{CAUGHT_UP}").is_ok())
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
    for name in files::names(&dir.instances(), "")? {
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
        known.extend(files::names(&source.dir.vcap(), LOGS)?.into_iter().filter(|name| name != SYSLOG));
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

/// Passes the logs below each instance's `/var/vcap` to `show`, then calls `caught_up`, and with `--follow` passes new lines on until no
/// sources are left. Ends when one of them returns false.
fn print(
    sources: impl Fn() -> Result<Vec<(String, PathBuf)>>,
    files: &Files,
    options: &Options,
    show: impl Fn(Line) -> Result<bool>,
    caught_up: impl Fn() -> bool,
) -> Result<u8> {
    allow_many_files();
    let mut reader = Reader::default();
    let mut streams = Vec::new();
    for (instance, vcap) in sources()? {
        for file in files.below(&vcap)? {
            streams.push(reader.lines(
                &format!("{instance} {file}"),
                &vcap,
                &format!("{LOGS}/{file}"),
                options.limits(),
            )?);
        }
    }
    // Other instances may have what one has not.
    if streams.is_empty() && !options.follow && options.inside.is_none() {
        files.check_patterns()?;
    }
    if !reading::merge(streams, &show)? || !caught_up() || !options.follow {
        return Ok(0);
    }
    loop {
        std::thread::sleep(INTERVAL);
        let sources = sources()?;
        if sources.is_empty() {
            return Ok(0);
        }
        let mut streams: Vec<Lines> = Vec::new();
        for (instance, vcap) in &sources {
            for file in files.below(vcap)? {
                let lines = reader.added(&format!("{instance} {file}"), vcap, &format!("{LOGS}/{file}"))?;
                streams.push(Box::new(lines.into_iter().map(Ok)));
            }
        }
        if !reading::merge(streams, &show)? {
            return Ok(0);
        }
    }
}

/// Has sandboxes with the instances' ids read the logs, and prints what they pass on.
fn print_of_insides(sources: &[Source], options: &Options) -> Result<u8> {
    std::thread::scope(|scope| {
        let (mut pipes, mut running) = (Vec::new(), Vec::new());
        for source in sources {
            let (lines, output) = io::pipe().map_err(|e| Problem::internal("cannot make a pipe").because(e))?;
            running.push(scope.spawn(move || run_inside(source, options, output.into())));
            pipes.push(BufReader::new(lines));
        }
        let streams = pipes.iter_mut().map(lines_of_pipe).collect();
        if !reading::merge(streams, |line| Ok(show(&line, options.timestamps)))? {
            pipes.clear();
        }
        for mut pipe in pipes {
            scope.spawn(move || {
                lines_of_pipe(&mut pipe).map_while(Result::ok).all(|line| show(&line, options.timestamps))
            });
        }
        running.into_iter().try_fold(0, |code, thread| Ok(code.max(thread.join().unwrap_or(Ok(70))?)))
    })
}

/// The lines that a process inside an instance passes on, until it has caught up, or ends.
fn lines_of_pipe(pipe: &mut BufReader<PipeReader>) -> Lines<'_> {
    let failed = |why: String| Problem::internal("cannot read the logs of an instance").because(why);
    let lines = pipe.lines().take_while(|line| line.as_ref().map_or(true, |line| line != CAUGHT_UP));
    Box::new(lines.map(move |line| {
        let line = line.map_err(|e| failed(e.to_string()))?;
        serde_json::from_str(&line).map_err(|e| failed(e.to_string()).into())
    }))
}

/// Runs this verb in a sandbox with the ids of an instance; what it passes on goes to `output`. Returns its exit code.
fn run_inside(source: &Source, options: &Options, output: std::os::fd::OwnedFd) -> Result<u8> {
    let mut argv = [sandbox::EXECUTABLE, "logs", "--records", "--inside", &source.instance].map(str::to_owned).to_vec();
    argv.extend(options.job.iter().map(|job| format!("--job={job}")));
    argv.extend(options.only.iter().map(|file| format!("--only={file}")));
    argv.extend(options.since.map(|time| format!("--since={}", line_time::shown(time))));
    argv.extend(options.num.map(|count| format!("--num={count}")));
    argv.extend(options.follow.then(|| "--follow".to_owned()));
    argv.extend(options.archive.iter().map(|_| "--archive=-".to_owned()));
    let cannot = |e: io::Error| Problem::internal(format!("cannot read the logs of {}", source.instance)).because(e);
    let [input, _, error] = output::standard_streams().map(|stream| stream.try_clone_to_owned());
    let stdio = Stdio { input: input.map_err(cannot)?, output, error: error.map_err(cannot)? };
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
        privileged: false,
    };
    let command = Command { argv, env: Vec::new(), directory: "/".into(), stdio, privileged: false };
    Ok(sandbox::once(spec, command).map_err(cannot)?.code())
}
