//! Compiles the entry and the libraries that templates use ahead of time.

#![allow(clippy::print_stdout, reason = "a build script speaks to cargo so")]

fn main() {
    println!("cargo::rustc-check-cfg=cfg(static_ruby)");
    if std::env::var_os(precompile::LIBRARY).is_some() {
        println!("cargo::rustc-cfg=static_ruby");
    }
    precompile::archive(
        &[("entry", "ruby/entry.rb"), ("yaml", "ruby/yaml.rb"), ("loader", "ruby/loader.rb")],
        &[
            "psych",
            "ostruct",
            "json",
            "date",
            "erb",
            "cgi",
            "strscan",
            "forwardable",
            "ipaddr",
            "uri",
            "base64",
            "digest",
            "digest/sha2",
            "shellwords",
            "set",
            "openssl",
            "time",
            "securerandom",
            "delegate",
            "tempfile",
            "tmpdir",
            "fileutils",
            "stringio",
            "pathname",
            "timeout",
            "logger",
            "open3",
            "zlib",
            "net/http",
            "etc",
            "yaml",
        ],
    );
}
