//! Commands as they are typed for bosh.

use std::process::Command;

use e2e::here;

#[test]
fn commands_that_are_typed_for_bosh_do_the_same() {
    let work = tempfile::tempdir().unwrap();
    std::fs::copy(here().join("deployments/nats.yml"), work.path().join("nats.yml")).unwrap();
    let boson = testkit::executable("boson");
    let run = |program: &std::path::Path| {
        let mut command = Command::new(program);
        command.current_dir(work.path()).env("XDG_STATE_HOME", work.path().join("state"));
        command
    };
    let script = run(&here().join("bosh-commands"))
        .env("PLACE", "machine")
        .env("BOSH", &boson)
        .env("DEPLOY_FLAGS", format!("--detach --release {}", here().join("releases/nats").display()))
        .output()
        .unwrap();
    // Whatever is left.
    run(&boson).args(["down", "-d", "nats"]).output().unwrap();
    let printed = String::from_utf8_lossy(&script.stdout);
    assert!(script.status.success(), "{printed}{}", String::from_utf8_lossy(&script.stderr));
    assert!(printed.ends_with("all commands did what they do for bosh\n"), "{printed}");
}
