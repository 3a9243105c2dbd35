//! Compiling packages, with the scripts run on the host as it is.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

mod cache;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use problem::{IoContext, Result};
use release::{CompileStep, CompiledPackage, Compiler, Progress, Release};
use testkit::files::{names, write, write_with_mode};

/// Runs a script with the host's paths; `$DEPENDENCY_<name>` is where a dependency lies.
fn on_host(step: &CompileStep) -> Result<u8> {
    let argv = step.argv();
    let status = Command::new(&argv[0])
        .args(&argv[1..])
        .env_clear()
        .envs(step.env(step.compile_dir, step.install_dir))
        .envs(step.dependencies.iter().map(|(name, dir)| (format!("DEPENDENCY_{name}"), dir)))
        .current_dir(step.compile_dir)
        .stdin(Stdio::null())
        .stdout(step.log.try_clone().unwrap())
        .stderr(step.log.try_clone().unwrap())
        .status()
        .io("run", Path::new(&argv[0]))?;
    Ok(status.code().unwrap().try_into().unwrap())
}

struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
    /// Packages `app` and its dependency `lib`.
    fn new() -> Self {
        let fixture = Fixture { dir: tempfile::tempdir().unwrap() };
        fixture.package(
            "lib",
            "files: [lib/*.txt]",
            "mkdir $BOSH_INSTALL_TARGET/lib\ncp lib/* $BOSH_INSTALL_TARGET/lib",
        );
        fixture.package(
            "app",
            "dependencies: [lib]\nfiles: [app/**/*]",
            "cat $DEPENDENCY_lib/lib/words.txt app/deep/more > $BOSH_INSTALL_TARGET/out",
        );
        fixture.write("src/lib/words.txt", "words\n");
        fixture.write("src/lib/other.md", "");
        fixture.write("src/app/deep/more", "more\n");
        fixture
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join("release").join(below)
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    fn write(&self, path: &str, content: &str) {
        write(&self.path(path), content);
    }

    fn package(&self, name: &str, spec: &str, packaging: &str) {
        self.write(&format!("packages/{name}/spec"), &format!("name: {name}\n{spec}\n"));
        self.write(&format!("packages/{name}/packaging"), packaging);
    }

    fn compile(&self, wanted: &[&str]) -> (Result<Vec<CompiledPackage>>, Vec<String>) {
        let events = Mutex::new(Vec::new());
        let progress = |progress: Progress| {
            events.lock().unwrap().push(match progress {
                Progress::Planned { .. } => return,
                Progress::Waiting { package } => format!("waiting for {package}"),
                Progress::Started { package } => format!("started {package}"),
                Progress::Finished { package, .. } => format!("finished {package}"),
                Progress::Cached { package } => format!("cached {package}"),
                Progress::Given { package } => format!("given {package}"),
                Progress::Empty { package, log } => format!("empty {package}, log {}", log.is_some_and(Path::exists)),
            });
        };
        let compiled = Release::open(&self.path(""))
            .and_then(|release| Compiler::new(&self.cache(), &on_host, &progress).compile(&release, wanted));
        (compiled, events.into_inner().unwrap())
    }

    #[track_caller]
    fn compiled(&self, wanted: &[&str]) -> Vec<CompiledPackage> {
        self.compile(wanted).0.unwrap()
    }

    /// What a package's script printed into its install directory's file `out`.
    #[track_caller]
    fn out(&self, package: &str) -> String {
        fs::read_to_string(self.compiled(&[package]).last().unwrap().dir.join("out")).unwrap()
    }
}

#[test]
fn dependencies_are_compiled_first_and_everything_once() {
    let fixture = Fixture::new();
    let (compiled, events) = fixture.compile(&["app"]);
    let compiled = compiled.unwrap();
    assert_eq!(events, ["started lib", "finished lib", "started app", "finished app"]);
    assert_eq!(compiled.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["lib", "app"]);
    assert_eq!(names(&compiled[0].dir.join("lib")), ["words.txt"]);
    assert_eq!(fs::read_to_string(compiled[1].dir.join("out")).unwrap(), "words\nmore\n");
    assert_eq!(compiled[1].dir, fixture.cache().join(format!("packages/app-{}", compiled[1].fingerprint)));
    let (again, events) = fixture.compile(&["app", "lib"]);
    assert_eq!((again.unwrap(), events), (compiled, vec!["cached lib".to_owned(), "cached app".to_owned()]));
    assert!(names(&fixture.cache().join("work")).is_empty());
}

#[test]
fn a_package_is_reported_whose_script_installs_nothing_and_ignores_failures() {
    let fixture = Fixture::new();
    fixture.package("broken", "files: []", "cp absent \"$BOSH_INSTALL_TARGET\"\ntrue");
    fixture.package("empty", "files: []", "set -e\nls > /dev/null");
    let (compiled, events) = fixture.compile(&["broken", "empty"]);
    assert!(compiled.is_ok(), "{compiled:?}");
    let of_broken =
        |events: Vec<String>| events.into_iter().filter(|event| event.contains("broken")).collect::<Vec<_>>();
    assert!(!events.contains(&"empty empty, log true".to_owned()), "{events:?}");
    assert_eq!(of_broken(events), ["started broken", "finished broken", "empty broken, log true"]);
    // The package stays so.
    assert_eq!(of_broken(fixture.compile(&["broken"]).1), ["cached broken", "empty broken, log true"]);
}

#[test]
fn a_vendored_package_is_missed_only_where_it_is_needed() {
    let fixture = Fixture::new();
    fixture.write("packages/golang/spec.lock", "name: golang\nfingerprint: 27f2e1ea\ndependencies: [lib]\n");
    fixture.package("server", "dependencies: [golang]\nfiles: []", "true");
    assert_eq!(fixture.out("app"), "words\nmore\n");
    let (compiled, events) = fixture.compile(&["server", "app"]);
    let problems = compiled.unwrap_err();
    assert_eq!((problems.exit_code(), events), (65, Vec::new()));
    assert_eq!(problems.iter().map(|p| p.message.as_str()).collect::<Vec<_>>(), ["Package 'golang' has no files"]);
    let problems = problems.to_string();
    assert!(problems.contains("packages/golang/spec.lock") && problems.contains("create-release"), "{problems}");
    fixture.write("packages/golang/spec.lock", "name: other\n");
    let why = "Expected to find package 'golang' since it's a dependency of package 'server'";
    assert_eq!(fixture.compile(&["app"]).0.unwrap_err().iter().next().unwrap().message, why);
}

#[test]
fn whatever_a_package_is_made_of_makes_it_another() {
    let fixture = Fixture::new();
    let fingerprints = || fixture.compiled(&["app"]).into_iter().map(|package| package.fingerprint).collect::<Vec<_>>();
    let mut seen = vec![fingerprints()];
    let changes: [&dyn Fn(); 5] = [
        &|| fixture.write("src/lib/words.txt", "other words\n"),
        &|| {
            fixture.write(
                "packages/lib/packaging",
                "mkdir $BOSH_INSTALL_TARGET/lib; cp lib/words.txt $BOSH_INSTALL_TARGET/lib",
            )
        },
        &|| fs::set_permissions(fixture.path("src/lib/words.txt"), fs::Permissions::from_mode(0o755)).unwrap(),
        &|| fs::rename(fixture.path("src/lib/other.md"), fixture.path("src/lib/other.txt")).unwrap(),
        &|| symlink("words.txt", fixture.path("src/lib/link.txt")).unwrap(),
    ];
    for change in changes {
        change();
        let now = fingerprints();
        assert!(seen.iter().all(|then| then[0] != now[0] && then[1] != now[1]), "{seen:?} {now:?}");
        seen.push(now);
    }
    // What does not belong to it does not.
    fixture.write("src/lib/notes.md", "");
    fs::set_permissions(fixture.path("src/lib/words.txt"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fingerprints(), seen[5]);
}

#[test]
fn a_script_sees_what_bosh_s_agent_gives_it() {
    let fixture = Fixture::new();
    fixture.package(
        "env",
        "files: []",
        "set -eu
test \"$PWD\" = \"$BOSH_COMPILE_TARGET\"
test -n \"$PATH\"; test -n \"$HOME\"
echo $BOSH_PACKAGE_NAME $BOSH_PACKAGE_VERSION > $BOSH_INSTALL_TARGET/out
env | grep -c SECRET >> $BOSH_INSTALL_TARGET/out || true",
    );
    let version = fixture.compiled(&["env"])[0].fingerprint.clone();
    assert_eq!(fixture.out("env"), format!("env {version}\n0\n"));
    let log = fs::read_to_string(fixture.cache().join(format!("logs/env-{version}.log"))).unwrap();
    assert!(log.contains("+ set -eu"), "bash -x shows what it does: {log}");
}

#[test]
fn files_are_found_as_patterns_say() {
    let fixture = Fixture::new();
    let list = "find . -mindepth 1 ! -name packaging ! -type d | sort > $BOSH_INSTALL_TARGET/out";
    for file in ["a/x.c", "a/b/y.c", "a/b/.hidden", "a/b/z.h", "c/1", "c/2", "c/3"] {
        fixture.write(&format!("src/{file}"), "");
    }
    fixture.write("blobs/tar/big.tgz", "");
    fixture.write("blobs/c/1", "blob");
    symlink("x.c", fixture.path("src/a/link")).unwrap();
    let cases = [
        ("files: ['a/**/*']", "./a/b/.hidden\n./a/b/y.c\n./a/b/z.h\n./a/link\n./a/x.c\n"),
        ("files: ['**/*.c']", "./a/b/y.c\n./a/x.c\n"),
        ("files: ['a/*']", "./a/link\n./a/x.c\n"),
        ("files: ['a/**/*.{c,h}']\nexcluded_files: ['a/b/*.c']", "./a/b/z.h\n./a/x.c\n"),
        ("files: ['c/[12]', tar/big.tgz, './a/x.?']", "./a/x.c\n./c/1\n./c/2\n./tar/big.tgz\n"),
        ("files: ['a/b/*']\nexcluded_files: ['**/*']", ""),
    ];
    for (spec, expected) in cases {
        fixture.package("list", spec, list);
        assert_eq!(fixture.out("list"), expected, "{spec}");
    }
    fixture.package("list", "files: ['c/1']", "cp c/1 $BOSH_INSTALL_TARGET/out");
    assert_eq!(fixture.out("list"), "", "the source, not the blob");
}

#[test]
fn a_blob_that_does_not_match_its_entry_is_reported() {
    let fixture = Fixture::new();
    let (sha1, sha256) = (
        "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    );
    let list = |sha: &str| {
        let names = ["list/there", "list/short", "list/gone", "list/left-out", "list/in-src", "other/gone"];
        let lines = names.map(|name| format!("{name}: {{size: 1, object_id: 0, sha: '{sha}'}}\n"));
        fixture.write("config/blobs.yml", &lines.concat());
    };
    fixture.write("blobs/list/there", "a");
    fixture.write("blobs/list/short", "");
    fixture.write("src/list/in-src", "whatever");
    let files = "files: ['list/**/*', list/gone]\nexcluded_files: ['list/left*']";
    fixture.package("list", files, "ls list > $BOSH_INSTALL_TARGET/out");
    list(sha1);
    let (compiled, events) = fixture.compile(&["list", "app"]);
    let problems = compiled.unwrap_err();
    let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["blob 'list/gone' is missing", "blob 'list/short' does not match config/blobs.yml"]);
    assert_eq!((problems.exit_code(), events), (65, Vec::new()));
    let text = problems.to_string();
    assert!(text.contains("config/blobs.yml") && text.contains("bosh sync-blobs"), "{text}");

    fixture.write("blobs/list/short", "a");
    fixture.write("blobs/list/gone", "b");
    for sha in [sha1.to_owned(), format!("sha256:{sha256}")] {
        list(&sha);
        let problems = fixture.compile(&["list"]).0.unwrap_err().to_string();
        assert!(problems.contains("error: blob 'list/gone' does not match config/blobs.yml"), "{problems}");
        assert_eq!(problems.matches("error:").count(), 1, "{problems}");
    }
    fixture.write("blobs/list/gone", "a");
    assert_eq!(fixture.out("list"), "gone\nin-src\nshort\nthere\n");
    fixture.write("config/blobs.yml", "a: [\n");
    let problems = fixture.compile(&["list"]).0.unwrap_err().to_string();
    assert!(problems.contains("config/blobs.yml:"), "{problems}");
}

#[test]
fn modes_times_and_links_reach_the_script() {
    let fixture = Fixture::new();
    write_with_mode(&fixture.path("src/a/tool"), "", 0o700);
    write_with_mode(&fixture.path("src/a/data"), "", 0o600);
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::open(fixture.path("src/a/data")).unwrap().set_modified(time).unwrap();
    symlink("data", fixture.path("src/a/link")).unwrap();
    let script = "cd a; stat -c '%n %a' tool data > $BOSH_INSTALL_TARGET/out
stat -c %Y data >> $BOSH_INSTALL_TARGET/out; readlink link >> $BOSH_INSTALL_TARGET/out";
    fixture.package("list", "files: ['a/*']", script);
    assert_eq!(fixture.out("list"), "tool 755\ndata 644\n1000000000\ndata\n");
}

#[test]
fn a_linked_directory_can_be_a_pattern_s_start_but_not_lead_out() {
    let fixture = Fixture::new();
    fixture.write("vendor/mod/f", "found");
    symlink("../vendor/mod", fixture.path("src/mod")).unwrap();
    fixture.package("list", "files: ['mod/**/*', '*']", "cat mod/f > $BOSH_INSTALL_TARGET/out; test ! -L mod");
    assert_eq!(fixture.out("list"), "found");
    assert_eq!(names(&fixture.path("vendor/mod")), ["f"], "nothing was written through the link");
    symlink("/etc", fixture.path("src/etc")).unwrap();
    fixture.package("list", "files: ['etc/*']", "");
    let problem = fixture.compile(&["list"]).0.unwrap_err().to_string();
    assert!(problem.contains("leads out of the release"), "{problem}");
}

#[test]
fn everything_wrong_with_files_is_reported_before_anything_is_compiled() {
    let fixture = Fixture::new();
    fixture.package("lib", "files: ['gone/**/*', '../x', '/etc/passwd', '[']", "true");
    fixture.package("app", "dependencies: [lib]\nfiles: [packaging, app]", "true");
    fixture.write("src/packaging", "");
    let (compiled, events) = fixture.compile(&["app"]);
    let problems = compiled.unwrap_err();
    assert_eq!(problems.exit_code(), 65);
    let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages.len(), 6, "{problems}");
    for part in [
        "Missing files for pattern 'gone/**/*' of package 'lib'",
        "invalid pattern '../x'",
        "invalid pattern '/etc/passwd'",
        "invalid pattern '['",
        "Missing files for pattern 'app' of package 'app'",
        "Expected special 'packaging' file to not be included via 'files' key for package 'app'",
    ] {
        assert!(messages.iter().any(|message| message.contains(part)), "{part}: {problems}");
    }
    assert!(events.is_empty() && !fixture.cache().exists());
    let unknown = fixture.compile(&["nope"]).0.unwrap_err().to_string();
    assert!(unknown.contains("unknown package 'nope'") && unknown.contains("app, lib"), "{unknown}");
}

#[test]
fn a_failed_compilation_shows_the_end_of_its_log_and_leaves_no_package() {
    let fixture = Fixture::new();
    fixture.package("lib", "files: []", "for i in $(seq 100); do echo line $i; done; echo oops >&2; exit 7");
    let (compiled, events) = fixture.compile(&["app"]);
    let problems = compiled.unwrap_err();
    let text = problems.to_string();
    assert_eq!(problems.exit_code(), 65);
    assert!(
        text.contains("package 'lib' of release 'release' does not compile: packaging ended with status 7"),
        "{text}"
    );
    assert!(text.contains("line 100") && text.contains("oops") && !text.contains("line 50\n"), "{text}");
    let log = text.rsplit("the whole log is in ").next().unwrap();
    assert!(fs::read_to_string(log).unwrap().contains("line 50\n"));
    assert_eq!(events, ["started lib"]);
    assert!(names(&fixture.cache().join("packages")).is_empty());
    assert!(names(&fixture.cache().join("work")).is_empty());
}

#[test]
fn pre_packaging_prepares_the_files() {
    let fixture = Fixture::new();
    fixture.package("pre", "files: []", "test ! -e pre_packaging && cp prepared $BOSH_INSTALL_TARGET/out");
    fixture.write("packages/pre/pre_packaging", "cd ${BUILD_DIR} && ls ${RELEASE_DIR}/packages > prepared");
    assert_eq!(fixture.out("pre"), "app\nlib\npre\n");
}
