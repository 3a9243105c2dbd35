//! The contents of the images.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use e2e::here;

use serde_json::Value;

use crate::cluster::{from_run, output};

/// A document in an image's archive.
fn document(archive: &Path, path: &str) -> Value {
    let text = output(Command::new("tar").arg("-xOf").arg(archive).arg(format!("./{path}"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The paths in the layers of an image's archive.
fn paths(archive: &Path) -> Vec<String> {
    let manifest = document(archive, "manifest.json");
    let list = |layer: &Value| {
        let inner = format!("tar -xOf '{}' './{}' | tar -t", archive.display(), layer.as_str().unwrap());
        output(Command::new("sh").args(["-c", &inner])).unwrap()
    };
    manifest[0]["Layers"].as_array().unwrap().iter().map(list).collect::<String>().lines().map(str::to_owned).collect()
}

#[test]
fn the_boson_image_contains_executables_and_their_notices() {
    let paths = paths(&from_run("E2E_IMAGES").join("images/boson.tar"));
    let strange: Vec<&String> = paths
        .iter()
        .filter(|path| !["bin/", "tmp/", "usr/share/doc/boson/"].iter().any(|dir| path.starts_with(dir)))
        .filter(|path| !["usr/", "usr/share/", "usr/share/doc/"].contains(&path.as_str()))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
    for name in [
        "boson",
        "boson-cluster",
        "write-secrets",
        "deploy",
        "boson-pod",
        "install",
        "copy-jobs",
        "plan",
        "render-jobs",
        "run-process",
    ] {
        assert!(paths.contains(&format!("bin/{name}")), "{name} is missing: {paths:?}");
    }
    for name in ["NOTICES", "LICENSE", "sbom.spdx.json"] {
        assert!(paths.contains(&format!("usr/share/doc/boson/{name}")), "{name} is missing: {paths:?}");
    }
}

#[test]
fn images_list_the_parts_of_all_their_executables() {
    let images = from_run("E2E_IMAGES");
    // Of each executable a crate that no other one of the image has.
    for (image, crates) in [
        ("images/boson.tar", &["rutie", "kube-client", "nix"][..]),
        ("images/boson-cloud.tar", &["rusqlite"]),
        ("images/boson-templates.tar", &["kube-client", "axum"]),
        ("e2e/mail.tar", &["zip"]),
    ] {
        let archive = images.join(image);
        let sbom: Value = serde_json::from_str(&file_of(&archive, "usr/share/doc/boson/sbom.spdx.json")).unwrap();
        let notices = file_of(&archive, "usr/share/doc/boson/NOTICES");
        let parts: Vec<&str> =
            sbom["packages"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
        for name in crates {
            assert!(parts.contains(name) && notices.contains(name), "{name} is no part of {image}: {parts:?}");
        }
    }
}

#[test]
fn the_boson_image_is_small_labelled_and_runs_as_vcap() {
    let archive = from_run("E2E_IMAGES").join("images/boson.tar");
    let size = fs::metadata(&archive).unwrap().len();
    assert!(size <= 40_000_000, "{size} bytes");
    let manifest = document(&archive, "manifest.json");
    let config = document(&archive, manifest[0]["Config"].as_str().unwrap())["config"].clone();
    assert_eq!(config["User"], "1000:1000");
    for label in ["title", "description", "licenses", "version"] {
        let label = format!("org.opencontainers.image.{label}");
        assert!(config["Labels"][&label].as_str().is_some_and(|text| !text.is_empty()), "{label}: {config}");
    }
}

#[test]
fn a_release_image_is_its_base_with_jobs_and_packages_and_no_boson() {
    let images = from_run("E2E_IMAGES").join("e2e");
    let base = paths(&images.join("stemcell.tar"));
    let release = paths(&images.join("counter.tar"));
    let more: Vec<&str> = release.iter().filter(|path| !base.contains(path)).map(String::as_str).collect();
    let strange: Vec<&&str> = more.iter().filter(|path| !path.starts_with("var/vcap/")).collect();
    assert!(strange.is_empty(), "{strange:?}");
    for path in ["jobs-src/counter/job.MF", "jobs-src/caller/templates/bpm.yml.erb", "packages/counter/bin/counter"] {
        assert!(more.contains(&format!("var/vcap/{path}").as_str()), "{path} is missing: {more:?}");
    }
}

/// The recipe, in its own directory, on the present release.
fn recipe(directory: &Path, cache: &Path, release: &str) -> Command {
    let images = from_run("E2E_IMAGES");
    let mut build = Command::new(here().join("../images/release/build"));
    build.args(["--release", release, "--tag", "boson-e2e/test:latest", "--output", "image.tar"]);
    build.arg("--base").arg(images.join("e2e/stemcell.tar")).arg("--boson").arg(images.join("images/boson.tar"));
    build.current_dir(directory).env("IMAGE_STORE", directory.join("store")).env("TMPDIR", cache);
    build.env("SOURCE_DATE_EPOCH", "1700000000");
    build
}

/// Runs it; gives the image's archive.
fn release_image(directory: &Path, cache: &Path) -> Vec<u8> {
    output(&mut recipe(directory, cache, "release")).unwrap();
    fs::read(directory.join("image.tar")).unwrap()
}

fn file_of(archive: &Path, path: &str) -> String {
    let script = format!("tar -xOf '{}' --wildcards './*.tar' | tar -xOi '{path}'", archive.display());
    output(Command::new("sh").args(["-c", &script])).unwrap()
}

#[test]
fn a_release_image_is_reproducible_and_only_changed_packages_are_compiled_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for place in ["here", "there", "cache"] {
        fs::create_dir(at(place)).unwrap();
    }
    // Compiling it twice gives different results.
    let (random, packaging) = ("cat /proc/sys/kernel/random/uuid > $BOSH_INSTALL_TARGET/random\n", "release/packages");
    let copy = |place: &str| {
        let release = here().join("releases/counter");
        output(Command::new("cp").arg("-r").arg(release).arg(at(place).join("release"))).unwrap();
        let script = at(place).join(packaging).join("counter/packaging");
        let text = fs::read_to_string(&script).unwrap();
        fs::write(&script, format!("{text}{random}")).unwrap();
    };
    copy("here");
    copy("there");
    let first = release_image(&at("here"), &at("cache"));
    let second = release_image(&at("there"), &at("cache"));
    assert!(first == second, "the images differ");

    let of_first = file_of(&at("here/image.tar"), "var/vcap/packages/counter/random");
    fs::write(at("here/release/src/counter/more"), "").unwrap();
    release_image(&at("here"), &at("cache"));
    assert_ne!(file_of(&at("here/image.tar"), "var/vcap/packages/counter/random"), of_first);
}

/// The package of the other jobs does not compile.
#[test]
fn an_image_of_some_jobs_has_neither_other_jobs_nor_their_packages() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    fs::create_dir(&cache).unwrap();
    output(Command::new("cp").arg("-r").arg(here().join("releases/idioms")).arg(dir.path().join("release"))).unwrap();
    fs::write(dir.path().join("release/packages/daemon/packaging"), "exit 3\n").unwrap();
    output(recipe(dir.path(), &cache, "release").args(["--job", "plain", "--job", "mixed"])).unwrap();
    let paths = paths(&dir.path().join("image.tar"));
    let below = |directory: &str| -> BTreeSet<&str> {
        let paths = paths.iter().filter_map(|path| path.strip_prefix(directory));
        paths.filter_map(|path| path.split('/').next()).filter(|name| !name.is_empty()).collect()
    };
    assert_eq!(below("var/vcap/jobs-src/"), ["mixed", "plain"].into());
    assert!(!below("var/vcap/packages/").contains("daemon"), "{paths:?}");
    let refused = output(recipe(dir.path(), &cache, "release").args(["--job", "plane"])).unwrap_err();
    assert!(refused.contains("has no job 'plane'"), "{refused}");
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_recipe_leaves_nothing_and_removes_no_other_image() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    fs::create_dir(&cache).unwrap();
    output(Command::new("cp").arg("-r").arg(here().join("releases/counter")).arg(dir.path().join("release"))).unwrap();
    // It applies to images of the release's sources, if to any.
    fs::write(dir.path().join("release/.dockerignore"), "*\n").unwrap();
    release_image(dir.path(), &cache);
    // The image that the first build loaded still exists.
    let by_name = output(recipe(dir.path(), &cache, "release").args(["--boson", "boson/boson:latest"]));
    by_name.unwrap();

    fs::write(dir.path().join("release/packages/counter/packaging"), "echo so it is; exit 3\n").unwrap();
    fs::remove_file(dir.path().join("image.tar")).unwrap();
    let refused = output(&mut recipe(dir.path(), &cache, "release")).unwrap_err();
    assert!(refused.contains("package 'counter' of release 'counter' does not compile"), "{refused}");
    assert!(refused.contains("so it is"), "{refused}");
    // Docker keeps its containers elsewhere, and removes them itself.
    let containers = fs::read_to_string(dir.path().join("store/images/vfs-containers/containers.json"));
    assert!(containers.as_ref().map_or(true, |list| list.trim() == "[]"), "{containers:?}");
    let left: Vec<String> = names(&cache).into_iter().filter(|name| name.starts_with("boson-")).collect();
    assert_eq!((left, names(dir.path())), (vec![], ["cache", "release", "store"].map(str::to_owned).to_vec()));
}

/// `images/ci/Dockerfile` on the tests' stemcell.
const CHECK_IMAGE: &str = r#"set -eu -o pipefail
. images/engine
engine=$(find_engine)
export SOURCE_DATE_EPOCH=0
base=$(take_image "$1") boson=$(take_image "$2")
build_image boson-e2e/check-release:latest images/ci/Dockerfile images/ci --build-arg BASE="$base" --build-arg BOSON="$boson"
save_image "$3/check.tar" boson-e2e/check-release:latest
mkdir "$3/root"
tar -xOf "$3/check.tar" ./manifest.json | grep -o '[^",:[]*/layer.tar\|[0-9a-f]*\.tar' | while read -r layer; do
  tar -xOf "$3/check.tar" "./$layer" | tar -C "$3/root" -x --exclude 'dev/*'
done
cp -r e2e/releases/counter/. "$3/root/release/"
unshare --user --map-root-user chroot "$3/root" /bin/sh -c 'cd /release && exec check-release'
"#;

#[test]
fn a_container_of_the_recipe_checks_a_release() {
    let dir = tempfile::tempdir().unwrap();
    let images = from_run("E2E_IMAGES");
    let mut script = Command::new("bash");
    script.args(["-c", CHECK_IMAGE, "check"]).arg(images.join("e2e/stemcell.tar")).arg(images.join("images/boson.tar"));
    script.arg(dir.path()).env("IMAGE_STORE", dir.path().join("store")).env("TMPDIR", dir.path());
    let printed = output(script.current_dir(here().join(".."))).unwrap();
    assert!(printed.ends_with("passed, 0 failed\nall checks passed\n"), "{printed}");
}
