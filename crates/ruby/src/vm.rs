//! The VM and its one entry.

use std::cell::Cell;
use std::io::PipeReader;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use deployment::Value;
use problem::Problem;
use rutie::{AnyObject, Encoding, Exception, Integer, Module, Object, RString, VM};

use crate::c::{constant, define_provide};
use crate::marshal;

static STARTED: AtomicBool = AtomicBool::new(false);

/// The running VM. It belongs to the thread that started it (it is neither `Send` nor `Sync`).
pub struct Vm {
    /// Whether the parts of Psych that read are loaded.
    reads: Cell<bool>,
    _not_send: PhantomData<*const ()>,
}

/// A process that runs an operation.
#[derive(Debug)]
pub struct Forked {
    /// Its id.
    pub pid: i32,
    /// What it writes.
    pub output: PipeReader,
}

/// An exception that reached the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubyError {
    /// The exception's class.
    pub class: String,
    /// Its message; for a YAML syntax error only the parser's own words, never a piece of the document.
    pub message: String,
    /// Line and column from 1, where the exception is a YAML syntax error.
    pub position: Option<(u32, u32)>,
}

impl RubyError {
    /// A problem of ours: an operation that must not fail has failed. Says the class only, the message may hold a value;
    /// but not where the system, or a library that is not there, is what failed.
    pub fn internal(&self, doing: &str) -> Problem {
        let problem = Problem::internal(format!("the embedded Ruby failed to {doing}: {}", self.class));
        let told = self.class.starts_with("Errno::") || self.class == "LoadError";
        if told { problem.because(&self.message) } else { problem }
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
    /// Starts the VM and loads the entry; the first call of the process, on the main thread.
    ///
    /// # Errors
    /// A second start, or a Ruby that cannot run our own code.
    pub fn start() -> problem::Result<Vm> {
        if STARTED.swap(true, Ordering::SeqCst) {
            return Err(Problem::internal("the embedded Ruby is started once per process").into());
        }
        VM::init();
        VM::init_loadpath();
        let vm = Vm { reads: Cell::new(false), _not_send: PhantomData };
        vm.evaluate("entry", include_str!("../ruby/entry.rb"))?;
        define_provide(&Module::from_existing("Boson"));
        vm.add_archive(include_bytes!(concat!(env!("OUT_DIR"), "/archive.bin")))?;
        vm.load_source("yaml", include_str!("../ruby/yaml.rb"))?;
        Ok(vm)
    }

    /// Adds an archive that a build script made with `precompile`.
    pub fn add_archive(&self, archive: &'static [u8]) -> problem::Result<()> {
        self.boson("add_archive", &[constant(archive)])
    }

    /// Runs a source of ours: from an archive, or else from its text. `name` is what backtraces show.
    pub fn load_source(&self, name: &str, source: &str) -> problem::Result<()> {
        self.boson("source", &[RString::new_utf8(name).to_any_object(), RString::new_utf8(source).to_any_object()])
    }

    /// Loads the parts of Psych that read.
    pub(crate) fn load_reader(&self) -> problem::Result<()> {
        if !self.reads.replace(true) {
            self.load_source("loader", include_str!("../ruby/loader.rb"))?;
        }
        Ok(())
    }

    fn boson(&self, method: &str, arguments: &[AnyObject]) -> problem::Result<()> {
        Module::from_existing("Boson")
            .protect_send(method, arguments)
            .map(|_| ())
            .map_err(|e| Problem::internal(format!("the embedded Ruby cannot start: {}", e.message())).into())
    }

    /// Evaluates Ruby code of ours; `name` is what backtraces show.
    fn evaluate(&self, name: &str, source: &str) -> problem::Result<()> {
        let kernel = Module::from_existing("Kernel");
        let arguments: [AnyObject; 3] = [
            RString::new_utf8(source).to_any_object(),
            Module::from_existing("TOPLEVEL_BINDING").to_any_object(),
            RString::new_utf8(&format!("<boson>/{name}.rb")).to_any_object(),
        ];
        kernel
            .protect_send("eval", &arguments)
            .map(|_| ())
            .map_err(|e| Problem::internal(format!("cannot load {name}.rb: {}", e.message())).into())
    }

    /// Runs an operation in a process forked from this one. It is the caller's: to be read from, and to be waited for.
    ///
    /// # Errors
    /// A system that has no more processes or pipes.
    pub fn fork(&self, operation: &str, argument: Value) -> problem::Result<Forked> {
        let (output, input) = std::io::pipe().map_err(|e| Problem::internal("cannot make a pipe").because(e))?;
        let request = marshal::dump(&Value::array([Value::str(operation), argument]));
        let fd = |fd: i32| Integer::new(fd.into()).to_any_object();
        let arguments = [
            RString::from_bytes(&request, &Encoding::ascii_8bit()).to_any_object(),
            fd(output.as_raw_fd()),
            fd(input.as_raw_fd()),
        ];
        let failed = |why: &str| Problem::internal("the embedded Ruby cannot start a process").because(why);
        let pid = Module::from_existing("Boson")
            .protect_send("fork", &arguments)
            .map_err(|e| failed(&e.message()))?
            .try_convert_to::<Integer>()
            .map_err(|e| failed(&e.message()))?;
        Ok(Forked { pid: pid.to_i32(), output })
    }

    /// Calls an operation that our Ruby code registered.
    ///
    /// # Errors
    /// The exception, if one was raised.
    pub fn call(&self, operation: &str, argument: Value) -> Result<Value, RubyError> {
        let request = marshal::dump(&Value::array([Value::str(operation), argument]));
        let request = RString::from_bytes(&request, &Encoding::ascii_8bit()).to_any_object();
        let reply = Module::from_existing("Boson")
            .protect_send("call", &[request])
            .map_err(|e| RubyError::broken(e.message()))?
            .try_convert_to::<RString>()
            .map_err(|e| RubyError::broken(e.message()))?
            .to_vec_u8_unchecked();
        let reply = marshal::load(&reply).map_err(|e| RubyError::broken(e.0))?;
        match reply.as_array() {
            Some([Value::Bool(true), result]) => Ok(result.clone()),
            Some([_, facts]) => Err(RubyError::from_value(facts)),
            _ => Err(RubyError::broken("no reply")),
        }
    }
}
