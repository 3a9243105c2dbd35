//! The exec of a program, exactly as the kernel does it.
//!
//! The C library's `execvp` gives a file that the kernel refuses (no ELF header, no `#!`) to `/bin/sh`. BPM (runc), BOSH's agent
//! and monit call `execve`, which has no such fallback.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::libc::{self, c_char};

/// Arguments of `execve`, laid out before the fork so that the child allocates nothing.
#[derive(Debug)]
pub(super) struct Exec {
    /// The paths to be tried, in this order.
    candidates: Vec<CString>,
    arguments: Strings,
    environment: Strings,
}

impl Exec {
    /// # Errors
    /// A NUL byte in the program's name, an argument or a variable.
    pub(super) fn new(program: &OsStr, args: &[OsString], env: &[(OsString, OsString)]) -> io::Result<Exec> {
        let arguments = [program].into_iter().chain(args.iter().map(OsString::as_os_str));
        let arguments = arguments.map(|text| text.as_bytes().to_vec());
        let environment = env.iter().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
        Ok(Exec {
            candidates: candidates(program, env).into_iter().map(CString::new).collect::<Result<_, _>>()?,
            arguments: Strings::new(arguments)?,
            environment: Strings::new(environment)?,
        })
    }

    /// Becomes the program; returns only if that fails. To be called between fork and exec: it neither allocates nor locks.
    pub(super) fn exec(&self) -> Errno {
        let mut worst = Errno::ENOENT;
        for path in &self.candidates {
            // SAFETY: the path and the strings of both arrays are NUL-terminated and owned by `self`, as are the arrays,
            // which end with a null pointer.
            unsafe { libc::execve(path.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr()) };
            match Errno::last() {
                Errno::ENOENT | Errno::ENOTDIR => {}
                // As a shell does: a later directory of PATH may have one that can be executed.
                Errno::EACCES => worst = Errno::EACCES,
                other => return other,
            }
        }
        worst
    }
}

/// The program's path; a name without a slash is searched for in `PATH` of its own environment.
fn candidates(program: &OsStr, env: &[(OsString, OsString)]) -> Vec<Vec<u8>> {
    let program = program.as_bytes();
    if program.contains(&b'/') || program.is_empty() {
        return vec![program.to_vec()];
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let path = path.map_or_else(|| b"/bin:/usr/bin".to_vec(), OsStringExt::into_vec);
    let join = |dir: &[u8]| if dir.is_empty() { program.to_vec() } else { [dir, b"/", program].concat() };
    path.split(|byte| *byte == b':').map(join).collect()
}

/// Strings and the array of their addresses, with a null at its end.
#[derive(Debug)]
struct Strings {
    _owned: Vec<CString>,
    /// Addresses, as numbers: pointers would keep the value from being moved into the child's closure.
    addresses: Vec<usize>,
}

impl Strings {
    fn new(strings: impl Iterator<Item = Vec<u8>>) -> io::Result<Strings> {
        let owned = strings.map(CString::new).collect::<Result<Vec<_>, _>>()?;
        // The bytes of a CString stay where they are when the vector around it is moved.
        let addresses = owned.iter().map(|text| text.as_ptr().expose_provenance()).chain([0]).collect();
        Ok(Strings { _owned: owned, addresses })
    }

    fn as_ptr(&self) -> *const *const c_char {
        self.addresses.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_name_is_searched_for_in_path_and_a_path_is_not() {
        let text = |program: &str, path: &[&str]| -> Vec<String> {
            let env: Vec<_> = path.iter().map(|path| ("PATH".into(), path.into())).collect();
            let found = candidates(program.as_ref(), &env);
            found.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
        };
        assert_eq!(text("tool", &["/a:/b"]), ["/a/tool", "/b/tool"]);
        assert_eq!(text("tool", &["/a::."]), ["/a/tool", "tool", "./tool"]);
        assert_eq!(text("tool", &[]), ["/bin/tool", "/usr/bin/tool"]);
        assert_eq!(text("./tool", &["/a"]), ["./tool"]);
        assert!(Exec::new("a\0b".as_ref(), &[], &[]).is_err());
    }
}
