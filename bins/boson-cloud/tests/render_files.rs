//! `render-files` as a program: files in, files out, exit codes and messages.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A directory with a configuration, in which the verb runs.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new(configuration: &str) -> Scene {
        let scene = Scene { dir: tempfile::tempdir().unwrap() };
        scene.write("config.json", configuration);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cloud"));
        command.arg("render-files").args(arguments).current_dir(self.dir.path()).env_clear();
        command.envs([("CONFIG_PATH", "config.json"), ("OUTPUT_DIR", "out")]);
        command
    }

    /// Runs it and expects success; returns stdout.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it and expects this exit code, no output and no result; returns stderr.
    fn fail(&self, arguments: &[&str], code: i32) -> String {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(output.stdout.is_empty(), "{}", text(&output));
        assert!(!self.path("out").exists(), "nothing is written");
        String::from_utf8(output.stderr).unwrap()
    }
}

fn text(output: &Output) -> String {
    format!(
        "{:?} {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

const CONFIGURATION: &str = r#"{
  "vars": {"A": "low", "B": "low"},
  "defaults": {"userdata": {"content": "{{ .Nonce }} {{ .Vars.A }} {{ .Server.RegistrationAddr }}"}},
  "templates": {"t": {"files": {"f.env": {"kind": "env", "template": {"B": "{{ .Vars.B }}"}}}}},
  "groups": {"default": {"workers": {"template": "t"}, "empty": {}}}
}"#;

#[test]
fn the_instance_comes_from_a_document_variables_and_secrets() {
    let scene = Scene::new(CONFIGURATION);
    scene.write(
        "instance.json",
        r#"{"tenant": "default", "group": "empty", "nonce": "n0", "server": {"RegistrationAddr": "1:1"}}"#,
    );
    scene.write("nonce", "n1\n");
    scene.write("vars/A", "secret");
    scene.write("vars/..data/ignored", "x");
    scene.write("vars/.hidden", "x");
    let command = |variables: &[(&str, &str)]| {
        let output = scene.command(&[]).envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        scene.read("out/userdata")
    };
    assert_eq!(command(&[("INSTANCE_PATH", "instance.json")]), "n0 low 1:1");
    assert!(!scene.path("out/files").exists());
    let secrets = [("INSTANCE_PATH", "instance.json"), ("NONCE_PATH", "nonce"), ("VARS_DIR", "vars")];
    assert_eq!(command(&secrets), "n1 secret 1:1");
    let variables = [("TENANT", "default"), ("GROUP", "workers"), ("SERVER_REGISTRATION_ADDR", "2:2")];
    assert_eq!(command(&variables), " low 2:2");
    assert_eq!(scene.read("out/files/f.env"), "B=low\n");
    let both = [("INSTANCE_PATH", "instance.json"), ("SERVER_REGISTRATION_ADDR", "3:3"), ("INSTANCE_ID", "")];
    assert_eq!(command(&both), "n0 low 3:3");
}

#[test]
fn a_flag_has_precedence_over_its_variable() {
    let scene = Scene::new(CONFIGURATION);
    let arguments =
        ["--tenant", "default", "--group", "empty", "--server-registration-addr", "flag", "--print", "userdata"];
    let output = scene.command(&arguments).env("SERVER_REGISTRATION_ADDR", "variable").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), " low flag");
}

#[test]
fn the_defaults_lie_below_the_root() {
    let scene = Scene::new("{");
    scene.write("root/etc/nstance/config.json", r#"{"groups": {"g": {}}}"#);
    scene.write("root/etc/nstance/instance.json", r#"{"group": "g", "machine": {"vars": {"A": "1"}}}"#);
    let output =
        scene.command(&["--root", "root"]).env_remove("CONFIG_PATH").env_remove("OUTPUT_DIR").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(scene.read("root/run/nstance/vars.json"), "{\n  \"A\": \"1\"\n}\n");
}

#[test]
fn the_result_is_exchanged_as_a_whole_and_only_if_it_changed() {
    let scene = Scene::new(r#"{"groups": {"g": {"args": {"a": "1"}}}, "defaults": {"userdata": {"content": "u"}}}"#);
    scene.run(&["--group", "g"]);
    let file = |name: &str| scene.path("out").join(name);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&file("args.json")), mode(&file("userdata"))), (0o640, 0o640));
    let before = fs::metadata(file("args.json")).unwrap();
    scene.run(&["--group", "g"]);
    let after = fs::metadata(file("args.json")).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()), "untouched");
    scene.write("config.json", r#"{"groups": {"g": {"args": {"a": "{{ .Vars.none }}"}}}}"#);
    let output = scene.command(&["--group", "g"]).output().unwrap();
    assert_eq!(output.status.code(), Some(66));
    assert_eq!(scene.read("out/args.json"), "{\n  \"a\": \"1\"\n}\n", "a failure keeps the result");
    scene.write("config.json", r#"{"groups": {"g": {"args": {"a": "2"}}}}"#);
    scene.run(&["--group", "g"]);
    assert_eq!(scene.read("out/args.json"), "{\n  \"a\": \"2\"\n}\n");
    assert!(!file("userdata").exists(), "what is no longer rendered is gone");
    let hidden: Vec<_> = fs::read_dir(scene.path("out/.generations")).unwrap().collect();
    assert_eq!(hidden.len(), 1, "one generation stays");
}

#[test]
fn all_groups_have_directories() {
    let scene = Scene::new(r#"{"groups": {"t": {"a": {}, "b": {"vars": {"V": "b"}}}, "flat": {"vars": {"V": "f"}}}}"#);
    scene.run(&["--all-groups"]);
    assert_eq!(scene.read("out/t/a/vars.json"), "{}\n");
    assert_eq!(scene.read("out/t/b/vars.json"), "{\n  \"V\": \"b\"\n}\n");
    assert_eq!(scene.read("out/flat/vars.json"), "{\n  \"V\": \"f\"\n}\n");
    for name in ["..", ".", "a/b", ".hidden", "", "a\\u0000"] {
        let scene = Scene::new(&format!(r#"{{"groups": {{"{name}": {{"size": 1}}}}}}"#));
        assert!(scene.fail(&["--all-groups"], 65).contains("cannot be the name of a directory"), "{name}");
    }
}

#[test]
fn all_problems_of_all_groups_are_reported_once() {
    let configuration = r#"{"defaults": {"args": {"x": "{{ .Nmae }}"}},
      "groups": {"a": {"args": {"y": "{{ .Vars.a }}"}}, "b": {"args": {"y": "{{ .Vars.b }}"}}}}"#;
    let text = Scene::new(configuration).fail(&["--all-groups"], 66);
    assert_eq!(text.matches("error: args.x").count(), 1, "{text}");
    assert_eq!(text.matches("error: args.y").count(), 2, "{text}");
}

#[test]
fn check_and_print_write_nothing() {
    let scene = Scene::new(r#"{"groups": {"g": {"vars": {"V": "1"}}}}"#);
    assert_eq!(scene.run(&["--group", "g", "--check"]), "");
    assert_eq!(scene.run(&["--group", "g", "--print", "vars.json"]), "{\n  \"V\": \"1\"\n}\n");
    assert!(!scene.path("out").exists());
    let text = scene.fail(&["--group", "g", "--print", "var.json"], 65);
    assert!(text.contains("'var.json' is not rendered") && text.contains("did you mean 'vars.json'?"), "{text}");
    scene.fail(&["--group", "g", "--print", "vars.json", "--check"], 2);
}

#[test]
fn explain_names_the_level_and_what_it_shadows() {
    let scene = Scene::new("{\"vars\": {\"V\": \"canary\"},\n \"groups\": {\"g\": {\"vars\": {\"V\": \"canary\"}}}}");
    scene.write("instance.json", r#"{"group": "g", "machine": {"vars": {"V": "canary"}}, "images": {"i": "canary"}}"#);
    scene.write("vars/V", "canary");
    let instance = ["--instance-path", "instance.json"];
    let explain = |path: &str, more: &[&str]| scene.run(&[&["explain", path], &instance[..], more].concat());
    assert_eq!(
        explain("vars.V", &[]),
        "vars.V is set by machine.vars at instance.json:1:42\n  shadows groups.g.vars at config.json:2:33\n  shadows vars at config.json:1:16\n"
    );
    assert!(explain("vars.V", &["--vars-dir", "vars"]).starts_with("vars.V is set by vars at vars/V\n"));
    assert_eq!(explain("images.i", &[]), "images.i is set by images of the instance document at instance.json:1:70\n");
    let text = scene.fail(&[&["explain", "vars.VV"], &instance[..]].concat(), 65);
    assert!(text.contains("vars.VV is not set"), "{text}");
    let text = scene.fail(&[&["explain", "vars.v"], &instance[..]].concat(), 65);
    assert!(text.contains("hint: did you mean 'V'?"), "{text}");
    scene.fail(&["explain", "V"], 2);
}

#[test]
fn explain_suggests_names_at_each_depth() {
    let scene = Scene::new(r#"{"groups": {"g": {"args": {"MetadataOptions": {"HttpTokens": "canary"}}}}}"#);
    for (path, expected) in [
        ("args.metadataoptions", "did you mean 'MetadataOptions'?"),
        ("args.MetadataOption.HttpTokens", "did you mean 'MetadataOptions'?"),
        ("args.MetadataOptions.HttpToken", "did you mean 'HttpTokens'?"),
    ] {
        let text = scene.fail(&["explain", path, "--group", "g"], 65);
        assert!(text.contains(expected) && !text.contains("canary"), "{text}");
    }
    let text = scene.fail(&["explain", "args.MetadataOptions.HttpTokens.x", "--group", "g"], 65);
    assert!(!text.contains("hint:"), "{text}");
}

#[test]
fn missing_and_invalid_files_are_the_operators_mistakes() {
    let scene = Scene::new(r#"{"groups": {"g": {}}}"#);
    scene.write("vars/bad", b"\xFF");
    scene.write("instance.json", r#"{"group": 7"#);
    let text = scene.fail(
        &[
            "--config-path",
            "none.json",
            "--nonce-path",
            "none",
            "--vars-dir",
            "none",
            "--instance-path",
            "instance.json",
        ],
        65,
    );
    for part in [
        "cannot read the configuration",
        "--> none.json",
        "cannot read the nonce",
        "cannot read the directory of vars",
        "the instance document is invalid: it is incomplete",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let text = scene.fail(&["--group", "g", "--vars-dir", "vars"], 65);
    assert!(text.contains("a var is not UTF-8\n  --> vars/bad"), "{text}");
    let text = scene.fail(&["--group", "g", "--config-path", "/dev/zero"], 65);
    assert!(text.contains("it has more than 16 MiB"), "{text}");
    scene.fail(&["--group", "g", "--config-path", "vars"], 65);
    scene.fail(&["--group", "g", "--missingkey", "default"], 2);
}

#[test]
fn what_somebody_else_wrote_is_not_replaced() {
    let scene = Scene::new(r#"{"groups": {"g": {}}}"#);
    scene.write("out/args.json", "mine");
    let output = scene.command(&["--group", "g"]).output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(text(&output).contains("args.json is in the way: it was not written by boson"), "{}", text(&output));
    assert_eq!(scene.read("out/args.json"), "mine");
}

#[test]
fn no_message_contains_a_value() {
    let canary = "hunter2";
    let configuration = format!(
        r#"{{"vars": {{"V": "{canary}"}}, "vras": "{canary}", "shard": {{"infra": {{"provider": "aws"}}}},
          "templates": {{"t": {{"files": {{"f": {{"kind": "env", "template": {{"A": "{{{{ range .Nonce }}}}{{{{ end }}}}"}}}}}}}}}},
          "groups": {{"g": {{"template": "t", "args": {{"Unknown": "{canary}{{{{ .Vars.S.x }}}}", "a": ["{canary}{{{{ slice .Nonce 9 99 }}}}"]}}}}}}}}"#
    );
    let scene = Scene::new(&configuration);
    scene.write("nonce", canary);
    scene.write("vars/S", canary);
    scene.write(
        "instance.json",
        format!(
            r#"{{"group": "g", "machine": {{"vars": {{"M": "{canary}"}}, "args": {{"m": "{canary}{{{{ .No }}}}"}}}}}}"#
        ),
    );
    let arguments = ["--instance-path", "instance.json", "--nonce-path", "nonce", "--vars-dir", "vars"];
    for format in ["text", "json"] {
        let text = scene.fail(&[&arguments[..], &["--log", "trace", "--log-format", format]].concat(), 66);
        assert!(text.contains("args.m") && text.contains("<redacted>"), "{text}");
        assert!(text.contains("did you mean 'vars'?") || text.contains("vras is ignored"), "{text}");
        assert!(!text.contains(canary), "{text}");
    }
}

#[test]
fn a_file_that_cannot_be_written_changes_nothing() {
    let scene = Scene::new(r#"{"groups": {"g": {}}}"#);
    scene.write("file", "x");
    let output = scene.command(&["--group", "g", "--output-dir", "file/out"]).output().unwrap();
    assert_eq!(output.status.code(), Some(70), "{}", text(&output));
    assert_eq!(scene.read("file"), "x");
}

/// A server that answers each request with a text; it lives as long as the test's process.
fn server(content: &'static [u8]) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len());
            let _ = stream.write_all(content);
        }
    });
    format!("http://{address}")
}

#[test]
fn userdata_is_downloaded_from_allowed_origins() {
    let origin = server(b"Hello {{ .Vars.V }}");
    let userdata = |url: &str| format!(r#"{{"userdata": {{"source": "url", "content": "{url}"}}}}"#);
    let scene = Scene::new(&format!(
        r#"{{"vars": {{"V": "you"}}, "defaults": {}, "groups": {{"g": {{}}}}}}"#,
        userdata(&format!("{origin}/userdata?canary"))
    ));
    let text = scene.fail(&["--group", "g"], 70);
    assert!(
        text.contains("error: defaults.userdata.content: cannot download the userdata\n  --> config.json:1:"),
        "{text}"
    );
    assert!(text.contains(&format!("caused by: {origin}/userdata: the URL must begin with https://")), "{text}");
    assert!(!text.contains("canary"), "{text}");
    assert_eq!(scene.run(&["--group", "g", "--userdata-allow", &origin, "--print", "userdata"]), "Hello you");
    let small = ["--group", "g", "--userdata-allow", &origin, "--userdata-limit", "5"];
    assert!(scene.fail(&small, 70).contains("it has more than 5 bytes"));
    assert!(scene.fail(&["--group", "g", "--userdata-allow", "nonsense"], 2).contains("must be an origin"));
}

#[test]
fn a_verb_of_another_executable_is_named() {
    for (verb, expected) in [
        ("brokerpak", "error: 'brokerpak' is a verb of another executable: type `boson-brokerpak brokerpak`\n"),
        (
            "write-secrets",
            "error: 'write-secrets' is a verb of another executable: type `boson-cluster write-secrets`\n",
        ),
        ("render-file", "error: unrecognized subcommand 'render-file'\n"),
    ] {
        for arguments in [&[verb][..], &["help", verb], &[verb, "--check"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_boson-cloud")).args(arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{}", text(&output));
            assert!(String::from_utf8_lossy(&output.stderr).starts_with(expected), "{}", text(&output));
        }
    }
}
