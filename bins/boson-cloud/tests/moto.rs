//! Lookups of images at moto, a stand-in for AWS that others maintain. `MOTO` is the directory with its executables (`.ci/moto`).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const CONFIGURATION: &str = r#"{
  "shard": {"infra": {"provider": "aws", "region": "eu-central-1"}},
  "images": {
    "amazon": {"provider": "aws", "filters": [{"name": "name", "values": ["amzn2-*"]}, {"name": "architecture", "values": ["x86_64"]}],
      "owners": ["amazon"], "sort": "creation-date", "order": "desc"},
    "first": {"provider": "aws", "filters": [{"name": "name", "values": ["worker-*"]}], "owners": ["self"], "sort": "name", "order": "asc"},
    "last": {"provider": "aws", "filters": [{"name": "name", "values": ["worker-*"]}], "sort": "name", "order": "desc"},
    "none": {"provider": "aws", "filters": [{"name": "name", "values": ["none-*"]}], "sort": "name", "order": "desc", "fallback": "ami-fallback"}
  }
}"#;

/// Registers images with AWS's own library, and prints the id of each. It also prints the newest of the owner `amazon`.
const REGISTER: &str = r#"
import sys, boto3
ec2 = boto3.client("ec2", region_name="eu-central-1", endpoint_url=sys.argv[1], aws_access_key_id="key", aws_secret_access_key="secret")
for name in ["worker-2", "worker-1", "worker-3", "other-4"]:
    print(name, ec2.register_image(Name=name, RootDeviceName="/dev/sda1")["ImageId"])
filters = [{"Name": "name", "Values": ["amzn2-*"]}, {"Name": "architecture", "Values": ["x86_64"]}]
images = ec2.describe_images(Owners=["amazon"], Filters=filters)["Images"]
newest = max(image["CreationDate"] for image in images)
print("amazon", min(image["ImageId"] for image in images if image["CreationDate"] == newest))
"#;

struct Moto {
    child: Child,
    url: String,
    executables: PathBuf,
}

impl Moto {
    /// On a port that the kernel chooses; ready when it says so.
    fn start() -> Moto {
        let executables = PathBuf::from(std::env::var_os("MOTO").expect("MOTO: what .ci/moto prints"));
        let mut child = Command::new(executables.join("moto_server"))
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.find_map(|line| Some(line.unwrap().split_once("Running on ")?.1.trim().to_owned())).unwrap();
        // It logs each request.
        std::thread::spawn(move || lines.for_each(drop));
        Moto { child, url, executables }
    }

    /// The id of each image that is registered, by its name.
    fn register(&self) -> impl Fn(&str) -> String {
        let output = Command::new(self.executables.join("python")).args(["-c", REGISTER, &self.url]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        move |name| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    }

    /// What `render-files images` prints.
    fn images(&self, directory: &Path) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_boson-cloud"))
            .args(["render-files", "images"])
            .env_clear()
            .env("HOME", directory)
            .envs([("CONFIG_PATH", "config.json"), ("OUTPUT_DIR", "out"), ("IMAGE_CACHE", "images.db")])
            .envs([("AWS_ENDPOINT_URL", self.url.as_str()), ("AWS_EC2_METADATA_DISABLED", "true")])
            .envs([("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")])
            .current_dir(directory)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn images_are_found_as_awss_own_library_finds_them() {
    let moto = Moto::start();
    let id = moto.register();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("config.json"), CONFIGURATION).unwrap();
    let found = moto.images(directory.path());
    for (image, expected) in [
        ("amazon", [id("amazon"), "live".to_owned()]),
        ("first", [id("worker-1"), "live".to_owned()]),
        ("last", [id("worker-3"), "live".to_owned()]),
        ("none", ["ami-fallback".to_owned(), "fallback".to_owned()]),
    ] {
        let found = &found["images"][image];
        assert_eq!([&found["id"], &found["source"]], expected.each_ref().map(|text| text.as_str()), "{image}");
    }
}
