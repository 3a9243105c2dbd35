//! The value of every group of two deployments, as YAML.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::Path;
use std::time::Duration;

use handoff::bpm_info::BpmInfo;
use workload::{Pod, Settings};

/// `plan`'s documents of real scenarios, and of an invented group with everything that a value can have.
#[test]
fn values_are_as_committed() {
    let settings = Settings {
        grace: Duration::from_secs(45),
        template_settings: vec![("TEMPLATE_TIMEOUT".to_owned(), "90".to_owned())],
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let of_scenario = |name: &str| e2e::here().join("scenarios").join(name).join("bpm.yaml");
    let cases = [
        ("nats", of_scenario("nats/3-output/nats")),
        ("nats-smoke-tests", of_scenario("nats/3-output/smoke-tests")),
        ("everything", here.join("everything/bpm.yaml")),
    ];
    let mut wrong = Vec::new();
    for (name, document) in cases {
        let text = std::fs::read_to_string(&document).unwrap();
        let info = BpmInfo::decode(&text, &document.display().to_string()).unwrap();
        let yaml = serde_yaml::to_string(&Pod::new(&info, &settings)).unwrap();
        wrong.extend(e2e::check(&here.join("golden").join(format!("{name}.yaml")), &yaml).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
