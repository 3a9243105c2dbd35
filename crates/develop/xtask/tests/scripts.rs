//! The scripts below `.ci` and `images`.

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

#[test]
fn executables_have_the_links_by_which_pages_call_them() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("a directory");
    fs::create_dir(&bin).unwrap();
    for name in ["boson", "boson-cloud", "boson-cluster"] {
        fs::write(bin.join(name), "").unwrap();
    }
    let make = || Command::new(xtask::root().join("images/links")).arg(&bin).status().unwrap();
    // A second build finds the links of the first.
    assert!(make().success() && make().success());
    let link = |name: &str| fs::read_link(bin.join(name)).ok();
    assert_eq!(link("render-files").as_deref(), Some("boson-cloud".as_ref()));
    assert_eq!(link("kubectl-boson").as_deref(), Some("boson-cluster".as_ref()));
    assert_eq!(link("brokerpak"), None, "there is no boson-brokerpak");
    // Both kinds of build make them.
    for (file, call) in [
        ("Makefile", "images/links \"$${CARGO_TARGET_DIR:-target}/release\""),
        ("images/build", "images/links \"$target/static\""),
    ] {
        assert!(fs::read_to_string(xtask::root().join(file)).unwrap().contains(call), "{file}");
    }
}
