//! What the images hold.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::cluster::{output, told};

/// The paths in the layers of an image's archive.
fn paths(archive: &Path) -> Vec<String> {
    let tar = |args: &[&str]| output(Command::new("tar").args(args)).unwrap();
    let archive = archive.to_str().unwrap();
    let manifest: Value = serde_json::from_str(&tar(&["-xOf", archive, "./manifest.json"])).unwrap();
    let layers = manifest[0]["Layers"].as_array().unwrap().clone();
    let list = |layer: &Value| {
        let inner = format!("tar -xOf '{archive}' './{}' | tar -t", layer.as_str().unwrap());
        output(Command::new("sh").args(["-c", &inner])).unwrap()
    };
    layers.iter().map(list).collect::<String>().lines().map(str::to_owned).collect()
}

#[test]
fn the_image_of_boson_holds_executables_and_what_has_to_be_told_about_them() {
    let paths = paths(&told("E2E_IMAGES").join("images/boson.tar"));
    let strange: Vec<&String> = paths
        .iter()
        .filter(|path| !["bin/", "tmp/", "usr/share/doc/boson/"].iter().any(|dir| path.starts_with(dir)))
        .filter(|path| !["usr/", "usr/share/", "usr/share/doc/"].contains(&path.as_str()))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
    for name in ["boson", "boson-pod", "install", "copy-jobs", "plan", "render-jobs", "run-process"] {
        assert!(paths.contains(&format!("bin/{name}")), "{name} is missing: {paths:?}");
    }
}

#[test]
fn a_release_image_is_its_base_with_jobs_and_packages_and_nothing_of_boson() {
    let images = told("E2E_IMAGES").join("e2e");
    let base = paths(&images.join("stemcell.tar"));
    let release = paths(&images.join("counter.tar"));
    let more: Vec<&str> = release.iter().filter(|path| !base.contains(path)).map(String::as_str).collect();
    let strange: Vec<&&str> = more.iter().filter(|path| !path.starts_with("var/vcap/")).collect();
    assert!(strange.is_empty(), "{strange:?}");
    for path in ["jobs-src/counter/job.MF", "jobs-src/caller/templates/bpm.yml.erb", "packages/counter/bin/counter"] {
        assert!(more.contains(&format!("var/vcap/{path}").as_str()), "{path} is missing: {more:?}");
    }
}
