//! What rutie lacks of Ruby's C interface.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_long};

use nix::libc;
use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::unistd::{Pid, getppid};
use rutie::types::Value;
use rutie::{AnyObject, Integer, Module, NilClass, Object, RString};

use crate::archive::{Table, find};
use crate::forker;

type Method = unsafe extern "C" fn(Value, Value) -> Value;

unsafe extern "C" {
    fn rb_str_new_static(bytes: *const c_char, length: c_long) -> Value;
    fn rb_define_singleton_method(object: Value, name: *const c_char, method: Method, arguments: c_int);
    fn rb_string_value_cstr(string: *const Value) -> *const c_char;
    fn rb_provide(feature: *const c_char);
}

/// Makes INT and TERM end this process while the VM starts, too. Ruby has handlers of its own for them, which it installs in place of
/// the default only, and with them a signal would become an exception of what starts; `entry.rb` sets the default again.
pub(crate) fn end_at_signals() {
    let own = SigAction::new(SigHandler::Handler(end), SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler calls what a handler may call.
        let before = unsafe { sigaction(signal, &own) };
        if let Ok(before) = before
            && !matches!(before.handler(), SigHandler::SigDfl)
        {
            // SAFETY: that handler was there before.
            let _ = unsafe { sigaction(signal, &before) };
        }
    }
}

extern "C" fn end(signal: c_int) {
    // SAFETY: both may be called in handlers. The signal is delivered when this returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// A String of bytes that are not copied, and so cost no memory before they are read. Only for boson's own code, which
/// does not change it.
pub(crate) fn constant(bytes: &'static [u8]) -> AnyObject {
    // SAFETY: the bytes live as long as the process. Only the VM's own thread comes here ([`crate::Vm`] is not `Send`).
    unsafe { rb_str_new_static(bytes.as_ptr().cast(), bytes.len() as c_long) }.into()
}

/// Gives `module` the methods
/// * `provide(path)`, which makes a file count as loaded. Adding to `$LOADED_FEATURES` does that too, but at the next
///   `require` Ruby then asks the disk about every file that is loaded;
/// * `end_with(pid)`, after which this process is killed when its parent ends; it is that parent's id;
/// * `adopt(nil)`, after which the descendants whose parents end are this process' children;
/// * `unset_variable(name)`, which removes a variable from the environment without Ruby noticing;
/// * `receive(socket)`, which waits for a message of a [`crate::Forker`]: its text and the numbers of its files, or `nil` at the end;
/// * `archived_source(name)` and `archived_file(path)`, the instruction sequences that archives have, and
///   `archived_feature(name)`, the files of a library, separated by NUL; `nil` where they have none.
pub(crate) fn define_methods(module: &Module) {
    let methods = [
        (c"provide", provide as Method),
        (c"end_with", end_with),
        (c"adopt", adopt),
        (c"unset_variable", unset_variable),
        (c"receive", receive),
        (c"archived_source", archived_source),
        (c"archived_file", archived_file),
        (c"archived_feature", archived_feature),
    ];
    for (name, method) in methods {
        // SAFETY: the method takes one argument. Only the VM's own thread comes here.
        unsafe { rb_define_singleton_method(module.value(), name.as_ptr(), method, 1) }
    }
}

unsafe extern "C" fn end_with(_module: Value, parent: Value) -> Value {
    let known = Integer::from(parent).to_i32();
    // A parent that ended before this would never be missed.
    if set_pdeathsig(Signal::SIGKILL).is_ok() && getppid().as_raw() != known {
        let _ = kill(Pid::this(), Signal::SIGKILL);
    }
    parent
}

unsafe extern "C" fn adopt(_module: Value, nothing: Value) -> Value {
    // A kernel that cannot leaves them to the first process of the machine.
    let _ = set_child_subreaper(true);
    nothing
}

unsafe extern "C" fn unset_variable(_module: Value, name: Value) -> Value {
    // SAFETY: Ruby calls this with a live value, in a process that has forked and has one thread, so nothing else uses the
    // environment.
    unsafe { nix::libc::unsetenv(c_string(&name).as_ptr()) };
    name
}

unsafe extern "C" fn receive(_module: Value, socket: Value) -> Value {
    let message = forker::receive(Integer::from(socket).to_i32());
    message.map_or_else(|| NilClass::new().value(), |text| RString::new_utf8(&text).value())
}

unsafe extern "C" fn archived_source(_module: Value, name: Value) -> Value {
    // SAFETY: Ruby calls this with a live value.
    unsafe { archived(Table::Sources, &name) }
}

unsafe extern "C" fn archived_file(_module: Value, path: Value) -> Value {
    // SAFETY: as above.
    unsafe { archived(Table::Files, &path) }
}

unsafe extern "C" fn archived_feature(_module: Value, name: Value) -> Value {
    // SAFETY: as above.
    unsafe { archived(Table::Features, &name) }
}

/// # Safety
/// `name` is a live value of Ruby's. Where it is not a String this raises: nothing that has to be dropped may live here or in
/// what calls this.
unsafe fn archived(table: Table, name: &Value) -> Value {
    // SAFETY: the caller's promise.
    let name = unsafe { c_string(name) };
    find(table, name.to_bytes()).map_or_else(|| NilClass::new().value(), |found| constant(found).value())
}

/// The bytes of a String, valid until Ruby runs again; raises where it is not a String or has a NUL inside.
///
/// # Safety
/// `string` is a live value of Ruby's.
unsafe fn c_string(string: &Value) -> &CStr {
    // SAFETY: the conversion gives a C string, or does not return.
    unsafe { CStr::from_ptr(rb_string_value_cstr(&raw const *string)) }
}

unsafe extern "C" fn provide(_module: Value, path: Value) -> Value {
    // SAFETY: Ruby calls this with a live value.
    let bytes = unsafe { c_string(&path) };
    // Ruby keeps the address, not a copy, for as long as it lives: the String itself may be collected.
    let kept = Box::leak(CString::from(bytes).into_boxed_c_str());
    // SAFETY: the bytes live as long as the process. Ruby calls this on its own thread.
    unsafe { rb_provide(kept.as_ptr()) };
    path
}
