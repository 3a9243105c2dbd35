use problem::Problem;
use value::Value;

use super::CloudConfig;
use crate::Manifest;
use crate::yaml::yaml;

const CLOUD: &str = "
azs:
- {name: z1, cloud_properties: {zone: a}}
- {name: z2, cloud_properties: {cpu: 8}}
vm_types:
- {name: small, cloud_properties: {cpu: 1, ram: 1024, instance_type: t3}}
- {name: any}
vm_extensions:
- {name: more-ram, cloud_properties: {ram: 4096, ephemeral_disk: {size: 10240}}}
- {name: lb, cloud_properties: {elbs: [x]}}
disk_types:
- {name: 5GB, disk_size: 5120, cloud_properties: {storage_class: fast, type: gp3}}
- {name: plain, disk_size: 10}
- {name: none, disk_size: 0}
networks:
- {name: default, type: manual, subnets: [{azs: [z1, z2], range: 10.0.0.0/24}]}
- {name: flat, type: dynamic}
- {name: public, type: vip}
compilation: {workers: 4, network: default, az: z1, vm_type: small}
";

fn read(texts: &[&str]) -> (CloudConfig, Vec<Problem>) {
    let values: Vec<Value> = texts.iter().map(|text| yaml(text)).collect();
    let documents: Vec<_> = values.iter().map(|value| (value, "cloud.yml")).collect();
    CloudConfig::read(&documents)
}

fn cloud() -> CloudConfig {
    let (config, problems) = read(&[CLOUD]);
    assert_eq!(problems, []);
    config
}

fn messages(problems: Vec<Problem>) -> Vec<String> {
    problems.into_iter().map(|problem| problem.message).collect()
}

/// A manifest of one group `g`, of which `keys` are keys, in flow style.
fn manifest(keys: &str) -> Manifest {
    let text = format!("{{name: d, releases: [], instance_groups: [{{name: g, instances: 1, jobs: [], {keys}}}]}}");
    Manifest::parse(&yaml(&text), "m.yml").unwrap()
}

const GOOD: &str = "vm_type: small, networks: [{name: default}], azs: [z1]";

#[test]
fn invalid_configs_have_the_directors_messages() {
    let cases = [
        ("azs: [{name: z1}", "azs: [{name: z1}, {name: z1}", "Duplicate az name 'z1'"),
        ("vm_types: [{name: v}", "vm_types: [{name: v}, {name: v}", "Duplicate vm type name 'v'"),
        ("vm_types:", "vm_extensions: [{name: e}, {name: e}], vm_types:", "Duplicate vm extension name 'e'"),
        (
            "vm_types:",
            "disk_types: [{name: d, disk_size: 1}, {name: d, disk_size: 1}], vm_types:",
            "Duplicate disk type name 'd'",
        ),
        (
            "vm_types:",
            "disk_types: [{name: d}], vm_types:",
            "Required property 'disk_size' was not specified in disk type 'd'",
        ),
        (
            "vm_types:",
            "disk_types: [{name: d, disk_size: x}], vm_types:",
            "Property 'disk_size' value (a String) did not match the required type 'Integer'",
        ),
        ("{name: n,", "{name: N, type: vip}, {name: n,", "Invalid network name 'n', canonical name already taken"),
        ("type: manual", "type: automatic", "Invalid network type 'automatic'"),
        (", subnets: [{az: z1}]", "", "Required property 'subnets' was not specified in network 'n'"),
        ("{az: z1}", "{az: z9}", "Network 'n' refers to an unknown availability zone 'z9'"),
        ("{az: z1}", "{az: z1}, {}", "Subnets on network 'n' must all either specify availability zone or not"),
        ("network: n", "network: m", "Compilation config references an unknown network 'm'"),
        ("workers: 1,", "", "Required property 'workers' was not specified in 'compilation'"),
        ("workers: 1", "workers: 1, az: z9", "Compilation config references unknown az 'z9'. Known azs are: [z1]"),
        (
            "workers: 1",
            "workers: 1, vm_type: x",
            "Compilation config references unknown vm type 'x'. Known vm types are: v",
        ),
        ("[{name: v}]", "{name: v}", "Property 'vm_types' value (a Hash) did not match the required type 'Array'"),
        ("[{name: v}]", "[v]", "Object (a String) did not match the required type 'Hash'"),
        ("[{name: v}]", "[{}]", "Required property 'name' was not specified in an entry of 'vm_types'"),
        (
            "[{name: v}]",
            "'((vm_types))'",
            "Relative paths are not allowed in this context. The following must be be switched to use absolute paths: 'vm_types'",
        ),
        ("{name: v}", "{name: ((/v))}", "unresolved variables: ((/v))"),
    ];
    let valid = "{azs: [{name: z1}], vm_types: [{name: v}], networks: [{name: n, type: manual, subnets: [{az: z1}]}], \
                 compilation: {workers: 1, network: n}}";
    assert_eq!(messages(read(&[valid]).1), [""; 0]);
    for (from, to, message) in cases {
        assert!(valid.contains(from), "{from}");
        let found = messages(read(&[&valid.replace(from, to)]).1);
        assert!(found.iter().any(|found| found == message), "{message}: {found:#?}");
    }
}

#[test]
fn sections_that_the_director_requires_are_required() {
    let required = |key: &str| format!("Required property '{key}' was not specified in the cloud config (cloud.yml)");
    assert_eq!(messages(read(&["{azs: []}"]).1), [required("networks"), required("compilation")]);
    let found = messages(read(&["{networks: [], compilation: {workers: 1, network: n}}"]).1);
    assert_eq!(found, ["No networks specified", "Compilation config references an unknown network 'n'"]);
    assert_eq!(messages(read(&["[]"]).1)[0], "a config must be a Hash, and this document is a Array");
}

#[test]
fn several_configs_are_one() {
    let first = "{azs: [{name: z1}], networks: [{name: n, type: dynamic, subnets: [{az: z2}]}]}";
    let second = "{azs: [{name: z2}], networks: [], compilation: {workers: 1, network: n}}";
    assert_eq!(messages(read(&[first, second]).1), [""; 0]);
    let message = "Cloud config 'compilation' key cannot be defined in multiple cloud configs.";
    assert_eq!(messages(read(&[first, second, "{compilation: {workers: 1, network: n}}"]).1), [message]);
    assert_eq!(messages(read(&[first, second, "{azs: [{name: z1}]}"]).1), ["Duplicate az name 'z1'"]);
}

#[test]
fn a_manifest_is_checked_with_the_directors_messages() {
    let of = |text: &str| format!("Instance group 'g' {text}");
    let cases = [
        (GOOD.to_owned(), vec![]),
        (GOOD.replace("small", "smal"), vec![of("references an unknown vm type 'smal'")]),
        (GOOD.replace("vm_type: small, ", ""), vec![of("is missing either 'vm_type' or 'vm_resources' section.")]),
        (
            format!("{GOOD}, vm_resources: {{cpu: 1, ram: 1, ephemeral_disk_size: 1}}"),
            vec![of("can only specify 'vm_type' or 'vm_resources' keys.")],
        ),
        (
            format!("{GOOD}, vm_extensions: [lb, x]"),
            vec!["The vm_extension 'x' has not been configured in cloud-config.".to_owned()],
        ),
        (format!("{GOOD}, persistent_disk_type: x"), vec![of("references an unknown disk type 'x'")]),
        (
            format!("{GOOD}, persistent_disk_type: plain, persistent_disk: 1"),
            vec![of(
                "specifies more than one of the following keys: 'persistent_disk', 'persistent_disk_type', and 'persistent_disks'. Choose one.",
            )],
        ),
        (GOOD.replace("name: default", "name: defaut"), vec![of("references an unknown network 'defaut'")]),
        (GOOD.replace("{name: default}", ""), vec![of("must specify at least one network")]),
        (
            GOOD.replace("{name: default}", "{name: default, default: [dns]}, {name: public}"),
            vec![of(
                "must specify which network is default for gateway, since it has more than one network configured",
            )],
        ),
        (GOOD.replace("{name: default}", "{name: default, default: [dns, gateway]}, {name: public}"), vec![]),
        (
            GOOD.replace(", azs: [z1]", ""),
            vec![of("must specify availability zone that matches availability zones of network 'default'")],
        ),
        (
            GOOD.replace("name: default", "name: flat"),
            vec![of("must specify availability zone that matches availability zones of network 'flat'")],
        ),
        (GOOD.replace("name: default", "name: flat").replace(", azs: [z1]", ""), vec![]),
        (
            GOOD.replace("[z1]", "[z1, z3]"),
            vec![
                of("must specify availability zone that matches availability zones of network 'default'"),
                of("references unknown availability zone 'z3'"),
            ],
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(messages(cloud().check(&manifest(&keys))), expected, "{keys}");
    }
    let known = &cloud().check(&manifest(&GOOD.replace("small", "smal")))[0];
    assert_eq!(known.hint.as_deref(), Some("did you mean 'small'?"));
    let sections = "{name: d, releases: [], instance_groups: [], azs: [], compilation: {}}";
    let sections = Manifest::parse(&yaml(sections), "m.yml").unwrap();
    let message = |key: &str| {
        format!("Deployment manifest contains '{key}' section, but this can only be set in a cloud-config.")
    };
    assert_eq!(messages(cloud().check(&sections)), [message("azs"), message("compilation")]);
}

#[test]
fn sizes_are_looked_up_and_later_cloud_properties_win() {
    let sizes = |keys: &str| {
        let mut manifest = manifest(keys);
        cloud().apply(&mut manifest);
        let group = manifest.instance_groups.remove(0);
        let vm = group.vm_resources.map(|vm| [vm.cpu, vm.ram, vm.ephemeral_disk_size]);
        (vm, group.persistent_disk, group.persistent_disk_type)
    };
    assert_eq!(sizes("vm_type: small").0, Some([1, 1024, 0]));
    assert_eq!(sizes("vm_type: small, vm_extensions: [more-ram, lb]").0, Some([1, 4096, 10240]));
    assert_eq!(sizes("vm_type: any").0, None);
    assert_eq!(sizes("vm_type: any, azs: [z1, z2]").0, Some([8, 0, 0]));
    assert_eq!(sizes("vm_type: small, azs: [z2]").0, Some([1, 1024, 0]));
    let given = "vm_resources: {cpu: 2, ram: 3, ephemeral_disk_size: 4}";
    assert_eq!(sizes(given).0, Some([2, 3, 4]));
    let disk = |name: &str| {
        let (_, size, class) = sizes(&format!("persistent_disk_type: {name}"));
        (size, class)
    };
    assert_eq!(disk("5GB"), (5120, Some("fast".to_owned())));
    assert_eq!(disk("plain"), (10, None));
    assert_eq!(disk("none"), (0, None));
}

#[test]
fn what_has_no_meaning_is_listed() {
    let (config, _) = read(&[CLOUD, "{other: 1}"]);
    let mut unused: Vec<String> = config.unused.into_iter().filter_map(|note| note.what).collect();
    unused.sort();
    let expected = [
        "cloud_properties.elbs of 'vm_extensions'",
        "cloud_properties.instance_type of 'vm_types'",
        "cloud_properties.type of 'disk_types'",
        "compilation",
        "networks: their types, addresses and cloud properties",
        "other",
    ];
    assert_eq!(unused, expected);
}

#[test]
fn the_zone_of_an_az_is_its_cloud_property() {
    for (properties, zone) in [
        ("{availability_zone: eu-1a}", Some("eu-1a")),
        ("{zone: europe-west1-b}", Some("europe-west1-b")),
        ("{zone: [1]}", None),
        ("{}", None),
    ] {
        let (config, _) = read(&[&format!("azs: [{{name: z, cloud_properties: {properties}}}]")]);
        assert_eq!(config.zone("z"), zone, "{properties}");
        let is_unused = config.unused.iter().any(|note| note.what.as_deref() == Some("cloud_properties.zone of 'azs'"));
        assert_eq!(is_unused, properties.contains('['), "{properties}");
        assert_eq!(config.zone("other"), None);
    }
}
