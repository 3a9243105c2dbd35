//! The scripts below `.ci` and `images`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
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
    for name in ["boson", "boson-cloud", "boson-cluster", "boson-templates"] {
        fs::write(bin.join(name), "").unwrap();
    }
    let make = || Command::new(xtask::root().join("images/links")).arg(&bin).status().unwrap();
    // A second build finds the links of the first.
    assert!(make().success() && make().success());
    let link = |name: &str| fs::read_link(bin.join(name)).ok();
    assert_eq!(link("render-files").as_deref(), Some("boson-cloud".as_ref()));
    assert_eq!(link("kubectl-boson").as_deref(), Some("boson-cluster".as_ref()));
    for name in ["kubectl-boson_templates", "kubectl-boson-apply_template", "kubectl-boson-export_template"] {
        assert_eq!(link(name).as_deref(), Some("boson-templates".as_ref()), "{name}");
    }
    assert_eq!(link("brokerpak"), None, "there is no boson-brokerpak");
    // Both kinds of build make them.
    for (file, call) in [
        ("Makefile", "images/links \"$${CARGO_TARGET_DIR:-target}/release\""),
        ("images/build", "images/links \"$target/static\""),
    ] {
        assert!(fs::read_to_string(xtask::root().join(file)).unwrap().contains(call), "{file}");
    }
}

#[test]
fn the_tests_of_a_subject_are_those_of_its_packages_and_of_the_executables_that_its_page_names() {
    let dir = tempfile::tempdir().unwrap();
    let cargo = dir.path().join("cargo");
    fs::write(&cargo, "#!/bin/sh\necho \"cargo $*\"\necho 'test result: ok. 1 passed; 0 failed; 0 ignored'\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let run = |subject: &str| {
        let mut command = Command::new(xtask::root().join(".ci/tests"));
        let output = command
            .arg(subject)
            .env("PATH", &path)
            .env("PROGRESS_INTERVAL", "0.1")
            .env("RUSTUP_TOOLCHAIN", "x")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for (subject, built) in [("machine", true), ("nstance", false)] {
        let (status, stdout, stderr) = run(subject);
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{stdout}");
        let tested = stdout.lines().find(|line| line.ends_with("--no-fail-fast")).unwrap_or_else(|| panic!("{stdout}"));
        let mut expected: Vec<String> = fs::read_dir(xtask::root().join("crates").join(subject))
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        expected.sort();
        expected.push(if subject == "machine" { "boson" } else { "boson-cloud" }.to_owned());
        assert_eq!(tested, format!("cargo test -p {} --locked --no-fail-fast", expected.join(" -p ")));
        assert_eq!(stdout.contains("cargo build --locked -p boson -p boson-pod"), built, "{stdout}");
    }
    let (status, _, stderr) = run("nowhere");
    assert_eq!(status, Some(2));
    let known: Vec<&str> = stderr.lines().last().unwrap().split(' ').collect();
    for subject in xtask::architecture::SUBJECTS {
        assert!(known.contains(&subject), "{stderr}");
    }
    assert!(stderr.starts_with("error: SUBJECT: unknown subject 'nowhere'"), "{stderr}");
    assert_eq!(run("../bins").0, Some(2));
}

/// Runs git in a directory.
fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).args(args).current_dir(dir);
    assert!(command.status().is_ok_and(|status| status.success()), "git {args:?}");
}

#[test]
fn a_review_keeps_and_restores_golden_files() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    fs::create_dir_all(here.join(".ci")).unwrap();
    fs::create_dir(here.join("bin")).unwrap();
    for script in ["review", "rust"] {
        fs::copy(xtask::root().join(".ci").join(script), here.join(".ci").join(script)).unwrap();
    }
    fs::write(here.join("rust-toolchain.toml"), "channel = \"0\"\n").unwrap();
    // In the place of tests that write their golden files.
    let cargo = "#!/bin/sh\n[ -n \"$BOSON_UPDATE\" ] && echo \"$*\" >>a && echo b2 >b && echo c >c\n";
    fs::write(here.join("bin/cargo"), cargo).unwrap();
    fs::set_permissions(here.join("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(here.join("a"), "a1\n").unwrap();
    fs::write(here.join("b"), "b1\n").unwrap();
    git(here, &["init", "-q"]);
    git(here, &["add", "."]);
    git(here, &["commit", "-qm", "x"]);
    // A change that was there before.
    fs::write(here.join("b"), "mine\n").unwrap();
    let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap());
    let review = |answers: &str, status: i32| {
        let script = format!("printf '{answers}' | .ci/review -p x; exit ${{PIPESTATUS[1]}}");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(here).env("PATH", &path).env("RUSTUP_TOOLCHAIN", "x");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = review("k\\nr\\nr\\n", 1);
    assert!(shown.contains("+test --locked --no-fail-fast -q -p x") && shown.contains("-mine"), "{shown}");
    let text = |name: &str| fs::read_to_string(here.join(name)).ok();
    assert_eq!(text("a").unwrap().lines().count(), 2);
    assert_eq!((text("b").as_deref(), text("c")), (Some("mine\n"), None));
    // The end of the input keeps nothing more.
    review("k\\n", 1);
    assert_eq!(text("a").unwrap().lines().count(), 3);
    assert_eq!((text("b").as_deref(), text("c")), (Some("mine\n"), None));
    review("k\\nk\\nk\\n", 0);
    assert_eq!((text("b").as_deref(), text("c").as_deref()), (Some("b2\n"), Some("c\n")));
}
