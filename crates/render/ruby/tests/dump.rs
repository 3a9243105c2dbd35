//! Documents are written as Psych writes them, and what Psych cannot write can be read back.

use std::path::Path;
use std::process::Command;

#[test]
fn values_are_dumped_as_psych_dumps_them() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(std::env::var_os("RUBY").unwrap_or_else(|| "ruby".into()))
        .args(["--disable-gems", "-W0"])
        .arg(here.join("tests/dump.rb"))
        .arg(here.join("ruby/yaml.rb"))
        .args(["11", "10000"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
