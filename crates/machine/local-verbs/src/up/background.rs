//! The process that holds a deployment, and the one that the user has started.
//!
//! The second one does the work. It outlives the first one if the user asked for that (`--detach`), or if the start has failed:
//! then the instances stay as they are, to be looked at. Otherwise it dies with the first one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use manifest_inputs::{Documents, StorePaths};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use problem::{IoContext, Problem, Result};
use sandbox::Channel;
use serde::{Deserialize, Serialize};

use super::{Options, command_line};
use local_deployment::{Config, Preview, Started};
use local_state::Progress;
use local_state::Signals;
use local_state::StateDir;
use startup::confirmation::{self, is_confirmed};

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// To the second process: what only the first one can read, as a file that comes along.
    Documents,
    /// To the first process: everything runs.
    Up,
    /// To the first process: something does not run, and the second one stays; the exit code.
    Failed(u8),
    /// To the first process: the update was shown; does the user want it?
    Ask,
    /// To the second process: whether the user wants it.
    Answer(bool),
    /// To the second process: the user asks for the stop.
    Stop,
}

/// Starts the second process with this one's command line and output, and waits until it has done its work: with `--detach`
/// until everything runs, else until the deployment has stopped.
pub(super) fn start(options: &Options, signals: Signals) -> Result<u8> {
    let failed = |e: std::io::Error| Problem::internal("cannot start boson in the background").because(e);
    // However long variables are generated, a signal ends this process.
    let (documents, releases) = signals.unblocked(|| documents(options))??;
    let (channel, end) = Channel::pair().map_err(failed)?;
    let mut command = Command::new("/proc/self/exe");
    // What a shell holds open, a lock or a pipe, is not to be held for as long as the deployment lives.
    let mut child = sandbox::streams_only(&mut command)
        .args(command_line::without_values::<Options>(std::env::args_os().skip(1), "vars"))
        .arg("--background")
        .args(releases.iter().flat_map(|path| [OsStr::new("--downloaded"), path.as_os_str()]))
        .args(asks(options).then_some("--ask"))
        .stdin(Stdio::from(end))
        .spawn()
        .map_err(failed)?;
    // With this process' copy of the other end, so that the connection ends with the second process.
    drop(command);
    let text = serde_json::to_vec(&documents).map_err(|e| failed(e.into()))?;
    let file = sandbox::in_memory(&text).map_err(failed)?;
    channel.send(&Message::Documents, &[file.as_fd()]).map_err(failed)?;
    let to_child = channel.try_clone().map_err(failed)?;
    signals.forward(move || {
        // It has exited if it cannot receive.
        let _ = to_child.send(&Message::Stop, &[]);
    })?;
    while let Ok(Some((message, _))) = channel.receive::<Message>() {
        match message {
            Message::Up if options.detach => return Ok(0),
            Message::Failed(code) => return Ok(code),
            Message::Ask => {
                let channel = channel.try_clone().map_err(failed)?;
                // In a thread: the end of the second process ends the question.
                std::thread::spawn(move || {
                    let _ = channel.send(&Message::Answer(is_confirmed()), &[]);
                });
            }
            _ => {}
        }
    }
    let status = child.wait().map_err(failed)?;
    if let Some(signal) = status.signal() {
        let problem = Problem::internal(format!("the boson that holds the deployment was killed by signal {signal}"));
        return Err(problem.hint("boson down removes what it left, except persistent disks").into());
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(70))
}

/// Whether the user is asked before an update: a person is there, who has not said otherwise.
fn asks(options: &Options) -> bool {
    !options.non_interactive && !options.dry_run && confirmation::is_possible()
}

/// The documents, which are read once: they may be pipes of the user's shell, and variables may be secrets, which are not to be in the
/// command line of a process that lives as long as the deployment. The releases that the manifest gives by URL come along.
fn documents(options: &Options) -> Result<(Documents, Vec<PathBuf>)> {
    // What a dry run generates is forgotten.
    let scratch = options.dry_run.then(ScratchStores::new).transpose()?;
    let default_store = |name: Option<&str>| {
        let paths = variables_store(options, name)?;
        scratch.as_ref().map_or(Ok(paths.clone()), |scratch| scratch.copy(&paths))
    };
    let mut config = Config::from(options.clone());
    if let (Some(scratch), Some(store)) = (&scratch, &mut config.inputs.vars_store) {
        *store = scratch.copy(&StorePaths::from(store.as_path()))?.own;
    }
    let given = config.releases.len();
    let read = local_deployment::read_documents(&mut config, &default_store);
    let documents = read
        .map_err(|problems| local_deployment::join(problems, local_deployment::missing_releases(&config.releases)))?;
    let downloaded = config.releases.split_off(given);
    Ok((documents, downloaded))
}

/// Copies of variables stores, in memory where the machine has a directory there.
struct ScratchStores(tempfile::TempDir);

impl ScratchStores {
    fn new() -> Result<ScratchStores> {
        let parent = local_state::user_dirs::in_memory().unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::Builder::new().prefix("boson-dry-run-").tempdir_in(&parent);
        Ok(ScratchStores(directory.io("make a directory in", &parent)?))
    }

    /// Copies the files that exist.
    fn copy(&self, paths: &StorePaths) -> Result<StorePaths> {
        let copy = |name: &str, path: &Path| -> Result<PathBuf> {
            let to = self.0.path().join(name);
            if path.exists() {
                fs::copy(path, &to).io("copy", path)?;
            }
            Ok(to)
        };
        let shared = paths.shared.as_deref().map(|path| copy("shared.yml", path)).transpose()?;
        Ok(StorePaths { own: copy("variables.yml", &paths.own)?, shared })
    }
}

/// The variables store in the deployment's state, and the one for all deployments. Their directories are made when something is
/// written into them.
fn variables_store(options: &Options, name: Option<&str>) -> Result<StorePaths> {
    let given = |text: &'_ Option<String>| text.clone().filter(|name| !name.is_empty());
    let expected = given(&options.deployment);
    if given(&options.name).is_none() {
        local_deployment::check_name(expected.as_deref(), name)?;
    }
    let path = options.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty());
    let name = given(&options.name).or(name.map(str::to_owned)).or(expected);
    let dir = StateDir::of(path, name.as_deref().unwrap_or_default())?;
    dir.check()?;
    Ok(dir.variables())
}

/// Does the second process' work.
pub(super) fn stay(options: Options, signals: Signals) -> Result<u8> {
    let Options { detach, dry_run, ask, .. } = options;
    let config = Config::from(options);
    let failed = |e: std::io::Error| Problem::internal("cannot stay in the background").because(e);
    // A session of its own: neither the terminal's Ctrl-C nor its end reaches it.
    nix::unistd::setsid().map_err(|e| failed(e.into()))?;
    if !detach {
        set_pdeathsig(Signal::SIGKILL).map_err(|e| failed(e.into()))?;
    }
    let channel = Channel::from_stdin().map_err(failed)?;
    let (_, files) = channel.expect::<Message>().map_err(failed)?;
    let mut text = Vec::new();
    for file in files {
        File::from(file).read_to_end(&mut text).map_err(failed)?;
    }
    let documents = serde_json::from_slice(&text).map_err(|e| failed(e.into()))?;
    let from_parent = channel.try_clone().map_err(failed)?;
    let stop = signals.remote();
    let alone = Arc::new(AtomicBool::new(false));
    let is_alone = Arc::clone(&alone);
    let (answered, answers) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok(Some((message, _))) = from_parent.receive::<Message>() {
            // A question that is not asked any more needs no answer.
            let _ = match message {
                Message::Answer(answer) => answered.send(answer),
                Message::Stop => {
                    stop();
                    answered.send(false)
                }
                _ => Ok(()),
            };
        }
        // The first process has exited.
        if !is_alone.load(Ordering::SeqCst) {
            stop();
        }
    });
    let mut confirm = || {
        channel.send(&Message::Ask, &[]).map_err(failed)?;
        // If the first process has ended, nobody can confirm.
        Ok(answers.recv().unwrap_or(false))
    };
    let preview = match (dry_run, ask) {
        (true, _) => Preview::DryRun,
        (false, true) => Preview::Ask(&mut confirm),
        (false, false) => Preview::No,
    };
    local_deployment::up(config, documents, signals, preview, &mut |started, dir, progress| {
        if detach || started != Started::Up {
            alone.store(true, Ordering::SeqCst);
            set_pdeathsig(None).map_err(|e| failed(e.into()))?;
            leave_the_terminal(dir, progress)?;
        }
        let message = match started {
            Started::Up => Message::Up,
            Started::Failed(code) => Message::Failed(code),
        };
        // A first process that has exited needs no message.
        let _ = channel.send(&message, &[]);
        Ok(())
    })
}

/// From now on what is printed goes to a file.
fn leave_the_terminal(dir: &StateDir, progress: &Progress) -> Result<()> {
    let failed = |e: nix::Error| Problem::internal("cannot stay in the background").because(e);
    progress.leave_the_terminal();
    let log = dir.own_log();
    let file = File::options().create(true).append(true).open(&log).io("write", &log)?;
    let null = File::open("/dev/null").io("open", Path::new("/dev/null"))?;
    nix::unistd::dup2_stdin(&null)
        .and_then(|()| nix::unistd::dup2_stdout(&file))
        .and_then(|()| nix::unistd::dup2_stderr(&file))
        .map_err(failed)?;
    Ok(())
}
