//! Regular expressions as monit has them: the C library's, POSIX extended.

use std::ffi::{CStr, CString};
use std::fmt;
use std::ptr;

use nix::libc;

/// An extended regular expression of POSIX.
pub struct Regex(Box<libc::regex_t>);

impl Regex {
    /// Reads an expression.
    ///
    /// # Errors
    /// The C library's message about an invalid expression, which does not quote it.
    pub fn new(text: &str) -> Result<Regex, String> {
        let text = CString::new(text).map_err(|_| "it contains a NUL byte".to_owned())?;
        // SAFETY: a `regex_t` is a C structure of numbers and pointers, for which zeros are valid; `regcomp` fills it in. It stays
        // at its place in the heap, where the pointers in it remain valid.
        let mut compiled: Box<libc::regex_t> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: both pointers are valid during the call, and the text ends with a NUL.
        let code = unsafe { libc::regcomp(&mut *compiled, text.as_ptr(), libc::REG_EXTENDED | libc::REG_NOSUB) };
        if code == 0 {
            return Ok(Regex(compiled));
        }
        let mut message = [0u8; 256];
        // SAFETY: the buffer has the length that is passed, and `compiled` was passed to `regcomp` before, as `regerror` wants it.
        unsafe { libc::regerror(code, &*compiled, message.as_mut_ptr().cast(), message.len()) };
        let message = CStr::from_bytes_until_nul(&message).unwrap_or_default();
        Err(message.to_string_lossy().into_owned())
    }

    /// Whether some part of the text matches. A text with a NUL byte does not.
    pub fn is_match(&self, text: &[u8]) -> bool {
        let Ok(text) = CString::new(text) else { return false };
        // SAFETY: the expression was compiled, the text ends with a NUL, and no matches are asked for, so that none are written.
        unsafe { libc::regexec(&*self.0, text.as_ptr(), 0, ptr::null_mut(), 0) == 0 }
    }
}

impl Drop for Regex {
    fn drop(&mut self) {
        // SAFETY: it was compiled, and is not used any more.
        unsafe { libc::regfree(&mut *self.0) };
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Regex")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_posix_extended_ones() {
        for (pattern, text, matches) in [
            ("bin/web", "/var/vcap/packages/web/bin/web -p 80", true),
            ("^bin/web", "/bin/web", false),
            ("w[[:alpha:]]+b? -(p|q)$", "wxyz -q", true),
            ("a{2}", "aXa", false),
            ("a{2}", "baab", true),
            ("x", "", false),
        ] {
            assert_eq!(Regex::new(pattern).unwrap().is_match(text.as_bytes()), matches, "{pattern} {text}");
        }
        assert!(!Regex::new("a").unwrap().is_match(b"a\0"));
        assert!(Regex::new("a(").unwrap_err().contains('('));
        Regex::new("a\0").unwrap_err();
    }
}
