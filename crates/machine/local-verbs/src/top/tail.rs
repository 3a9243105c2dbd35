//! The end of a job's log, followed by a process of `boson logs`: it knows how to read the files of other users.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use local_deployment::DIES_WITH_PARENT;
use local_state::StateDir;

use super::Event;
use super::model::Subject;

/// Lines of each file that are shown first.
const FIRST: &str = "200";

/// A log that is being followed.
#[derive(Debug)]
pub(super) struct Tail {
    child: Child,
    /// Tells its lines from those of a tail before.
    pub(super) number: u64,
}

impl Tail {
    /// Follows the log of a job, or of all jobs of an instance; each line is sent with `number`.
    pub(super) fn start(dir: &StateDir, subject: &Subject, number: u64, events: Sender<Event>) -> io::Result<Tail> {
        let mut arguments: Vec<OsString> =
            ["logs", subject.instance.as_str(), "--follow", "--num", FIRST].map(OsString::from).to_vec();
        arguments.push("--state-dir".into());
        arguments.push(dir.path().into());
        if let Some(job) = &subject.job {
            arguments.extend(["--job".into(), job.into()]);
        }
        let mut command = Command::new(std::env::current_exe()?);
        // The variable would name a deployment, which the directory names already.
        command
            .args(arguments)
            .env_remove("BOSH_DEPLOYMENT")
            .env(DIES_WITH_PARENT, "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        for stream in [child.stdout.take().map(reader), child.stderr.take().map(reader)].into_iter().flatten() {
            let events = events.clone();
            std::thread::spawn(move || {
                for line in stream.lines().map_while(Result::ok) {
                    if events.send(Event::LogLine(number, line)).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Tail { child, number })
    }
}

fn reader(stream: impl io::Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::new(stream))
}

impl Drop for Tail {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
