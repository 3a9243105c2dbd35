//! The first example of `docs/dialects/erb.md`, as a new user runs it: in an empty directory, with the executables on the `PATH`.

use std::fs;
use std::path::Path;
use std::process::Command;

use e2e::here;

const PAGE: &str = "docs/dialects/erb.md";

/// The content of the blocks of a section, by their languages.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(here().join("..").join(PAGE)).expect("the page");
    let (_, rest) = page.split_once("\n## A result in five minutes\n").expect("the section");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let start = format!("```{language}\n");
    section.split(&start).skip(1).filter_map(|block| Some(block.split("```").next()?.to_owned())).collect()
}

/// Times differ from run to run.
fn without_times(text: &str) -> Vec<String> {
    let line = |line: &str| match line.rsplit_once(" (") {
        Some((before, time)) if time.ends_with(" s)") => before.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect()
}

/// Stops what a failed test has left.
struct Shell(tempfile::TempDir);

impl Shell {
    fn run(&self, script: &str) -> (Option<i32>, String, String) {
        let path = self.0.path();
        let output = Command::new("bash")
            .args(["-eu", "-c", script])
            .current_dir(path.join("work"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", path.join("bin").display()))
            .env("XDG_STATE_HOME", path.join("state"))
            .env("XDG_CACHE_HOME", path.join("cache"))
            .output()
            .expect("bash");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if self.0.path().join("state/boson/demo").exists() {
            self.run("boson down");
        }
    }
}

#[test]
fn the_first_example_of_erb_templates_runs_as_it_stands() {
    let shell = Shell(tempfile::tempdir().expect("a directory to work in"));
    for directory in ["work", "bin"] {
        fs::create_dir(shell.0.path().join(directory)).expect("a directory");
    }
    link(&testkit::executable("boson"), &shell.0.path().join("bin/boson"));
    let (scripts, printed) = (blocks("sh"), blocks("text"));
    assert_eq!((scripts.len(), printed.len()), (2, 2));

    let (code, stdout, stderr) = shell.run(&scripts[0]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    // A note about user ids may come in between.
    let mut lines = without_times(&stdout).into_iter();
    for expected in without_times(&printed[0]) {
        assert!(lines.any(|line| line == expected), "{PAGE}: {expected:?} is not in\n{stdout}");
    }

    let (code, stdout, stderr) = shell.run(&scripts[1]);
    assert_eq!(code, Some(66), "{stdout}{stderr}");
    assert!(stderr.contains(&printed[1]), "{PAGE}: {stderr}");
    let (code, _, stderr) = shell.run("boson down");
    assert_eq!(code, Some(0), "{stderr}");
}

fn link(executable: &Path, name: &Path) {
    std::os::unix::fs::symlink(executable, name).expect("a link");
}
