//! The example of two AZs in `docs/contract.md`: which pod each Service selects.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, decode};
use kubernetes_objects::{GroupWorkload, ScriptsAs, Settings, Workloads};
use workload::Pod;

const PAGE: &str = "docs/contract.md";

/// What `plan` makes of this manifest.
fn planned(manifest: &str) -> (Deployment, BpmInfo) {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("services-of-two-azs");
    let _ = fs::remove_dir_all(&work);
    let job = work.join("jobs-src/nats/nats");
    fs::create_dir_all(job.join("templates")).unwrap();
    fs::write(job.join("spec"), "name: nats\ntemplates: {bpm.yml: config/bpm.yml}\nproperties: {}\n").unwrap();
    fs::write(job.join("templates/bpm.yml"), "processes: [{name: nats, executable: /bin/nats}]\n").unwrap();
    fs::write(work.join("manifest.yml"), manifest).unwrap();
    let plan = e2e::run(&["plan", "-m", "manifest.yml", "-b", ".", "--output-dir", "out"], &[], &work);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let read = |path: &str, name| decode(&fs::read_to_string(work.join(path)).unwrap(), name, path).unwrap();
    let deployment = read("out/deployment/output.json", DEPLOYMENT_YAML);
    let info = read("out/nats/bpm/output.json", BPM_YAML);
    (Deployment::decode(&deployment, "deployment").unwrap(), BpmInfo::decode(&info, "bpm").unwrap())
}

#[test]
fn the_services_of_two_azs_are_as_documented() {
    let page = fs::read_to_string(e2e::here().join("..").join(PAGE)).unwrap();
    let (_, section) = page.split_once("\n### The Services of two AZs\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let manifest = section.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let (deployment, info) = planned(manifest);
    let settings = Settings {
        boson_image: "boson".to_owned(),
        release_images: BTreeMap::from([("nats".to_owned(), "nats".to_owned())]),
        pull_secrets: Vec::new(),
        priority_class: None,
        zones: BTreeMap::new(),
        scripts_as: ScriptsAs::Root,
        network_policies: false,
        patches: BTreeMap::new(),
        dns_image: "coredns".to_owned(),
        strict_aliases: false,
        name_server: None,
        grace: Duration::from_secs(60),
        vm_types: BTreeMap::new(),
        updated_by: kubernetes_objects::UpdatedBy::Deploy,
    };
    let of_pods = workload::Settings { grace: settings.grace, template_settings: Vec::new() };
    let group = &deployment.instance_groups[0];
    let workload = GroupWorkload { group, pod: Pod::new(&info, group, &of_pods), version: 1, parts: 1 };
    let shared = Workloads { deployment: &deployment, groups: vec![workload], settings: &settings }.shared();
    let selected = |name: &str| {
        let service = shared.iter().find(|object| object["kind"] == "Service" && object["metadata"]["name"] == name)?;
        Some(service["spec"]["selector"]["statefulset.kubernetes.io/pod-name"].as_str()?.to_owned())
    };
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| `nats-nats-"))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
        .collect();
    assert_eq!(rows.len(), group.instances.len());
    for (row, instance) in rows.iter().zip(&group.instances) {
        let [_, service, pod, az, index, ..] = row[..] else { panic!("{row:?}") };
        assert_eq!(selected(service).as_deref(), Some(pod), "{PAGE}: {service}");
        let found = (instance.az.as_deref(), instance.index.to_string());
        assert_eq!(found, (Some(az), index.to_owned()), "{PAGE}: {service}");
        assert!(instance.address.starts_with(&format!("{service}.")), "{}", instance.address);
    }
}
