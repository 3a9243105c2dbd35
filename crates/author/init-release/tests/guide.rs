//! Runs every command of the guide for release authors.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::page;

/// Stops what a failed test has left.
struct Work {
    directory: tempfile::TempDir,
    boson: PathBuf,
}

impl Work {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut down = Command::new(&self.boson);
        let _ = down.arg("down").env("XDG_STATE_HOME", self.path("state")).output();
    }
}

#[test]
fn every_command_of_the_guide_does_what_the_page_says() {
    let work = Work { directory: tempfile::tempdir().unwrap(), boson: testkit::executable("boson") };
    let directory = work.path("work");
    std::fs::create_dir(&directory).unwrap();
    let (state, cache) = (work.path("state"), work.path("cache"));
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap()), ("XDG_CACHE_HOME", cache.to_str().unwrap())];
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/guides/release-author.md");
    let ran = page::check_with(&page, &[("boson", work.boson.as_path())], &variables, &directory);
    assert_eq!(ran, 7, "blocks of commands");
}
