//! `copy-jobs --patch`: job sources with changes.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testkit::files::{names, tree, write, write_with_mode};

const RUN: &str = "#!/bin/sh\nset -e\nexport PORT=1\nexec server\n";
const FIX: &str = "diff --git a/jobs/web/templates/run.erb b/jobs/web/templates/run.erb\n\
    --- a/jobs/web/templates/run.erb\n+++ b/jobs/web/templates/run.erb\n\
    @@ -1,4 +1,4 @@\n #!/bin/sh\n set -e\n-export PORT=1\n+export PORT=2\n exec server\n";

/// A release image with two jobs, and patches beside it.
struct Image(tempfile::TempDir);

impl Image {
    fn new() -> Image {
        let image = Image(tempfile::tempdir().unwrap());
        let jobs = image.path("jobs-src");
        write(&jobs.join("web/job.MF"), "name: web\n");
        write_with_mode(&jobs.join("web/templates/run.erb"), RUN, 0o755);
        write(&jobs.join("web/templates/old.erb"), "old\n");
        write(&jobs.join("db/job.MF"), "name: db\n");
        symlink("../web/templates/run.erb", jobs.join("db/run.erb")).unwrap();
        symlink("../web/templates", jobs.join("db/templates")).unwrap();
        image
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn file(&self, below: &str) -> String {
        fs::read_to_string(self.path("copy").join(below)).unwrap()
    }

    fn copy(&self, patches: &[&str]) -> Output {
        let mut command = Command::new(testkit::executable("copy-jobs"));
        command.env_remove("RELEASE_NAME").current_dir(self.0.path());
        command.args(["--from", "jobs-src", "--to", "copy"]);
        for (number, patch) in patches.iter().enumerate() {
            write(&self.path(&format!("{number}.diff")), patch);
            command.args(["--patch".to_owned(), format!("{number}.diff")]);
        }
        command.output().unwrap()
    }

    #[track_caller]
    fn copies(&self, patches: &[&str]) {
        let output = self.copy(patches);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The message of a run that fails for its input, and leaves the destination as it was.
    #[track_caller]
    fn refuses(&self, patches: &[&str]) -> String {
        let before = self.path("copy").exists().then(|| tree(&self.path("copy")));
        let output = self.copy(patches);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(65), "{message}");
        assert_eq!(self.path("copy").exists().then(|| tree(&self.path("copy"))), before);
        assert!(names(self.0.path()).iter().all(|name| !name.starts_with('.')));
        message
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_patch_changes_the_copy_alone() {
    let image = Image::new();
    let before = tree(&image.path("jobs-src"));
    image.copies(&[FIX]);
    assert_eq!(image.file("web/templates/run.erb"), RUN.replace("PORT=1", "PORT=2"));
    assert_eq!(mode(&image.path("copy/web/templates/run.erb")), 0o755);
    assert_eq!(tree(&image.path("jobs-src")), before);
    // Again, as after a restart of the container.
    image.copies(&[FIX]);
    image.copies(&[]);
    assert_eq!(image.file("web/templates/run.erb"), RUN);
}

#[test]
fn files_are_created_deleted_and_renamed() {
    let image = Image::new();
    let patch = "--- /dev/null\n+++ b/jobs/web/templates/bin/new\n@@ -0,0 +1 @@\n+new\n\
        --- a/jobs/web/templates/old.erb\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n\
        diff --git a/jobs/web/templates/run.erb b/jobs/web/templates/start.erb\n\
        rename from jobs/web/templates/run.erb\nrename to jobs/web/templates/start.erb\n";
    image.copies(&[patch]);
    assert_eq!(image.file("web/templates/bin/new"), "new\n");
    assert_eq!(mode(&image.path("copy/web/templates/bin/new")), 0o644);
    assert_eq!(names(&image.path("copy/web/templates")), ["bin", "start.erb"]);
    assert_eq!(mode(&image.path("copy/web/templates/start.erb")), 0o755);
}

#[test]
fn patches_apply_in_order_and_with_any_prefix() {
    let image = Image::new();
    let again = "--- web/templates/run.erb.orig\n+++ web/templates/run.erb\n@@ -3,2 +3,2 @@\n-export PORT=2\n+export PORT=3\n exec server\n";
    image.copies(&[FIX, again]);
    assert!(image.file("web/templates/run.erb").contains("PORT=3"));
    // A release's spec is job.MF in an image.
    let spec = "--- a/jobs/web/spec\n+++ b/jobs/web/spec\n@@ -1 +1,2 @@\n name: web\n+templates: {}\n";
    image.copies(&[spec]);
    assert_eq!(image.file("web/job.MF"), "name: web\ntemplates: {}\n");
}

#[test]
fn a_patch_for_another_version_changes_nothing() {
    let image = Image::new();
    image.copies(&[]);
    let other = FIX.replace("-export PORT=1", "-export PORT=9");
    let message = image.refuses(&["--- /dev/null\n+++ b/web/new\n@@ -0,0 +1 @@\n+new\n", &other]);
    assert!(message.contains("the patch does not apply to web/templates/run.erb"), "{message}");
    assert!(message.contains("1.diff:4") && message.contains("hunk 1 of 1"), "{message}");
    assert!(message.contains("is the patch for this version"), "{message}");
    let message = image.refuses(&[FIX, FIX]);
    assert!(message.contains("the file has the changes already"), "{message}");
}

#[test]
fn everything_that_is_wrong_is_reported_together() {
    let image = Image::new();
    let hunk = "@@ -1 +1 @@\n-old\n+new\n";
    let paths = [
        "../web/x",
        "/etc/passwd",
        "jobs/web/templates/olt.erb",
        "packages/go/packaging",
        "db/run.erb",
        "db/templates/old.erb",
    ];
    let of_path = |path: &&str| format!("--- {path}\n+++ {path}\n{hunk}");
    let patch: String = paths.iter().map(of_path).collect();
    let create = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n");
    let more = format!("{}{}", create("jobs/web/job.MF"), create("src/web/main.go"));
    let rename = "diff --git a/web/job.MF b/db/job.MF\nrename from web/job.MF\nrename to db/job.MF\n";
    let message = image.refuses(&[&patch, &more, rename]);
    for part in [
        "the path ../web/x leaves the release's directory",
        "the path /etc/passwd leaves",
        "the release has no file web/templates/olt.erb",
        "the release has no file packages/go/packaging",
        "packages are compiled in the release's image",
        "db/run.erb is a link, or is below one",
        "db/templates/old.erb is a link, or is below one",
        "0.diff:1\n",
        "the patch creates web/job.MF, which exists",
        "the patch creates src/web/main.go, which belongs to no job",
        "the patch renames web/job.MF to db/job.MF, which exists",
        "2.diff:1",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!image.path("copy").exists());
}

#[test]
fn a_file_that_is_no_diff_is_refused() {
    let image = Image::new();
    let message = image.refuses(&["text\n"]);
    assert!(message.contains("not a unified diff") && message.contains("0.diff:1"), "{message}");
    let missing = Command::new(testkit::executable("copy-jobs"))
        .env_remove("RELEASE_NAME")
        .current_dir(image.0.path())
        .args(["--from", "jobs-src", "--to", "copy", "--patch", "missing.diff"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(65));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("cannot read the patch"));
}
