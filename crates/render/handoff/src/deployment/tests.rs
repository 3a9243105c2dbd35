use super::*;
use crate::document::tests::refuses_other_documents;

/// A document with every field.
fn full() -> Deployment {
    let job = Job {
        name: "store".into(),
        release: "orders".into(),
        services: vec![Service {
            process: "store".into(),
            run: Run::Bpm,
            monit: Some("store".into()),
            depends_on: vec!["agent".into()],
            instances: Some(vec![0]),
        }],
        errand: Some(ErrandKind::Script),
        scripts: Script::ALL.to_vec(),
        ports: vec![Port { name: "sql".into(), protocol: "TCP".into(), internal: 5432 }],
        provides: vec![ProvidedLink {
            link_type: "sql".into(),
            name: "orders".into(),
            aliases: vec![Alias {
                domain: "_.store.internal".into(),
                placeholder_type: Some("uuid".into()),
                health_filter: Some("all".into()),
                initial_health_check: Some("synchronous".into()),
            }],
        }],
        consumes: vec![ConsumedLink {
            name: "peers".into(),
            link_type: "sql".into(),
            instance_group: Some("store".into()),
            external: None,
        }],
        foreign_packages: vec![ForeignPackage { name: "jq".to_owned(), release: "tools".to_owned() }],
        sysctls: vec!["kernel.shmmax".to_owned()],
        quarks: Quarks {
            resources: Tree::Null,
            run: serde_json::json!({"healthcheck": {"store": {"readiness": {"tcpSocket": {"port": 5432}}}}}),
            envs: vec![
                EnvVar {
                    name: "NODE".into(),
                    value_from: Some(serde_json::json!({"fieldRef": {"fieldPath": "spec.nodeName"}})),
                },
                EnvVar { name: "PASSWORD".into(), value_from: None },
            ],
            active_passive_probes: serde_json::json!({"store": {"exec": {"command": ["true"]}}}),
            hidden: vec!["bpm.processes".into()],
        },
    };
    let env = Env {
        values: [("bosh.swap_size".into(), Switch::Number(0)), ("bosh.ipv6.enable".into(), Switch::Bool(true))].into(),
        settings: serde_json::json!({"labels": {"a": "b"}}),
        hidden: vec!["bosh.password".into()],
    };
    let update = Update {
        canaries: Count::Number(1),
        max_in_flight: Count::Percent(50),
        canary_watch_time: WatchTime { from: 30_000, to: 1_200_000 },
        update_watch_time: WatchTime { from: 0, to: 1_500 },
        serial: false,
        vm_strategy: VmStrategy::CreateSwapDelete,
        initial_deploy_az_update_strategy: AzUpdate::Parallel,
    };
    let instance = Instance {
        index: 0,
        az: Some("z1".into()),
        az_index: 1,
        ordinal: 0,
        address: "d-store-0.default.svc.cluster.local".into(),
        digest: "0a".into(),
    };
    let group = InstanceGroup {
        runs_at_deploy: false,
        name: "store".into(),
        lifecycle: Lifecycle::Service,
        azs: vec![Az { name: "z1".into(), instances: 1, zone: Some("eu-central-1a".into()) }],
        replicas: 1,
        instances: vec![instance],
        update,
        stemcell: Some("default".into()),
        networks: vec![Network { name: "default".into(), default: vec!["dns".into()] }],
        persistent_disk: Some(PersistentDisk { size: Some(1024), disk_type: Some("fast".into()) }),
        vm_type: Some("small".into()),
        vm_resources: Some(VmResources { cpu: 1, ram: 1024, ephemeral_disk_size: 2048 }),
        tags: [("team".into(), "blue".into())].into(),
        env,
        jobs: vec![job],
    };
    Deployment {
        name: "d".into(),
        namespace: "default".into(),
        service_domain: "svc.cluster.local".into(),
        releases: vec![Release {
            name: "orders".into(),
            version: "1".into(),
            url: Some("https://example.com/orders".into()),
            sha1: Some("0b".into()),
        }],
        stemcells: vec![Stemcell { alias: "default".into(), os: "ubuntu-jammy".into(), version: "1.1".into() }],
        instance_groups: vec![group],
        dns_aliases: vec![DnsAlias { domain: "store.internal".into(), targets: vec!["*.store.default.d.bosh".into()] }],
    }
}

#[test]
fn the_document_survives_a_round_trip() {
    let text = full().encode().unwrap();
    assert!(text.starts_with("version: 3\nname: d\n"), "{text}");
    assert_eq!(Deployment::decode(&text, "deployment.yaml").unwrap(), full());
    assert_eq!(full().group("store").unwrap().jobs[0].scripts[3].file_name(), "pre-stop");
}

#[test]
fn absent_fields_are_not_written() {
    let mut few = full();
    let group = &mut few.instance_groups[0];
    (group.env, group.persistent_disk, group.vm_type, group.vm_resources) = (Env::default(), None, None, None);
    (group.jobs[0].quarks, group.stemcell, group.azs[0].zone) = (Quarks::default(), None, None);
    group.tags.clear();
    let text = few.encode().unwrap();
    for key in ["env", "persistent_disk", "vm_type", "vm_resources", "quarks", "stemcell", "tags", "zone"] {
        assert!(!text.contains(&format!(" {key}:")), "{key} in {text}");
    }
    assert_eq!(Deployment::decode(&text, "deployment.yaml").unwrap(), few);
}

#[test]
fn other_documents_are_refused() {
    refuses_other_documents(&full().encode().unwrap(), |text| Deployment::decode(text, "x").map(drop));
}

#[test]
fn a_problem_names_the_field_and_not_its_value() {
    let text = full().encode().unwrap();
    let cases = [
        ("ordinal: 0", "ordinal: hunter2", "instance_groups[0].instances[0].ordinal: value of the wrong type"),
        ("ordinal: 0", "ordinary: 0", "instance_groups[0].instances[0].ordinary: unknown field 'ordinary'"),
        ("run: bpm", "run: hunter2", "instance_groups[0].jobs[0].services[0].run: value of the wrong type"),
        ("  replicas: 1\n", "", "instance_groups[0]: field 'replicas' is missing"),
        ("from: 30s", "from: hunter2", "instance_groups[0].update.canary_watch_time.from: value of the wrong type"),
        ("- pre-start", "- hunter2", "instance_groups[0].jobs[0].scripts[0]: value of the wrong type"),
    ];
    for (good, bad, what) in cases {
        assert!(text.contains(good), "{good}");
        let error = Deployment::decode(&text.replacen(good, bad, 1), "out/deployment.yaml").unwrap_err();
        assert_eq!(error.to_string(), format!("error: deployment.yaml: {what}\n  --> out/deployment.yaml"));
        assert_eq!(error.exit_code(), 65);
    }
}
