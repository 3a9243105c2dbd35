//! The loader gives what Psych gives, document for document: values, shared objects, errors.

use std::path::Path;
use std::process::Command;

#[test]
fn documents_load_as_psych_loads_them() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(std::env::var_os("RUBY").unwrap_or_else(|| "ruby".into()))
        .args(["--disable-gems", "-W0"])
        .arg(here.join("tests/loader.rb"))
        .arg(here.join("ruby/loader.rb"))
        .args(["7", "10000"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
