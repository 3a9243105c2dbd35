//! The value of real groups, and of an invented one with everything that a value can have, as YAML.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::Path;
use std::time::Duration;

use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use workload::{Pod, Settings};

#[test]
fn values_are_as_committed() {
    let settings = Settings {
        grace: Duration::from_secs(45),
        template_settings: vec![("TEMPLATE_TIMEOUT".to_owned(), "90".to_owned())],
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let scenario = e2e::here().join("scenarios/nats/3-output");
    let cases = [
        ("nats", scenario.clone(), "nats", "nats/bpm.yaml"),
        ("nats-smoke-tests", scenario, "smoke-tests", "smoke-tests/bpm.yaml"),
        ("everything", here.join("everything"), "db", "bpm.yaml"),
    ];
    let mut wrong = Vec::new();
    for (name, directory, group, document) in cases {
        let read = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap();
        let deployment = Deployment::decode(&read("deployment.yaml"), name).unwrap();
        let info = BpmInfo::decode(&read(document), name).unwrap();
        let pod = Pod::new(&info, deployment.group(group).unwrap(), &settings);
        let yaml = serde_yaml::to_string(&pod).unwrap();
        wrong.extend(e2e::check(&here.join("golden").join(format!("{name}.yaml")), &yaml).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
