//! What a new user types, with the executables on the `PATH`: the first example of `docs/dialects/erb.md`, in an empty directory, and the
//! commands of the readme, of `docs/start` and of a guide, in the sources.

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
    /// With `boson` on the `PATH`, and an empty directory to work in.
    fn new() -> Shell {
        let shell = Shell(tempfile::tempdir().expect("a directory to work in"));
        for directory in ["work", "bin"] {
            fs::create_dir(shell.0.path().join(directory)).expect("a directory");
        }
        link(&testkit::executable("boson"), &shell.0.path().join("bin/boson"));
        shell
    }

    /// Runs a script in the empty directory.
    fn run(&self, script: &str) -> (Option<i32>, String, String) {
        self.run_in(&self.0.path().join("work"), script)
    }

    fn run_in(&self, directory: &Path, script: &str) -> (Option<i32>, String, String) {
        let path = self.0.path();
        let output = Command::new("bash")
            .args(["-eu", "-c", script])
            .current_dir(directory)
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
        for deployment in fs::read_dir(self.0.path().join("state/boson")).into_iter().flatten().flatten() {
            self.run(&format!("boson down --deployment-name {}", deployment.file_name().display()));
        }
    }
}

#[test]
fn the_first_example_of_erb_templates_runs_as_it_stands() {
    let shell = Shell::new();
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

#[test]
fn the_commands_of_the_first_pages_run_as_they_stand() {
    let sources = here().join("..");
    for (page, least) in [("README.md", 4), ("docs/start/nats.md", 6), ("docs/guides/operate-one-machine.md", 12)] {
        let shell = Shell::new();
        let text = fs::read_to_string(sources.join(page)).expect("the page");
        // What is printed by the demo, or needs a cluster, is tested elsewhere.
        let blocks = testkit::page::texts(&text, "console").into_iter().filter(|block| !block.starts_with("$ make"));
        let examples = blocks.flat_map(|block| testkit::page::examples(&block));
        let commands: Vec<String> =
            examples.map(|example| example.command).filter(|command| !command.contains("kubectl")).collect();
        assert!(commands.len() >= least, "{page}: {commands:?}");
        for command in commands {
            let (code, stdout, stderr) = shell.run_in(&sources, &command);
            // As of diff: something changes.
            let expected = i32::from(command.contains("--dry-run"));
            assert_eq!(code, Some(expected), "{page}: {command}: {stdout}{stderr}");
        }
    }
}

fn link(executable: &Path, name: &Path) {
    std::os::unix::fs::symlink(executable, name).expect("a link");
}
