//! `process-template` and `generate-parameters`, as a shell runs them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod generation;
mod oc;
mod problems;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const TEMPLATE: &str = "kind: Template
apiVersion: v1
labels: {app: $(NAME)}
objects:
- kind: ConfigMap
  apiVersion: v1
  metadata: {name: $(NAME)}
  data: {port: $(PORT), note: $(NOTE)}
- kind: Service
  apiVersion: v1
  metadata: {name: $(NAME)}
  spec: {selector: {a: b}, ports: [{port: $((PORT))}]}
parameters:
- {name: NAME, required: true}
- {name: PORT, type: int, value: '80', displayName: The port}
- {name: NOTE, value: none}
";

/// A directory with the template.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("web.yaml"), TEMPLATE).unwrap();
    directory
}

fn verb(name: &str, directory: &Path) -> Command {
    let mut command = Command::new(testkit::executable(name));
    command.current_dir(directory).env("BOSON_TEMPLATE", "web.yaml");
    command
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    verb("process-template", directory).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn failed(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    text(&output.stderr)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

const LIST: &str = "apiVersion: v1
kind: List
items:
- kind: ConfigMap
  apiVersion: v1
  metadata:
    name: web
    labels:
      app: web
  data:
    port: \"80\"
    note: none
- kind: Service
  apiVersion: v1
  metadata:
    name: web
    labels:
      app: web
  spec:
    selector:
      a: b
      app: web
    ports:
    - port: 80
";

#[test]
fn a_list_is_printed() {
    let directory = directory();
    assert_eq!(printed(&run(directory.path(), &["-p", "NAME=web"])), LIST);
    let json = printed(&run(directory.path(), &["--param=NAME=web", "--format", "json"]));
    assert!(json.starts_with("{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": ["), "{json}");
    let template = printed(&run(directory.path(), &["-p", "NAME=web", "--as", "template"]));
    assert!(template.contains("- name: NAME\n  required: true\n  value: web\n"), "{template}");
    // Both executables have the verb.
    let boson = Command::new(testkit::executable("boson"))
        .args(["process-template", "--template", "web.yaml", "-p", "NAME=web"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(printed(&boson), LIST);
}

#[test]
fn the_template_comes_from_standard_input() {
    let directory = directory();
    let mut child = verb("process-template", directory.path())
        .args(["--template", "-", "-p", "NAME=web"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(TEMPLATE.as_bytes()).unwrap();
    assert_eq!(printed(&child.wait_with_output().unwrap()), LIST);
}

#[test]
fn flags_beat_files_which_beat_variables() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("a.env"), "# values\nNAME=file\nPORT=1\n").unwrap();
    fs::write(path.join("b.json"), r#"{"PORT": "2"}"#).unwrap();
    fs::write(path.join("c.yaml"), "kind: Parameters\napiVersion: v1\nparameters: [{name: NOTE, value: object}]\n")
        .unwrap();
    // A mounted Secret.
    fs::create_dir_all(path.join("secret/..1")).unwrap();
    fs::write(path.join("secret/..1/NOTE"), "mounted").unwrap();
    symlink("..1", path.join("secret/..data")).unwrap();
    symlink("..data/NOTE", path.join("secret/NOTE")).unwrap();
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let output = verb("process-template", path).args(arguments).envs(variables.iter().copied()).output().unwrap();
        let text = printed(&output);
        let value =
            |key: &str| text.split(&format!("    {key}: ")).nth(1).unwrap().split('\n').next().unwrap().to_owned();
        [value("name"), value("port"), value("note")].join(" ")
    };
    let variables = [("BOSON_PARAM_NAME", "variable"), ("BOSON_PARAM_PORT", "9"), ("BOSON_PARAM_NOTE", "")];
    assert_eq!(run(&[], &variables), "variable \"9\" \"\"");
    assert_eq!(run(&["--values", "a.env"], &variables), "file \"1\" \"\"");
    assert_eq!(run(&["--values", "a.env", "--values", "b.json", "--values=secret"], &variables), "file \"2\" mounted");
    assert_eq!(
        run(&["--values", "b.json", "--values", "a.env", "--values", "c.yaml", "-p", "NAME=flag"], &[]),
        "flag \"1\" object"
    );
    assert_eq!(run(&["-p", "NAME=x", "-p", "NAME=z"], &[("BOSON_VALUES", "a.env:b.json")]), "z \"2\" none");
}

#[test]
fn labels_and_selectors_are_flags_and_variables() {
    let directory = directory();
    let arguments = ["-p", "NAME=web", "--label", "app=other", "--label", "x=y", "--label-selectors=false"];
    let text = printed(&run(directory.path(), &arguments));
    assert!(text.contains("    labels:\n      app: other\n      x: \"y\"\n"), "{text}");
    assert!(text.contains("    selector:\n      a: b\n    ports"), "{text}");
    let output = verb("process-template", directory.path())
        .args(["-p", "NAME=web"])
        .envs([("BOSON_LABEL", "app=other,x=z"), ("BOSON_LABEL_SELECTORS", "false"), ("BOSON_FORMAT", "json")])
        .output()
        .unwrap();
    let text = printed(&output);
    assert!(
        text.contains("\"app\": \"other\",\n          \"x\": \"z\"\n") && !text.contains("\"a\": \"b\",\n"),
        "{text}"
    );
}

#[test]
fn warnings_are_printed_beside_the_result() {
    let directory = directory();
    fs::write(directory.path().join("web.yaml"), TEMPLATE.replace("note: $(NOTE)", "note: a-$((PORT))")).unwrap();
    let output = run(directory.path(), &["-p", "NAME=web"]);
    assert!(printed(&output).contains("note: a-80\n"));
    let expected = "warning: objects[0].data.note: stays text, although it has $((PORT)): the whole is not a JSON scalar\n  --> web.yaml:8:31\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn usage() {
    let directory = directory();
    for arguments in [
        &["-p", "secret"][..],
        &["-p", "=secret"],
        &["--label", "x"],
        &["--label", "x", "-p", "secret"],
        &["--as", "files"],
        &["--output", "a", "--output-dir", "b"],
        &["--ask", "--template", "-"],
        &["--check", "--describe"],
        &["--watch"],
        &["--check-command", "true"],
        &["--notify", "HUP:x", "--output", "a"],
        &["--watch", "--output", "a", "--notify", "x"],
        &["--syntax", "other"],
        &["--label-selectors=maybe"],
    ] {
        let stderr = failed(&run(directory.path(), arguments), 2);
        assert!(!stderr.contains("secret"), "{stderr}");
        let flags = [("--label", "--label: must be KEY=VALUE"), ("-p", "--param: must be NAME=VALUE")];
        for (_, message) in flags.iter().filter(|(flag, _)| arguments.contains(flag)) {
            assert!(stderr.contains(message), "{arguments:?}: {stderr}");
        }
    }
}

#[test]
fn a_check_prints_nothing_and_needs_no_values() {
    let directory = directory();
    assert_eq!(printed(&run(directory.path(), &["--check"])), "");
    failed(&run(directory.path(), &["--check", "-p", "PORT=x"]), 65);
}

#[test]
fn the_parameters_are_described() {
    let directory = directory();
    let schema = printed(&run(directory.path(), &["--describe"]));
    for part in [
        "\"$schema\": \"https://json-schema.org/draft/2020-12/schema\"",
        "\"PORT\": {\n      \"title\": \"The port\",\n      \"type\": \"integer\",\n      \"default\": 80\n    }",
        "\"NAME\": {\n      \"type\": \"string\",\n      \"minLength\": 1\n    }",
        "\"required\": [\n    \"NAME\"\n  ]",
        "\"additionalProperties\": false",
    ] {
        assert!(schema.contains(part), "{part}\n{schema}");
    }
    assert!(printed(&run(directory.path(), &["--describe", "--format", "yaml"])).contains("required:\n- NAME\n"));
}

#[test]
fn missing_values_are_asked_for() {
    let directory = directory();
    let mut child = verb("process-template", directory.path())
        .arg("--ask")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"\nweb\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(printed(&output), LIST);
    assert!(text(&output.stderr).starts_with("NAME\n> "), "{}", text(&output.stderr));
    let without = verb("process-template", directory.path()).arg("--ask").stdin(Stdio::null()).output().unwrap();
    failed(&without, 65);
    // An answer that is not UTF-8 is not one.
    fs::write(directory.path().join("answer"), b"hunter2\xff\n").unwrap();
    let answer = fs::File::open(directory.path().join("answer")).unwrap();
    let stderr = failed(&verb("process-template", directory.path()).arg("--ask").stdin(answer).output().unwrap(), 65);
    for part in ["the value of NAME must be UTF-8\n", "'NAME' is required"] {
        assert!(stderr.contains(part) && !stderr.contains("hunter2"), "{part}: {stderr}");
    }
}

#[test]
fn the_schema_is_written_to_a_file() {
    let directory = directory();
    assert_eq!(printed(&run(directory.path(), &["--describe", "--output", "schema.json"])), "");
    assert!(fs::read_to_string(directory.path().join("schema.json")).unwrap().contains("\"$schema\""));
}

#[test]
fn files_are_written_all_or_none() {
    let directory = directory();
    let path = directory.path();
    assert_eq!(printed(&run(path, &["-p", "NAME=web", "--output", "list.yaml"])), "");
    assert_eq!(fs::read_to_string(path.join("list.yaml")).unwrap(), LIST);
    assert_eq!(mode(&path.join("list.yaml")), 0o640);
    let files = |dir: &str| {
        let mut names: Vec<_> = fs::read_dir(path.join(dir))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let output = run(path, &["-p", "NAME=web", "--as", "files", "--output-dir", "config"]);
    assert_eq!(printed(&output), "");
    assert!(text(&output.stderr).starts_with("warning: objects[1]: has no files"), "{}", text(&output.stderr));
    assert_eq!(files("config"), ["note", "port"]);
    assert_eq!(fs::read_to_string(path.join("config/port")).unwrap(), "80");
    assert_eq!(mode(&path.join("config/port")), 0o640);
    // A failure changes nothing; a success replaces everything.
    failed(&run(path, &["--as", "files", "--output-dir", "config"]), 65);
    assert_eq!(files("config"), ["note", "port"]);
    printed(&run(path, &["-p", "NAME=web", "--output-dir", "config"]));
    assert_eq!(files("config"), ["0000-configmap-web.yaml", "0001-service-web.yaml"]);
}

#[test]
fn entries_are_files_as_mounted() {
    let directory = directory();
    let path = directory.path();
    let template = "kind: Template\napiVersion: v1\nobjects:
- {kind: Secret, apiVersion: v1, data: {a: aGk=, b: aGk=}, stringData: {b: $(B)}}
- {kind: ConfigMap, apiVersion: v1, data: {c: ''}, binaryData: {d: '//8='}}
parameters: [{name: B, value: text}]\n";
    fs::write(path.join("web.yaml"), template).unwrap();
    printed(&run(path, &["--as", "files", "--output-dir", "out"]));
    let read = |name: &str| fs::read(path.join("out").join(name)).unwrap();
    assert_eq!(
        [read("a"), read("b"), read("c"), read("d")],
        [b"hi".to_vec(), b"text".to_vec(), vec![], vec![255, 255]]
    );
    for (from, to, message) in [
        ("{c: ''}", "{a: ''}", "objects[1].data.a: another entry has the file name 'a' too"),
        ("{c: ''}", "{../c: ''}", "the key is not the name of a file in a volume"),
        ("a: aGk=", "a: secret!", "objects[0].data.a: must be base64"),
        ("{c: ''}", "{c: 5}", "objects[1].data.c: must be a string, not a number"),
    ] {
        fs::write(path.join("web.yaml"), template.replacen(from, to, 1)).unwrap();
        // `a` of the Secret, which the ConfigMap has too, is the one that is reported.
        let stderr = failed(&run(path, &["--as", "files", "--output-dir", "out"]), 66);
        assert!(stderr.contains(message) || stderr.contains("has the file name 'a' too"), "{stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
    }
    assert_eq!(read("b"), b"text");
}

const GENERATED: &str = "kind: Template
apiVersion: v1
objects: []
parameters:
- {name: PASSWORD, generate: expression, from: '[a-zA-Z0-9]{32}', required: true}
- {name: USER, generate: expression, from: 'admin-[0-9]{3}'}
- {name: DEFAULT, generate: expression, from: '[a]{3}', value: x}
- {name: OTHER}
";
