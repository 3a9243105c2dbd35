//! Lookups of images, against a stand-in for EC2 that checks signatures.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;
use testkit::ec2::{Call, Ec2, KEYS, Reply};
use testkit::waiting::eventually;

const CONFIGURATION: &str = r#"{
  "shard": {"infra": {"provider": "aws", "region": "us-west-2"}, "image_refresh_interval": "90m"},
  "images": {
    "new": {"provider": "aws", "filters": [{"name": "name", "values": ["new-*"]}, {"name": "owner-id", "values": ["1", "2"]}],
      "owners": ["self"], "sort": "creation-date", "order": "desc", "fallback": "ami-fallback"},
    "old-one": {"provider": "aws", "filters": [{"name": "name", "values": ["old-*"]}], "sort": "creation-date", "order": "asc"}
  },
  "groups": {
    "new": {"args": {"ImageId": "{{ .Image.new }}"}},
    "old": {"args": {"ImageId": "{{ index .Image \"old-one\" }}"}},
    "none": {}
  }
}"#;

/// A directory with a configuration, and a stand-in.
struct Scene {
    dir: TempDir,
    ec2: Ec2,
}

impl Scene {
    fn new(answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Scene {
        let scene = Scene { dir: tempfile::tempdir().unwrap(), ec2: Ec2::start(answer) };
        fs::write(scene.path("config.json"), CONFIGURATION).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The verb without credentials.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cloud"));
        command.arg("render-files").args(arguments).current_dir(self.dir.path()).env_clear();
        command.envs([("CONFIG_PATH", "config.json"), ("OUTPUT_DIR", "out"), ("IMAGE_CACHE", "cache/images.db")]);
        command.env("HOME", self.dir.path()).env("AWS_ENDPOINT_URL", self.ec2.url());
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        command
    }

    fn signed(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.envs([("AWS_ACCESS_KEY_ID", KEYS[0].0), ("AWS_SECRET_ACCESS_KEY", KEYS[0].1)]);
        command
    }

    /// The document that `images` prints, and its exit code; no message has a secret.
    fn images(&self, mut command: Command) -> (Value, i32) {
        let output = command.output().unwrap();
        let text = text(&output);
        assert!(!text.contains("canary"), "{text}");
        let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{text}"));
        (document, output.status.code().unwrap())
    }

    fn round(&self) -> (Value, i32) {
        self.images(self.signed(&["images"]))
    }
}

fn text(output: &Output) -> String {
    [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat()
}

/// `ID SOURCE` of an image, or its error.
fn short(document: &Value, name: &str) -> String {
    let image = &document["images"][name];
    match image["error"].as_str() {
        // Whatever shows one of them alone shows whose it is.
        Some(error) => error.strip_prefix(&format!("images.{name}: ")).unwrap().to_owned(),
        None => format!("{} {}", image["id"].as_str().unwrap(), image["source"].as_str().unwrap()),
    }
}

fn name_of(call: &Call) -> &str {
    &call.parameters["Filter.1.Value.1"]
}

/// An image for each of the two lookups.
fn both(call: &Call) -> Reply {
    match name_of(call) {
        "new-*" => Reply::images(&[("ami-1", "new-1", "2024-01-01"), ("ami-2", "new-2", "2025-01-01")], None),
        _ => Reply::images(&[("ami-9", "old-9", "2020-01-01"), ("ami-8", "old-8", "2020-01-01")], None),
    }
}

#[test]
fn each_image_is_looked_up_with_its_filters() {
    let scene = Scene::new(both);
    let (document, code) = scene.round();
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["refresh_interval_seconds"], 5400);
    assert_eq!(short(&document, "new"), "ami-2 live");
    assert_eq!(short(&document, "old-one"), "ami-8 live", "ties are decided by the id");
    let at = document["images"]["new"]["resolved_at"].as_str().unwrap();
    assert!(at.len() == 20 && at.starts_with("20") && at.ends_with('Z'), "{at}");
    let names: Vec<&String> = document["images"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["new", "old-one"]);
    let calls = scene.ec2.calls();
    assert_eq!(calls.len(), 2);
    let call = &calls[0];
    assert_eq!((call.line.as_str(), call.region.as_str()), ("POST /", "us-west-2"));
    let parameters: Vec<String> = call.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        parameters,
        [
            "Action=DescribeImages",
            "Filter.1.Name=name",
            "Filter.1.Value.1=new-*",
            "Filter.2.Name=owner-id",
            "Filter.2.Value.1=1",
            "Filter.2.Value.2=2",
            "MaxResults=1000",
            "Owner.1=self",
            "Version=2016-11-15",
        ]
    );
}

#[test]
fn all_pages_are_read() {
    let scene = Scene::new(|call| match (name_of(call), call.parameters.get("NextToken").map(String::as_str)) {
        ("new-*", None) => Reply::images(&[("ami-1", "n", "2024")], Some("page/2 =")),
        ("new-*", Some("page/2 =")) => Reply::images(&[("ami-2", "n", "2026")], Some("3")),
        ("new-*", Some("3")) => Reply::images(&[("ami-3", "n", "2025")], None),
        (_, None) => Reply::images(&[], Some("same")),
        _ => Reply::images(&[], Some("same")),
    });
    let (document, code) = scene.round();
    assert_eq!(short(&document, "new"), "ami-2 live");
    assert!(short(&document, "old-one").starts_with("EC2 repeats a page"), "{document}");
    assert_eq!(code, 70);
}

#[test]
fn an_image_that_fails_does_not_affect_others() {
    for (reply, expected) in [
        (Reply::images(&[], None), "no image matches the filters"),
        (
            Reply::error(403, "UnauthorizedOperation"),
            "UnauthorizedOperation: the credentials do not permit ec2:DescribeImages",
        ),
        (Reply::error(400, "InvalidParameterValue"), "EC2 answers InvalidParameterValue (HTTP status 400)"),
        (Reply::error(400, "RequestExpired"), "the credentials have expired, or the clock of this machine is wrong"),
        (Reply::Text(404, "canary".into()), "EC2 answers with the HTTP status 404"),
        (Reply::Text(301, "canary".into()), "EC2 answers with the HTTP status 301"),
    ] {
        let of_new = reply.clone();
        let scene = Scene::new(move |call| if name_of(call) == "new-*" { of_new.clone() } else { both(call) });
        let output = scene.signed(&["images"]).output().unwrap();
        assert!(
            text(&output).contains(&format!(
                "images.new: {}",
                if expected.starts_with("the cred") { "EC2 answers RequestExpired: " } else { "" }
            )),
            "{}",
            text(&output)
        );
        assert!(text(&output).contains(expected), "{}", text(&output));
        let (document, code) = scene.round();
        assert_eq!((short(&document, "new"), code), ("ami-fallback fallback".to_owned(), 0));
        assert!(document["images"]["new"]["resolved_at"].is_null());
        assert_eq!(short(&document, "old-one"), "ami-8 live");
        assert_eq!(scene.ec2.calls().len(), 4, "an error that is permanent is not repeated");
    }
}

#[test]
fn failures_that_may_pass_are_repeated() {
    for reply in [
        Reply::error(503, "RequestLimitExceeded"),
        Reply::error(400, "Throttling"),
        Reply::Text(500, "canary".into()),
        Reply::Text(200, "<DescribeImagesResponse><imagesSet>".into()),
        Reply::Close,
    ] {
        let failed = Mutex::new(false);
        let scene = Scene::new(move |call| {
            let mut failed = failed.lock().unwrap();
            if std::mem::replace(&mut *failed, true) { both(call) } else { reply.clone() }
        });
        let (document, code) = scene.round();
        assert_eq!((short(&document, "new"), code), ("ami-2 live".to_owned(), 0));
        assert_eq!(scene.ec2.calls().len(), 3);
    }
    let scene = Scene::new(|_| Reply::error(503, "Unavailable"));
    let mut command = scene.signed(&["images"]);
    command.env("AWS_MAX_ATTEMPTS", "1");
    let (document, code) = scene.images(command);
    assert_eq!((scene.ec2.calls().len(), code), (2, 70));
    assert_eq!(
        short(&document, "old-one"),
        "EC2 answers Unavailable (HTTP status 503); the cache has no id for it, and it has no fallback (config.json:6:16)"
    );
}

#[test]
fn the_cache_has_the_id_of_the_same_query_and_region() {
    let fails = std::sync::Arc::new(Mutex::new(false));
    let switch = fails.clone();
    let scene =
        Scene::new(
            move |call| {
                if *switch.lock().unwrap() { Reply::error(403, "UnauthorizedOperation") } else { both(call) }
            },
        );
    let (live, _) = scene.round();
    *fails.lock().unwrap() = true;
    let (cached, code) = scene.round();
    assert_eq!(
        (short(&cached, "new"), short(&cached, "old-one"), code),
        ("ami-2 cache".into(), "ami-8 cache".into(), 0)
    );
    assert_eq!(cached["images"]["new"]["resolved_at"], live["images"]["new"]["resolved_at"]);
    let (other, code) = scene.images(scene.signed(&["images", "--provider-region", "us-west-1"]));
    assert_eq!((short(&other, "new"), code), ("ami-fallback fallback".into(), 70));
    fs::write(scene.path("config.json"), CONFIGURATION.replace("old-*", "older-*")).unwrap();
    let (changed, _) = scene.round();
    assert_eq!(short(&changed, "new"), "ami-2 cache");
    assert!(short(&changed, "old-one").contains("the cache has no id for it"), "{changed}");
    // Renamed, with the same query.
    fs::write(scene.path("config.json"), CONFIGURATION.replace("\"old-one\": {", "\"renamed\": {")).unwrap();
    assert_eq!(short(&scene.round().0, "renamed"), "ami-8 cache");
}

#[test]
fn a_cache_that_cannot_be_used_costs_a_warning() {
    let scene = Scene::new(both);
    fs::create_dir(scene.path("cache")).unwrap();
    fs::write(scene.path("cache/images.db"), "not a database\n".repeat(100)).unwrap();
    let output = scene.signed(&["images"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("the cache of images cannot be"), "{}", text(&output));
    let output = scene.signed(&["images", "--image-cache", "config.json/x/images.db"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("the cache of images cannot be used"), "{}", text(&output));
}

#[test]
fn templates_fail_only_if_they_use_an_unresolved_image() {
    let scene = Scene::new(|_| Reply::error(403, "UnauthorizedOperation"));
    let print = |group: &str| scene.signed(&["--group", group, "--print", "args.json"]).output().unwrap();
    assert_eq!(String::from_utf8(print("new").stdout).unwrap(), "{\n  \"ImageId\": \"ami-fallback\"\n}\n");
    assert_eq!(String::from_utf8(print("none").stdout).unwrap(), "{}\n");
    let output = print("old");
    assert_eq!(output.status.code(), Some(70));
    let text = text(&output);
    assert!(text.contains("error: args.ImageId: the image 'old-one' has no id\n  --> config.json:10:33\n"), "{text}");
    assert!(text.contains("caused by: images.old-one: EC2 answers UnauthorizedOperation"), "{text}");
    assert!(!text.contains("canary"), "{text}");
    // The instance document's ids need no lookup.
    let before = scene.ec2.calls().len();
    fs::write(scene.path("instance.json"), r#"{"images": {"new": "ami-7", "old-one": "ami-6"}}"#).unwrap();
    let given = ["--instance-path", "instance.json", "--group", "old", "--print", "args.json"];
    let output = scene.signed(&given).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\n  \"ImageId\": \"ami-6\"\n}\n");
    assert_eq!(scene.ec2.calls().len(), before);
}

#[test]
fn credentials_come_from_where_aws_tools_find_them() {
    let (id, secret, token) = (KEYS[1].0, KEYS[1].1, KEYS[1].2.unwrap());
    let scene = Scene::new(move |call| match call.line.as_str() {
        "GET /credentials" => {
            assert_eq!(call.headers["authorization"], "container-token-canary");
            let expires = "2999-01-01T00:00:00Z";
            let body = serde_json::json!({"AccessKeyId": id, "SecretAccessKey": secret, "Token": token, "Expiration": expires});
            Reply::Text(200, body.to_string())
        }
        _ if call.parameters.get("Action").is_some_and(|action| action == "AssumeRoleWithWebIdentity") => {
            assert_eq!(call.parameters["WebIdentityToken"], "web-identity-canary");
            assert_eq!(call.parameters["RoleArn"], "arn:aws:iam::1:role/r");
            let fields = format!(
                "<AccessKeyId>{id}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{token}</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration>"
            );
            Reply::Text(
                200,
                format!(
                    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult><Credentials>{fields}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
                ),
            )
        }
        _ => both(call),
    });
    let live = |command: Command| {
        let (document, code) = scene.images(command);
        assert_eq!((short(&document, "new"), code), ("ami-2 live".to_owned(), 0), "{document}");
    };
    let mut variables = scene.command(&["images"]);
    variables.envs([("AWS_ACCESS_KEY_ID", id), ("AWS_SECRET_ACCESS_KEY", secret), ("AWS_SESSION_TOKEN", token)]);
    live(variables);
    fs::create_dir(scene.path(".aws")).unwrap();
    let profile =
        format!("[p]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\naws_session_token = {token}\n");
    fs::write(scene.path(".aws/credentials"), profile).unwrap();
    let mut profile = scene.command(&["images", "--log", "trace"]);
    profile.env("AWS_PROFILE", "p");
    live(profile);
    let document =
        serde_json::json!({"Version": 1, "AccessKeyId": id, "SecretAccessKey": secret, "SessionToken": token});
    fs::write(scene.path("process.json"), document.to_string()).unwrap();
    let command = format!("[profile q]\ncredential_process = cat {}\n", scene.path("process.json").display());
    fs::write(scene.path(".aws/config"), command).unwrap();
    let mut process = scene.command(&["images", "--log", "trace"]);
    process.env("AWS_PROFILE", "q").env("PATH", "/usr/bin:/bin");
    live(process);
    let mut container = scene.command(&["images"]);
    container.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{}/credentials", scene.ec2.url()));
    container.env("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token-canary");
    live(container);
    fs::write(scene.path("token"), "web-identity-canary").unwrap();
    let mut web = scene.command(&["images"]);
    web.envs([("AWS_WEB_IDENTITY_TOKEN_FILE", "token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")]);
    live(web);
    let mut of_ec2 = scene.signed(&["images"]);
    of_ec2.env("AWS_ENDPOINT_URL", "http://192.0.2.1").env("AWS_ENDPOINT_URL_EC2", scene.ec2.url());
    live(of_ec2);
}

#[test]
fn without_valid_credentials_the_cause_is_clear() {
    let scene = Scene::new(both);
    let cause = |command: Command| {
        let (document, code) = scene.images(command);
        assert_eq!(code, 70);
        short(&document, "old-one")
    };
    assert!(cause(scene.command(&["images"])).starts_with("AWS credentials were not found"));
    let mut wrong = scene.signed(&["images"]);
    wrong.env("AWS_SECRET_ACCESS_KEY", "wrong-canary");
    assert!(cause(wrong).starts_with("EC2 answers SignatureDoesNotMatch: the credentials are not valid"));
    let mut unknown = scene.signed(&["images"]);
    unknown.env("AWS_ACCESS_KEY_ID", "AKIDCANARY");
    assert!(cause(unknown).starts_with("EC2 answers AuthFailure: the credentials are not valid"));
    let mut web = scene.command(&["images", "--log", "trace"]);
    web.envs([("AWS_WEB_IDENTITY_TOKEN_FILE", "missing-token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")]);
    let text = cause(web);
    assert!(text.contains("credentials"), "{text}");
    fs::create_dir(scene.path(".aws")).unwrap();
    fs::write(scene.path(".aws/config"), "[profile q]\ncredential_process = echo canary >&2; exit 3\n").unwrap();
    let mut process = scene.command(&["images", "--log", "trace"]);
    process.env("AWS_PROFILE", "q").env("PATH", "/usr/bin:/bin");
    assert!(cause(process).contains("credentials cannot be loaded"));
    let mut unreachable = scene.signed(&["images"]);
    unreachable.env("AWS_ENDPOINT_URL", "http://user:canary@127.0.0.1:1/?canary").env("AWS_MAX_ATTEMPTS", "1");
    let text = cause(unreachable);
    assert!(text.starts_with("http://127.0.0.1:1/: "), "{text}");
    let mut invalid = scene.signed(&["images"]);
    invalid.env("AWS_ENDPOINT_URL", "no url");
    let text = cause(invalid);
    assert!(text.contains("the endpoint of EC2 is not a valid URL"), "{text}");
}

fn document_of(scene: &Scene) -> Value {
    scene.round().0
}

#[test]
fn a_lookup_needs_a_region_and_aws() {
    let scene = Scene::new(both);
    let replace = |from: &str, to: &str| fs::write(scene.path("config.json"), CONFIGURATION.replace(from, to)).unwrap();
    replace(r#", "region": "us-west-2""#, "");
    let (document, code) = scene.round();
    assert_eq!((short(&document, "new"), code), ("ami-fallback fallback".into(), 70));
    assert!(short(&document, "old-one").starts_with("the lookup needs a region: provider.Region is not set"));
    replace(r#""aws""#, r#""gcp""#);
    let cause = "images of the provider 'gcp' are not looked up";
    assert!(short(&document_of(&scene), "old-one").starts_with(cause));
    // With a fallback, too, each line about the image has its name and the cause.
    assert_eq!(document_of(&scene)["images"]["new"]["failure"], format!("images.new: {cause}"));
    let output = scene.signed(&["images"]).output().unwrap();
    let lines = String::from_utf8(output.stderr).unwrap();
    assert!(lines.contains(&format!("images.new: {cause}; the fallback is used\n")), "{lines}");
    let error =
        format!("error: the image 'old-one' has no id\n  caused by: images.old-one: {cause}; the cache has no id");
    assert!(lines.contains(&error), "{lines}");
    assert!(scene.ec2.calls().is_empty());
    replace("90m", "soon");
    let output = scene.signed(&["--group", "none"]).output().unwrap();
    assert_eq!(output.status.code(), Some(65));
    assert!(text(&output).contains("shard.image_refresh_interval must be a time"), "{}", text(&output));
    assert!(text(&output).contains("--> config.json:2:"), "{}", text(&output));
}

/// A process that is killed if the test fails.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_sidecar_sees_new_images_and_survives_failures() {
    let id = std::sync::Arc::new(Mutex::new("ami-1"));
    let current = id.clone();
    let scene = Scene::new(move |_| match *current.lock().unwrap() {
        "" => Reply::error(403, "UnauthorizedOperation"),
        id => Reply::images(&[(id, "n", "2024")], None),
    });
    let mut command = scene.signed(&["--watch", "--group", "new", "--image-refresh-interval", "20ms"]);
    let log = scene.path("log");
    let _running = Running(command.stderr(fs::File::create(&log).unwrap()).spawn().unwrap());
    let shows = |id: &str| fs::read_to_string(scene.path("out/args.json")).is_ok_and(|text| text.contains(id));
    eventually("the first image", || shows("ami-1"));
    *id.lock().unwrap() = "ami-2";
    eventually("the second image", || shows("ami-2"));
    *id.lock().unwrap() = "";
    eventually("the warning", || fs::read_to_string(&log).unwrap().contains("UnauthorizedOperation"));
    assert!(shows("ami-2"), "the cached id is used");
    *id.lock().unwrap() = "ami-3";
    eventually("the third image", || shows("ami-3"));
}

#[test]
fn a_changed_file_does_not_cause_another_lookup() {
    let scene = Scene::new(both);
    let mut command = scene.signed(&["--watch", "--group", "new"]);
    let _running = Running(command.spawn().unwrap());
    let shows = |id: &str| fs::read_to_string(scene.path("out/args.json")).is_ok_and(|text| text.contains(id));
    eventually("the first result", || shows("ami-2"));
    assert_eq!(scene.ec2.calls().len(), 2);
    fs::write(scene.path("config.json"), CONFIGURATION.replace("{{ .Image.new }}", "{{ .Image.new }} changed"))
        .unwrap();
    eventually("the second result", || shows("changed"));
    assert_eq!(scene.ec2.calls().len(), 2);
    // A new query is looked up, and no other.
    let changed = CONFIGURATION.replace("new-*", "old-*").replace("{{ .Image.new }}", "{{ .Image.new }} again");
    fs::write(scene.path("config.json"), changed).unwrap();
    eventually("the third result", || shows("ami-8 again") || shows("ami-9 again"));
    assert_eq!(scene.ec2.calls().len(), 3);
}
