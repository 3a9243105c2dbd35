//! `boson lint` as a person sees it, with the real executable.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::files::write;

/// A release with two mistakes.
fn release() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file("r/config/final.yml", "name: r\n");
    file(
        "r/jobs/web/spec",
        "name: web\ntemplates:\n  web.yml.erb: config/web.yml\nproperties:\n  port: {description: a, default: 80}\n  host: {description: b}\n",
    );
    file("r/jobs/web/monit", "");
    file("r/jobs/web/templates/web.yml.erb", "port: <%= p('port') %>\nhost: <%= p('hots') %>\n");
    directory
}

fn lint(directory: &Path, arguments: &str) -> Output {
    let mut command = Command::new(testkit::executable("boson"));
    command.arg("lint").args(arguments.split_whitespace()).current_dir(directory);
    command.env("XDG_CACHE_HOME", directory.join("cache")).env("TMPDIR", directory).output().unwrap()
}

/// Exit code and standard output; nothing is on standard error.
#[track_caller]
fn found(directory: &Path, arguments: &str) -> (Option<i32>, String) {
    let output = lint(directory, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Exit code and message of a run that fails.
#[track_caller]
fn refused(directory: &Path, arguments: &str) -> (Option<i32>, String) {
    let output = lint(directory, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

const FINDINGS: &str = "\
r/jobs/web/spec:6:3: warning: property 'host' is used by no template and no link of job 'web' [property-unused]
  hint: a template asks for 'hots'
r/jobs/web/templates/web.yml.erb:2:11: error: property 'hots' is not declared by job 'web' [property-undeclared]
  hint: did you mean 'host'?
1 error, 1 warning
`boson explain-error CODE` explains a code
";

#[test]
fn findings_have_places_codes_and_hints() {
    let directory = release();
    assert_eq!(found(directory.path(), "r"), (Some(1), FINDINGS.to_owned()));
    // The current directory is the release.
    let (code, text) = found(&directory.path().join("r"), "");
    assert_eq!((code, text), (Some(1), FINDINGS.replace("r/jobs", "jobs")));
    assert_eq!(found(directory.path(), "r --severity error").1.lines().count(), 5);
}

#[test]
fn programs_read_other_forms() {
    let directory = release();
    let (_, github) = found(directory.path(), "r --format github --severity error");
    assert_eq!(
        github,
        "::error file=r/jobs/web/templates/web.yml.erb,line=2,col=11,title=property-undeclared::property 'hots' is not declared by job 'web'%0Ahint: did you mean 'host'?\n"
    );
    let json: serde_json::Value = serde_json::from_str(&found(directory.path(), "r --format json").1).unwrap();
    assert_eq!(json[0]["code"], "property-unused");
    let sarif: serde_json::Value = serde_json::from_str(&found(directory.path(), "r --format sarif").1).unwrap();
    assert_eq!(sarif["runs"][0]["results"][1]["ruleId"], "property-undeclared");
}

#[test]
fn lint_yml_sets_severities_with_reasons() {
    let directory = release();
    let d = directory.path();
    let settings = d.join("r/lint.yml");
    write(
        &settings,
        "property-undeclared: {severity: note, reason: known}\nproperty-unused: {severity: allow, reason: known, files: jobs/web/spec}\n",
    );
    assert_eq!(found(d, "r"), (Some(0), "1 hidden finding\n--severity note shows all findings\n".to_owned()));
    write(&settings, "property-undeclared: {severity: warning}\n");
    assert_eq!((found(d, "r").0, found(d, "r --strict").0), (Some(0), Some(1)));
    write(&settings, "property-unused: {severity: allow}\nproperty-undeclard: {severity: note}\n");
    let (code, message) = refused(d, "r");
    assert_eq!(code, Some(65), "{message}");
    assert!(message.contains("'property-unused' is allowed without a reason\n  --> r/lint.yml:1:18\n"), "{message}");
    assert!(message.contains("hint: did you mean 'property-undeclared'?"), "{message}");
}

#[test]
fn properties_of_a_manifest_are_compared_with_specs() {
    let directory = release();
    let d = directory.path();
    write(
        &d.join("m.yml"),
        "name: d\ninstance_groups:\n- name: g\n  jobs:\n  - name: web\n    release: r\n    properties:\n      prot: 1\n      host: ((host))\n  - {name: other, release: unknown, properties: {a: 1}}\n",
    );
    let (code, text) = found(d, "r -m m.yml");
    assert_eq!(code, Some(1));
    assert!(text.contains("m.yml:8:13: warning: job 'web' declares no property 'prot': the value has no effect [manifest-property]\n  hint: did you mean 'port'?\n"), "{text}");
    assert_eq!(text.matches("manifest-property").count(), 1, "{text}");
}

#[test]
fn packages_and_configuration_are_checked() {
    let directory = release();
    let d = directory.path();
    write(&d.join("r/packages/p/spec"), "name: p\nfiles:\n- src/absent/**/*\n- big.tgz\n");
    write(&d.join("r/packages/p/packaging"), "tar xf a\nmake\n");
    write(&d.join("r/config/final.yml"), "blobstore: {provider: s4}\n");
    write(&d.join("r/config/blobs.yml"), "big.tgz: {size: many, sha: 12}\n");
    let (_, text) = found(d, "r");
    for expected in [
        "r/packages/p/spec:1: warning: no job and no package of the release needs package 'p' [package-unused]",
        "r/packages/p/spec:3:3: error: no file in src/ and no blob matches 'src/absent/**/*' [package-files]",
        "r/packages/p/packaging:1: warning: a command that fails does not end the script [packaging-errexit]",
        "r/config/final.yml:1:1: warning: the release has no name [final-invalid]",
        "r/config/blobs.yml:1:1: error: blob 'big.tgz' has no valid size and sha [blobs-invalid]",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("matches 'big.tgz'"), "{text}");
    write(&d.join("r/config/final.yml"), "name: r\nblobstore: {provider: s3}\n");
    write(&d.join("r/config/blobs.yml"), "big.tgz: {size: 3, sha: 3f786850e387550fdab836ed7e6dc881de23001b}\n");
    write(&d.join("r/packages/p/packaging"), "set -e\ntar xf a\nmake\n");
    write(&d.join("r/packages/p/spec"), "name: p\nfiles: [big.tgz]\n");
    write(&d.join("r/jobs/web/monit"), "");
    let spec = fs::read_to_string(d.join("r/jobs/web/spec")).unwrap();
    write(&d.join("r/jobs/web/spec"), format!("{spec}packages: [p]\n"));
    assert_eq!(found(d, "r").1, FINDINGS);
}

#[test]
fn what_bosh_refuses_is_reported_in_place() {
    let directory = release();
    let d = directory.path();
    fs::remove_file(d.join("r/jobs/web/monit")).unwrap();
    let (code, text) = found(d, "r");
    assert_eq!(code, Some(1));
    assert!(text.starts_with("r/jobs/web/spec: error: Job 'web' is missing monit file [release-invalid]\n"), "{text}");
    assert!(text.contains("[property-undeclared]"), "{text}");
    // What the missing template uses is not known.
    fs::remove_file(d.join("r/jobs/web/templates/web.yml.erb")).unwrap();
    let (_, text) = found(d, "r");
    assert!(text.contains("[template-missing]") && !text.contains("[property-unused]"), "{text}");
}

#[test]
fn job_sources_of_an_image_are_a_release() {
    let directory = release();
    let d = directory.path();
    fs::rename(d.join("r/jobs/web/spec"), d.join("r/jobs/web/job.MF")).unwrap();
    fs::rename(d.join("r/jobs"), d.join("jobs-src")).unwrap();
    let (_, text) = found(d, "jobs-src");
    assert_eq!(text, FINDINGS.replace("r/jobs/web/spec", "jobs-src/web/job.MF").replace("r/jobs/", "jobs-src/"));
}

#[test]
fn templates_are_run_only_if_that_is_wanted() {
    let directory = release();
    let d = directory.path();
    write(&d.join("r/jobs/web/monit"), "<% File.write('trace', '') %>");
    found(d, "r --no-render");
    assert!(!d.join("trace").exists());
}

#[test]
fn bad_templates_end_nothing_but_themselves() {
    let directory = release();
    let d = directory.path();
    for text in [
        "<% exit! %>",
        "<% Process.kill(9, Process.ppid) %>",
        "<% fork { sleep } %>",
        "<% loop {} %>",
        "<% exec 'true' %>",
    ] {
        write(&d.join("r/jobs/web/monit"), text);
        let (code, found) = found(d, "r --template-timeout 1s --severity error");
        assert_eq!(code, Some(1), "{text}");
        assert!(found.contains("[property-undeclared]"), "{text}: {found}");
    }
}

#[test]
fn templates_that_are_no_text_or_nested_deeply_are_not_understood() {
    let directory = release();
    let d = directory.path();
    let nested = format!("<%= {}1{} %>", "[".repeat(20_000), "]".repeat(20_000));
    for text in [nested.as_bytes(), b"\xff\xfe<%= p('port') %>\0".as_slice(), b"<% x <%= %%> \r\n-%>".as_slice()] {
        fs::write(d.join("r/jobs/web/monit"), text).unwrap();
        let (code, found) = found(d, "r --no-render");
        assert_eq!(code, Some(1));
        assert!(found.contains("[property-undeclared]"), "{found}");
    }
}

#[test]
fn what_is_no_release_is_refused() {
    let directory = release();
    let d = directory.path();
    fs::create_dir(d.join("empty")).unwrap();
    let (code, message) = refused(d, "empty");
    assert_eq!(code, Some(65));
    assert!(message.contains("error: empty is not a release"), "{message}");
    let (code, message) = refused(d, "absent r");
    assert_eq!(code, Some(65));
    assert!(message.contains("error: no release found in absent\n  caused by: it does not exist"), "{message}");
    write(&d.join("r.tgz"), "no archive");
    assert_eq!(refused(d, "r.tgz").0, Some(65));
    assert_eq!(refused(d, "r -m absent.yml").0, Some(65));
}

#[test]
fn the_releases_of_this_repository_have_no_findings() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../e2e/releases");
    let mut names: Vec<String> =
        fs::read_dir(&releases).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(fs::canonicalize(&releases).unwrap(), directory.path().join("releases")).unwrap();
    let arguments: Vec<String> = names.iter().map(|name| format!("releases/{name}")).collect();
    let (code, text) = found(directory.path(), &format!("--strict {}", arguments.join(" ")));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn all_rules_are_listed() {
    let directory = release();
    let (code, text) = found(directory.path(), "--list");
    assert_eq!(code, Some(0));
    assert_eq!(text.lines().count(), lint_release::RULES.len());
    assert!(text.contains("property-unused           warning  A declared property is used by no"), "{text}");
}
