//! The loader reads documents as Psych does (`loader.rb` makes them and compares; it needs the `ruby` executable).

use std::path::Path;
use std::process::Command;

#[test]
fn random_documents_are_read_as_psych_reads_them() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("ruby")
        .arg("--disable-gems")
        .arg(here.join("tests/loader.rb"))
        .arg(here.join("ruby/loader.rb"))
        .args(["1", "8000"])
        .output()
        .expect("the ruby executable is the reference");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
