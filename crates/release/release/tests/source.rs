//! Reading release directories and staging their jobs.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use release::{Content, Release};
use testkit::files::{names, tree, write, write_with_mode};

/// A release with a job `web` of package `app`, which depends on `lib`.
fn web(dir: &Path) {
    write(&dir.join("config/final.yml"), "name: web-release\n");
    write(
        &dir.join("jobs/web/spec"),
        "---
name: web
templates:
  run.erb: bin/run
  deep/web.yml.erb: config/web.yml
packages: [app]
properties:
  port: {default: 0777}
  port: {default: !ruby/regexp /x/}
",
    );
    write(&dir.join("jobs/web/monit"), "");
    write_with_mode(&dir.join("jobs/web/templates/run.erb"), "#!/bin/sh", 0o755);
    write(&dir.join("jobs/web/templates/deep/web.yml.erb"), "<%= p('port') %>");
    write(&dir.join("jobs/web/templates/unlisted"), "");
    write(&dir.join("packages/app/spec"), "name: app\ndependencies: [lib]\nfiles: [app/**/*]\n");
    write(&dir.join("packages/app/packaging"), "true");
    write(&dir.join("src/app/main"), "");
    write(&dir.join("packages/lib/spec"), "name: lib\ndependencies:\nfiles: []\n");
    write(&dir.join("packages/lib/packaging"), "true");
    write(&dir.join("jobs/.gitkeep"), "");
    write(&dir.join("jobs/README.md"), "");
}

fn release() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    web(dir.path());
    dir
}

/// The first lines of all problems.
fn problems(dir: &Path) -> Vec<String> {
    let problems = Release::open(dir).unwrap_err();
    assert_eq!(problems.exit_code(), 65);
    problems.iter().map(|problem| problem.message.clone()).collect()
}

#[test]
fn a_release_is_read() {
    let dir = release();
    let release = Release::open(dir.path()).unwrap();
    assert_eq!(release.name, "web-release");
    let job = release.job("web").unwrap();
    let templates = [("run.erb", "bin/run"), ("deep/web.yml.erb", "config/web.yml")];
    assert_eq!(job.templates, templates.map(|(s, d)| (s.to_owned(), d.to_owned())));
    assert_eq!(job.packages, ["app"]);
    assert_eq!(release.package("app").unwrap().dependencies, ["lib"]);
    assert_eq!((release.jobs.len(), release.packages.len()), (1, 2));
}

#[test]
fn a_release_without_a_name_is_named_after_its_directory() {
    let dir = release();
    write(&dir.path().join("config/final.yml"), "final_name: other\nblobstore: {provider: local}\n");
    assert_eq!(Release::open(dir.path()).unwrap().name, "other");
    fs::remove_file(dir.path().join("config/final.yml")).unwrap();
    let named = dir.path().join("mine");
    web(&named);
    fs::remove_file(named.join("config/final.yml")).unwrap();
    symlink("mine", dir.path().join("linked")).unwrap();
    assert_eq!(Release::open(&dir.path().join("linked")).unwrap().name, "mine");
    write(&named.join("config/final.yml"), "name: ../x\n");
    assert_eq!(problems(&named), ["'../x' is not a valid release name"]);
}

#[test]
fn jobs_of_a_release_image_are_staged() {
    let dir = release();
    write(&dir.path().join("shared/common.erb"), "shared");
    symlink("../../../shared/common.erb", dir.path().join("jobs/web/templates/common.erb")).unwrap();
    let spec = fs::read_to_string(dir.path().join("jobs/web/spec")).unwrap();
    let spec = spec.replace("templates:\n", "templates:\n  common.erb: config/common\n");
    write(&dir.path().join("jobs/web/spec"), &spec);
    write(&dir.path().join("jobs/web/properties_schema.json"), "{}");
    write(&dir.path().join("jobs/web/extra.monit"), "");
    let dest = dir.path().join("out/jobs-src");
    Release::open(dir.path()).unwrap().stage_jobs(&dest).unwrap();
    assert_eq!(names(&dest), ["web"]);
    assert_eq!(names(&dest.join("web")), ["extra.monit", "job.MF", "monit", "properties_schema.json", "templates"]);
    assert_eq!(names(&dest.join("web/templates")), ["common.erb", "deep", "run.erb"]);
    assert_eq!(fs::read_to_string(dest.join("web/job.MF")).unwrap(), spec);
    assert!(!dest.join("web/templates/common.erb").is_symlink());
    assert_eq!(fs::read_to_string(dest.join("web/templates/common.erb")).unwrap(), "shared");
    let (staged, source) = (tree(&dest.join("web/templates")), tree(&dir.path().join("jobs/web/templates")));
    assert_eq!(staged[Path::new("run.erb")], source[Path::new("run.erb")]);
    assert!(Release::open(dir.path()).unwrap().stage_jobs(&dest).is_err(), "nothing is mixed");
}

#[test]
fn a_staged_job_is_world_readable_whatever_the_umask() {
    let dir = release();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    for (file, of_author) in [("spec", 0o600), ("monit", 0o660), ("templates/run.erb", 0o700)] {
        fs::set_permissions(dir.path().join("jobs/web").join(file), Permissions::from_mode(of_author)).unwrap();
    }
    let dest = dir.path().join("out");
    Release::open(dir.path()).unwrap().stage_jobs(&dest).unwrap();
    for (file, expected) in [("job.MF", 0o644), ("monit", 0o644), ("templates/run.erb", 0o755)] {
        assert_eq!(mode(&dest.join("web").join(file)), expected, "{file}");
    }
}

#[test]
fn all_problems_of_a_release_are_reported_with_boshs_messages() {
    let dir = release();
    let at = |path: &str| dir.path().join(path);
    write(&at("jobs/other/spec"), "name: another\ntemplates: {gone.erb: x, ../monit: y}\npackages: []\n");
    write(&at("jobs/bad/spec"), "name: bad\ntemplates: [x]\npackages: x\n");
    write(&at("jobs/bad/monit"), "");
    fs::create_dir(at("jobs/empty")).unwrap();
    write(&at("jobs/out/spec"), "name: out\ntemplates: {passwd: x, dir: y}\n");
    write(&at("jobs/out/monit"), "");
    fs::create_dir_all(at("jobs/out/templates/dir")).unwrap();
    symlink("/etc/passwd", at("jobs/out/templates/passwd")).unwrap();
    write(&at("packages/odd/spec"), "name: even\nfiles: {a: b}\n");
    write(&at("packages/broken/spec"), "name: [\n");
    let found = problems(dir.path());
    let packaging = fs::canonicalize(dir.path()).unwrap().join("packages/odd/packaging");
    assert_eq!(
        found,
        [
            "Job 'bad' has invalid templates spec format".to_owned(),
            "Job 'bad' has invalid package spec format".to_owned(),
            "Job 'empty' has no spec".to_owned(),
            "Job directory 'other' does not match job name 'another' in spec".to_owned(),
            "Job 'other' is missing monit file".to_owned(),
            "Missing template file 'gone.erb' for job 'other'".to_owned(),
            "template file '../monit' of job 'other' leads out of the release".to_owned(),
            "template file 'passwd' of job 'out' leads out of the release".to_owned(),
            "Missing template file 'dir' for job 'out'".to_owned(),
            "cannot read the YAML".to_owned(),
            "Package 'even' has invalid files in its spec".to_owned(),
            format!("Expected to find '{}' for package 'even'", packaging.display()),
        ]
    );
}

#[test]
fn missing_packages_and_cycles_are_reported() {
    let dir = release();
    write(&dir.path().join("packages/lib/spec"), "name: lib\ndependencies: [zlib]\n");
    fs::remove_dir_all(dir.path().join("packages/app")).unwrap();
    assert_eq!(
        problems(dir.path()),
        [
            "Expected to find package 'app' since it's a dependency of job 'web'",
            "Expected to find package 'zlib' since it's a dependency of package 'lib'",
        ]
    );
    let dir = release();
    write(&dir.path().join("packages/lib/spec"), "name: lib\ndependencies: [app]\n");
    assert_eq!(problems(dir.path()), ["packages depend on each other in a cycle: app -> lib -> app"]);
}

#[test]
fn a_directory_that_is_not_a_release_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    assert!(problems(dir.path())[0].ends_with("is not a release"));
    assert!(problems(&dir.path().join("missing"))[0].starts_with("no release found in"));
}

#[test]
fn a_missing_package_of_another_release_is_reported_when_needed() {
    let dir = release();
    write(&dir.path().join("packages/golang/spec.lock"), "name: golang\nfingerprint: 0123\n");
    let release = Release::open(dir.path()).unwrap();
    assert_eq!(release.package("golang").unwrap().content, Content::Vendored);
    release.stage_jobs(&dir.path().join("out")).unwrap();
}

#[test]
fn a_package_may_differ_in_name_from_its_directory() {
    let dir = release();
    fs::rename(dir.path().join("packages/lib"), dir.path().join("packages/elsewhere")).unwrap();
    let release = Release::open(dir.path()).unwrap();
    assert!(release.package("lib").unwrap().dir.ends_with("packages/elsewhere"));
    assert_eq!(release.packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["app", "lib"]);
    write(&dir.path().join("packages/other/spec"), "name: lib\n");
    write(&dir.path().join("packages/other/packaging"), "");
    assert_eq!(problems(dir.path()), ["package 'lib' exists twice"]);
}

#[test]
fn links_inside_a_release_are_followed() {
    let dir = release();
    let at = |path: &str| dir.path().join(path);
    // A job's directory, a directory of templates, a template and a package may be links.
    write(&at("shared/jobs/linked/spec"), "name: linked\ntemplates: {a/run.erb: bin/run, b.erb: b}\npackages: [app]\n");
    write(&at("shared/jobs/linked/monit"), "check\n");
    write(&at("shared_job_templates/run.erb"), "shared");
    symlink("../shared/jobs/linked", at("jobs/linked")).unwrap();
    fs::create_dir(at("shared/jobs/linked/templates")).unwrap();
    symlink("../../../../shared_job_templates", at("shared/jobs/linked/templates/a")).unwrap();
    symlink("a/run.erb", at("shared/jobs/linked/templates/b.erb")).unwrap();
    fs::rename(at("packages/lib"), at("shared/lib")).unwrap();
    symlink("../shared/lib", at("packages/lib")).unwrap();
    let out = at("out");
    let release = Release::open(dir.path()).unwrap();
    release.stage_jobs(&out).unwrap();
    for file in ["templates/a/run.erb", "templates/b.erb"] {
        assert_eq!(fs::read_to_string(out.join("linked").join(file)).unwrap(), "shared");
        assert!(!out.join("linked").join(file).is_symlink());
    }
    assert!(release.package("lib").is_some());
}

#[test]
fn empty_submodules_are_one_problem_with_the_command() {
    let dir = release();
    let at = |path: &str| dir.path().join(path);
    write(&at(".gitmodules"), "[submodule \"a\"]\n\tpath = src/a\n\turl = x\n[submodule \"b\"]\n\tpath=src/deep/b\n");
    fs::create_dir_all(at("src/a")).unwrap();
    write(&at("jobs/web/spec"), "name: web\ntemplates: {run.erb: bin/run, x.erb: x, y.erb: y}\npackages: [app]\n");
    for name in ["x.erb", "y.erb"] {
        symlink(format!("../../../src/a/{name}"), at("jobs/web/templates").join(name)).unwrap();
    }
    let found = Release::open(dir.path()).unwrap_err();
    assert_eq!(found.iter().count(), 1, "{found}");
    let text = found.to_string();
    assert!(text.contains("git submodules are not checked out: src/a, src/deep/b"), "{text}");
    assert!(text.contains("`git submodule update --init --recursive`") && text.contains(".gitmodules"), "{text}");
    // A package that exists is not reported.
    write(&at("src/a/x.erb"), "");
    write(&at("src/a/y.erb"), "");
    Release::open(dir.path()).unwrap();
}
