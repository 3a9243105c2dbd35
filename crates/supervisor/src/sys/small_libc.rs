//! Parts of the C library that a static executable does without.
//!
//! A static glibc brings along what its own error messages could need: translations, and for those character sets in
//! shared objects, wide characters, `printf` and a loader of shared objects; and for threads the C library's resolver.
//! None of it is ever of use to a program in Rust that has none of these files, and together it is half a megabyte. What
//! is defined here is not taken from the library, nor is what only that needed. Should a C library have it elsewhere, the
//! linker says that it is defined twice.
//!
//! Only where it is asked for: an executable with Ruby needs all of it.

use std::ffi::{c_char, c_int, c_uint, c_void};

// SAFETY of all that follows: each has the name and the signature of a function of glibc (variadic arguments are passed as
// others are, and are not looked at), and does what callers of that function have to expect of it.

/// `gettext`: the message as it is.
#[unsafe(no_mangle)]
extern "C" fn __dcgettext(_domain: *const c_char, message: *const c_char, _category: c_int) -> *const c_char {
    message
}

/// The same under its public name.
#[unsafe(no_mangle)]
extern "C" fn dcgettext(domain: *const c_char, message: *const c_char, category: c_int) -> *const c_char {
    __dcgettext(domain, message, category)
}

/// A failed assertion of the library: ends the process, without a message.
#[unsafe(no_mangle)]
extern "C" fn __assert_fail(_: *const c_char, _: *const c_char, _: c_uint, _: *const c_char) -> ! {
    std::process::abort()
}

/// Where a thread's stack lies, for the message about its overflow: not known. It would read /proc/self/maps with `scanf`.
#[unsafe(no_mangle)]
extern "C" fn pthread_getattr_np(_thread: usize, _attributes: *mut c_void) -> c_int {
    nix::libc::ENOSYS
}

/// A thread's name for debuggers: none.
#[unsafe(no_mangle)]
extern "C" fn pthread_setname_np(_thread: usize, _name: *const c_char) -> c_int {
    0
}

/// Shared objects: there are none, so they have no symbols.
#[unsafe(no_mangle)]
extern "C" fn dlsym(_handle: *mut c_void, _name: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

/// Character sets in shared objects: there are none.
#[unsafe(no_mangle)]
extern "C" fn __gconv_find_shlib(_name: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

/// Nothing was found.
#[unsafe(no_mangle)]
extern "C" fn __gconv_release_shlib(_handle: *mut c_void) {}

/// Printing of the library itself, which only prints statistics of `malloc`: fails.
#[unsafe(no_mangle)]
extern "C" fn fprintf(_stream: *mut c_void, _format: *const c_char) -> c_int {
    -1
}

/// Of unknown error numbers, and of nothing else: the buffer, which is zeroed, stays empty.
#[unsafe(no_mangle)]
extern "C" fn __snprintf(_buffer: *mut c_char, _size: usize, _format: *const c_char) -> c_int {
    0
}

/// The same under its public name.
#[unsafe(no_mangle)]
extern "C" fn snprintf(buffer: *mut c_char, size: usize, format: *const c_char) -> c_int {
    __snprintf(buffer, size, format)
}

/// Of the configuration of character sets, which is not there: fails.
#[unsafe(no_mangle)]
extern "C" fn __asprintf(_text: *mut c_void, _format: *const c_char) -> c_int {
    -1
}

/// The same under its public name.
#[unsafe(no_mangle)]
extern "C" fn asprintf(text: *mut c_void, format: *const c_char) -> c_int {
    __asprintf(text, format)
}

/// The resolver: cannot be set up. `crates/resolver` looks up names.
#[unsafe(no_mangle)]
extern "C" fn __res_vinit(_state: *mut c_void, _preinit: c_int) -> c_int {
    -1
}

/// It never was.
#[unsafe(no_mangle)]
extern "C" fn __res_iclose(_state: *mut c_void, _free: bool) {}

/// It never was.
#[unsafe(no_mangle)]
extern "C" fn __res_thread_freeres() {}

/// The settings of the resolver.
#[unsafe(no_mangle)]
extern "C" fn _res_hconf_init() {}
