//! Releases as archives.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::cell::Cell;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use problem::{IoContext, Result};
use release::{CompileStep, Compiler, Progress, Release};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use testkit::files::{names, tree, write};

/// An archive with these files.
fn tgz(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(&plain(files)).unwrap();
    compressed.finish().unwrap()
}

/// The same, not compressed.
fn plain(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // In bosh's format, and without the crate's own checks, which a hostile archive skips as well.
        let name = path.as_bytes();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    tar.into_inner().unwrap()
}

/// All paths below a directory.
fn below(dir: &Path) -> Vec<String> {
    tree(dir).into_keys().map(|path| path.display().to_string()).filter(|path| !path.is_empty()).collect()
}

fn sha1(content: &[u8]) -> String {
    Sha1::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A release of a job `web` with package `app`, and `lib`, which is needed while `app` is compiled.
struct Fixture {
    dir: tempfile::TempDir,
    job: Vec<u8>,
    app: Vec<u8>,
    lib: Vec<u8>,
    compiled: bool,
}

impl Fixture {
    fn new() -> Self {
        let job = tgz(&[
            ("./job.MF", b"name: web\ntemplates: {run.erb: bin/run}\npackages: [app]\n"),
            ("./monit", b""),
            ("./templates/run.erb", b"<%= name %>"),
        ]);
        let app = tgz(&[
            ("./packaging", b"cat $DEPENDENCY_lib/words app/more > $BOSH_INSTALL_TARGET/out"),
            ("./app/more", b"more\n"),
        ]);
        let lib = tgz(&[("./packaging", b"cp words $BOSH_INSTALL_TARGET"), ("./words", b"words\n")]);
        Fixture { dir: tempfile::tempdir().unwrap(), job, app, lib, compiled: false }
    }

    fn compiled() -> Self {
        let app = tgz(&[("./out", b"compiled\n")]);
        Fixture { app, compiled: true, ..Fixture::new() }
    }

    fn manifest(&self) -> String {
        let (job, app, lib) = (sha1(&self.job), sha1(&self.app), sha1(&self.lib));
        let part = |name: &str, sha1: &str, rest: &str| format!("- {{name: {name}, sha1: {sha1}{rest}}}\n");
        let packages = if self.compiled {
            format!("compiled_packages:\n{}", part("app", &app, ", stemcell: s/1, dependencies: [lib]"))
        } else {
            format!("packages:\n{}{}", part("app", &app, ", dependencies: [lib]"), part("lib", &lib, ""))
        };
        format!("name: web-release\nversion: 1+dev.1\njobs:\n{}{packages}", part("web", &job, ""))
    }

    fn with_manifest(&self, manifest: &str) -> PathBuf {
        let mut files: Vec<(&str, &[u8])> = vec![("./release.MF", manifest.as_bytes()), ("./jobs/web.tgz", &self.job)];
        if self.compiled {
            files.push(("./compiled_packages/app.tgz", &self.app));
        } else {
            files.extend([("./packages/app.tgz", &self.app[..]), ("./packages/lib.tgz", &self.lib[..])]);
        }
        let path = self.dir.path().join("web.tgz");
        fs::write(&path, tgz(&files)).unwrap();
        path
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    fn open(&self) -> Result<Release> {
        Release::open_any(&self.with_manifest(&self.manifest()), &self.cache(), &|| false)
    }

    /// The messages about it; asserts that the cache is unchanged.
    fn problems(&self, manifest: &str) -> String {
        let problems = Release::open_any(&self.with_manifest(manifest), &self.cache(), &|| false).unwrap_err();
        assert_eq!(problems.exit_code(), 65, "{problems}");
        assert_eq!(names(&self.cache().join("releases")), [""; 0]);
        problems.to_string().replace(&self.dir.path().display().to_string(), "DIR")
    }

    /// The content of `out` of package `app`, and the progress reported.
    fn compile(&self) -> (String, Vec<String>) {
        let events = Mutex::new(Vec::new());
        let progress = |progress: Progress| {
            if !matches!(progress, Progress::Planned { .. }) {
                events.lock().unwrap().push(format!("{progress:?}"));
            }
        };
        let compiler = Compiler::new(&self.cache(), &on_host, &progress);
        let compiled = compiler.compile(&self.open().unwrap(), &["app"]).unwrap();
        let app = compiled.iter().find(|package| package.name == "app").unwrap();
        let out = fs::read_to_string(app.dir.join("out")).unwrap();
        drop(compiler);
        (out, events.into_inner().unwrap())
    }
}

fn on_host(step: &CompileStep) -> Result<u8> {
    let status = Command::new("/bin/bash")
        .arg(step.script)
        .envs(step.env(step.compile_dir, step.install_dir))
        .envs(step.dependencies.iter().map(|(name, dir)| (format!("DEPENDENCY_{name}"), dir)))
        .current_dir(step.compile_dir)
        .stdin(Stdio::null())
        .status()
        .io("run", Path::new("bash"))?;
    Ok(status.code().unwrap().try_into().unwrap())
}

#[test]
fn an_archive_is_read_with_its_jobs() {
    let fixture = Fixture::new();
    let release = fixture.open().unwrap();
    assert_eq!((release.name.as_str(), release.version.as_deref()), ("web-release", Some("1+dev.1")));
    assert_eq!(release.job("web").unwrap().packages, ["app"]);
    assert_eq!(release.package("app").unwrap().dependencies, ["lib"]);
    let staged = fixture.dir.path().join("staged");
    release.stage_jobs(&staged).unwrap();
    assert_eq!(below(&staged), ["web", "web/job.MF", "web/monit", "web/templates", "web/templates/run.erb"]);
}

#[test]
fn its_packages_are_compiled_once() {
    let fixture = Fixture::new();
    let (out, events) = fixture.compile();
    assert_eq!(out, "words\nmore\n");
    assert!(events.len() == 4 && events[0].contains("Started") && events[0].contains("lib"), "{events:?}");
    let (again, events) = fixture.compile();
    assert_eq!(again, out);
    assert!(events.len() == 2 && events.iter().all(|events| events.contains("Cached")), "{events:?}");
}

#[test]
fn a_compiled_package_is_used_without_its_compile_time_dependencies() {
    let fixture = Fixture::compiled();
    let (out, events) = fixture.compile();
    assert_eq!(out, "compiled\n");
    assert!(events.len() == 1 && events[0].contains("Given"), "{events:?}");
}

#[test]
fn archives_and_their_contents_may_be_uncompressed() {
    let mut fixture = Fixture::new();
    fixture.lib = plain(&[("./packaging", b"cp words $BOSH_INSTALL_TARGET"), ("./words", b"plain words\n")]);
    assert_eq!(fixture.compile().0, "plain words\nmore\n");
    let path = fixture.with_manifest(&fixture.manifest());
    let mut content = Vec::new();
    MultiGzDecoder::new(&*fs::read(&path).unwrap()).read_to_end(&mut content).unwrap();
    fs::write(&path, content).unwrap();
    let release = Release::open_any(&path, &fixture.cache(), &|| false).unwrap();
    assert_eq!(release.name, "web-release");
}

#[test]
fn the_strongest_of_several_digests_identifies_the_archive() {
    let fixture = Fixture::new();
    let (app, other) = (sha1(&fixture.app), "0".repeat(40));
    let sha256: String = Sha256::digest(&fixture.app).iter().map(|byte| format!("{byte:02x}")).collect();
    for digests in [format!("{app};sha256:{sha256}"), format!("{other};sha256:{sha256}")] {
        let path = fixture.with_manifest(&fixture.manifest().replace(&app, &format!("'{digests}'")));
        Release::open_any(&path, &fixture.cache(), &|| false).unwrap();
        fs::remove_dir_all(fixture.cache()).unwrap();
    }
    let problems = fixture.problems(&fixture.manifest().replace(&app, &format!("'{app};sha256:00'")));
    assert!(problems.contains("DIR/web.tgz: packages/app.tgz is damaged"), "{problems}");
    let problems = fixture.problems(&fixture.manifest().replace(&format!("sha1: {app}"), "version: 1"));
    assert!(problems.contains("DIR/web.tgz: packages/app.tgz cannot be checked"), "{problems}");
}

#[test]
fn the_cache_path_may_be_a_link() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.dir.path().join("elsewhere")).unwrap();
    symlink("elsewhere", fixture.cache()).unwrap();
    assert_eq!(fixture.compile().0, "words\nmore\n");
}

#[test]
fn an_interrupted_unpacking_leaves_nothing() {
    let fixture = Fixture::new();
    let path = fixture.with_manifest(&fixture.manifest());
    let all = Cell::new(0);
    let count = |given_up_at: u32| {
        let asked = Cell::new(0);
        let opened = Release::open_any(&path, &fixture.cache(), &|| {
            asked.set(asked.get() + 1);
            asked.get() == given_up_at
        });
        all.set(asked.get());
        opened
    };
    count(u32::MAX).unwrap();
    fs::remove_dir_all(fixture.cache()).unwrap();
    fs::create_dir_all(fixture.cache().join("releases")).unwrap();
    for given_up_at in 1..=all.get() {
        count(given_up_at).unwrap_err();
        assert_eq!(names(&fixture.cache().join("releases")), [""; 0]);
    }
}

#[test]
fn unpacking_highly_compressed_data_can_be_interrupted() {
    let mut fixture = Fixture::new();
    fixture.lib = tgz(&[("./packaging", b""), ("./words", &vec![0; 10_000_000])]);
    let path = fixture.with_manifest(&fixture.manifest());
    let asked = Cell::new(0);
    Release::open_any(&path, &fixture.cache(), &|| {
        asked.set(asked.get() + 1);
        false
    })
    .unwrap();
    assert!(asked.get() > 100, "{}", asked.get());
}

#[test]
fn leftovers_of_a_killed_run_do_no_harm() {
    let fixture = Fixture::new();
    let release = fixture.open().unwrap();
    let part = release.dir.with_extension("part");
    fs::rename(&release.dir, &part).unwrap();
    write(&part.join("jobs/web/half"), "");
    let again = fixture.open().unwrap();
    assert_eq!(again, release);
    assert!(!part.exists() && !again.dir.join("jobs/web/half").exists());
}

#[test]
fn all_problems_of_an_archive_are_reported() {
    let fixture = Fixture::new();
    let manifest = fixture.manifest().replace(&sha1(&fixture.app), "00").replace("name: lib", "name: gone");
    let problems = fixture.problems(&manifest);
    assert!(problems.contains("DIR/web.tgz: packages/app.tgz is damaged"), "{problems}");
    assert!(problems.contains("DIR/web.tgz: packages/gone.tgz is not in the archive"), "{problems}");
}

#[test]
fn duplicate_names_are_reported() {
    let fixture = Fixture::new();
    let manifest = fixture.manifest();
    let (job, lib) = (manifest.lines().nth(3).unwrap(), manifest.lines().last().unwrap());
    let manifest = manifest.replace("packages:", &format!("{job}\npackages:")) + lib;
    let opened = Release::open_any(&fixture.with_manifest(&manifest), &fixture.cache(), &|| false);
    let problems = opened.unwrap_err().to_string();
    for twice in ["job 'web' is listed twice", "package 'lib' is listed twice", "web.tgz: release.MF"] {
        assert!(problems.contains(twice), "{problems}");
    }
}

#[test]
fn names_that_are_paths_are_refused() {
    let fixture = Fixture::new();
    let problems = fixture.problems(&fixture.manifest().replace("name: lib", "name: ../lib"));
    assert!(problems.contains("'../lib' is not a valid name of a job or package"), "{problems}");
    assert!(problems.contains("DIR/web.tgz: release.MF"), "{problems}");
}

#[test]
fn nothing_is_written_outside_of_the_cache() {
    for path in ["../../../../outside", "/outside", "templates/../../../../../outside"] {
        let mut fixture = Fixture::new();
        fixture.lib = tgz(&[("./packaging", b""), (path, b"")]);
        let opened = fixture.open();
        let found = below(fixture.dir.path()).into_iter().filter(|name| name.ends_with("outside"));
        let elsewhere: Vec<String> = found.filter(|name| !name.contains("/packages/lib/")).collect();
        assert!(elsewhere.is_empty(), "{path}: {elsewhere:?}, {opened:?}");
        assert!(!Path::new("/outside").exists());
    }
}

#[test]
fn an_archive_that_would_fill_the_disk_is_refused() {
    let mut fixture = Fixture::new();
    let length: usize = 80 << 20;
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(length as u64);
    header.set_cksum();
    let compressed = |bytes: &[u8]| {
        let mut member = GzEncoder::new(Vec::new(), Compression::best());
        member.write_all(bytes).unwrap();
        member.finish().unwrap()
    };
    // Members of gzip that follow one another are one content.
    fixture.lib = compressed(header.as_bytes());
    fixture.lib.extend(compressed(&vec![0; 1 << 20]).repeat(length >> 20));
    let problems = fixture.open().unwrap_err();
    assert_eq!(problems.exit_code(), 65);
    assert!(problems.to_string().contains("it unpacks to more than 100 times its size"), "{problems}");
    assert!(!below(&fixture.cache()).iter().any(|name| name.ends_with("zeros")));
}

#[test]
fn an_entry_below_a_link_that_leads_out_is_refused() {
    let mut fixture = Fixture::new();
    let outside = fixture.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    tar.append_link(&mut header, "link", &outside).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    tar.append_data(&mut header, "link/file", &b""[..]).unwrap();
    fixture.lib = tar.into_inner().unwrap();
    let problems = fixture.open().unwrap_err();
    assert_eq!(problems.exit_code(), 65);
    assert!(problems.to_string().contains("caused by: an entry leads out of the archive"), "{problems}");
    assert!(below(&outside).is_empty());
}

#[test]
fn a_file_that_is_not_an_archive_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (file, cache) = (dir.path().join("web.tgz"), dir.path().join("cache"));
    for (content, why) in [
        (b"no archive".to_vec(), "it is not a tar archive, neither plain nor compressed with gzip"),
        ([0x28, 0xb5, 0x2f, 0xfd].to_vec(), "it is compressed with zstd"),
        (tgz(&[("./release.MF", b"name: web\n")])[..40].to_vec(), "cannot unpack"),
        (tgz(&[("./jobs/web.tgz", b"")]), "it does not contain release.MF"),
        (tgz(&[("./release.MF", b"a: [\n")]), "cannot read the YAML"),
    ] {
        fs::write(&file, content).unwrap();
        let problems = Release::open_any(&file, &cache, &|| false).unwrap_err();
        assert_eq!(problems.exit_code(), 65);
        assert!(problems.to_string().contains(why), "{problems}");
        assert!(problems.to_string().contains("web.tgz"), "{problems}");
    }
}
