//! For build scripts: Ruby sources and libraries compiled ahead to instruction sequences.
//!
//! Parsing Ruby is half of what loading a library costs. The archive holds what the Ruby that is linked makes of the
//! sources; a VM of any other version takes the sources themselves.

#![allow(clippy::print_stdout, reason = "a build script speaks to cargo so")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the directory of Ruby's library, where all of it is to be in the executable, together with a
/// static Ruby (`$RUBY`, `$RUBY_STATIC`, `$RUBY_STATIC_PATH`): `images/build` sets them.
pub const LIBRARY: &str = "BOSON_RUBY_LIBRARY";

/// Compiles sources, given as name and path, and library features with all they load, into `$OUT_DIR/archive.bin`.
/// Each source is also tracked for rebuilds.
///
/// # Panics
/// Where there is no `ruby` (or `$RUBY`) that can do it: a build without it cannot link either.
pub fn archive(sources: &[(&str, &str)], features: &[&str]) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("archive.bin");
    let ruby = std::env::var_os("RUBY").unwrap_or_else(|| "ruby".into());
    println!("cargo::rerun-if-env-changed=RUBY");
    println!("cargo::rerun-if-env-changed={LIBRARY}");
    println!("cargo::rerun-if-changed=build.rs");
    let mut command = Command::new(&ruby);
    // Ruby writes some numbers (ids of syntax nodes that it made up) from memory that it has not set: so that the same source
    // makes the same bytes, glibc sets it.
    command.env("GLIBC_TUNABLES", "glibc.malloc.perturb=85");
    command.args(["--disable-gems", "-e", include_str!("../ruby/archive.rb")]).arg("--").arg(&out);
    for (name, path) in sources {
        assert!(Path::new(path).is_file(), "there is no {path}");
        println!("cargo::rerun-if-changed={path}");
        command.arg(format!("{name}={path}"));
    }
    command.arg("--features").args(features);
    let status = command.status();
    assert!(status.is_ok_and(|s| s.success()), "{} cannot compile the Ruby sources", ruby.display());
}
