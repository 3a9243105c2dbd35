//! `require` where Ruby's library is in the executable, as it is in those that ship: tried with a small library and the
//! machine's Ruby.

use std::path::Path;
use std::process::Command;

#[test]
fn what_is_in_the_executable_is_required_from_there() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let work = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::var_os("RUBY").unwrap_or_else(|| "ruby".into()))
        .arg("--disable-gems")
        .arg(here.join("tests/embedded.rb"))
        .arg(here.join("ruby/entry.rb"))
        .arg(here.join("../precompile/ruby/archive.rb"))
        .arg(work.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("all is well"), "{said}");
}
