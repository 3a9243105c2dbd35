//! The process that holds a deployment, and the one that the user has started.
//!
//! The second one does the work. It outlives the first one if the user asked for that (`--detach`), or if the start has failed:
//! then the instances stay as they are, to be looked at. Otherwise it dies with the first one.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manifest_inputs::{Document, Documents, StorePaths};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use problem::{IoContext, Problem, Result};
use sandbox::Channel;
use serde::{Deserialize, Serialize};

use super::{Options, command_line};
use local_deployment::{Config, Started};
use local_state::Progress;
use local_state::Signals;
use local_state::StateDir;

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// To the second process: what only the first one can read, as a file that comes along.
    Documents,
    /// To the first process: everything runs.
    Up,
    /// To the first process: something does not run, and the second one stays; the exit code.
    Failed(u8),
    /// To the second process: the user asks for the stop.
    Stop,
}

/// Starts the second process with this one's command line and output, and waits until it has done its work: with `--detach`
/// until everything runs, else until the deployment has stopped.
pub(super) fn start(options: &Options, signals: Signals) -> Result<u8> {
    let failed = |e: std::io::Error| Problem::internal("cannot start boson in the background").because(e);
    // However long variables are generated, a signal ends this process.
    let documents = signals.unblocked(|| documents(options))??;
    let (channel, end) = Channel::pair().map_err(failed)?;
    let mut command = Command::new("/proc/self/exe");
    // What a shell holds open, a lock or a pipe, is not to be held for as long as the deployment lives.
    let mut child = sandbox::streams_only(&mut command)
        .args(command_line::without_values::<Options>(std::env::args_os().skip(1), "vars"))
        .arg("--background")
        .args(documents.as_ref().map(|_| "--documents-follow"))
        .stdin(Stdio::from(end))
        .spawn()
        .map_err(failed)?;
    // With this process' copy of the other end, so that the connection ends with the second process.
    drop(command);
    if let Some(documents) = documents {
        let text = serde_json::to_vec(&documents).map_err(|e| failed(e.into()))?;
        let file = sandbox::in_memory(&text).map_err(failed)?;
        channel.send(&Message::Documents, &[file.as_fd()]).map_err(failed)?;
    }
    let to_child = channel.try_clone().map_err(failed)?;
    signals.forward(move || {
        // It has exited if it cannot receive.
        let _ = to_child.send(&Message::Stop, &[]);
    })?;
    while let Ok(Some((message, _))) = channel.receive::<Message>() {
        match message {
            Message::Up if options.detach => return Ok(0),
            Message::Failed(code) => return Ok(code),
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

/// What the second process cannot read itself: pipes of the user's shell, its input, and variables, which may be secrets and
/// are not to be in the command line of a process that lives as long as the deployment.
fn documents(options: &Options) -> Result<Option<Documents>> {
    let is_stream =
        |path: &Path| path == Path::new("-") || fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    let mut files = std::iter::once(options.manifest()).chain(options.configs.files().map(PathBuf::as_path));
    let has_stream = files.any(is_stream);
    let default_store = |name: Option<&str>| variables_store(options, name);
    let read = local_deployment::read_documents(&options.clone().into(), Some(&default_store));
    let documents = read
        .map_err(|problems| local_deployment::join(problems, local_deployment::missing_releases(&options.releases)))?;
    if !has_stream && documents.iter().all(Document::is_file) {
        return Ok(None);
    }
    Ok(Some(documents))
}

/// The variables store in the deployment's state, and the one for all deployments. Their directories are made when something is
/// written into them.
fn variables_store(options: &Options, name: Option<&str>) -> Result<StorePaths> {
    let given = options.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty());
    let dir =
        StateDir::of(given, options.name.as_deref().filter(|name| !name.is_empty()).or(name).unwrap_or_default())?;
    dir.check()?;
    Ok(dir.variables())
}

/// Does the second process' work; `documents_follow` if the first one sends the manifest.
pub(super) fn stay(mut config: Config, documents_follow: bool, detach: bool, signals: Signals) -> Result<u8> {
    let failed = |e: std::io::Error| Problem::internal("cannot stay in the background").because(e);
    // A session of its own: neither the terminal's Ctrl-C nor its end reaches it.
    nix::unistd::setsid().map_err(|e| failed(e.into()))?;
    if !detach {
        set_pdeathsig(Signal::SIGKILL).map_err(|e| failed(e.into()))?;
    }
    let channel = Channel::from_stdin().map_err(failed)?;
    if documents_follow {
        let (_, files) = channel.expect::<Message>().map_err(failed)?;
        let mut text = Vec::new();
        for file in files {
            File::from(file).read_to_end(&mut text).map_err(failed)?;
        }
        config.documents = Some(serde_json::from_slice(&text).map_err(|e| failed(e.into()))?);
    }
    let from_parent = channel.try_clone().map_err(failed)?;
    let stop = signals.remote();
    let alone = Arc::new(AtomicBool::new(false));
    let is_alone = Arc::clone(&alone);
    std::thread::spawn(move || {
        while let Ok(Some((Message::Stop, _))) = from_parent.receive::<Message>() {
            stop();
        }
        // The first process has exited.
        if !is_alone.load(Ordering::SeqCst) {
            stop();
        }
    });
    local_deployment::up(config, signals, &mut |started, dir, progress| {
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
