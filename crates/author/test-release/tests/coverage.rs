//! `boson test --coverage` and cases in parallel, with the real executable.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::files::write;

const TEMPLATE: &str = "port: <%= p('port') %>
<% if p('tls') -%>
tls: yes
  key: <%= p('key') %>
<% else -%>
tls: no
<% end -%>
<% p('users').each do |user| -%>
- <%= user %>
<% end -%>
<% if_p('motto') do |motto| %><%= motto %><% end %>
<% case p('mode') when 'a' -%>
mode a
<% when 'b' -%>
mode b
<% end -%>
";

/// A release of two jobs, the first of which has one case.
fn release() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file(
        "jobs/web/spec",
        "name: web\ntemplates: {a.erb: config/a, b.erb: config/b, plain: config/plain}\nproperties:\n  port: {default: 80}\n  \
         tls: {default: false}\n  key: {}\n  users: {default: []}\n  motto: {}\n  mode: {default: a}\n",
    );
    file("jobs/web/templates/a.erb", TEMPLATE);
    file("jobs/web/templates/b.erb", "<%= spec.index %>\n");
    file("jobs/web/templates/plain", "one\n\ntwo\n");
    file("jobs/web/monit", "");
    file("jobs/db/spec", "name: db\ntemplates: {}\nproperties: {}\n");
    file("jobs/db/monit", "# <%= spec.index %>\n");
    file("config/final.yml", "name: r\n");
    file("tests/web/one/properties.yml", "motto: the-secret-motto\n");
    run(directory.path(), &["--update"]);
    directory
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(testkit::executable("boson"));
    command.arg("test").args(arguments).current_dir(directory);
    command.env("XDG_CACHE_HOME", directory.join("cache")).env("TMPDIR", directory).output().unwrap()
}

/// Exit code, standard output and standard error.
fn ran(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(directory, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn lines_and_branches_that_no_case_renders_are_listed() {
    let directory = release();
    let d = directory.path();
    let expected = "ok       web/one
1 passed, 0 failed
jobs/db/monit:1: no case renders this line
jobs/web/templates/a.erb:2: the condition of `if` is never true
jobs/web/templates/a.erb:3: no case renders the lines 3 to 4
jobs/web/templates/a.erb:8: `each` never has an item
jobs/web/templates/a.erb:9: no case renders this line
jobs/web/templates/a.erb:11: `if_p` motto is never absent
jobs/web/templates/a.erb:12: no case takes the `when` of line 14, no case takes the `else` of `case`
jobs/web/templates/a.erb:15: no case renders this line
coverage 58.3%: lines 10/15, branches 4/9
";
    let (code, text, errors) = ran(d, &["--coverage"]);
    assert_eq!((code, text.as_str(), errors.as_str()), (Some(0), expected, ""));
    // Chosen cases: the templates of their jobs. Nothing is missing where cases take every way.
    for (case, properties) in
        [("two", "tls: true\nkey: k\nusers: [u]\nmode: b\n"), ("three", "mode: c\nusers: [u, v]\n")]
    {
        write(&d.join(format!("tests/web/{case}/properties.yml")), properties);
    }
    let (code, text, _) = ran(d, &["web", "--update", "--coverage"]);
    assert_eq!(code, Some(0));
    assert!(text.ends_with("3 passed, 0 failed\ncoverage 100.0%: lines 14/14, branches 9/9\n"), "{text}");
}

#[test]
fn a_case_that_expects_an_error_renders_lines_too() {
    let directory = release();
    let d = directory.path();
    write(&d.join("tests/web/no-key/properties.yml"), "tls: true\n");
    write(&d.join("tests/web/no-key/expected-error"), "Can't find property '[\"key\"]'\n");
    let (code, text, _) = ran(d, &["web", "--coverage"]);
    assert_eq!(code, Some(0));
    assert!(!text.contains("a.erb:2:") && !text.contains("lines 3 to 4"), "{text}");
}

#[test]
fn documents_of_other_tools_go_to_a_file() {
    let directory = release();
    let d = directory.path();
    let (code, text, errors) = ran(d, &["--coverage-format", "lcov", "--coverage-output", "lcov.info"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(text.ends_with("1 passed, 0 failed\ncoverage 58.3%: lines 10/15, branches 4/9\n"), "{text}");
    let lcov = fs::read_to_string(d.join("lcov.info")).unwrap();
    assert!(lcov.starts_with("TN:\nSF:jobs/db/monit\nBRF:0\nBRH:0\nDA:1,0\nLF:1\nLH:0\nend_of_record\n"), "{lcov}");
    assert!(lcov.contains("SF:jobs/web/templates/a.erb\nBRDA:2,0,0,0\nBRDA:2,0,1,1\n"), "{lcov}");
    assert!(lcov.contains("\nDA:3,0\nDA:4,0\nDA:6,1\n"), "{lcov}");
    let arguments = ["--format", "junit", "--coverage-format", "cobertura", "--coverage-output", "coverage.xml"];
    let (code, text, errors) = ran(d, &arguments);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(text.ends_with("</testsuites>\n"), "{text}");
    let xml = fs::read_to_string(d.join("coverage.xml")).unwrap();
    for part in [
        "<coverage line-rate=\"0.666\" branch-rate=\"0.444\" lines-covered=\"10\" lines-valid=\"15\" branches-covered=\"4\" \
         branches-valid=\"9\"",
        "<package name=\"web\" line-rate=\"0.714\"",
        "<class name=\"jobs/web/templates/a.erb\" filename=\"jobs/web/templates/a.erb\"",
        "<line number=\"2\" hits=\"1\" branch=\"true\" condition-coverage=\"50% (1/2)\"/>",
        "<line number=\"4\" hits=\"0\" branch=\"false\"/>",
    ] {
        assert!(xml.contains(part), "{part} in {xml}");
    }
    // No report shows a value.
    assert!([lcov, xml, ran(d, &["--coverage"]).1].iter().all(|text| !text.contains("the-secret-motto")));
}

#[test]
fn too_little_coverage_fails() {
    let directory = release();
    let d = directory.path();
    let (code, text, errors) = ran(d, &["--min-coverage", "59"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(errors.contains("error: the coverage of 58.3% is below the minimum of 59%"), "{errors}");
    let (code, _, errors) = ran(d, &["--min-coverage", "58"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
}

#[test]
fn coverage_that_cannot_be_reported_is_refused_before_a_case_runs() {
    let directory = release();
    let d = directory.path();
    for (arguments, message) in [
        (&["--coverage-format", "lcov"][..], "two reports cannot both go to standard output"),
        (&["--coverage", "--format", "junit"], "give --coverage-output FILE"),
        (&["--min-coverage", "101"], "101"),
        (&["--min-coverage", "x"], "x"),
        (&["--coverage", "--init"], "--init"),
        (&["config/final.yml"], "'config/final.yml' is a file: tests are in the source directory of a release"),
    ] {
        let (code, text, errors) = ran(d, arguments);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(message), "{errors}");
    }
    let (code, _, errors) = ran(d, &["--coverage-output", "absent/lcov.info"]);
    assert_eq!(code, Some(70), "{errors}");
    assert!(errors.contains("absent/lcov.info"), "{errors}");
}

#[test]
fn cases_run_in_parallel_and_are_reported_in_order() {
    let directory = release();
    let d = directory.path();
    for case in 0..24 {
        let wrong = if case % 5 == 0 { "port: 1\nkey: k\n" } else { "port: 2\n" };
        write(&d.join(format!("tests/web/c{case:02}/properties.yml")), wrong);
    }
    ran(d, &["--update"]);
    for case in [3, 17] {
        write(&d.join(format!("tests/web/c{case:02}/expected/config/b")), "other\n");
    }
    let first = ran(d, &[]);
    assert_eq!(first.0, Some(1));
    let names: Vec<&str> = first.1.lines().filter_map(|line| line.split("web/").nth(1)?.get(..3)).collect();
    let cases: Vec<String> = (0..24).map(|case| format!("c{case:02}")).collect();
    let reported: Vec<&str> = names.into_iter().filter(|name| cases.iter().any(|case| case == name)).collect();
    // A patch names its case twice.
    let mut unique = reported.clone();
    unique.dedup();
    assert_eq!(unique, cases);
    assert!(first.1.ends_with("23 passed, 2 failed\n"), "{}", first.1);
    assert_eq!(ran(d, &[]), first);
}
