//! Gives a terminal its mode back when the program that changed it has died.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};

/// The hidden flag with which this program is the guardian of another.
pub(super) const FLAG: &str = "--restore-terminal";

/// Leaves the alternate screen and shows the cursor.
const LEAVE: &[u8] = b"\x1b[?1049l\x1b[?25h\x1b[0m";

/// A process that restores the terminal if this one ends without dismissing it: SIGKILL leaves no time for that.
#[derive(Debug)]
pub(super) struct Guardian {
    child: Child,
    input: ChildStdin,
}

impl Guardian {
    /// Starts it and waits until it has noted the terminal's mode, which is changed after that only.
    pub(super) fn start() -> io::Result<Guardian> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["top", FLAG]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(mut output)) = (input, output) else { return Err(io::ErrorKind::BrokenPipe.into()) };
        output.read_exact(&mut [0])?;
        Ok(Guardian { child, input })
    }

    /// The terminal has its mode back.
    pub(super) fn dismiss(mut self) {
        // If it has died, it does nothing either.
        let _ = self.input.write_all(b"q");
        drop(self.input);
        let _ = self.child.wait();
    }
}

/// The guardian itself: waits until the other program has ended.
pub(super) fn guard() -> io::Result<()> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let before = tcgetattr(&terminal)?;
    // What ends the other program does not end this one, and a process of another session may set the mode.
    nix::unistd::setsid()?;
    io::stdout().write_all(b"\n")?;
    io::stdout().flush()?;
    let mut word = Vec::new();
    io::stdin().read_to_end(&mut word)?;
    if word.is_empty() {
        restore(&mut terminal, &before)?;
    }
    Ok(())
}

fn restore(terminal: &mut File, mode: &nix::sys::termios::Termios) -> io::Result<()> {
    terminal.write_all(LEAVE)?;
    Ok(tcsetattr(&*terminal, SetArg::TCSANOW, mode)?)
}
