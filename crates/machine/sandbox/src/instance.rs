//! One sandbox, as the program that made it holds it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use nix::sys::signal::Signal;

use crate::exit::Exit;
use crate::ids::Ids;
use crate::leftovers;
use crate::message::{FromInit, ToInit};
use crate::spec::{Access, InstanceSpec};
use crate::sys::channel::Channel;

/// The standard streams of a command.
#[derive(Debug)]
pub struct Stdio {
    /// Standard input.
    pub input: OwnedFd,
    /// Standard output.
    pub output: OwnedFd,
    /// Standard error.
    pub error: OwnedFd,
}

impl Stdio {
    /// No input; both outputs go to this file.
    pub fn to_file(file: File) -> io::Result<Stdio> {
        let error = OwnedFd::from(file.try_clone()?);
        Ok(Stdio { input: File::open("/dev/null")?.into(), output: file.into(), error })
    }

    /// No input, no output.
    pub fn null() -> io::Result<Stdio> {
        Stdio::to_file(File::options().write(true).open("/dev/null")?)
    }
}

/// A command to run in a sandbox, as its root, with exactly this environment.
#[derive(Debug)]
pub struct Command {
    /// The program (a path inside) and its arguments.
    pub argv: Vec<String>,
    /// The environment.
    pub env: Vec<(String, String)>,
    /// The working directory inside.
    pub directory: PathBuf,
    /// The standard streams.
    pub stdio: Stdio,
    /// Whether it has the capabilities of a privileged sandbox. Without effect in any other.
    pub privileged: bool,
}

/// A sandbox; everything in it ends when this is dropped.
#[derive(Debug)]
pub struct Instance {
    name: String,
    channel: Arc<Channel>,
    waiting: Arc<Mutex<Waiting>>,
    init: i32,
    /// Of a privileged one: its cgroup, and the directories of the host that it can write to.
    cgroup: Option<(Cgroup, Vec<PathBuf>)>,
}

/// The cgroup of a privileged sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Cgroup {
    /// That of all sandboxes of the network.
    pub(crate) network: String,
    /// Its own, below that.
    pub(crate) own: String,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    ended: bool,
    answers: HashMap<u64, Sender<FromInit>>,
    warnings: Vec<String>,
}

impl Instance {
    /// Sends the specification to an init that has just been started, and waits for its root file system.
    pub(crate) fn start(
        channel: Channel,
        spec: InstanceSpec,
        ids: Ids,
        cgroup: Option<Cgroup>,
    ) -> io::Result<Instance> {
        let name = spec.name.clone();
        let written = spec.binds.iter().filter(|bind| bind.access == Access::ReadWrite).map(|bind| bind.source.clone());
        let written = std::iter::once(spec.vcap.clone()).chain(written).collect();
        channel.learn_sender()?;
        let path = cgroup.as_ref().map(|cgroup| Path::new(&cgroup.network).join(&cgroup.own));
        channel.send(&ToInit::Start { spec: Box::new(spec), ids, cgroup: path }, &[])?;
        let mut warnings = Vec::new();
        let init = loop {
            match channel.expect_from()? {
                (FromInit::Ready, init) => break init,
                (FromInit::Warned { message }, _) => warnings.push(message),
                (FromInit::Failed { message }, _) => return Err(io::Error::other(message)),
                (other, _) => return Err(io::Error::other(format!("unexpected answer {other:?}"))),
            }
        };
        let channel = Arc::new(channel);
        let waiting = Arc::new(Mutex::new(Waiting { warnings, ..Waiting::default() }));
        let (theirs, table) = (Arc::clone(&channel), Arc::clone(&waiting));
        std::thread::Builder::new().name(format!("sandbox {name}")).spawn(move || distribute(&theirs, &table))?;
        Ok(Instance { name, channel, waiting, init, cgroup: cgroup.map(|cgroup| (cgroup, written)) })
    }

    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its PID 1 as the host counts.
    pub fn init(&self) -> i32 {
        self.init
    }

    /// Starts a command.
    pub fn run(&self, command: Command) -> io::Result<Process> {
        let Command { argv, env, directory, stdio, privileged } = command;
        let (id, answers) = self.ask(
            |id| ToInit::Run { id, argv, env, directory, privileged },
            &[stdio.input.as_fd(), stdio.output.as_fd(), stdio.error.as_fd()],
        )?;
        match answers.recv() {
            Ok(FromInit::Started { pid, .. }) => {
                Ok(Process { id, pid, channel: Arc::clone(&self.channel), answers: Mutex::new(answers) })
            }
            Ok(FromInit::NotDone { message, .. }) => Err(io::Error::other(message)),
            _ => Err(self.lost()),
        }
    }

    /// Writes a file (a path inside); an existing file is replaced.
    pub fn write(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let file = in_memory(content)?;
        self.done(|id| ToInit::Write { id, path: path.to_path_buf(), mode }, &[file.as_fd()])
    }

    /// Gives its `/etc/hosts` the names of this text, in place of those that it had at first or by the last update. Lines that
    /// were added inside stay.
    pub fn update_hosts(&self, text: &str) -> io::Result<()> {
        let file = in_memory(text.as_bytes())?;
        self.done(|id| ToInit::Hosts { id }, &[file.as_fd()])
    }

    /// Asks for something that has no result but that it is done.
    fn done(&self, make: impl FnOnce(u64) -> ToInit, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let (_, answers) = self.ask(make, fds)?;
        match answers.recv() {
            Ok(FromInit::Written { .. }) => Ok(()),
            Ok(FromInit::NotDone { message, .. }) => Err(io::Error::other(message)),
            _ => Err(self.lost()),
        }
    }

    /// What the user should know about what has run in it since this was called last: limits that a process did not get, settings
    /// of the machine that it wrote.
    pub fn take_warnings(&self) -> Vec<String> {
        self.waiting.lock().map(|mut waiting| std::mem::take(&mut waiting.warnings)).unwrap_or_default()
    }

    /// Ends everything in it at once.
    pub fn kill(&self) {
        self.channel.shut_down();
    }

    /// Removes what its processes have left on the machine. Its first process has ended, and all others with it.
    pub fn release(&self) {
        if let Some((cgroup, directories)) = &self.cgroup {
            leftovers::release_sandbox(directories, &cgroup.network, &cgroup.own);
        }
    }

    fn ask(&self, make: impl FnOnce(u64) -> ToInit, fds: &[BorrowedFd<'_>]) -> io::Result<(u64, Receiver<FromInit>)> {
        let (sender, receiver) = channel();
        let id = {
            let mut waiting = self.waiting.lock().map_err(|_| self.lost())?;
            if waiting.ended {
                return Err(self.lost());
            }
            waiting.last += 1;
            let id = waiting.last;
            waiting.answers.insert(id, sender);
            id
        };
        self.channel.send(&make(id), fds)?;
        Ok((id, receiver))
    }

    fn lost(&self) -> io::Error {
        io::Error::new(io::ErrorKind::BrokenPipe, format!("the sandbox {} has ended", self.name))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command that was started in a sandbox.
#[derive(Debug)]
pub struct Process {
    id: u64,
    pid: i32,
    channel: Arc<Channel>,
    answers: Mutex<Receiver<FromInit>>,
}

impl Process {
    /// Its number inside.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits for its end.
    pub fn wait(&self) -> Exit {
        match self.answers.lock().map(|answers| answers.recv()) {
            Ok(Ok(FromInit::Exited { exit, .. })) => exit,
            _ => Exit::Lost,
        }
    }

    /// Signals it alone.
    pub fn signal(&self, signal: Signal) {
        self.send_signal(signal, false);
    }

    /// Signals it and its descendants, as far as they stayed in its process group.
    pub fn signal_group(&self, signal: Signal) {
        self.send_signal(signal, true);
    }

    fn send_signal(&self, signal: Signal, group: bool) {
        // A sandbox that has ended needs no signal.
        let _ = self.channel.send(&ToInit::Signal { id: self.id, signal: signal as i32, group }, &[]);
    }
}

/// Delivers each answer to the caller that waits for it, until the init exits.
fn distribute(init: &Channel, waiting: &Mutex<Waiting>) {
    while let Ok(Some((message, _))) = init.receive::<FromInit>() {
        let (id, last) = match &message {
            FromInit::Started { id, .. } => (*id, false),
            FromInit::NotDone { id, .. } | FromInit::Exited { id, .. } | FromInit::Written { id } => (*id, true),
            FromInit::Warned { message } => {
                let Ok(mut waiting) = waiting.lock() else { break };
                waiting.warnings.push(message.clone());
                continue;
            }
            FromInit::Ready | FromInit::Failed { .. } => continue,
        };
        let Ok(mut waiting) = waiting.lock() else { break };
        let sender = if last { waiting.answers.remove(&id) } else { waiting.answers.get(&id).cloned() };
        if let Some(sender) = sender {
            // The caller no longer waits.
            let _ = sender.send(message);
        }
    }
    if let Ok(mut waiting) = waiting.lock() {
        waiting.ended = true;
        waiting.answers.clear();
    }
}

/// A file that never touches a disk, with this content, at its start.
pub fn in_memory(content: &[u8]) -> io::Result<File> {
    use std::io::{Seek, Write};
    let fd = nix::sys::memfd::memfd_create(c"sandbox", nix::sys::memfd::MFdFlags::MFD_CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}
