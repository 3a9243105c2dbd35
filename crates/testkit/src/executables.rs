//! The executables under test.

use std::path::Path;

/// Names a directory whose executables are tested, instead of those that cargo builds.
pub const EXECUTABLES: &str = "BOSON_E2E_BIN";

/// Path of the executable of this name: that which cargo has built, unless [`EXECUTABLES`] names another directory. For
/// [`crate::executable`].
pub fn choose(name: &str, built: &str) -> String {
    match std::env::var_os(EXECUTABLES) {
        Some(directory) => Path::new(&directory).join(name).to_string_lossy().into_owned(),
        None => built.to_owned(),
    }
}

/// Path of an executable of the package whose tests these are.
#[macro_export]
macro_rules! executable {
    ($name:literal) => {
        $crate::executables::choose($name, env!(concat!("CARGO_BIN_EXE_", $name)))
    };
}
