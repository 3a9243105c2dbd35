//! `boson render` gives each file the bytes and the mode that `plan` and `render-jobs` give it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use handoff::bpm_info::{BpmInfo, Instance};
use handoff::output::{BPM_YAML, PROPERTIES_YAML, decode};
use walkdir::WalkDir;

const IP: &str = "10.0.3.4";

fn e2e(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../e2e").join(path)
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let mut children: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    children.sort();
    children
}

fn boson(arguments: &[&str]) {
    let mut command = Command::new(testkit::executable("boson"));
    let output = command.args(arguments).env("POD_IP", IP).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Content and mode of all files below a directory, by path; BPM's command is no file of a job.
fn files(directory: &Path) -> BTreeMap<String, (String, u32)> {
    let is_file = |path: &str| !path.starts_with('.') && path != "bpm/bin/bpm";
    let entries = WalkDir::new(directory).follow_links(true).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file()).map(|entry| {
        let path = entry.path().strip_prefix(directory).unwrap().display().to_string();
        let mode = entry.metadata().unwrap().permissions().mode();
        (path, (String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned(), mode))
    });
    files.filter(|(path, _)| is_file(path)).collect()
}

/// Renders a deployment in both ways; returns the number of instances.
fn compare(manifest: &Path, releases: &[PathBuf], ops: Option<&Path>) -> usize {
    let work = tempfile::tempdir().unwrap();
    let w = |path: &str| work.path().join(path).display().to_string();
    for release in releases {
        let (jobs, name) = (release.join("jobs"), release.file_name().unwrap().to_string_lossy().into_owned());
        boson(&["copy-jobs", "--from", &jobs.display().to_string(), "--to", &w(&format!("all/jobs-src/{name}"))]);
    }
    let manifest = manifest.display().to_string();
    let ops = ops.map(|path| format!("--ops-file={}", path.display()));
    let mut inputs = vec!["-m".to_owned(), manifest, format!("--vars-store={}", w("store.yml"))];
    inputs.extend(ops);
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    boson(&[&["plan", "-b", &w("all"), "--output-dir", &w("plan")], inputs.as_slice()].concat());
    let sources: Vec<String> = releases.iter().map(|release| format!("-r{}", release.display())).collect();
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    boson(&[&["render", "--ip", IP, "--output", &w("rendered")], inputs.as_slice(), &sources].concat());
    let mut count = 0;
    for group in children(&work.path().join("plan")).into_iter().filter(|group| group.join("bpm").is_dir()) {
        let document = |kind: &str, name| {
            decode(&fs::read_to_string(group.join(kind).join("output.json")).unwrap(), name, kind).unwrap()
        };
        let info = BpmInfo::decode(&document("bpm", BPM_YAML), "bpm.yaml").unwrap();
        fs::write(w("properties.yaml"), document("ig-resolved", PROPERTIES_YAML)).unwrap();
        let quarks = &info.group().properties.quarks;
        for Instance { index, az_index, ordinal, .. } in &quarks.instances {
            let name = format!("{}-{index}", info.group().name);
            let jobs = w(&format!("jobs/{name}"));
            fs::create_dir_all(&jobs).unwrap();
            let [az, ordinal, replicas] = [az_index, ordinal, &quarks.replicas].map(ToString::to_string);
            let instance = ["--az-index", &az, "--pod-ordinal", &ordinal, "--replicas", &replicas];
            let paths = ["-g", &info.group().name, "-m", &w("properties.yaml"), "-j", &w("all"), "-d", &jobs];
            boson(&[["render-jobs"].as_slice(), &paths, &instance].concat());
            let (expected, actual) = (files(Path::new(&jobs)), files(&work.path().join("rendered").join(&name)));
            assert_eq!(actual.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
            for (path, file) in &expected {
                assert_eq!(&actual[path], file, "{name}: {path}");
            }
            count += 1;
        }
    }
    assert_eq!(children(&work.path().join("rendered")).len(), count + 1, "with the list");
    count
}

#[test]
fn scenarios_have_the_files_of_render_jobs() {
    for scenario in children(&e2e("scenarios")) {
        let count = compare(&scenario.join("1-manifest.yml"), &children(&scenario.join("2-releases")), None);
        assert!(count > 0, "{}", scenario.display());
    }
}

#[test]
fn deployments_have_the_files_of_render_jobs() {
    let releases = children(&e2e("releases"));
    let mut count = 0;
    for manifest in children(&e2e("deployments")) {
        if fs::read_to_string(&manifest).unwrap().lines().any(|line| line.starts_with("name: ")) {
            count += compare(&manifest, &releases, None);
        }
    }
    assert!(count > 5, "{count}");
    compare(&e2e("deployments/nats.yml"), &releases, Some(&e2e("deployments/nats-tls.yml")));
}
