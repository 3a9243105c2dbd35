//! Strings of constant bytes.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_long};

use rutie::AnyObject;
use rutie::types::Value;

unsafe extern "C" {
    fn rb_str_new_static(bytes: *const c_char, length: c_long) -> Value;
}

/// A String of bytes that are not copied, and so cost no memory before they are looked at. Only for code of ours, which
/// does not change it.
pub(crate) fn constant(bytes: &'static [u8]) -> AnyObject {
    // SAFETY: the bytes live as long as the process. Only the VM's own thread comes here ([`crate::Vm`] is not `Send`).
    unsafe { rb_str_new_static(bytes.as_ptr().cast(), bytes.len() as c_long) }.into()
}
