//! A verb that waits for a command which uses its standard streams.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use nix::sys::signal::Signal;
use problem::Problem;
use sandbox::{Channel, Process, Stdio};

use super::Engine;
use super::failure::Failure;
use crate::control::Reply;
use crate::interrupt::Interrupt;

/// As many bytes as fit into a message, however they are written there.
const PART: usize = 8 * 1024;

/// The standard streams that came with a question.
#[derive(Debug)]
pub(super) struct Streams([OwnedFd; 3]);

impl Streams {
    pub(super) fn new(fds: Vec<OwnedFd>) -> io::Result<Streams> {
        Ok(Streams(
            <[OwnedFd; 3]>::try_from(fds).map_err(|_| io::Error::other("three standard streams must come along"))?,
        ))
    }

    /// For one command; there may be several in turn.
    pub(super) fn stdio(&self) -> io::Result<Stdio> {
        let [input, output, error] = &self.0;
        Ok(Stdio { input: input.try_clone()?, output: output.try_clone()?, error: error.try_clone()? })
    }
}

/// The other end; when it goes, what runs for it is interrupted.
#[derive(Debug)]
pub(super) struct Client {
    channel: Channel,
    gone: Interrupt,
}

impl Client {
    pub(super) fn new(channel: Channel) -> io::Result<Client> {
        let gone = Interrupt::default();
        let (reader, to_tell) = (channel.try_clone()?, gone.clone());
        std::thread::Builder::new().name("client".to_owned()).spawn(move || {
            // It asks nothing more; what comes is its end.
            while let Ok(Some(_)) = reader.receive::<serde_json::Value>() {}
            to_tell.trigger();
        })?;
        Ok(Client { channel, gone })
    }

    pub(super) fn line(&self, text: &str) {
        // A client that has gone is noticed elsewhere.
        let _ = self.channel.send(&Reply::Line(text.to_owned()), &[]);
    }

    /// The last word. Messages have a largest size, what many instances complain about has none.
    pub(super) fn end(self, reply: Reply) {
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

    /// Waits for a command, which is ended when the client goes or the deployment is stopped; gives its exit code.
    pub(super) fn wait(&self, engine: &Engine, process: Process) -> Result<u8, Failure> {
        let process = Arc::new(process);
        let end = || {
            let process = Arc::clone(&process);
            move || process.signal_group(Signal::SIGTERM)
        };
        let _guards = (self.gone.guard(end()), engine.interrupt.guard(end()));
        let exit = process.wait();
        if engine.interrupt.is_asked() || self.gone.is_asked() { Err(Failure::Interrupted) } else { Ok(exit.code()) }
    }
}

/// Runs a command in an instance.
pub(super) fn exec(
    engine: &Engine,
    instance: &str,
    argv: &[String],
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    let pod = engine.pods().get(instance).cloned();
    let Some(pod) = pod else {
        let names: Vec<String> = engine.pods().keys().cloned().collect();
        let problem = Problem::input(format!("there is no instance {instance}"));
        return Err(problem.hint(format!("there are: {}", names.join(", "))).into());
    };
    let stdio = streams.stdio().map_err(|e| Problem::internal("cannot pass the standard streams on").because(e))?;
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let process = pod.run(&argv, stdio)?;
    client.wait(engine, process)
}
