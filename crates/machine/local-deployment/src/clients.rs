//! Commands that a verb of another process waits for and that use its standard streams.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use nix::sys::signal::Signal;
use problem::{Problem, Problems};
use sandbox::{Channel, Process, Stdio};

use crate::failure::Failure;
use crate::running::RunningDeployment;
use local_state::Interrupt;
use local_state::control::Reply;
use local_state::output;

/// As many bytes as fit into a message, whatever characters they are.
const PART: usize = 8 * 1024;

/// The standard streams that came with a request.
#[derive(Debug)]
pub(crate) struct Streams([OwnedFd; 3]);

impl Streams {
    pub(crate) fn new(fds: Vec<OwnedFd>) -> io::Result<Streams> {
        Ok(Streams(
            <[OwnedFd; 3]>::try_from(fds).map_err(|_| io::Error::other("three standard streams must come along"))?,
        ))
    }

    /// For one command; there may be several in turn.
    pub(crate) fn stdio(&self) -> io::Result<Stdio> {
        let [input, output, error] = &self.0;
        Ok(Stdio { input: input.try_clone()?, output: output.try_clone()?, error: error.try_clone()? })
    }
}

/// The other process; when it exits, what runs for it is interrupted.
#[derive(Debug)]
pub(crate) struct Client {
    channel: Arc<Channel>,
    gone: Interrupt,
}

impl Client {
    pub(crate) fn new(channel: &Channel) -> io::Result<Client> {
        let gone = Interrupt::default();
        let (writer, reader, of_thread) = (channel.try_clone()?, channel.try_clone()?, gone.clone());
        std::thread::Builder::new().name("client".to_owned()).spawn(move || {
            // It sends nothing more; receiving returns when it exits.
            while let Ok(Some(_)) = reader.receive::<serde_json::Value>() {}
            of_thread.trigger();
        })?;
        Ok(Client { channel: Arc::new(writer), gone })
    }

    /// Its connection.
    pub(crate) fn channel(&self) -> &Arc<Channel> {
        &self.channel
    }

    pub(crate) fn line(&self, text: &str) {
        // A client that has exited is noticed elsewhere.
        let _ = self.channel.send(&Reply::Line(text.to_owned()), &[]);
    }

    /// The last reply. Messages have a largest size; what many instances report has none.
    pub(crate) fn end(self, reply: Reply) {
        let reply = match reply {
            Reply::Failed { text, code } => {
                let mut rest = text.as_str();
                while rest.len() > PART {
                    let (part, after) = rest.split_at(rest.floor_char_boundary(PART));
                    let _ = self.channel.send(&Reply::Part(part.to_owned()), &[]);
                    rest = after;
                }
                Reply::Failed { text: rest.to_owned(), code }
            }
            other => other,
        };
        let _ = self.channel.send(&reply, &[]);
        self.channel.shut_down();
    }

    /// Waits for a command, which is stopped when the client exits or the deployment is stopped; returns its exit code.
    pub(crate) fn wait(&self, interrupt: &Interrupt, process: Process) -> Result<u8, Failure> {
        let process = Arc::new(process);
        let end = || {
            let process = Arc::clone(&process);
            move || process.signal_group(Signal::SIGTERM)
        };
        let _guards = (self.gone.guard(end()), interrupt.guard(end()));
        let exit = process.wait();
        if interrupt.is_asked() || self.gone.is_asked() { Err(Failure::Interrupted) } else { Ok(exit.code()) }
    }
}

/// Runs a command in an instance; `terminal` is the kind of its terminal, if it has one.
pub(crate) fn exec(
    running: &RunningDeployment,
    instance: &str,
    argv: &[String],
    terminal: Option<&str>,
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    let found = running.find(instance)?;
    let stdio = streams.stdio().map_err(|e| Problem::internal("cannot forward the standard streams").because(e))?;
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let kind = terminal.map(|kind| ("TERM".to_owned(), kind.to_owned()));
    let process = found.exec(&argv, kind, stdio).map_err(|problems| not_run(problems, argv.first()))?;
    client.wait(&running.host.interrupt, process)
}

/// A program that does not exist, or cannot be executed, has the exit codes of a shell. The sandbox reports errors of the system as
/// texts.
fn not_run(problems: Problems, program: Option<&&str>) -> Failure {
    let text = problems.to_string();
    let ends_with = |error: &str| text.contains(&format!("(os error {error})"));
    let is_missing = ends_with("2");
    if !is_missing && !["8", "13"].into_iter().any(ends_with) {
        return problems.into();
    }
    let (text, code) = output::not_run(program.unwrap_or(&""), is_missing);
    Failure::Reported(text, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_has_the_exit_codes_of_a_shell() {
        let report = |text: &str| not_run(Problem::internal(text).into(), Some(&"nginx")).report();
        let missing = report("web/0: No such file or directory (os error 2)");
        assert_eq!(missing, ("error: nginx: command not found\n".to_owned(), 127));
        assert_eq!(report("web/0: cannot execute: Permission denied (os error 13)").1, 126);
        assert_eq!(report("web/0: Cannot allocate memory (os error 12)").1, 70);
    }
}
