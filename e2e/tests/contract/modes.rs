//! The modes in the table of paths are those of the files that the stages write.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use e2e::run;

use super::{PAGE, page, quoted, rows, section};

/// Runs all stages on a job in this root directory, with their default paths.
fn run_all_stages(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let job = "var/vcap/jobs-src/web";
    let spec = "name: web\ntemplates: {bpm.yml: config/bpm.yml, pre-start: bin/pre-start}\npackages: []\n";
    write(&format!("{job}/job.MF"), spec);
    let bpm = "processes: [{name: web, executable: /bin/true, persistent_disk: true}]\n";
    write(&format!("{job}/templates/bpm.yml"), bpm);
    write(&format!("{job}/templates/pre-start"), "#!/bin/sh\n");
    fs::create_dir_all(root.join("var/vcap/packages/web")).unwrap();
    let manifest = "name: web\nreleases: [{name: web, version: 1}]\nstemcells: [{alias: a, os: x, version: 1}]\n\
        update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1, update_watch_time: 1}\n\
        instance_groups: [{name: web, instances: 1, vm_type: x, stemcell: a, networks: [{name: default}], \
        jobs: [{name: web, release: web}]}]\n";
    write("var/run/secrets/deployment/manifest.yaml", manifest);
    for stage in [
        &["copy-jobs", "--release", "web"][..],
        &["plan", "ig-resolved"],
        &["render-jobs", "--pod-ordinal", "0"],
        &["create-dirs"],
        &["pre-start"],
        &["run-process", "--job", "web"],
    ] {
        let environment = [("BOSON_ROOT", root.to_str().unwrap()), ("INSTANCE_GROUP_NAME", "web")];
        let outcome = run(stage, &environment, root);
        assert_eq!(outcome.code, Some(0), "{stage:?}: {}", outcome.stderr);
        if stage[0] == "plan" {
            let output = fs::read_to_string(root.join("mnt/quarks/output.json")).unwrap();
            let output: serde_json::Value = serde_json::from_str(&output).unwrap();
            let resolved = "var/run/secrets/resolved-properties/web/properties.yaml";
            write(resolved, output["properties.yaml"].as_str().unwrap());
        }
    }
}

#[test]
fn the_modes_of_paths_are_those_of_the_table() {
    let dir = tempfile::tempdir().unwrap();
    run_all_stages(dir.path());
    let page = page();
    let mut checked = BTreeSet::new();
    for row in rows(section(&page, "Paths")) {
        let modes: Vec<u32> = row
            .get(2)
            .unwrap_or(&"")
            .split(|c: char| !c.is_ascii_digit())
            .filter(|word| word.len() == 4)
            .filter_map(|word| u32::from_str_radix(word, 8).ok())
            .collect();
        let mut directory = "";
        for path in quoted(row[0]) {
            directory = if path.starts_with('/') { path.rsplit_once('/').unwrap().0 } else { directory };
            let path = if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
            let path = path.replace("<script>", "pre-start");
            let path = ["<job>", "<process>", "<release>", "<group>"]
                .iter()
                .fold(path, |path, name| path.replace(name, "web"));
            let Ok(meta) = dir.path().join(path.trim_start_matches('/')).metadata() else { continue };
            let mode = meta.permissions().mode() & 0o7777;
            assert!(modes.is_empty() || modes.contains(&mode), "{PAGE}: {path} has mode {mode:04o}");
            checked.extend((!modes.is_empty()).then_some(path));
        }
    }
    assert!(checked.len() >= 20, "{checked:#?}");
}
