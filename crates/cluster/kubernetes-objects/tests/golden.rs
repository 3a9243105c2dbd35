//! The objects of real deployments, as YAML that reads as if written by hand.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use handoff::bpm_info::BpmInfo;
use handoff::deployment::{Deployment, DnsAlias, EnvVar, VmResources};
use kubernetes_objects::{
    Gather, GroupWorkload, Object, ScriptsAs, Settings, UpdatedBy, Workloads, gather_objects, needs, outdated, to_yaml,
};
use workload::Pod;

#[path = "golden/packages.rs"]
mod packages;

fn settings(scripts_as: ScriptsAs) -> Settings {
    Settings {
        boson_image: "boson/boson:latest".to_owned(),
        release_images: BTreeMap::from([("nats".to_owned(), "registry.example/nats:2.10".to_owned())]),
        pull_secrets: Vec::new(),
        priority_class: None,
        zones: BTreeMap::from([("z2".to_owned(), "europe-west1-c".to_owned())]),
        scripts_as,
        network_policies: scripts_as == ScriptsAs::Vcap,
        patches: BTreeMap::new(),
        dns_image: "coredns/coredns:1.12.4".to_owned(),
        strict_aliases: false,
        name_server: None,
        grace: Duration::from_secs(60),
        vm_types: BTreeMap::new(),
        updated_by: UpdatedBy::Deploy,
    }
}

/// The documents of the scenario `nats`.
fn documents() -> (Deployment, Vec<BpmInfo>) {
    let directory = e2e::here().join("scenarios/nats/3-output");
    let read = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap();
    let deployment = Deployment::decode(&read("deployment.yaml"), "deployment.yaml").unwrap();
    let of_group = |name: &str| BpmInfo::decode(&read(&format!("{name}/bpm.yaml")), name).unwrap();
    let infos = deployment.instance_groups.iter().map(|group| of_group(&group.name)).collect();
    (deployment, infos)
}

fn workloads<'a>(deployment: &'a Deployment, infos: &[BpmInfo], version: u32, settings: &'a Settings) -> Workloads<'a> {
    let of_pods = workload::Settings { grace: settings.grace, template_settings: Vec::new() };
    let groups = deployment.instance_groups.iter().zip(infos);
    let groups =
        groups.map(|(group, info)| GroupWorkload { group, pod: Pod::new(info, group, &of_pods), version, parts: 1 });
    Workloads { deployment, groups: groups.collect(), settings }
}

fn all(workloads: &Workloads) -> Vec<Object> {
    let groups = workloads.groups();
    workloads.shared().into_iter().chain(groups.into_iter().flat_map(|group| group.objects)).collect()
}

#[test]
fn objects_are_as_committed() {
    let (deployment, infos) = documents();
    let mut wrong = Vec::new();
    for (name, scripts_as) in [("nats", ScriptsAs::Root), ("nats-restricted", ScriptsAs::Vcap)] {
        let settings = settings(scripts_as);
        let yaml = to_yaml(&all(&workloads(&deployment, &infos, 3, &settings)));
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        wrong.extend(e2e::check(&golden.join(format!("{name}.yaml")), &yaml).err());
        let gather = gather_objects(&Gather {
            deployment: "nats",
            manifest: b"name: nats\n",
            runtime_configs: &[],
            cloud_configs: if scripts_as == ScriptsAs::Vcap { &[b"azs: []\n"] } else { &[] },
            namespace: (scripts_as == ScriptsAs::Vcap).then_some("messaging"),
            service_domain: "svc.cluster.local",
            releases: &["nats".to_owned()],
            links: &[],
            patches: &[],
            service_account: None,
            settings: &settings,
            planned_groups: &[],
            api_servers: &["10.0.0.1/32".to_owned()],
            deploy: vec!["--image".to_owned(), "nats=registry.example/nats:2.10".to_owned()],
            deploy_once: Vec::new(),
            force_conflicts: false,
        });
        wrong.extend(e2e::check(&golden.join(format!("{name}-gather.yaml")), &to_yaml(&gather)).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_instances_service_selects_the_pod_of_the_formula() {
    let (deployment, infos) = documents();
    let settings = settings(ScriptsAs::Root);
    let shared = workloads(&deployment, &infos, 1, &settings).shared();
    let selected = |name: &str| {
        let service =
            shared.iter().find(|object| object["kind"] == "Service" && object["metadata"]["name"] == name).unwrap();
        assert_eq!(service["spec"]["clusterIP"], "None");
        assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
        service["spec"]["selector"]["statefulset.kubernetes.io/pod-name"].as_str().unwrap().to_owned()
    };
    let pods = ["nats-nats-0", "nats-nats-1", "nats-nats-2", "nats-nats-3"].map(selected);
    assert_eq!(pods, ["nats-nats-z1-0", "nats-nats-z1-1", "nats-nats-z2-0", "nats-nats-z2-1"]);
}

/// The StatefulSets of a deployment.
fn sets(deployment: &Deployment, version: u32, settings: &Settings) -> Vec<Object> {
    let objects = all(&workloads(deployment, &documents().1, version, settings));
    objects.into_iter().filter(|object| object["kind"] == "StatefulSet").collect()
}

/// Whether the pods of the earlier StatefulSets run what the later ones say.
fn are_current(earlier: &[Object], later: &[Object]) -> Vec<bool> {
    let of_pair = |(earlier, later): (&Object, &Object)| {
        let annotations = earlier["spec"]["template"]["metadata"]["annotations"].clone();
        let is = move |ordinal| outdated(|name| annotations[name].as_str(), None, later, ordinal).is_empty();
        (0..2).map(is).collect::<Vec<bool>>()
    };
    earlier.iter().zip(later).flat_map(of_pair).collect()
}

/// A new version of the documents in which nothing differs that a pod renders leaves every pod alone; a changed digest is that of its
/// instance alone. Pods that are made anew get the newest version in any case.
#[test]
fn a_pod_restarts_exactly_when_what_it_renders_changes() {
    let (mut deployment, _) = documents();
    let settings = settings(ScriptsAs::Root);
    let earlier = sets(&deployment, 1, &settings);
    let same = sets(&deployment, 2, &settings);
    assert_eq!(are_current(&earlier, &same), [true; 4]);
    let secret = |set: &Object| {
        let volumes = set["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
        volumes.iter().find_map(|volume| volume["secret"]["secretName"].as_str()).unwrap().to_owned()
    };
    assert_eq!(same.iter().map(secret).collect::<Vec<_>>(), ["ig-resolved.nats-v2"; 2]);
    let nats = deployment.instance_groups.iter_mut().find(|group| group.name == "nats").unwrap();
    nats.instances.iter_mut().find(|instance| instance.index == 2).unwrap().digest = "f".repeat(64);
    assert_eq!(are_current(&earlier, &sets(&deployment, 2, &settings)), [true, true, false, true]);
    let other_image = Settings { boson_image: "boson/boson:next".to_owned(), ..settings };
    assert_eq!(are_current(&earlier, &sets(&deployment, 2, &other_image)), [false; 4]);
}

/// Kubernetes itself replaces pods if `deploy` does not wait for them.
#[test]
fn pods_are_replaced_by_deploy_or_by_kubernetes() {
    let (deployment, _) = documents();
    let strategy = |updated_by: UpdatedBy| {
        let settings = Settings { updated_by, ..settings(ScriptsAs::Root) };
        sets(&deployment, 1, &settings)[0]["spec"]["updateStrategy"].clone()
    };
    assert_eq!(strategy(UpdatedBy::Deploy), serde_json::json!({"type": "OnDelete"}));
    assert_eq!(strategy(UpdatedBy::Kubernetes), serde_json::json!({"type": "RollingUpdate"}));
}

/// Patches of a release are applied in every pod; other patches restart no pod that renders the same.
#[test]
fn patches_reach_pods_and_restart_only_what_renders_something_else() {
    let (deployment, _) = documents();
    let with = |config_map: &str| {
        let patches =
            [("nats", config_map), ("other", "p")].map(|(release, name)| (release.to_owned(), name.to_owned()));
        sets(&deployment, 1, &Settings { patches: patches.into(), ..settings(ScriptsAs::Root) })
    };
    let config_maps = |set: &Object| -> Vec<String> {
        let volumes = set["spec"]["template"]["spec"]["volumes"].as_array().unwrap().iter();
        volumes.filter_map(|volume| volume["configMap"]["name"].as_str().map(str::to_owned)).collect()
    };
    let first = with("p1");
    let copy = &first[0]["spec"]["template"]["spec"]["initContainers"][1];
    let program = "/var/vcap/all-releases/.boson/bin/copy-jobs";
    assert_eq!(copy["command"], serde_json::json!([program, "--release", "nats", "--patch", "/var/vcap/patches/nats"]));
    let mount = serde_json::json!({"mountPath": "/var/vcap/patches/nats", "name": "patches-nats", "readOnly": true});
    assert!(copy["volumeMounts"].as_array().unwrap().contains(&mount), "{copy}");
    assert_eq!(config_maps(&first[0]), ["p1"]);
    let second = with("p2");
    assert_eq!(config_maps(&second[0]), ["p2"]);
    assert_eq!(are_current(&first, &second), [true; 4]);
}

/// CoreDNS rewrites aliases to Services, and pods resolve names with it.
#[test]
fn aliases_are_rewritten_to_services() {
    let (mut deployment, infos) = documents();
    let alias = |domain: &str, targets: &[&str]| DnsAlias {
        domain: domain.to_owned(),
        targets: targets.iter().map(|&target| target.to_owned()).collect(),
    };
    deployment.dns_aliases = vec![
        alias("nats.service.cf.internal", &["*.nats.default.nats.bosh"]),
        alias("_.nats.cf.internal", &["_.nats.default.nats.bosh"]),
        alias("all.cf.internal", &["q-s4.nats.default.nats.bosh"]),
        alias("both.cf.internal", &["*.nats.default.nats.bosh", "*.smoke-tests.default.nats.bosh"]),
        alias("second.cf.internal", &["q-i1.nats.default.nats.bosh"]),
        alias("fixed.cf.internal", &["10.1.2.3"]),
        alias("link.cf.internal", &["nats-nats.default.svc.cluster.local"]),
        alias("of-other.cf.internal", &["db-postgres.default.svc.cluster.local"]),
        alias("gone.cf.internal", &["*.gone.default.nats.bosh"]),
    ];
    let mut settings = settings(ScriptsAs::Root);
    settings.name_server = Some("10.96.0.77".to_owned());
    let workloads = workloads(&deployment, &infos, 1, &settings);
    workloads.check().unwrap();
    let objects = all(&workloads);
    let find = |kind: &str, end: &str| {
        let is =
            |object: &&Object| object["kind"] == kind && object["metadata"]["name"].as_str().unwrap().ends_with(end);
        objects.iter().find(is).unwrap()
    };
    let corefile = find("ConfigMap", "-bosh-dns")["data"]["Corefile"].as_str().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/Corefile");
    e2e::check(&golden, corefile).unwrap();
    assert_eq!(find("Service", "-bosh-dns")["spec"]["ports"][0]["targetPort"], 1053);
    assert_eq!(find("Service", "-all")["spec"]["publishNotReadyAddresses"], true);
    let both = find("Service", "-ready")["spec"]["selector"].as_object().unwrap();
    for set in objects.iter().filter(|object| object["kind"] == "StatefulSet" || object["kind"] == "Job") {
        let template = &set["spec"]["template"];
        assert!(both.iter().all(|(label, value)| template["metadata"]["labels"][label] == *value), "{template}");
        assert_eq!(template["spec"]["dnsPolicy"], "None");
        let searches = serde_json::json!(["default.svc.cluster.local", "svc.cluster.local", "cluster.local"]);
        assert_eq!(template["spec"]["dnsConfig"]["searches"], searches);
        assert_eq!(template["spec"]["dnsConfig"]["nameservers"][0], "10.96.0.77");
    }
    assert_eq!(kubernetes_objects::ignored_dns_aliases(&deployment), ["gone.cf.internal"]);
    settings.strict_aliases = true;
    let message = self::workloads(&deployment, &infos, 1, &settings).check().unwrap_err().to_string();
    assert!(message.contains("no instance answers the DNS alias 'gone.cf.internal'"), "{message}");
}

/// A group that is scaled to none and back keeps what the API server does not let change, and its names resolve to nothing.
#[test]
fn a_group_without_instances_keeps_the_fields_that_cannot_change() {
    let (mut deployment, mut infos) = documents();
    let settings = settings(ScriptsAs::Root);
    let set = |deployment: &Deployment, infos: &[BpmInfo]| {
        let objects = all(&workloads(deployment, infos, 1, &settings));
        objects.into_iter().find(|object| object["metadata"]["name"] == "nats-nats-z1").unwrap()
    };
    let before = set(&deployment, &infos);
    deployment.instance_groups[0].instances.clear();
    infos[0].instance_groups[0].properties.quarks.instances.clear();
    // Nothing is rendered, so nothing is known about its processes.
    infos[0].instance_groups[0].jobs.iter_mut().for_each(|job| job.properties.quarks.services.clear());
    let none = set(&deployment, &infos);
    assert_eq!((before["spec"]["replicas"].as_u64(), none["spec"]["replicas"].as_u64()), (Some(2), Some(0)));
    for field in ["serviceName", "selector", "volumeClaimTemplates", "podManagementPolicy"] {
        assert_eq!(none["spec"][field], before["spec"][field], "{field}");
    }
    let containers = |set: &Object| set["spec"]["template"]["spec"]["containers"].as_array().unwrap().len();
    assert!(containers(&none) > 0);
    // A group without jobs, too.
    infos[0].instance_groups[0].jobs.clear();
    deployment.instance_groups[0].jobs.clear();
    assert_eq!(set(&deployment, &infos)["spec"]["template"]["spec"]["containers"][0]["name"], "tail-logs");
    deployment.dns_aliases =
        vec![DnsAlias { domain: "nats.cf.internal".to_owned(), targets: vec!["*.nats.default.nats.bosh".to_owned()] }];
    let objects = all(&workloads(&deployment, &infos, 1, &settings));
    let corefile = objects.iter().find_map(|object| object["data"]["Corefile"].as_str()).unwrap();
    let rule = "rewrite stop name exact nats.cf.internal. nats-nats.default.svc.cluster.local. answer auto";
    assert!(corefile.contains(rule), "{corefile}");
}

#[test]
fn names_that_would_collide_are_refused() {
    let (mut deployment, mut infos) = documents();
    let mut other = deployment.instance_groups[0].clone();
    other.name = "nats-z1".to_owned();
    other.azs.clear();
    for instance in &mut other.instances {
        instance.address = instance.address.replace("nats-nats-", "nats-nats-z1-");
    }
    deployment.instance_groups.push(other);
    let mut info = infos[0].clone();
    info.instance_groups[0].name = "nats-z1".to_owned();
    infos.push(info);
    let settings = settings(ScriptsAs::Root);
    let problem = workloads(&deployment, &infos, 1, &settings).check().unwrap_err().to_string();
    assert!(problem.contains("two StatefulSets would have the name 'nats-nats-z1'"), "{problem}");
}

/// The container of the process `nats`, with this `properties.quarks.run`.
fn nats_container(run: serde_json::Value) -> Object {
    let (mut deployment, infos) = documents();
    deployment.instance_groups[0].jobs[0].quarks.run = run;
    let settings = settings(ScriptsAs::Vcap);
    let workloads = workloads(&deployment, &infos, 1, &settings);
    workloads.check().unwrap();
    let objects = all(&workloads);
    let set = objects.iter().find(|object| object["kind"] == "StatefulSet").unwrap();
    set["spec"]["template"]["spec"]["containers"][0].clone()
}

#[test]
fn probes_of_the_manifest_add_to_that_of_run_process() {
    let ready = "/var/vcap/all-releases/.boson/bin/ready";
    let own = serde_json::json!([ready, "--job", "nats", "--process", "nats"]);
    let without = nats_container(serde_json::Value::Null);
    assert_eq!(without["readinessProbe"]["exec"]["command"], own);
    assert!(without["startupProbe"].is_null() && without["livenessProbe"].is_null());

    let check = |kind: &str| serde_json::json!({"exec": {"command": ["/check", kind]}, "periodSeconds": 7});
    let commands = serde_json::json!({"readiness": check("r"), "liveness": check("l")});
    let container = nats_container(serde_json::json!({"healthcheck": {"nats": commands}}));
    let command = |probe: &str| container[probe]["exec"]["command"].clone();
    let expected = |more: &[&str]| {
        let own = own.as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        serde_json::json!(own.chain(more.iter().copied()).collect::<Vec<_>>())
    };
    assert_eq!(command("readinessProbe"), expected(&["--", "/check", "r"]));
    assert_eq!(command("livenessProbe"), expected(&["--live", "--", "/check", "l"]));
    assert_eq!(container["readinessProbe"]["periodSeconds"], 7);

    let http = serde_json::json!({"httpGet": {"path": "/healthz", "port": 8222}});
    let container = nats_container(serde_json::json!({"healthcheck": {"nats": {"readiness": http}}}));
    assert_eq!(container["readinessProbe"], http);
    assert_eq!(container["startupProbe"]["exec"]["command"], own, "post-start comes first");
}

/// `run-process` as root takes the directory of a job's states: no container of the job can then be vcap.
#[test]
fn a_process_with_capabilities_makes_its_job_root_and_no_other() {
    let (deployment, infos) = documents();
    let settings = settings(ScriptsAs::Vcap);
    let mut workloads = workloads(&deployment, &infos, 1, &settings);
    let pod = &mut workloads.groups[0].pod;
    let mut process = |job: &str, name: &str, capabilities: &[&str]| {
        let mut process = pod.processes[0].clone();
        (process.job, process.process) = (job.to_owned(), name.to_owned());
        process.container.name = format!("{job}/{name}");
        process.container.privileges.capabilities = capabilities.iter().map(|&name| name.to_owned()).collect();
        pod.processes.push(process);
    };
    process("nats", "monitor", &["SYS_NICE"]);
    process("other", "low-port", &["NET_BIND_SERVICE"]);
    let needs: Vec<String> = needs(&workloads.groups[0].pod, ScriptsAs::Vcap)
        .into_iter()
        .map(|need| format!("{} {} {}", need.standard.name(), need.container, need.what))
        .collect();
    let expected = [
        "baseline nats/nats root: another container of the job is root",
        "baseline nats/monitor root: capabilities of bpm.yml: SYS_NICE",
        "privileged nats/monitor capabilities of bpm.yml: SYS_NICE",
    ];
    assert_eq!(needs, expected);
    let objects = all(&workloads);
    let set = objects.iter().find(|object| object["kind"] == "StatefulSet").unwrap();
    let containers = set["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let users: Vec<Option<u64>> =
        containers.iter().map(|container| container["securityContext"]["runAsUser"].as_u64()).collect();
    assert_eq!(users, [Some(0), Some(0), None]);
    assert_eq!(
        set["spec"]["template"]["spec"]["securityContext"]["sysctls"][0]["name"],
        "net.ipv4.ip_unprivileged_port_start"
    );
}

/// P15: labels have the values of the deployment, not the names of variables.
#[test]
fn p15_pods_have_the_labels_that_select_them() {
    let (deployment, infos) = documents();
    let settings = settings(ScriptsAs::Root);
    let objects = all(&workloads(&deployment, &infos, 1, &settings));
    for set in objects.iter().filter(|object| object["kind"] == "StatefulSet") {
        let labels = &set["spec"]["template"]["metadata"]["labels"];
        assert_eq!(labels["quarks.cloudfoundry.org/deployment-name"], "nats");
        let selected = set["spec"]["selector"]["matchLabels"].as_object().unwrap();
        assert!(selected.iter().all(|(label, value)| labels[label] == *value), "{labels}");
    }
}

/// All that a manifest may say about pods, in the pods of a group and of an errand.
#[test]
fn settings_of_the_manifest_are_in_pods() {
    let (mut deployment, infos) = documents();
    let group = &mut deployment.instance_groups[0];
    group.vm_type = Some("small".to_owned());
    group.env.settings = serde_json::json!({
        "annotations": {"prometheus.io/scrape": "true", "quarks.cloudfoundry.org/wait-for": "[\"vault\"]"},
        "labels": {"team": "messaging"},
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
                {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]}},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"team": "messaging"}}}]}},
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "nats", "effect": "NoSchedule"}],
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}],
        "priorityClassName": "high", "serviceAccountName": "nats", "automountServiceAccountToken": true,
        "imagePullSecrets": [{"name": "credentials"}],
        "disks": [
            {"pvc": {"metadata": {"name": "archive"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow",
                "resources": {"requests": {"storage": "1Gi"}}}}, "volumeMount": {"name": "archive", "mountPath": "/archive"}},
            {"volume": {"name": "ca", "configMap": {"name": "ca"}},
                "volumeMount": {"name": "ca", "mountPath": "/etc/ca", "readOnly": true}, "filters": {"job_name": "nats"}},
            {"volumeMount": {"name": "ca", "mountPath": "/other"}, "filters": {"job_name": "other"}}],
        "ephemeralAsPVC": true, "terminationGracePeriodSeconds": 90, "dnsPolicy": "Default",
        "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}, "disable_log_sidecar": true,
        "wait_for": ["tcp:database:5432"],
        "pod_template": {"spec": {"runtimeClassName": "gvisor", "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["legacy"]}],
            "containers": [{"name": "nats-nats", "imagePullPolicy": "Always"}]}},
    });
    let job = &mut group.jobs[0];
    job.quarks.run = serde_json::json!({"security_context": {"runAsUser": 2000, "capabilities": {"add": ["NET_RAW"]},
        "seccompProfile": {"type": "Unconfined"}}});
    job.quarks.resources = serde_json::json!({"nats": {"requests": {"memory": "64Mi"}, "limits": {"cpu": "2"}}});
    let source = serde_json::json!({"secretKeyRef": {"name": "nats-token", "key": "token"}});
    job.quarks.envs = vec![
        EnvVar { name: "TOKEN".to_owned(), value_from: Some(source) },
        EnvVar { name: "PASSWORD".to_owned(), value_from: None },
    ];
    deployment.instance_groups[1].env.settings = serde_json::json!({"jobBackoffLimit": 3, "wait_for_links": true, "disks": [{"pvc": {"metadata": {"name": "results"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
        "volumeMount": {"name": "results", "mountPath": "/results"}}]});
    let mut settings = settings(ScriptsAs::Vcap);
    settings.vm_types.insert("small".to_owned(), VmResources { cpu: 2, ram: 1024, ephemeral_disk_size: 2048 });
    let mut workloads = workloads(&deployment, &infos, 3, &settings);
    for workload in &mut workloads.groups {
        let of_pods = workload::Settings { grace: settings.grace_of(workload.group), template_settings: Vec::new() };
        let info = infos.iter().find(|info| info.group().name == workload.group.name).unwrap();
        workload.pod = Pod::new(info, workload.group, &of_pods);
    }
    workloads.check().unwrap();
    let kinds = ["StatefulSet", "Job", "PersistentVolumeClaim"];
    let objects: Vec<Object> = all(&workloads)
        .into_iter()
        .filter(|object| {
            kinds.iter().any(|kind| object["kind"] == *kind) && !object["metadata"]["name"].to_string().contains("-z2")
        })
        .collect();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pod-settings.yaml");
    e2e::check(&golden, &to_yaml(&objects)).unwrap();
}

/// What is wrong in a document is reported even though `plan` has checked the manifest.
#[test]
fn wrong_settings_are_refused() {
    let (mut deployment, infos) = documents();
    deployment.instance_groups[0].env.settings = serde_json::json!({"labels": {"job-name": "x"}, "tolerration": []});
    deployment.instance_groups[0].jobs[0].quarks.run = serde_json::json!({"security_context": {"runAsUsr": 1}});
    let settings = settings(ScriptsAs::Root);
    let problem = workloads(&deployment, &infos, 1, &settings).check().unwrap_err().to_string();
    for part in [
        "instance group 'nats': env.bosh.agent.settings.labels.job-name: 'job-name' is reserved",
        "env.bosh.agent.settings.tolerration: unknown setting 'tolerration'",
        "did you mean 'tolerations'?",
        "job 'nats': properties.quarks.run.security_context.runAsUsr: unknown key 'runAsUsr'",
    ] {
        assert!(problem.contains(part), "{part}: {problem}");
    }
}

/// A privileged container gives its mounts to the others, which see them.
#[test]
fn mounts_below_a_shared_volume_propagate() {
    let (deployment, mut infos) = documents();
    let processes = infos[0].instance_groups[0].jobs.iter_mut().filter_map(|job| job.properties.quarks.bpm.as_mut());
    let process = processes.flat_map(|bpm| &mut bpm.processes).next().unwrap();
    process.unsafe_.privileged = true;
    let path = "/var/vcap/data/grootfs".to_owned();
    process.additional_volumes.push(bpm::Volume { path, shared: true, ..bpm::Volume::default() });
    let settings = settings(ScriptsAs::Root);
    let objects = all(&workloads(&deployment, &infos, 3, &settings));
    let object = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let pod = &object("StatefulSet")["spec"]["template"]["spec"];
    let mut modes = BTreeSet::new();
    let containers = ["initContainers", "containers"].map(|list| pod[list].as_array().unwrap());
    for container in containers.into_iter().flatten() {
        for mount in container["volumeMounts"].as_array().unwrap() {
            let mode = mount["mountPropagation"].as_str().map(str::to_owned);
            let is_privileged = container["securityContext"]["privileged"] == true;
            let expected = match (mount["mountPath"] == "/var/vcap/data", is_privileged) {
                (true, true) => Some("Bidirectional".to_owned()),
                (true, false) => Some("HostToContainer".to_owned()),
                _ => None,
            };
            assert_eq!(mode, expected, "{} {mount}", container["name"]);
            modes.extend(mode);
        }
    }
    assert_eq!(modes.len(), 2, "{modes:?}");
}
