//! `boson render` as a person sees it, with the real executable.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use testkit::files::write;

use common::text;

const SPEC: &str = "---
name: web
templates:
  web.yml.erb: config/web.yml
  start: bin/start
packages: []
consumes:
- {name: db, type: db, optional: true}
properties:
  port: {default: 80}
  name: {description: no default, example: shop}
  key: {description: neither}
";

const MANIFEST: &str = "---
name: d
releases:
- {name: r, version: '1'}
variables:
- {name: password, type: password}
instance_groups:
- name: web
  instances: 2
  azs: [z1]
  networks: [{name: default}]
  jobs:
  - name: web
    release: r
    properties: {name: ((password))}
- name: db
  instances: 1
  azs: [z1]
  networks: [{name: default}]
  jobs:
  - {name: db, release: r}
";

/// A directory with a release of two jobs and a manifest.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file("m.yml", MANIFEST);
    file("r/jobs/web/spec", SPEC);
    file("r/jobs/web/monit", "");
    file("r/jobs/web/templates/web.yml.erb", "port: <%= p('port') %>\nname: <%= p('name') %>\n");
    file(
        "r/jobs/web/templates/start",
        "#!/bin/sh\n# <%= spec.id %> <%= spec.az %> <%= spec.ip %> <%= spec.deployment %>\n",
    );
    file("r/jobs/db/spec", "name: db\ntemplates: {c: config/c}\nprovides: [{name: db, type: db}]\n");
    file("r/jobs/db/monit", "");
    file("r/jobs/db/templates/c", "no line end");
    file("r/config/final.yml", "name: r\n");
    directory
}

fn command(directory: &Path, arguments: &str) -> Command {
    common::boson(directory, &format!("render {arguments}"))
}

fn run(directory: &Path, arguments: &str) -> Output {
    command(directory, arguments).output().unwrap()
}

/// Standard output of a run that succeeds.
#[track_caller]
fn shown(directory: &Path, arguments: &str) -> String {
    let output = run(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// What a run prints that fails, without the line of the code.
#[track_caller]
fn refused(directory: &Path, arguments: &str, code: i32) -> String {
    let output = run(directory, arguments);
    let message = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), String::new()), "{arguments}: {message}");
    let lines = message.lines().filter(|line| !line.starts_with("  code: "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn one_file_is_shown_alone_and_several_below_their_names() {
    let directory = directory();
    let d = directory.path();
    let start = "#!/bin/sh\n# web-1-web z1 127.0.0.1 d\n";
    assert_eq!(shown(d, "-m m.yml -r r web/1 web/bin/start"), start);
    assert_eq!(
        shown(d, "-m m.yml -r r * */bin db/config --ip 10.0.0.7"),
        "==> web/0 web/bin/start <==\n#!/bin/sh\n# web-0-web z1 10.0.0.7 d\n\n==> web/1 web/bin/start <==\n#!/bin/sh\n\
         # web-1-web z1 10.0.0.7 d\n\n==> db/0 db/config/c <==\nno line end\n"
    );
    assert_eq!(shown(d, "-m m.yml -r r db db/config/c"), "no line end");
    assert_eq!(shown(d, "-m m.yml -r r --list db"), "db/0 db/.bosh/links.json\ndb/0 db/config/c\ndb/0 db/monit\n");
    assert_eq!(shown(d, "-m m.yml -r r web/web-1 */bin --list"), "web/1 web/bin/start\n");
}

#[test]
fn a_job_needs_no_manifest() {
    let directory = directory();
    let d = directory.path();
    write(&d.join("p.yml"), "# only this\nname: ((a))\n");
    write(&d.join("s.yml"), "deployment: shop\nname: front\nindex: 2\naz: z9\nip: 10.1.2.3\nnetworks: [private]\n");
    let config = "port: 80\nname: x\n";
    assert_eq!(shown(d, "--job web -r r --properties p.yml -v a=x config/web.yml"), config);
    assert_eq!(shown(d, "--job r/web -r r --properties p.yml -v a=x web/config"), config);
    assert_eq!(shown(d, "--job web -r r --examples config/web.yml"), "port: 80\nname: shop\n");
    assert_eq!(shown(d, "--job web -r r --spec s.yml bin/start"), "#!/bin/sh\n# front-2-web z9 10.1.2.3 shop\n");
    write(
        &d.join("r/jobs/web/templates/start"),
        "<% if_link('db') do |db| %><%= db.p('a') + db.instances[0].address %><% end %>",
    );
    write(&d.join("l.yml"), "db:\n  instances: [{address: db.example}]\n  properties: {a: 'at '}\n");
    assert_eq!(shown(d, "--job web -r r --links l.yml bin/start"), "at db.example");
    assert_eq!(shown(d, "--job web -r r bin/start"), "", "an optional link");
}

#[test]
fn warnings_are_errors_if_they_are_to_be() {
    let directory = directory();
    let d = directory.path();
    let bpm = "processes:\n- name: web\n  executable: /bin/true\n  limit: {memory: 1G}\n";
    write(&d.join("r/jobs/web/templates/bpm.yml"), bpm);
    write(&d.join("r/jobs/web/spec"), SPEC.replace("templates:", "templates:\n  bpm.yml: config/bpm.yml"));
    let unknown = "bpm ignores the key 'limit'\n  --> web/config/bpm.yml:4:3\n  hint: did you mean 'limits'?\n";
    let output = run(d, "-m m.yml -r r --output all");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), format!(" WARN {unknown}")));
    assert_eq!(refused(d, "-m m.yml -r r --output strict --strict", 65), format!("error: {unknown}"));
    assert_eq!(refused(d, "--job web -r r --examples --output strict --strict", 65), format!("error: {unknown}"));

    let twice = MANIFEST.replace("  jobs:\n  - name: web", "  azs: [z2]\n  jobs:\n  - name: web");
    write(&d.join("m.yml"), twice.replace("properties: {name:", "properties: {nmae: x, name:"));
    let again = "error: the key 'azs' occurs again in the same map, the last counts\n  --> m.yml:12:3\n";
    assert_eq!(refused(d, "-m m.yml -r r --output strict --strict", 65), again);
    write(&d.join("m.yml"), MANIFEST.replace("properties: {name:", "properties: {nmae: x, name:"));
    let undeclared = "error: 1 property has no effect, as its job does not declare it:\n  --> m.yml:15:24: 'nmae' of job 'web'; did you mean 'name'?";
    let message = refused(d, "-m m.yml -r r --output strict --strict", 65);
    assert!(message.starts_with(undeclared), "{message}");
    assert!(!d.join("strict").exists());
    write(&d.join("r/jobs/web/templates/bpm.yml"), bpm.replace("limit:", "limits:"));
    write(&d.join("m.yml"), MANIFEST);
    assert_eq!(text(&run(d, "-m m.yml -r r --output strict --strict").stderr), "");
}

#[test]
fn generated_values_are_kept_only_in_a_store() {
    let directory = directory();
    let d = directory.path();
    let name = |arguments: &str| shown(d, &format!("-m m.yml -r r web/0 web/config {arguments}"));
    assert_ne!(name(""), name(""));
    assert_eq!(name("--vars-store store.yml"), name("--vars-store store.yml"));
    let left: Vec<_> = fs::read_dir(d).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("boson-render")), "{left:?}");
}

#[test]
fn a_release_is_read_in_each_of_its_forms() {
    let directory = directory();
    let d = directory.path();
    let all =
        |job: &str| fs::rename(d.join(format!("r/jobs/{job}/spec")), d.join(format!("r/jobs/{job}/job.MF"))).unwrap();
    let expected = shown(d, "-m m.yml -r r db");
    // As copy-jobs leaves it, and as an image has it.
    for job in ["web", "db"] {
        all(job);
    }
    fs::create_dir_all(d.join("image/var/vcap")).unwrap();
    fs::rename(d.join("r/jobs"), d.join("image/var/vcap/jobs-src")).unwrap();
    assert_eq!(shown(d, "-m m.yml -r r=image/var/vcap/jobs-src db"), expected);
    assert_eq!(shown(d, "-m m.yml -r r=image/var/vcap db"), expected);
    assert_eq!(shown(d, "--job db -r image/var/vcap/jobs-src config"), "no line end");
    assert_eq!(
        refused(d, "-m m.yml -r image/var/vcap/jobs-src db", 2),
        "error: image/var/vcap/jobs-src has the jobs of a release, but not its name\n  hint: give --release \
         NAME=image/var/vcap/jobs-src\n"
    );
    fs::create_dir_all(d.join("all/jobs-src")).unwrap();
    fs::rename(d.join("image/var/vcap/jobs-src"), d.join("all/jobs-src/r")).unwrap();
    assert_eq!(shown(d, "-m m.yml -r all db"), expected);
}

#[test]
fn an_archive_is_read() {
    let directory = directory();
    let d = directory.path();
    let script = "set -e
        mkdir -p t/jobs b/templates; cp r/jobs/db/spec b/job.MF; cp r/jobs/db/monit b; cp r/jobs/db/templates/c b/templates
        tar czf t/jobs/db.tgz -C b .
        printf 'name: r\\nversion: 7\\njobs:\\n- {name: db, version: 1, sha1: %s}\\n' $(sha1sum < t/jobs/db.tgz | cut -d' ' -f1) > t/release.MF
        tar czf r.tgz -C t .";
    assert!(Command::new("sh").args(["-c", script]).current_dir(d).status().unwrap().success());
    assert_eq!(shown(d, "--job db -r r.tgz config/c"), "no line end");
}

#[test]
fn mistakes_are_explained() {
    let directory = directory();
    let d = directory.path();
    let is =
        |arguments: &str, code: i32, expected: &str| assert_eq!(refused(d, arguments, code), expected, "{arguments}");
    is(
        "-r r",
        2,
        "error: render needs a manifest or a job\n  hint: give --manifest FILE, or --job JOB to render one job from its spec\n",
    );
    is(
        "-m m.yml --job web -r r",
        2,
        "error: --job and --manifest exclude each other\n  hint: for one job of a manifest, give '*' JOB after the options; \
         BOSH_MANIFEST_PATH counts as --manifest\n",
    );
    is("--job webb -r r", 2, "error: --job: job 'webb' not found in release 'r'\n  hint: did you mean 'web'?\n");
    is("--job x/web -r r", 2, "error: --job: no release is named 'x'\n  hint: the releases are: r\n");
    is("--job web -r r --ip here", 2, "error: --ip must be an IP address, not 'here'\n");
    is("-m m.yml -r r dbs", 2, "error: no instance matches 'dbs'\n  hint: the instances are: web/0, web/1, db/0\n");
    is("-m m.yml -r r web/7", 2, "error: no instance matches 'web/7'\n  hint: did you mean 'web/0'?\n");
    is(
        "-m m.yml -r r db config",
        2,
        "error: no file matches 'config'\n  hint: the files are: db/.bosh/links.json, db/config/c, db/monit\n",
    );
    is(
        "--job web -r r config/web.yaml",
        2,
        "error: no file matches 'config/web.yaml'\n  hint: did you mean 'config/web.yml'?\n",
    );
    is("-m m.yml -r r a[", 2, "error: invalid pattern 'a['\n  caused by: unclosed character class; missing ']'\n");
    is(
        "--job web -r r -o ops.yml",
        2,
        "error: --job web has no manifest that ops files or configs could change\n  hint: give the properties with --properties FILE\n",
    );
    is(
        "--job web -r r config/web.yml",
        66,
        "error: Unable to render instance groups for deployment. Errors are:\n  - Unable to render jobs for instance group 'web'. \
         Errors are:\n    - Unable to render templates for job 'web'. Errors are:\n      - Error filling in template 'web.yml.erb' \
         (line 2: Can't find property '[\"name\"]')\n  --> r/jobs/web/templates/web.yml.erb:2\n    |\n  2 | name: <%= p('name') %>\n  \
         hint: 'name' has no default: set it with --properties FILE\n",
    );
    write(&d.join("p.yml"), "name: {a: secret\n");
    let message = refused(d, "--job web -r r --properties p.yml", 65);
    assert!(message.starts_with("error: the properties file is not valid YAML\n  --> p.yml:2:1\n"), "{message}");
    assert!(!message.contains("secret"), "{message}");
    write(&d.join("p.yml"), "- secret\n");
    let message = refused(d, "--job web -r r --properties p.yml", 65);
    assert!(message.contains("  --> p.yml:1:1\n") && !message.contains("secret"), "{message}");
    fs::create_dir_all(d.join("empty/packages")).unwrap();
    is(
        "--job web -r empty",
        2,
        "error: --job: release 'empty' has no jobs\n  hint: a release's source directory has its jobs in jobs/JOB/spec\n",
    );
    let message = refused(d, "-m m.yml -r empty", 65);
    assert!(message.starts_with("error: release 'r' is not given: -r PATH\n  --> m.yml:"), "{message}");
    assert!(message.contains("\n  hint: given are: empty\n"), "{message}");
}

#[test]
fn the_output_directory_is_replaced_at_once_or_not_at_all() {
    let directory = directory();
    let d = directory.path();
    shown(d, "-m m.yml -r r --output out/new");
    let mode = |path: &str| fs::metadata(d.join("out/new").join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("web-0/web/bin/start"), mode("web-1/web/config/web.yml"), mode("db-0")), (0o750, 0o640, 0o750));
    shown(d, "-m m.yml -r r --output out/new db");
    assert!(!d.join("out/new/web-0").exists() && d.join("out/new/db-0/db/config/c").exists());
    write(&d.join("r/jobs/db/templates/c"), "<%= p('none') %>");
    refused(d, "-m m.yml -r r --output out/new", 66);
    assert_eq!(fs::read_to_string(d.join("out/new/db-0/db/config/c")).unwrap(), "no line end");
    write(&d.join("out/new/db-0/mine"), "");
    let message = refused(d, "-m m.yml -r r --output out/new", 65);
    assert!(message.starts_with("error: out/new contains something else: db-0/mine\n"), "{message}");
    let message = refused(d, "-m m.yml -r r --output m.yml", 65);
    assert!(message.starts_with("error: m.yml is not a directory\n"), "{message}");
    let left: Vec<_> = fs::read_dir(d.join("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["new"]);
}

#[test]
fn a_reader_may_stop_early() {
    let directory = directory();
    let d = directory.path();
    write(&d.join("r/jobs/db/templates/c"), "<%= 'x' * 10_000_000 %>");
    let mut child = command(d, "--job db -r r").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn watching_shows_what_each_change_changes() {
    let directory = directory();
    let d = directory.path();
    write(&d.join("p.yml"), "name: one\n");
    let mut child = command(d, "--job web -r r --properties p.yml config/web.yml --watch")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let lines = |reader: &mut dyn BufRead, count: usize| {
        let mut text = String::new();
        for _ in 0..count {
            reader.read_line(&mut text).unwrap();
        }
        text
    };
    const READY: &str = "watching for changes; Ctrl-C ends\n";
    assert_eq!(lines(&mut out, 2), "port: 80\nname: one\n");
    assert_eq!(lines(&mut messages, 1), READY);
    write(&d.join("p.yml"), "name: two\n");
    assert_eq!(
        lines(&mut out, 6),
        "--- web/0 web/config/web.yml\n+++ web/0 web/config/web.yml\n@@ -1,2 +1,2 @@\n port: 80\n-name: one\n+name: two\n"
    );
    assert_eq!(lines(&mut messages, 1), READY);
    // A mistake is reported, and the next change is seen.
    fs::remove_file(d.join("p.yml")).unwrap();
    assert!(lines(&mut messages, 1).starts_with("error: cannot read the properties file p.yml"));
    while lines(&mut messages, 1) != READY {}
    write(&d.join("new.yml"), "name: three\n");
    fs::rename(d.join("new.yml"), d.join("p.yml")).unwrap();
    assert!(lines(&mut out, 6).ends_with("-name: two\n+name: three\n"));
    assert_eq!(lines(&mut messages, 1), READY);
    write(&d.join("r/jobs/web/templates/web.yml.erb"), "<%# nothing %>\n");
    assert!(lines(&mut out, 6).ends_with("-port: 80\n-name: three\n+\n"));
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0), "the reader is gone");
}

#[test]
fn templates_that_misbehave_are_reported() {
    let directory = directory();
    let d = directory.path();
    for (template, reason) in [
        ("<% exit 3 %>", "exit"),
        ("<% Process.kill(:KILL, $$) %>", "ended the process it was evaluated in"),
        ("<% Process.kill(:KILL, Process.ppid) %>", "ended the process it was evaluated in"),
        ("<% Process.kill(:KILL, 0) %>", "ended the process it was evaluated in"),
        ("<%= 'x' * (65 << 20) %>", "rendered more than 64 MiB, the largest size of a file"),
        ("<% all = []; loop { all << 'x' * (64 << 20) } %>", "failed to allocate memory"),
        ("<% _erbout << 'x' * (64 << 20) while true %>", "failed to allocate memory"),
    ] {
        write(&d.join("r/jobs/db/templates/c"), template);
        let message = refused(d, "--job db -r r config", 66);
        assert!(message.contains(reason) && message.contains("r/jobs/db/templates/c"), "{template}: {message}");
    }
    write(&d.join("r/jobs/db/templates/c"), "<% loop {} %>");
    let message = refused(d, "--job db -r r --template-timeout 500ms config", 66);
    assert!(message.contains("took longer than 500ms") && message.contains("r/jobs/db/templates/c"), "{message}");
}

/// Processes that a template starts end with the run, also those that leave its group and session.
#[test]
fn templates_leave_no_process() {
    let directory = directory();
    let d = directory.path();
    let marker = d.join("pid");
    for start in [
        "fork { note; sleep }; sleep 0.01 until File.exist?(file)",
        "fork { Process.setsid; note; sleep }; sleep 0.01 until File.exist?(file)",
        "fork { Process.setsid; fork { note; sleep } }; sleep 0.01 until File.exist?(file)",
        "fork { Process.daemon(true, true); note; sleep }; sleep 0.01 until File.exist?(file)",
    ] {
        let _ = fs::remove_file(&marker);
        let note = "note = -> { File.write(file + '.new', $$.to_s); File.rename(file + '.new', file) }";
        let start = start.replace("note;", "note.();");
        let text = format!("<% file = '{}'; {note}; {start} %>done\n", marker.display());
        write(&d.join("r/jobs/db/templates/c"), &text);
        assert!(shown(d, "--job db -r r config").contains("done"), "{start}");
        let pid = fs::read_to_string(&marker).unwrap();
        assert!(!is_running(&pid), "{start}: process {pid}");
    }
}

/// Whether a process exists and has not ended.
fn is_running(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
