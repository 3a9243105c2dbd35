//! Packages of other releases: which job uses which.

use testkit::files::write;

use crate::{Planned, plan_in};

const MANIFEST: &str = "name: d\nreleases: [{name: web, version: 1}, {name: tools, version: 1}, {name: more, version: 1}]\n\
    instance_groups:\n- name: g\n  instances: 1\n  jobs:\n  - {name: server, release: web}\n  - {name: cli, release: tools}\n\
    \x20 - {name: other, release: more}\n";
const BPM: &str = "processes: [{name: server, executable: /var/vcap/packages/server/bin/server}]\n";

/// Plans three releases; `script` is what `bin/run` of the job `server` has, `lists` are the packages of the images.
fn plan(script: &str, bpm: &str, lists: &[(&str, &str)]) -> Planned {
    plan_manifest(MANIFEST, script, bpm, lists)
}

fn plan_manifest(manifest: &str, script: &str, bpm: &str, lists: &[(&str, &str)]) -> Planned {
    let work = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&work.path().join("jobs-src").join(path), text);
    let templates = "templates: {run.erb: bin/run, bpm.yml.erb: config/bpm.yml}";
    file("web/server/spec", &format!("name: server\npackages: [server]\n{templates}\n"));
    file("web/server/templates/run.erb", script);
    file("web/server/templates/bpm.yml.erb", bpm);
    file("tools/cli/spec", "name: cli\npackages: [jq, cf-cli]\ntemplates: {cli.erb: bin/cli, conf.erb: config/conf}\n");
    file("tools/cli/templates/cli.erb", "exec /var/vcap/packages/cf-cli/bin/cf");
    file("tools/cli/templates/conf.erb", "log: /var/vcap/packages/logger/log");
    file("more/other/spec", "name: other\npackages: [more]\ntemplates: {}\n");
    for (release, packages) in lists {
        file(&format!("{release}/.packages"), &format!("{{\"version\":1,\"packages\":[{packages}]}}\n"));
    }
    plan_in(work, manifest)
}

const LISTS: [(&str, &str); 3] =
    [("web", r#""server""#), ("tools", r#""jq","cf-cli","logger","extra""#), ("more", r#""more""#)];

fn found(planned: &Planned) -> String {
    let packages = &planned.deployment().instance_groups[0].jobs[0].foreign_packages;
    packages.iter().map(|of| format!("{} of {}", of.name, of.release)).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_package_of_another_release_is_found_where_it_is_named() {
    for lists in [&LISTS[..], &[]] {
        let planned = plan("/var/vcap/packages/jq/bin/jq . /var/vcap/packages/server/conf", BPM, lists);
        assert_eq!((planned.code, planned.printed.as_str()), (Some(0), ""));
        assert_eq!(found(&planned), "jq of tools");
        assert!(planned.deployment().instance_groups[0].jobs[1].foreign_packages.is_empty());
    }
    // An image may have more than its jobs need.
    assert_eq!(found(&plan("/var/vcap/packages/extra/bin/extra", BPM, &LISTS)), "extra of tools");
    // The release's own comes first.
    let own = [("web", r#""server","jq""#), LISTS[1], LISTS[2]];
    assert_eq!(found(&plan("/var/vcap/packages/jq/bin/jq", BPM, &own)), "");
}

#[test]
fn a_script_of_another_job_brings_its_packages() {
    assert_eq!(found(&plan("exec /var/vcap/jobs/cli/bin/cli", BPM, &LISTS)), "cf-cli of tools");
    assert_eq!(found(&plan("cat /var/vcap/jobs/cli/config/conf", BPM, &LISTS)), "");
}

#[test]
fn a_package_that_no_release_has_is_reported() {
    let script = "# see /var/vcap/packages/docs.\nexec /var/vcap/packages/gone/bin/x";
    let planned = plan(script, BPM, &LISTS);
    assert_eq!(planned.code, Some(0));
    let warning = " WARN job 'server' of instance group 'g' names packages that no release of the group has:";
    assert!(planned.printed.starts_with(warning), "{}", planned.printed);
    // Unknown without the images' lists.
    assert_eq!(plan(script, BPM, &[]).printed, "");
    let bpm = BPM.replace("packages/server", "packages/sever");
    let planned = plan("", &bpm, &LISTS);
    assert_eq!(planned.code, Some(65));
    let message = "process 'server' of job 'server' of instance group 'g' starts from the package 'sever', which no release of the group has";
    assert!(planned.printed.contains(message), "{}", planned.printed);
}

#[test]
fn a_package_that_two_other_releases_have_is_refused() {
    let both = [LISTS[0], ("tools", r#""extra""#), ("more", r#""extra""#)];
    let planned = plan("/var/vcap/packages/extra/bin/extra", BPM, &both);
    assert_eq!(planned.code, Some(65));
    let message = "uses the package 'extra', which the releases 'tools' and 'more' have";
    assert!(planned.printed.contains(message), "{}", planned.printed);
}

#[test]
fn a_list_of_another_version_is_refused() {
    let work = tempfile::tempdir().unwrap();
    write(&work.path().join("jobs-src/r/.packages"), "{\"version\":2,\"packages\":[]}");
    write(&work.path().join("jobs-src/r/j/spec"), "name: j\ntemplates: {}\n");
    let manifest = "name: d\nreleases: [{name: r, version: 1}]\ninstance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r}]}]\n";
    let planned = plan_in(work, manifest);
    assert!(planned.code == Some(70) && planned.printed.contains("has version 2"), "{}", planned.printed);
}

#[test]
fn a_shared_package_is_one_of_the_jobs_release() {
    let manifest = |package: &str| {
        let properties = format!(
            "{{name: server, release: web, properties: {{quarks: {{run: {{shared_packages: [{package}]}}}}}}}}"
        );
        MANIFEST.replace("{name: server, release: web}", &properties)
    };
    let planned = plan_manifest(&manifest("server"), "", BPM, &LISTS);
    assert_eq!(planned.code, Some(0), "{}", planned.printed);
    let run = &planned.deployment().instance_groups[0].jobs[0].quarks.run;
    assert_eq!(run["shared_packages"][0], "server");
    let planned = plan_manifest(&manifest("jq"), "", BPM, &LISTS);
    let message = "error: job 'server' of instance group 'g': properties.quarks.run.shared_packages: the release 'web' has no package 'jq'";
    assert!(planned.code == Some(65) && planned.printed.contains(message), "{}", planned.printed);
    let wrong = plan_manifest(&manifest("[]"), "", BPM, &LISTS);
    assert!(wrong.code == Some(65) && wrong.printed.contains("shared_packages"), "{}", wrong.printed);
}
