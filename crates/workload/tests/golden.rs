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
    let text = std::fs::read_to_string(here.join("everything/deployment.yaml")).unwrap();
    let deployment = Deployment::decode(&text, "deployment.yaml").unwrap();
    let of_scenario = |name: &str| e2e::here().join("scenarios").join(name).join("bpm.yaml");
    let cases = [
        ("nats", of_scenario("nats/3-output/nats"), None),
        ("nats-smoke-tests", of_scenario("nats/3-output/smoke-tests"), None),
        ("everything", here.join("everything/bpm.yaml"), deployment.group("db")),
    ];
    let mut wrong = Vec::new();
    for (name, document, group) in cases {
        let text = std::fs::read_to_string(&document).unwrap();
        let info = BpmInfo::decode(&text, &document.display().to_string()).unwrap();
        let yaml = serde_yaml::to_string(&Pod::new(&info, group, &settings)).unwrap();
        wrong.extend(e2e::check(&here.join("golden").join(format!("{name}.yaml")), &yaml).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
