//! Full disks, and kills at any moment.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use testkit::random::Random;

/// A configuration whose files all have the content `value`.
fn write_configuration(dir: &Path, value: &str) {
    let file = |number: usize| format!(r#""f{number}": {{"kind": "string", "template": "{{{{ .Vars.V }}}}"}}"#);
    let files: Vec<String> = (0..50).map(file).collect();
    let text = format!(
        r#"{{"vars": {{"V": "{value}"}}, "defaults": {{"userdata": {{"content": "{{{{ .Vars.V }}}}"}}}},
          "templates": {{"t": {{"files": {{{}}}}}}}, "groups": {{"g": {{"template": "t"}}}}}}"#,
        files.join(", ")
    );
    fs::write(dir.join("config.json"), text).unwrap();
}

fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cloud"));
    command.args(["render-files", "--group", "g"]).current_dir(dir).env_clear();
    command.envs([("CONFIG_PATH", "config.json"), ("OUTPUT_DIR", "out")]);
    command
}

/// The one content of all files.
fn content(dir: &Path) -> String {
    let userdata = fs::read_to_string(dir.join("out/userdata")).unwrap();
    for number in 0..50 {
        assert_eq!(fs::read_to_string(dir.join(format!("out/files/f{number}"))).unwrap(), userdata, "f{number}");
    }
    userdata
}

#[test]
fn a_kill_leaves_the_old_result_or_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    write_configuration(dir.path(), "0");
    assert!(command(dir.path()).status().unwrap().success());
    let mut random = Random::new(7);
    let mut before = "0".to_owned();
    for round in 1..=40 {
        let value = round.to_string();
        write_configuration(dir.path(), &value);
        let mut child = command(dir.path()).spawn().unwrap();
        // Any moment is as good as another one: what is asserted holds at all of them.
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        let _ = child.kill();
        child.wait().unwrap();
        let now = content(dir.path());
        assert!(now == value || now == before, "{now}");
        before = now;
    }
    write_configuration(dir.path(), "end");
    assert!(command(dir.path()).status().unwrap().success());
    assert_eq!(content(dir.path()), "end");
    assert_eq!(fs::read_dir(dir.path().join("out/.generations")).unwrap().count(), 1, "what kills left is gone");
}

#[test]
fn a_full_disk_keeps_the_old_result() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    write_configuration(dir.path(), "small");
    // A namespace of its own, where a small file system can be mounted.
    let script = r#"set -eu
        mount -t tmpfs -o size=300k none out
        "$0" render-files --group g
        cp large.json config.json
        status=0; "$0" render-files --group g 2>message || status=$?
        cat out/userdata out/files/f49; echo " $status"; cat message; ls out/.generations | wc -l"#;
    write_configuration(dir.path(), &"x".repeat(20_000));
    fs::rename(dir.path().join("config.json"), dir.path().join("large.json")).unwrap();
    write_configuration(dir.path(), "small");
    let unshare = |script: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_boson-cloud")]);
        unshare.current_dir(dir.path()).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        unshare.envs([("CONFIG_PATH", "config.json"), ("OUTPUT_DIR", "out")]).output()
    };
    if !unshare("mount -t tmpfs none out").is_ok_and(|output| output.status.success()) {
        return;
    }
    let output = unshare(script).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("smallsmall 70\nerror: "), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("No space left on device") || text.contains("no storage space"), "{text}");
    assert!(text.ends_with("\n1\n"), "nothing is left of the attempt: {text}");
}
