//! The C code in the executable other than Ruby's own, where Ruby is linked into it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

unsafe extern "C" {
    /// An array of characters, of which only the address is taken.
    static ruby_version: c_char;
}

/// What reads YAML before Ruby is asked.
const YAML_IN_RUST: &str = "libyaml 0.2.5 in Rust (unsafe-libyaml) reads manifests and job specs";

/// What of Ruby and its libraries is in the executable, or that they are the machine's, in lines for people.
pub fn linked() -> String {
    // SAFETY: Ruby defines it as a C string that never changes.
    let version = unsafe { CStr::from_ptr(&raw const ruby_version) }.to_string_lossy();
    format!("Ruby {version}, {}\n{YAML_IN_RUST}", libraries())
}

#[cfg(not(static_ruby))]
fn libraries() -> String {
    "with its library, OpenSSL and libyaml: this machine's".to_owned()
}

#[cfg(static_ruby)]
fn libraries() -> String {
    let [openssl, libyaml, zlib, libc] = inside::versions();
    format!("with its library, OpenSSL {openssl}, libyaml {libyaml}, zlib {zlib} and glibc {libc}: in this executable")
}

/// Keeps the C libraries that are in the executable from what a machine has for its own: OpenSSL's configuration, and the
/// modules with which the machine's C library looks users and hosts up, which fit that C library only. To be called before
/// anything else is done; does nothing where the libraries are the machine's.
pub fn keep_to_itself() {
    #[cfg(static_ruby)]
    inside::keep_to_itself();
}

/// The libraries that a static executable has inside.
#[cfg(static_ruby)]
mod inside {
    use std::ffi::{CStr, c_char, c_int, c_long, c_void};
    use std::ptr;

    use rutie::types::Value;

    unsafe extern "C" {
        static rb_mKernel: Value;
        fn rb_intern2(name: *const c_char, length: c_long) -> usize;
        fn rb_str_new_cstr(text: *const c_char) -> Value;
        fn rb_funcallv(receiver: Value, method: usize, count: c_int, arguments: *const Value) -> Value;
        fn OPENSSL_init_crypto(options: u64, settings: *const c_void) -> c_int;
        fn OpenSSL_version(what: c_int) -> *const c_char;
        fn yaml_get_version_string() -> *const c_char;
        fn zlibVersion() -> *const c_char;
        fn gnu_get_libc_version() -> *const c_char;
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }

    /// OpenSSL's own name for its bare version.
    const OPENSSL_VERSION_STRING: c_int = 6;
    /// OpenSSL's own name for not reading a configuration file.
    const OPENSSL_INIT_NO_LOAD_CONFIG: u64 = 0x80;

    pub(super) fn versions() -> [String; 4] {
        // SAFETY: each gives a C string that never changes.
        let texts = unsafe {
            [OpenSSL_version(OPENSSL_VERSION_STRING), yaml_get_version_string(), zlibVersion(), gnu_get_libc_version()]
                .map(|text| CStr::from_ptr(text))
        };
        texts.map(|text| text.to_string_lossy().into_owned())
    }

    pub(super) fn keep_to_itself() {
        // SAFETY: both may be called at any time; the strings are copied.
        unsafe {
            OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, ptr::null());
            for database in [c"passwd", c"group", c"services", c"protocols"] {
                __nss_configure_lookup(database.as_ptr(), c"files".as_ptr());
            }
            __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr());
        }
    }

    /// `rb_require` as C code gets it, by the linker's `--wrap`: Ruby's own would look for files, and does not know of what
    /// replaces `require` where the library is in the executable.
    #[unsafe(no_mangle)]
    extern "C" fn __wrap_rb_require(name: *const c_char) -> Value {
        // SAFETY: Ruby calls this on its own thread with a C string. What the call raises passes through this frame, which
        // has nothing to clean up.
        unsafe {
            let name = rb_str_new_cstr(name);
            rb_funcallv(rb_mKernel, rb_intern2(c"require".as_ptr(), 7), 1, &raw const name)
        }
    }
}
