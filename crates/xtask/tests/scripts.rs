//! The scripts below `.ci`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

#[test]
fn what_a_background_job_starts_can_be_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    let group = xtask::root().join(".ci/group");
    let text = format!(
        "#!/bin/bash\nset -eu\ncd /\n. '{}'\nshow() {{ printf '%s.' \"$@\" && grep SigIgn /proc/self/status; }}\ngroup show \"$@\"\n",
        group.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    // A relative path, which is none any more behind the script's `cd`.
    let background = "./script a 'b c' & wait $!";
    let output = Command::new("sh").args(["-c", background]).current_dir(dir.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let ignored = text.trim_end().strip_prefix("a.b c.SigIgn:").unwrap_or_else(|| panic!("{text:?}"));
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    // INT is signal 2, QUIT 3.
    assert_eq!(ignored & 0b110, 0, "{text}");
}
