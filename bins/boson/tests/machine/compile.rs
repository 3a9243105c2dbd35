//! `boson compile`: packages, and the contents of a release image.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::files::names;
use testkit::waiting::eventually;

use crate::Machine;
use crate::deployment::Ran;

/// A machine whose package `tool` needs `words` at compile time.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("release/packages/words/spec", "name: words\nfiles: [words]\n");
    machine.write("release/packages/words/packaging", "cp words $BOSH_INSTALL_TARGET/\n");
    machine.write("release/src/words", "from words\n");
    machine.edit("release/packages/tool/spec", "files", "dependencies: [words]\nfiles");
    let more = "cp /var/vcap/packages/words/words $BOSH_INSTALL_TARGET/\npwd > $BOSH_INSTALL_TARGET/compiled-in\n";
    machine.edit("release/packages/tool/packaging", "set -eu\n", &format!("set -eu\n{more}"));
    machine
}

/// Makes `small.tgz` of the release, as bosh does.
fn archive(machine: &Machine) {
    let script = r#"
        set -eu
        mkdir -p archive/jobs archive/packages
        echo "{name: small, version: 1, jobs: [" > archive/release.MF
        for job in web check; do
            cp -r release/jobs/$job $job && mv $job/spec $job/job.MF && tar -C $job -czf archive/jobs/$job.tgz .
            echo "{name: $job, sha1: $(sha1sum < archive/jobs/$job.tgz | cut -d' ' -f1)}," >> archive/release.MF
        done
        echo "], packages: [" >> archive/release.MF
        for package in tool words; do
            mkdir $package && cp -r release/src/$package release/packages/$package/packaging $package
            tar -C $package -czf archive/packages/$package.tgz .
            sha1=sha256:$(sha256sum < archive/packages/$package.tgz | cut -d' ' -f1)
            needs=words && [ $package = tool ] || needs=
            echo "{name: $package, sha1: \"$sha1\", dependencies: [$needs]}," >> archive/release.MF
        done
        echo "]}" >> archive/release.MF
        tar -C archive -czf small.tgz .
    "#;
    let made = Command::new("bash").args(["-c", script]).current_dir(machine.path(".")).status().unwrap();
    assert!(made.success());
}

/// Paths below a directory, with modes, and contents of files.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, String)> {
    let entries = walkdir::WalkDir::new(root).min_depth(1).into_iter().map(Result::unwrap);
    entries
        .map(|entry| {
            let mode = entry.metadata().unwrap().permissions().mode();
            let content = fs::read_to_string(entry.path()).unwrap_or_default();
            (entry.path().strip_prefix(root).unwrap().to_path_buf(), (mode, content))
        })
        .collect()
}

fn compile(machine: &Machine, further: &[&str]) -> Ran {
    machine.boson(&[&["compile", "-r", "release"], further].concat())
}

/// Runs boson where `/var` is the machine's own directory `var`, as a build of an image would.
fn in_image(machine: &Machine, further: &[&str]) -> Command {
    fs::create_dir_all(machine.path("var")).unwrap();
    fs::copy(testkit::executable("boson"), machine.path("boson")).unwrap();
    let script = "mount --bind . /mnt && mount --bind var /var && cd /mnt && eval \"${PREPARE-}\" && \
                  XDG_CACHE_HOME=/mnt/cache exec ./boson compile -r \"${RELEASE-release}\" --in-place \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).args(further);
    command.current_dir(machine.path("."));
    command
}

/// Whether this machine lets a test be root in a namespace of its own.
fn can_be_in_image() -> bool {
    let can = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    let can = can.is_ok_and(|status| status.success());
    if !can {
        println!("skipped: this machine lets nobody make a user namespace");
    }
    can
}

#[test]
fn an_image_directory_is_written_and_packages_are_compiled_once() {
    let machine = machine();
    let first = compile(&machine, &["--output", "image"]).ends_with(0);
    assert!(first.stdout.contains("packages: 2 compiled, 0 from the cache"), "{}", first.stdout);
    let image = tree(&machine.path("image"));
    let content = |path: &str| image[Path::new(path)].1.as_str();
    assert_eq!(content("packages/tool/words"), "from words\n");
    assert_eq!(content("packages/tool/compiled-in"), "/var/vcap/data/compile/tool\n");
    assert!(content("jobs-src/web/job.MF").contains("name: web"));
    assert!(image.contains_key(Path::new("jobs-src/check/templates/run.erb")));
    assert!(!image.contains_key(Path::new("packages/words")), "it is needed by no job");

    fs::write(machine.path("image/packages/stale"), "").unwrap();
    let second = compile(&machine, &["--output", "image"]).ends_with(0);
    assert!(second.stdout.contains("packages: 0 compiled, 2 from the cache"), "{}", second.stdout);
    assert_eq!(tree(&machine.path("image")), image);

    machine.write("release/src/tool/serve", "# changed\n");
    let third = compile(&machine, &[]).ends_with(0);
    assert!(third.stdout.contains("packages: 1 compiled, 1 from the cache"), "{}", third.stdout);
}

#[test]
fn a_package_that_is_empty_because_of_an_ignored_failure_is_reported() {
    let machine = machine();
    machine.write("release/packages/tool/packaging", "cp absent ${BOSH_INSTALL_TARGET}/\ntrue\n");
    for _ in 0..2 {
        let compiled = compile(&machine, &[]).ends_with(0).stdout;
        let expected = "warning: package 'tool' is empty: its packaging script installed nothing, and goes on after a command that fails\n  hint: begin the script with `set -e`; its log is in ";
        let (_, rest) = compiled.split_once(expected).unwrap_or_else(|| panic!("{compiled}"));
        let log = fs::read_to_string(rest.lines().next().unwrap()).unwrap();
        assert!(log.contains("absent"), "{log}");
    }
}

/// As `bosh export-release --job`.
#[test]
fn only_what_chosen_jobs_need_is_compiled() {
    let machine = machine();
    let check = compile(&machine, &["--job", "check", "--output", "image"]).ends_with(0);
    assert!(!check.stdout.contains("1 compiled") && !check.stdout.contains("2 compiled"), "{}", check.stdout);
    let image = || tree(&machine.path("image")).into_keys().map(|path| path.display().to_string()).collect::<Vec<_>>();
    assert!(
        image().iter().all(|path| !path.starts_with("packages/") && !path.starts_with("jobs-src/web")),
        "{:?}",
        image()
    );
    let both = compile(&machine, &["--job", "check", "--job", "web", "--output", "image"]).ends_with(0);
    assert!(both.stdout.contains("packages: 2 compiled"), "{}", both.stdout);
    assert!(image().contains(&"packages/tool".to_owned()) && image().contains(&"jobs-src/web".to_owned()));
    let refused = compile(&machine, &["--job", "checks"]).ends_with(65);
    assert!(refused.stderr.contains("release 'small' has no job 'checks'"), "{}", refused.stderr);
    assert!(refused.stderr.contains("did you mean 'check'?"), "{}", refused.stderr);
}

#[test]
fn an_archive_is_compiled_and_deployed() {
    let machine = machine();
    archive(&machine);
    let compiled = machine.boson(&["compile", "-r", "small.tgz", "-o", "image"]).ends_with(0);
    assert!(compiled.stdout.contains("packages: 2 compiled"), "{}", compiled.stdout);
    compile(&machine, &["-o", "from-source"]).ends_with(0);
    let names = |dir: &str| tree(&machine.path(dir)).into_keys().collect::<Vec<_>>();
    assert_eq!(names("image"), names("from-source"));

    machine.boson(&["up", "-m", "manifest.yml", "-r", "small.tgz", "--detach"]).ends_with(0);
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
    machine.edit("manifest.yml", "release: small", "release: big");
    let refused = machine.boson(&["up", "-m", "manifest.yml", "-r", "small.tgz", "--detach"]).ends_with(65);
    assert!(!refused.stderr.contains(".part"), "{}", refused.stderr);
}

#[test]
fn a_directory_with_other_files_is_not_replaced() {
    let machine = machine();
    machine.write("image/precious", "");
    let refused = compile(&machine, &["--output", "image"]).ends_with(65);
    assert!(refused.stderr.contains("image contains something else: precious"), "{}", refused.stderr);
    assert_eq!(tree(&machine.path("image")).len(), 1);
}

#[test]
fn a_link_to_the_output_directory_is_kept() {
    let machine = machine();
    fs::create_dir(machine.path("real")).unwrap();
    symlink("real", machine.path("image")).unwrap();
    for _ in 0..2 {
        compile(&machine, &["--output", "image/"]).ends_with(0);
        assert!(machine.path("image").is_symlink());
        assert_eq!(names(&machine.path("real")), ["jobs-src", "packages"]);
        fs::write(machine.path("real/packages/stale"), "").unwrap();
    }
}

#[test]
fn an_unwritable_output_is_reported_before_compiling() {
    let machine = machine();
    machine.write("file", "");
    for output in ["file", "file/image"] {
        let refused = compile(&machine, &["--output", output]);
        assert!(matches!(refused.code, Some(65 | 70)), "{refused:?}");
        assert!(refused.stderr.contains(output) && refused.stderr.contains("hint:"), "{}", refused.stderr);
        assert!(!refused.stdout.contains("compiled"), "{}", refused.stdout);
    }
    if !can_be_in_image() {
        return;
    }
    let prepare = "mkdir ro && mount -t tmpfs -o ro none ro";
    for output in ["ro/image", "ro/deep/image"] {
        let mut refused = in_image(&machine, &["--output", output]);
        let refused = Ran::from(refused.env("PREPARE", prepare).output().unwrap()).ends_with(70);
        assert!(refused.stderr.contains(&format!("cannot write {output}")), "{}", refused.stderr);
        assert!(!refused.stdout.contains("compiled"), "{}", refused.stdout);
        fs::remove_dir(machine.path("ro")).unwrap();
    }
    let mut refused = in_image(&machine, &["--output", "mounted"]);
    let refused = refused.env("PREPARE", "mkdir mounted && mount -t tmpfs none mounted").output().unwrap();
    let refused = Ran::from(refused).ends_with(70);
    assert!(refused.stderr.contains("it is a mount point"), "{}", refused.stderr);
    assert!(names(&machine.path(".")).iter().all(|name| !name.starts_with(".boson-compile")), "something is left");
}

#[test]
fn a_failed_compilation_writes_nothing() {
    let machine = machine();
    machine.write("release/packages/tool/packaging", "exit 3\n");
    let refused = compile(&machine, &["--output", "image"]).ends_with(65);
    assert!(refused.stderr.contains("package 'tool' of release 'small' does not compile"), "{}", refused.stderr);
    assert!(!machine.path("image").exists());
}

#[test]
fn an_image_build_writes_the_same_files_and_leaves_nothing_else() {
    if !can_be_in_image() {
        return;
    }
    let machine = machine();
    // Leftovers of the compilation are not part of the package.
    let odd = "mknod $BOSH_COMPILE_TARGET/odd p; mkdir -m 0 $BOSH_COMPILE_TARGET/closed\n";
    machine.edit("release/packages/tool/packaging", "set -eu\n", &format!("set -eu\n{odd}"));
    machine.write("release/packages/tool/pre_packaging", "echo prepared > $BUILD_DIR/prepared\n");
    machine.edit("release/packages/tool/packaging", "set -eu\n", "set -eu\ncp prepared $BOSH_INSTALL_TARGET/\n");
    let ran = Ran::from(in_image(&machine, &["--output", "/mnt/in-place"]).output().unwrap()).ends_with(0);
    assert!(ran.stdout.contains("packages: 2 compiled, 0 from the cache"), "{}", ran.stdout);
    assert_eq!(tree(&machine.path("var")), BTreeMap::new(), "left in /var");
    fs::remove_dir_all(machine.path("cache")).unwrap();
    compile(&machine, &["--output", "sandboxed"]).ends_with(0);
    assert_eq!(tree(&machine.path("in-place")), tree(&machine.path("sandboxed")));
}

#[test]
fn an_image_build_prints_the_log_of_a_failed_package() {
    if !can_be_in_image() {
        return;
    }
    let machine = machine();
    machine.write("release/packages/words/packaging", "for i in $(seq 200); do echo line $i; done; exit 3\n");
    let refused = Ran::from(in_image(&machine, &[]).output().unwrap()).ends_with(65);
    assert!(refused.stderr.contains("line 1\n") && refused.stderr.contains("line 200\n"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("hint"), "{}", refused.stderr);
    let refused = compile(&machine, &[]).ends_with(65);
    assert!(
        !refused.stderr.contains("line 1\n") && refused.stderr.contains("the whole log is in"),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_image_with_existing_package_directories_is_refused() {
    if !can_be_in_image() {
        return;
    }
    let machine = machine();
    for there in ["packages/tool", "data/compile/words"] {
        machine.write(&format!("var/vcap/{there}/file"), "");
        let refused = Ran::from(in_image(&machine, &[]).output().unwrap()).ends_with(65);
        assert!(refused.stderr.contains(&format!("/var/vcap/{there} exists already")), "{}", refused.stderr);
        assert!(machine.path("var/vcap").join(there).join("file").exists());
        fs::remove_dir_all(machine.path("var/vcap")).unwrap();
    }
}

#[test]
fn a_full_disk_is_an_environment_error() {
    if !can_be_in_image() {
        return;
    }
    let machine = machine();
    let mut large = fs::File::create(machine.path("release/src/tool/large")).unwrap();
    io::copy(&mut fs::File::open("/dev/urandom").unwrap().take(300_000), &mut large).unwrap();
    archive(&machine);
    let mut refused = in_image(&machine, &[]);
    refused.env("RELEASE", "small.tgz").env("PREPARE", "mkdir cache && mount -t tmpfs -o size=100k none cache");
    let refused = Ran::from(refused.output().unwrap()).ends_with(70);
    assert!(refused.stderr.contains("cannot unpack small.tgz\n"), "{}", refused.stderr);
    assert!(refused.stderr.contains("No space left") && !refused.stderr.contains("hint"), "{}", refused.stderr);
}

#[test]
fn an_interrupted_compilation_leaves_nothing() {
    if !can_be_in_image() {
        return;
    }
    let machine = machine();
    machine.write("release/packages/tool/packaging", "touch /var/compiling\nsleep 1000 & wait\n");
    let mut boson = in_image(&machine, &["--output", "/mnt/image"]).spawn().unwrap();
    eventually("it compiles", || machine.path("var/compiling").exists());
    kill(Pid::from_raw(boson.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(boson.wait().unwrap().code(), Some(130));
    assert_eq!(tree(&machine.path("var")).into_keys().collect::<Vec<_>>(), [Path::new("compiling")]);
    assert!(!machine.path("image").exists());
}

#[test]
fn waiting_for_another_compilation_can_be_interrupted() {
    let machine = machine();
    machine.write("release/packages/words/packaging", "sleep 1000 & wait\n");
    let start = || machine.command(&["compile", "-r", "release"]).spawn().unwrap();
    let mut first = start();
    eventually("the first one compiles", || {
        fs::read_dir(machine.path("cache/boson/work")).is_ok_and(|mut work| work.next().is_some())
    });
    let mut second = start();
    eventually("the second one waits", || {
        let files = fs::read_dir(format!("/proc/{}/fd", second.id())).unwrap().flatten();
        let mut files = files.flat_map(|file| fs::read_link(file.path()));
        files.any(|file| file.starts_with(fs::canonicalize(machine.path("cache/boson/locks")).unwrap()))
    });
    for boson in [&mut second, &mut first] {
        kill(Pid::from_raw(boson.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        eventually("it ends", || boson.try_wait().unwrap().is_some());
        assert_eq!(boson.wait().unwrap().code(), Some(130));
    }
}

/// A root file system of this machine's programs, as links in an archive: it has all of them, and `marker`.
fn stemcell(machine: &Machine) {
    let script = r#"
        set -eu
        mkdir -p base/etc base/usr && echo of-the-stemcell > base/etc/marker
        # Enough to run a shell and the programs that the test calls.
        for program in /bin/bash /bin/sh /bin/cp /bin/cat /bin/mkdir /bin/sleep /usr/bin/perl; do
            for file in $program $(ldd $program "$BOSON" | grep -o '/[^ )]*[.]so[^ )]*'); do
                file=$(realpath -s $file) && mkdir -p base$(dirname $file) && cp -L $file base$file
            done
        done
        cp -r --parents /usr/lib/*/perl* base
        # What an executable of development needs beside its libraries.
        cp -r --parents /usr/lib/ruby /usr/lib/*/ruby base 2>/dev/null || true
        tar -C base -cf base.tar .
    "#;
    let boson = testkit::executable("boson");
    let made = Command::new("bash").args(["-c", script]).env("BOSON", boson).current_dir(machine.path(".")).status();
    assert!(made.unwrap().success());
}

#[test]
fn packages_are_compiled_and_instances_run_on_a_stemcell() {
    let machine = machine();
    stemcell(&machine);
    machine.edit(
        "release/packages/tool/packaging",
        "set -eu\n",
        "set -eu\ncat /etc/marker > $BOSH_INSTALL_TARGET/base\n",
    );
    let output = |further: &[&str]| {
        compile(&machine, &[&["--output", "out"], further].concat()).ends_with(0);
        fs::read_to_string(machine.path("out/packages/tool/base")).unwrap()
    };
    let on_host = compile(&machine, &[]).ends_with(65);
    assert!(on_host.stderr.contains("/etc/marker"), "{}", on_host.stderr);
    assert_eq!(output(&["--stemcell", "base.tar"]), "of-the-stemcell\n");
    assert_eq!(output(&["--stemcell", "base"]), "of-the-stemcell\n");
    let refused = compile(&machine, &["--stemcell", "release"]).ends_with(65);
    assert!(refused.stderr.contains("release is not a root file system"), "{}", refused.stderr);

    machine.edit(
        "manifest.yml",
        "instance_groups:\n",
        "stemcells: [{alias: default, os: o, version: 1}]\ninstance_groups:\n",
    );
    machine.edit("manifest.yml", "- name: web\n  azs", "- name: web\n  stemcell: default\n  azs");
    let refused = machine.up(&["--stemcell", "other=base.tar", "--stemcell", "base"]).ends_with(2);
    assert!(refused.stderr.contains("--stemcell: unknown alias 'other'"), "{}", refused.stderr);
    machine.up(&["--stemcell", "default=base.tar", "--stemcell", "base"]).ends_with(0);
    let seen = machine.boson(&["exec", "web/0", "cat", "/etc/marker", "/var/vcap/packages/tool/base"]).ends_with(0);
    assert_eq!(seen.stdout, "of-the-stemcell\nof-the-stemcell\n");
}

#[test]
fn the_cache_is_listed_and_pruned() {
    let machine = machine();
    compile(&machine, &["--cache-limit", "1"]).ends_with(0);
    let list = || machine.boson(&["cache", "list"]).ends_with(0).stdout;
    // A recently used entry is kept, whatever the limit is.
    assert!(list().starts_with("KIND") && list().contains(" tool-") && list().ends_with("B\n"), "{}", list());
    machine.boson(&["cache", "prune", "--cache-limit", "1"]).ends_with(0);
    assert_eq!(list().lines().count(), 4, "{}", list());
    let pruned = machine.boson(&["cache", "prune", "--all"]).ends_with(0).stdout;
    assert!(pruned.contains("removed package") && pruned.ends_with("0 entries, 0 B\n"), "{pruned}");
    assert_eq!(list(), "KIND  SIZE  ENTRY\n0 entries, 0 B\n");
    machine.up(&[]).ends_with(0);
    let refused = machine.boson(&["cache", "prune"]).ends_with(65);
    assert!(refused.stderr.contains("a deployment is up"), "{}", refused.stderr);
    let wrong = machine.boson(&["cache", "prune", "--cache-limit", "x"]).ends_with(2);
    assert!(wrong.stderr.contains("--cache-limit"), "{}", wrong.stderr);
}
