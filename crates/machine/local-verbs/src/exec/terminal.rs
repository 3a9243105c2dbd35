//! A terminal for a command in an instance: a pseudoterminal, between which and the user's own terminal bytes are forwarded.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use rustix::termios::{tcgetwinsize, tcsetwinsize};

/// What the user types reaches the command, and what the command prints the user, until this ends.
pub(super) struct Terminal {
    own: OwnMode,
    output: JoinHandle<()>,
    /// Closed when the command has ended.
    ended: OwnedFd,
}

impl Terminal {
    /// The terminal and the command's end of it; `None` if this program's input or output is not a terminal.
    pub(super) fn open() -> io::Result<Option<(Terminal, OwnedFd)>> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(None);
        }
        // Before the first thread, which inherits it.
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGWINCH, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
            mask.add(signal);
        }
        mask.thread_block()?;
        let pty = openpty(None, None)?;
        let master = Arc::new(File::from(pty.master));
        copy_size(&master);
        let own = OwnMode::make_raw()?;
        let (end, ended) = nix::unistd::pipe()?;
        let (of_input, of_output) = (Arc::clone(&master), Arc::clone(&master));
        spawn("input", move || forward_input(&of_input))?;
        let output = spawn("output", move || forward_output(&of_output, &end))?;
        let mode = own.clone();
        spawn("signals", move || follow_signals(mask, &master, &mode))?;
        Ok(Some((Terminal { own, output, ended }, pty.slave)))
    }

    /// Prints what the command has left, and gives the user's terminal its mode back.
    pub(super) fn close(self) {
        drop(self.ended);
        let _ = self.output.join();
        self.own.restore();
    }
}

/// The mode of the user's terminal.
#[derive(Clone)]
struct OwnMode(Termios);

impl OwnMode {
    /// Every key reaches the command, which has a terminal with a line editor and signals of its own.
    fn make_raw() -> io::Result<OwnMode> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(io::stdin(), SetArg::TCSANOW, &raw)?;
        Ok(OwnMode(before))
    }

    fn restore(&self) {
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.0);
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Gives the command's terminal the size of the user's.
fn copy_size(master: &File) {
    if let Ok(size) = tcgetwinsize(io::stdin()) {
        let _ = tcsetwinsize(master, size);
    }
}

fn forward_input(master: &File) {
    let (mut input, mut master) = (io::stdin(), master);
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = input.read(&mut buffer) {
        if master.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

/// Until the command has ended and nothing is left to be read; what it has left in the background keeps the terminal open.
fn forward_output(master: &File, end: &OwnedFd) {
    let (mut output, mut reader) = (io::stdout(), master);
    let mut buffer = [0; 4096];
    let mut has_ended = false;
    loop {
        let mut fds = [PollFd::new(master.as_fd(), PollFlags::POLLIN), PollFd::new(end.as_fd(), PollFlags::POLLIN)];
        let (watched, timeout) =
            if has_ended { (&mut fds[..1], PollTimeout::ZERO) } else { (&mut fds[..], PollTimeout::NONE) };
        match poll(watched, timeout) {
            Ok(0) => return,
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return,
        }
        let is_readable = fds[0].any().unwrap_or_default();
        has_ended |= fds[1].any().unwrap_or_default();
        if is_readable {
            // EIO: the other end is not open.
            let Ok(length @ 1..) = reader.read(&mut buffer) else { return };
            if output.write_all(&buffer[..length]).and_then(|()| output.flush()).is_err() {
                return;
            }
        }
    }
}

/// A new size is handed on; any other signal ends this program, with the terminal as it was.
fn follow_signals(mask: SigSet, master: &File, own: &OwnMode) {
    const SIGNALED: i32 = 128;
    while let Ok(signal) = mask.wait() {
        if signal == Signal::SIGWINCH {
            copy_size(master);
            continue;
        }
        own.restore();
        std::process::exit(SIGNALED + signal as i32);
    }
}
