//! The VM as the rest of boson knows it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use problem::{Problem, Problems};
use value::Value;

use crate::forker::Forker;
use crate::interpreter::Interpreter;
use crate::marshal;

/// The VM, which runs on the main thread while its user runs on another: it starts while its user does something else,
/// and waits for the first request. It ends when the last clone is dropped.
#[derive(Clone)]
pub struct Vm(Sender<Job>);

/// What is done with the interpreter, on its thread.
type Job = Box<dyn FnOnce(&Interpreter) -> problem::Result<()> + Send>;

/// Enough for values that are nested as deeply as documents may be.
const STACK: usize = 64 << 20;

/// An exception that reached the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubyError {
    /// The exception's class.
    pub class: String,
    /// Its message; for a YAML syntax error only the parser's own message, never a part of the document.
    pub message: String,
    /// Line and column from 1, where the exception is a YAML syntax error.
    pub position: Option<(u32, u32)>,
}

impl RubyError {
    /// An internal problem: an operation that must not fail has failed. It shows the class alone, because the message may hold a
    /// value; and the message where the system or a missing library is the cause.
    pub fn internal(&self, doing: &str) -> Problem {
        let problem = Problem::internal(format!("the embedded Ruby failed to {doing}: {}", self.class));
        let is_shown = self.class.starts_with("Errno::") || self.class == "LoadError";
        if is_shown { problem.because(&self.message) } else { problem }
    }

    pub(crate) fn from_value(facts: &Value) -> RubyError {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |key: &str| facts.get(key).and_then(Value::as_int).and_then(|n| u32::try_from(n).ok());
        let position = number("line").map(|line| (line, number("column").unwrap_or(0)));
        RubyError { class: text("class"), message: text("message"), position }
    }

    fn broken(message: impl Into<String>) -> RubyError {
        RubyError { class: "Boson::Bridge".into(), message: message.into(), position: None }
    }
}

impl Vm {
    /// Starts the VM on this thread, which has to be the main one, and does `work` with it on another.
    ///
    /// # Errors
    /// Those of `work`; before them that the VM did not start, or could not run our own code.
    pub fn beside<T: Send>(work: impl FnOnce(&Vm) -> problem::Result<T> + Send) -> problem::Result<T> {
        let (jobs, received) = channel();
        thread::scope(|scope| {
            let user = thread::Builder::new().name("work".into()).stack_size(STACK);
            let user = user
                .spawn_scoped(scope, move || work(&Vm(jobs)))
                .map_err(|e| Problem::internal("cannot start a thread").because(e))?;
            let failed = serve(&received).err();
            drop(received);
            let outcome = user.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (outcome, failed) {
                (Err(_), Some(failed)) => Err(failed),
                (outcome, _) => outcome,
            }
        })
    }

    /// Does something on the interpreter's thread; `None` where the VM has failed.
    fn with<T: Send + 'static>(&self, work: impl FnOnce(&Interpreter) -> T + Send + 'static) -> Option<T> {
        let (answer, answered) = channel();
        self.0
            .send(Box::new(move |ruby| {
                // Who asked waits for it.
                let _ = answer.send(work(ruby));
                Ok(())
            }))
            .ok()?;
        answered.recv().ok()
    }

    /// As [`Vm::with`], without waiting: if it fails, all later requests fail too.
    fn later(&self, work: impl FnOnce(&Interpreter) -> problem::Result<()> + Send + 'static) {
        // If the interpreter has ended, the next call that waits reports it.
        let _ = self.0.send(Box::new(work));
    }

    /// Adds an archive that a build script made with `precompile`.
    pub fn add_archive(&self, archive: &'static [u8]) {
        self.later(move |ruby| ruby.add_archive(archive));
    }

    /// Runs one of boson's own sources: from an archive, or else from its text. `name` is what backtraces show.
    pub fn load_source(&self, name: &'static str, source: &'static str) {
        self.later(move |ruby| ruby.load_source(name, source));
    }

    /// Loads the parts of Psych that read.
    pub(crate) fn load_reader(&self) {
        self.later(Interpreter::load_reader);
    }

    /// Starts what forks processes from the VM as it is after the requests before this one; does not wait for it.
    ///
    /// # Errors
    /// A system that has no more sockets.
    pub fn forker(&self) -> problem::Result<Forker> {
        let (forker, served) =
            Forker::connect().map_err(|e| Problem::internal("cannot connect processes").because(e))?;
        let others = forker.socket();
        self.later(move |ruby| ruby.serve_forks(&served, others));
        Ok(forker)
    }

    /// Calls an operation that our Ruby code registered.
    ///
    /// # Errors
    /// The exception, if one was raised.
    pub fn call(&self, operation: &str, argument: Value) -> Result<Value, RubyError> {
        let request = request(operation, argument);
        let reply = self.with(move |ruby| ruby.call(&request)).unwrap_or_else(|| Err(GONE.into()));
        let reply = marshal::load(&reply.map_err(RubyError::broken)?).map_err(|e| RubyError::broken(e.0))?;
        match reply.as_array() {
            Some([Value::Bool(true), result]) => Ok(result.clone()),
            Some([_, facts]) => Err(RubyError::from_value(facts)),
            _ => Err(RubyError::broken("no reply")),
        }
    }
}

const GONE: &str = "it is not running";

fn request(operation: &str, argument: Value) -> Vec<u8> {
    marshal::dump(&Value::array([Value::str(operation), argument]))
}

/// Starts the interpreter and runs requests until all senders are dropped.
fn serve(jobs: &Receiver<Job>) -> Result<(), Problems> {
    let ruby = Interpreter::start()?;
    jobs.iter().try_for_each(|job| job(&ruby))
}
