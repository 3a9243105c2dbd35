//! `boson test` as a person sees it, with the real executable.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::files::write;

/// A release of two jobs without tests.
fn release() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file(
        "jobs/web/spec",
        "name: web\ntemplates: {a: config/a, start: bin/start}\nconsumes: [{name: db, type: db}]\nproperties:\n  port: {default: 80}\n  host: {example: h.example}\n  extra: {}\n",
    );
    file("jobs/web/monit", "");
    file(
        "jobs/web/templates/a",
        "<%= p('host') %>:<%= p('port') %>\ndb <%= link('db').address %> <%= link('db').p('name') %>\n<% if_p('extra') { |x| %><%= x %>\n<% } %>",
    );
    file("jobs/web/templates/start", "#!/bin/sh\n# <%= spec.id %>\n");
    file(
        "jobs/db/spec",
        "name: db\ntemplates: {}\nprovides: [{name: db, type: db, properties: [name]}]\nproperties: {name: {default: shop}}\n",
    );
    file("jobs/db/monit", "# <%= spec.index %>\n");
    file("config/final.yml", "name: r\n");
    directory
}

fn boson(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(testkit::executable("boson"));
    command.arg("test").args(arguments).current_dir(directory);
    command.env("XDG_CACHE_HOME", directory.join("cache")).env("TMPDIR", directory).output().unwrap()
}

/// Exit code and standard output; nothing is on standard error.
#[track_caller]
fn ran(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = boson(directory, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Exit code and message of a run that fails.
#[track_caller]
fn refused(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = boson(directory, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn passed(text: &str) -> (Option<i32>, String) {
    (Some(0), text.to_owned())
}

#[test]
fn a_release_without_tests_gets_a_first_case_for_each_job() {
    let directory = release();
    let d = directory.path();
    let (code, message) = refused(d, &[]);
    assert_eq!(code, Some(65));
    assert!(message.contains("error: . has no tests\n") && message.contains("`boson test --init`"), "{message}");
    assert_eq!(
        ran(d, &["--init"]),
        passed("made     db/default: monit\nmade     web/default: bin/start, config/a, monit\n")
    );
    let read = |path: &str| fs::read_to_string(d.join("tests/web/default").join(path)).unwrap();
    assert_eq!(read("properties.yml"), "host: h.example\n");
    assert_eq!(
        read("links.yml"),
        "db:\n  address: db.example\n  instances:\n  - address: db.example\n  properties:\n    name: shop\n"
    );
    assert_eq!(read("expected/config/a"), "h.example:80\ndb db.example shop\n");
    assert_eq!(ran(d, &[]), passed("ok       db/default\nok       web/default\n2 passed, 0 failed\n"));
    assert_eq!(ran(d, &["--init"]), passed("exists   db\nexists   web\n"));
    assert_eq!(ran(d, &["web"]), passed("ok       web/default\n1 passed, 0 failed\n"));
    // From another directory, by pattern.
    let parent = d.parent().unwrap();
    let name = d.file_name().unwrap().to_str().unwrap();
    assert_eq!(ran(parent, &[name, "*/default"]).1, "ok       db/default\nok       web/default\n2 passed, 0 failed\n");
}

#[test]
fn differences_are_a_patch_and_updated_on_request() {
    let directory = release();
    let d = directory.path();
    ran(d, &["--init", "web"]);
    write(&d.join("jobs/web/templates/start"), "#!/bin/sh\n# new\n");
    write(&d.join("tests/web/default/expected/config/gone"), "x\n");
    let (code, text) = ran(d, &[]);
    assert_eq!(
        (code, text.as_str()),
        (
            Some(1),
            "FAILED   web/default: 2 files differ\n\
             --- a/tests/web/default/expected/bin/start\n\
             +++ b/tests/web/default/expected/bin/start\n\
             @@ -1,2 +1,2 @@\n \
             #!/bin/sh\n\
             -# web-0-web\n\
             +# new\n\
             --- a/tests/web/default/expected/config/gone\n\
             +++ /dev/null\n\
             @@ -1 +0,0 @@\n\
             -x\n\
             0 passed, 1 failed\n"
        )
    );
    let (code, xml) = ran(d, &["--format", "junit"]);
    assert_eq!(code, Some(1));
    assert!(xml.contains("<testsuites tests=\"1\" failures=\"1\" errors=\"0\" time=\""), "{xml}");
    assert!(xml.contains("<testcase classname=\"web\" name=\"default\" file=\"tests/web/default\" time=\""), "{xml}");
    assert!(xml.contains("<failure message=\"2 files differ\">--- a/tests/web/default/expected/bin/start\n"), "{xml}");
    assert_eq!(ran(d, &["--update"]), passed("updated  web/default: bin/start, config/gone\n1 passed, 0 failed\n"));
    assert_eq!(ran(d, &["--update"]), passed("ok       web/default\n1 passed, 0 failed\n"));
}

#[test]
fn an_error_can_be_expected() {
    let directory = release();
    let d = directory.path();
    write(&d.join("tests/web/no-host/links.yml"), "db: {instances: [{address: a}], properties: {name: n}}\n");
    let (code, text) = ran(d, &[]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("FAILED   web/no-host: error: ") && text.contains("Can't find property '[\"host\"]'"),
        "{text}"
    );
    write(
        &d.join("tests/web/no-host/expected-error"),
        "Can't find property '[\"host\"]'\n\nError filling in template 'a'\n",
    );
    assert_eq!(ran(d, &[]).0, Some(0));
    write(&d.join("tests/web/no-host/expected-error"), "something else\n");
    assert!(ran(d, &[]).1.contains("the error does not contain 'something else'"));
    write(&d.join("tests/web/no-host/properties.yml"), "host: h\n");
    assert!(ran(d, &["--update"]).1.contains("it renders, but expected-error expects a failure"));
}

#[test]
fn a_manifest_takes_the_place_of_the_files() {
    let directory = release();
    let d = directory.path();
    let manifest = "name: d\nreleases: [{name: r, version: 1}]\nvariables: [{name: secret, type: password}]\ninstance_groups:\n- name: front\n  instances: 2\n  azs: [z1]\n  networks: [{name: default}]\n  jobs:\n  - {name: web, release: r, properties: {host: h, extra: \"key=((secret))\"}}\n  - {name: db, release: r}\n";
    write(&d.join("tests/web/deployed/manifest.yml"), manifest);
    assert!(ran(d, &["--update"]).1.starts_with("updated  web/deployed: front-0/bin/start, front-0/config/a, "));
    // The password is another one in each run.
    assert_eq!(ran(d, &[]).0, Some(1));
    write(&d.join("tests/web/deployed/case.yml"), "mask: ['key=(\\S+)']\nfiles: [config/**]\n");
    ran(d, &["--update"]);
    assert_eq!(ran(d, &[]), passed("ok       web/deployed\n1 passed, 0 failed\n"));
    let text = fs::read_to_string(d.join("tests/web/deployed/expected/front-1/config/a")).unwrap();
    assert!(text.contains("key=<masked>\n"), "{text}");
    assert!(!d.join("tests/web/deployed/expected/front-1/bin").join("start").exists());
}

#[test]
fn cases_that_cannot_be_read_are_reported_together() {
    let directory = release();
    let d = directory.path();
    write(&d.join("tests/wbe/a/properties.yml"), "");
    write(&d.join("tests/web/a/propertys.yml"), "");
    write(&d.join("tests/web/b/manifest.yml"), "");
    write(&d.join("tests/web/b/links.yml"), "");
    write(&d.join("tests/web/c/case.yml"), "masks: []\n");
    let (code, message) = refused(d, &[]);
    assert_eq!(code, Some(65));
    for expected in [
        "error: the release has no job 'wbe'\n  --> tests/wbe\n  hint: the jobs are: db, web",
        "error: a case has no file 'propertys.yml'\n  --> tests/web/a/propertys.yml\n  hint: did you mean 'properties.yml'?",
        "error: a case with a manifest has no properties, links and spec of its own\n  --> tests/web/b",
        "error: case.yml has an unknown key 'masks'\n  --> tests/web/c/case.yml:1:8",
    ] {
        assert!(message.contains(expected), "{expected}\n{message}");
    }
}

#[test]
fn mistakes_in_a_case_have_places_and_unknown_cases_hints() {
    let directory = release();
    let d = directory.path();
    ran(d, &["--init"]);
    write(&d.join("tests/web/default/properties.yml"), "host: [\n");
    let (code, text) = ran(d, &["web"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("tests/web/default/properties.yml:2:1"), "{text}");
    let (code, message) = refused(d, &["web/defualt"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("no case matches 'web/defualt'\n  hint: did you mean 'web/default'?"), "{message}");
    assert_eq!(refused(d, &["--init", "wbe"]).0, Some(2));
}

#[test]
fn nothing_is_written_outside_of_a_release() {
    let directory = release();
    let d = directory.path();
    ran(d, &["--init", "web"]);
    let expected = d.join("tests/web/default/expected");
    fs::remove_dir_all(expected.join("config")).unwrap();
    fs::create_dir(d.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(d.join("elsewhere"), expected.join("config")).unwrap();
    let (code, message) = refused(d, &["--update"]);
    assert_eq!(code, Some(65));
    assert!(message.contains("is neither a file nor a directory"), "{message}");
    assert_eq!(fs::read_dir(d.join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn the_releases_of_this_repository_pass_their_tests() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../e2e/releases");
    let directory = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&releases).unwrap() {
        let release = entry.unwrap().path();
        let (code, text) = ran(directory.path(), &[release.to_str().unwrap()]);
        assert_eq!(code, Some(0), "{text}");
    }
}
