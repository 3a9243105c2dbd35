//! The interpreter itself, on the thread that started it.

use std::cell::Cell;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use problem::Problem;
use rutie::{AnyException, AnyObject, Class, Encoding, Exception, Integer, Module, Object, RString, VM};

use crate::archive;
use crate::archive::{Archive, Table};
use crate::c::{constant, define_methods, end_at_signals};

static STARTED: AtomicBool = AtomicBool::new(false);

/// The running interpreter. It belongs to the thread that started it (it is neither `Send` nor `Sync`).
pub(crate) struct Interpreter {
    /// Whether the parts of Psych that read are loaded.
    reads: Cell<bool>,
    _not_send: PhantomData<*const ()>,
}

fn bytes(bytes: &[u8]) -> AnyObject {
    RString::from_bytes(bytes, &Encoding::ascii_8bit()).to_any_object()
}

fn text(text: &str) -> AnyObject {
    RString::new_utf8(text).to_any_object()
}

impl Interpreter {
    /// Starts Ruby and loads the entry; once per process, on the main thread.
    pub(crate) fn start() -> problem::Result<Interpreter> {
        if STARTED.swap(true, Ordering::SeqCst) {
            return Err(Problem::internal("the embedded Ruby is started once per process").into());
        }
        crate::keep_to_itself();
        end_at_signals();
        VM::init();
        VM::init_loadpath();
        let ruby = Interpreter { reads: Cell::new(false), _not_send: PhantomData };
        define_methods(&Module::new("Boson"));
        ruby.add_archive(crate::archive!())?;
        ruby.load_entry().map_err(|e| Problem::internal("the embedded Ruby cannot start").because(e.message()))?;
        if archive::has_library() {
            ruby.boson("install_library", &[])?;
        }
        ruby.load_source("yaml", include_str!("../ruby/yaml.rb"))?;
        Ok(ruby)
    }

    /// Adds an archive; one that another Ruby made is of no use.
    pub(crate) fn add_archive(&self, archive: &'static [u8]) -> problem::Result<()> {
        let archive = Archive::new(archive);
        let description = RString::from(Module::from_existing("RUBY_DESCRIPTION").value());
        if description.to_bytes_unchecked() == archive.ruby() {
            archive.add();
        }
        Ok(())
    }

    pub(crate) fn load_source(&self, name: &str, source: &str) -> problem::Result<()> {
        self.boson("source", &[text(name), text(source)])
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

    /// Loads what loads everything else.
    fn load_entry(&self) -> Result<AnyObject, AnyException> {
        // Most of what runs here ends before collecting would pay.
        Module::from_existing("GC").protect_send("disable", &[])?;
        if let Some(sequence) = archive::find(Table::Sources, b"entry") {
            let class = Class::from_existing("RubyVM").get_nested_class("InstructionSequence");
            return class.protect_send("load_from_binary", &[constant(sequence)])?.protect_send("eval", &[]);
        }
        let binding = Module::from_existing("TOPLEVEL_BINDING").to_any_object();
        let source = include_str!("../ruby/entry.rb");
        Module::from_existing("Kernel").protect_send("eval", &[text(source), binding, text("<boson>/entry.rb")])
    }

    /// Gives a request to the entry, and its reply.
    pub(crate) fn call(&self, request: &[u8]) -> Result<Vec<u8>, String> {
        let reply = Module::from_existing("Boson").protect_send("call", &[bytes(request)]);
        let reply = reply.map_err(|e| e.message())?.try_convert_to::<RString>().map_err(|e| e.message())?;
        Ok(reply.to_vec_u8_unchecked())
    }

    /// Forks the process that serves a [`crate::Forker`].
    pub(crate) fn serve_forks(&self, socket: &OwnedFd, others: i32) -> problem::Result<()> {
        let fd = |fd: i32| Integer::new(fd.into()).to_any_object();
        self.boson("serve_forks", &[fd(socket.as_raw_fd()), fd(others)])
    }
}
