//! Names on the command line.

use std::path::Path;

/// A value parser for the names of jobs and processes: they name files and directories, so they must not lead elsewhere.
pub fn plain_name(name: &str) -> Result<String, String> {
    if Path::new(name).file_name().is_some_and(|last| last == name) && !name.contains('\0') {
        return Ok(name.to_owned());
    }
    Err("must be the name of a job or process, not a path".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_not_a_name() {
        for name in ["", ".", "..", "a/b", "/", "a/", "/a", "a\0"] {
            assert!(plain_name(name).is_err(), "{name:?}");
        }
        assert!(plain_name("cloud_controller_ng").is_ok() && plain_name("a.b").is_ok());
    }
}
