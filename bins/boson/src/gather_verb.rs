//! `boson gather`.

use problem::Result;
use startup::Common;

pub(crate) use gather::{ABOUT, PrintOptions as Options};

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    gather::run(&options)
}
