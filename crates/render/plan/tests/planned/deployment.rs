//! `deployment.yaml`.

use handoff::deployment::{
    Alias, AzUpdate, Count, Deployment, EnvVar, ErrandKind, InstanceGroup, Job, Port, Script, Switch, Update,
    VmStrategy, WatchTime,
};
use serde_json::json;
use testkit::files::write;

use crate::{HEAD, Planned, plan, plan_templates, plan_whole};

impl Planned {
    pub(crate) fn deployment(&self) -> Deployment {
        assert_eq!(self.code, Some(0), "{}", self.printed);
        let text = std::fs::read_to_string(self.work.path().join("out/deployment/output.json")).unwrap();
        let text = handoff::output::decode(&text, handoff::output::DEPLOYMENT_YAML, "output.json").unwrap();
        Deployment::decode(&text, "deployment.yaml").unwrap()
    }
}

/// What becomes of one group `g` with a job `j`, of which `rest` is what follows on `instances`.
fn group(instances: u32, rest: &str) -> InstanceGroup {
    let manifest =
        format!("instance_groups:\n- name: g\n  instances: {instances}\n  jobs: [{{name: j, release: r}}]\n{rest}");
    plan(&[("j", "")], &manifest).deployment().instance_groups.remove(0)
}

#[test]
fn groups_merge_their_update_with_the_deployments() {
    let job = "jobs: [{name: j, release: r}]";
    let manifest = format!(
        "update: {{canaries: 2, max_in_flight: 50%, canary_watch_time: 1000-2500, update_watch_time: 3000, serial: false}}
instance_groups:
- {{name: a, instances: 1, {job}}}
- {{name: b, instances: 1, {job}, update: {{canaries: 10%, update_watch_time: 0 - 500, serial: true,
   vm_strategy: create-swap-delete, initial_deploy_az_update_strategy: parallel}}}}
"
    );
    let deployment = plan(&[("j", "")], &manifest).deployment();
    let own = Update {
        canaries: Count::Number(2),
        max_in_flight: Count::Percent(50),
        canary_watch_time: WatchTime { from: 1000, to: 2500 },
        update_watch_time: WatchTime { from: 3000, to: 3000 },
        serial: false,
        vm_strategy: VmStrategy::DeleteCreate,
        initial_deploy_az_update_strategy: AzUpdate::Serial,
    };
    assert_eq!(deployment.instance_groups[0].update, own);
    let merged = Update {
        canaries: Count::Percent(10),
        update_watch_time: WatchTime { from: 0, to: 500 },
        serial: true,
        vm_strategy: VmStrategy::CreateSwapDelete,
        initial_deploy_az_update_strategy: AzUpdate::Parallel,
        ..own
    };
    assert_eq!(deployment.instance_groups[1].update, merged);
    assert_eq!(group(1, "").update, Update::default(), "boson needs no update section");
}

#[test]
fn vms_and_disks_are_described() {
    let manifest = "name: d
releases:
- {name: r, version: 1.10, url: 'https://user:hunter2@host/r?token=hunter2', sha1: 0a0b}
stemcells: [{alias: default, os: ubuntu-jammy, version: '1.200'}]
instance_groups:
- name: g
  instances: 3
  azs: [z1, z2]
  stemcell: default
  networks: [{name: a, default: [dns, gateway]}, {name: b}]
  persistent_disk_type: fast
  vm_resources: {cpu: 2, ram: 1024, ephemeral_disk_size: 4096}
  jobs: [{name: j, release: r}]
- name: errand
  lifecycle: errand
  instances: 0
  persistent_disk: 512
  vm_type: small
  jobs: []
";
    let deployment = plan_whole(&[("j", "")], manifest).deployment();
    let release = &deployment.releases[0];
    assert_eq!((release.version.as_str(), release.url.as_deref()), ("1.1", Some("https://host/r")));
    assert_eq!(deployment.stemcells[0].version, "1.200");
    let names: Vec<&str> = deployment.instance_groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["g", "errand"], "in the manifest's order");
    let group = &deployment.instance_groups[0];
    let azs: Vec<_> = group.azs.iter().map(|az| (az.name.as_str(), az.instances)).collect();
    assert_eq!((azs, group.replicas), (vec![("z1", 2), ("z2", 1)], 2));
    let instances: Vec<_> = group.instances.iter().map(|i| (i.index, i.az.as_deref(), i.az_index, i.ordinal)).collect();
    assert_eq!(instances, [(0, Some("z1"), 1, 0), (1, Some("z1"), 1, 1), (2, Some("z2"), 2, 0)]);
    assert_eq!(group.persistent_disk.as_ref().unwrap().disk_type.as_deref(), Some("fast"));
    assert_eq!(group.vm_resources.as_ref().unwrap().ram, 1024);
    assert_eq!(group.networks[0].default, ["dns", "gateway"]);
    let errand = &deployment.instance_groups[1];
    assert_eq!(errand.persistent_disk.as_ref().unwrap().size, Some(512));
    assert_eq!((errand.vm_type.as_deref(), errand.instances.len()), (Some("small"), 0));
}

#[test]
fn settings_of_pods_are_copied_without_possible_secrets() {
    let planned = plan(
        &[("j", "provides: [{name: l, type: t}]\nconsumes: [{name: l, type: t}]")],
        "instance_groups:
- name: g
  instances: 1
  env:
    persistent_disk_fs: hunter2
    bosh:
      password: hunter2
      swap_size: 0
      remove_dev_tools: hunter2
      ipv6: {enable: true}
      agent:
        settings:
          labels: {app: store}
          tolerations: [{key: a, operator: Exists}]
          preRenderOps: {bpm: [{value: hunter2}]}
  jobs:
  - name: j
    release: r
    provides: {l: {as: known, aliases: [{domain: _.store, placeholder_type: uuid, health_filter: all}]}}
    consumes: {l: {from: known}}
    properties:
      quarks:
        ports: [{name: sql, internal: 5432}, {name: dns, protocol: UDP, internal: 53}]
        envs:
        - {name: PASSWORD, value: hunter2}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        run:
          healthcheck: {j: {readiness: {tcpSocket: {port: 5432}}}}
          security_context: {runAsUser: 1000}
        activePassiveProbes: {j: {exec: {command: [ready]}}}
        bpm: {processes: [{name: j, executable: /x, env: {A: hunter2}, requests: {memory: 1Gi}, limits: {cpu: 2}}]}
        debug: true
",
    );
    let text = std::fs::read_to_string(planned.work.path().join("out/deployment/output.json")).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let group = planned.deployment().instance_groups.remove(0);
    let values =
        [("bosh.ipv6.enable".to_owned(), Switch::Bool(true)), ("bosh.swap_size".to_owned(), Switch::Number(0))];
    assert_eq!(group.env.values, values.into());
    assert_eq!(
        group.env.settings,
        json!({"labels": {"app": "store"}, "tolerations": [{"key": "a", "operator": "Exists"}]})
    );
    assert_eq!(
        group.env.hidden,
        ["persistent_disk_fs", "bosh.password", "bosh.remove_dev_tools", "bosh.agent.settings.preRenderOps"]
    );
    let job = &group.jobs[0];
    let port = |name: &str, protocol: &str, internal| Port { name: name.into(), protocol: protocol.into(), internal };
    assert_eq!(job.ports, [port("sql", "TCP", 5432), port("dns", "UDP", 53)]);
    let node = json!({"fieldRef": {"fieldPath": "spec.nodeName"}});
    assert_eq!(
        job.quarks.envs,
        [EnvVar { name: "PASSWORD".into(), value_from: None }, EnvVar { name: "NODE".into(), value_from: Some(node) }]
    );
    assert_eq!(
        job.quarks.run,
        json!({"healthcheck": {"j": {"readiness": {"tcpSocket": {"port": 5432}}}}, "security_context": {"runAsUser": 1000}})
    );
    assert_eq!(job.quarks.active_passive_probes, json!({"j": {"exec": {"command": ["ready"]}}}));
    assert_eq!(job.quarks.resources, json!({"j": {"requests": {"memory": "1Gi"}, "limits": {"cpu": 2}}}));
    assert_eq!(job.quarks.hidden, ["debug"]);
    // The resolved group, which is a Secret, has the values for the processes.
    let resolved = std::fs::read_to_string(planned.work.path().join("out/g/ig-resolved/output.json")).unwrap();
    assert_eq!(resolved.matches("hunter2").count(), 4, "{resolved}");
    let alias = Alias {
        domain: "_.store".into(),
        placeholder_type: Some("uuid".into()),
        health_filter: Some("all".into()),
        initial_health_check: None,
    };
    assert_eq!((job.provides[0].name.as_str(), &job.provides[0].aliases), ("known", &vec![alias]));
    assert_eq!(job.consumes[0].instance_group.as_deref(), Some("g"));
}

#[test]
fn wrong_settings_are_reported_together() {
    let planned = plan(
        &[("j", "provides: [{name: l, type: t}]")],
        "instance_groups:
- name: g
  instances: 1
  env: {bosh: {agent: {settings: [hunter2]}}}
  jobs:
  - name: j
    release: r
    provides: {l: {aliases: [{domain: [hunter2]}, {}]}}
    properties:
      quarks:
        ports: [{internal: 0}, {name: a, internal: 1, protocol: hunter2}]
        envs: hunter2
        run: {healthcheck: !binary /w==}
",
    );
    assert_eq!(planned.code, Some(65));
    assert_eq!(
        planned.printed,
        "error: Property 'bosh.agent.settings' value (a Array) did not match the required type 'Hash'
error: Required property 'name' was not specified
error: 'internal' of a port must be a number from 1 to 65535
error: 'protocol' of a port must be one of TCP, UDP, SCTP
error: Property 'envs' value (a String) did not match the required type 'Array'
error: a String that is not valid UTF-8 cannot become a part of a pod
error: Property 'domain' value (a Array) did not match the required type 'String'
error: Required property 'domain' was not specified
"
    );
}

#[test]
fn jobs_list_their_scripts_links_and_ports() {
    let all =
        "templates: {a: bin/run, b: config/bpm.yml, c: bin/pre-start, d: bin/drain, e: bin/post-stop, f: bin/other}";
    let templates = ["a", "c", "d", "e", "f"].map(|name| ("all", name, ""));
    let bpm = [("all", "b", "processes: [{name: one, executable: /x}, {name: two, executable: /y}]")];
    let run = [("run", "a", "")];
    let planned = plan_templates(
        &[("all", all), ("run", "templates: {a: bin/run}"), ("none", "")],
        &[&templates[..], &bpm, &run].concat(),
        "instance_groups:
- name: g
  instances: 1
  jobs: [{name: all, release: r}, {name: run, release: r}, {name: none, release: r}]
",
    );
    let jobs = planned.deployment().instance_groups.remove(0).jobs;
    let services = |job: &Job| job.services.iter().map(|service| service.process.clone()).collect::<Vec<_>>();
    assert_eq!((services(&jobs[0]), jobs[0].errand), (vec!["one".into(), "two".into()], Some(ErrandKind::Script)));
    assert_eq!(jobs[0].scripts, [Script::PreStart, Script::Drain, Script::PostStop]);
    assert_eq!((services(&jobs[1]), jobs[1].errand, jobs[1].scripts.len()), (vec![], Some(ErrandKind::Script), 0));
    assert_eq!((services(&jobs[2]), jobs[2].errand), (vec![], None));
}

const BPM_YML: &str = "processes: [{name: web, executable: /bin/web, args: [a], env: {A: '1'}}]";

/// What runs for a job `web` with this `monit`, whose manifest has these `properties.quarks`.
fn overlaid(monit: &str, quarks: &str) -> Planned {
    plan_templates(
        &[("web", "templates: {bpm.yml.erb: config/bpm.yml}")],
        &[("web", "bpm.yml.erb", BPM_YML), ("web", "monit", monit)],
        &format!(
            "instance_groups:\n- {{name: g, instances: 2, jobs: [{{name: web, release: r, properties: {{quarks: {quarks}}}}}]}}\n"
        ),
    )
}

/// Processes of the manifest change those that are rendered; if some are added, `monit`, which does not know them, is ignored.
#[test]
fn the_manifest_changes_and_adds_processes() {
    let monit = "check process web with pidfile /x\n  start program \"/var/vcap/jobs/bpm/bin/bpm start web\"\n";
    let run = |quarks: &str| {
        let planned = overlaid(monit, quarks);
        let quarks = planned.bpm_info("g").group().jobs[0].properties.quarks.clone();
        let services: Vec<(String, bool)> =
            quarks.services.iter().map(|of| (of.process.clone(), of.monit.is_some())).collect();
        (quarks.bpm.unwrap().processes, services, planned.digests("g"))
    };
    let (plain, services, digests) = run("{}");
    assert_eq!((plain[0].env["A"].as_str(), services), ("1", vec![("web".to_owned(), true)]));
    let (changed, services, other) =
        run("{bpm: {processes: [{name: web, env: {B: '2'}, capabilities: [NET_RAW]}]}, envs: [{name: A, value: '3'}]}");
    let web = &changed[0];
    assert_eq!((web.env["A"].as_str(), web.env["B"].as_str(), web.args.len()), ("3", "2", 1));
    assert_eq!((&web.capabilities[..], services), (&["NET_RAW".to_owned()][..], vec![("web".to_owned(), true)]));
    assert_ne!(digests, other, "pods that run something else restart");
    let (added, services, _) = run("{bpm: {processes: [{name: side, executable: /bin/side}]}}");
    assert_eq!(added.len(), 2);
    assert_eq!(services, [("web".to_owned(), false), ("side".to_owned(), false)]);
    let context = "{run: {security_context: {privileged: true, capabilities: {add: [CAP_SYS_PTRACE]}}}}";
    let (privileged, ..) = run(context);
    assert!(privileged[0].unsafe_.privileged && privileged[0].capabilities == ["SYS_PTRACE"]);
}

#[test]
fn what_is_wrong_with_settings_of_pods_is_reported_with_its_place_and_the_nearest_name() {
    let planned = plan(
        &[("j", "")],
        "instance_groups:
- name: g
  instances: 1
  env: {bosh: {agent: {settings: {tolerration: [], labels: {a: b, job-name: hunter2}, affinity: {nodeAfinity: {}}}}}}
  jobs:
  - name: j
    release: r
    properties:
      quarks:
        port: []
        ports: [{name: a, internl: 1, internal: 1}]
        run: {healthcheck: {j: {readiness: {exec: {command: [x]}, tcpSocket: {port: 1}}}}, security_contxt: {}}
        envs: [{name: A}, {name: B, value: hunter2, valuefrom: {}}]
        bpm: {processes: [{name: j, exectuable: hunter2, env: {A: 1}}, {executable: x}]}
        activePassiveProbes: {j-j: {exec: {}, httpGet: {}}}
",
    );
    assert_eq!(planned.code, Some(65));
    assert!(!planned.printed.contains("hunter2"), "{}", planned.printed);
    for part in [
        "bosh.agent.settings.tolerration: unknown setting 'tolerration'",
        "hint: did you mean 'tolerations'?",
        "bosh.agent.settings.labels.job-name: 'job-name' is reserved",
        "affinity.nodeAfinity: unknown key 'nodeAfinity'",
        "properties.quarks.port: unknown key 'port'",
        "hint: did you mean 'ports'?",
        "unknown key 'internl' of a port",
        "properties.quarks.run.healthcheck.j.readiness: must have one of exec, tcpSocket, not several",
        "hint: did you mean 'security_context'?",
        "unknown key 'valuefrom' of a variable",
        "hint: did you mean 'valueFrom'?",
        "properties.quarks.bpm.processes.0.exectuable: unknown key 'exectuable'",
        "properties.quarks.bpm.processes.0.env.A: must be a string, not an integer",
        "properties.quarks.bpm.processes.1: needs a name",
        "properties.quarks.activePassiveProbes.j-j: must have one of exec, httpGet, not several",
    ] {
        assert!(planned.printed.contains(part), "{part}: {}", planned.printed);
    }
}

#[test]
fn values_that_no_process_gets_are_reported() {
    let planned = plan(
        &[("j", "")],
        "instance_groups:
- {name: g, instances: 1, jobs: [{name: j, release: r, properties: {quarks: {envs: [{name: A, value: hunter2}]}}}]}
",
    );
    let expected = "job 'j' of instance group 'g': the values of A in properties.quarks.envs have no effect";
    assert!(planned.printed.contains(expected) && !planned.printed.contains("hunter2"), "{}", planned.printed);
}

#[test]
fn quarks_lifecycle_and_required_service_are_read() {
    let group = plan(
        &[("j", "")],
        "instance_groups:
- {name: g, instances: 1, lifecycle: auto-errand, properties: {quarks: {required_service: database}},
   jobs: [{name: j, release: r}]}
",
    )
    .deployment()
    .instance_groups
    .remove(0);
    assert!(group.runs_at_deploy);
    assert_eq!(group.lifecycle, handoff::deployment::Lifecycle::Errand);
    assert_eq!(group.env.settings, json!({"wait_for": ["database"]}));
}

#[test]
fn templates_that_fail_are_reported_for_all_groups() {
    let planned = plan_templates(
        &[
            ("j", "templates: {a: a, b: b, bpm.yml.erb: config/bpm.yml}\nproperties: {name: {}}"),
            ("k", "templates: {c: c}"),
        ],
        &[
            ("j", "a", "<%= raise 'one' %>"),
            ("j", "b", "fine"),
            ("j", "bpm.yml.erb", "<%= p('nam') %>"),
            ("k", "c", "<%= raise 'three' if spec.index == 1 %>"),
        ],
        "instance_groups:
- {name: g, instances: 2, jobs: [{name: j, release: r}, {name: k, release: r}]}
- {name: h, instances: 1, jobs: [{name: j, release: r}]}
",
    );
    assert_eq!(planned.code, Some(66));
    let of = |group: &str, more: &str| {
        format!(
            "error: Unable to render instance groups for deployment. Errors are:
  - Unable to render jobs for instance group '{group}'. Errors are:
    - Unable to render templates for job 'j'. Errors are:
      - Error filling in template 'a' (line 1: one)
      - Error filling in template 'bpm.yml.erb' (line 1: Can't find property '[\"nam\"]')
{more}"
        )
    };
    let k = "    - Unable to render templates for job 'k'. Errors are:\n      - Error filling in template 'c' (line 1: three)\n";
    assert!(planned.printed.contains(&of("g", k)), "{}", planned.printed);
    assert!(planned.printed.contains(&of("h", "")), "{}", planned.printed);
    assert!(planned.printed.contains("hint: did you mean 'name'?"), "{}", planned.printed);
}

#[test]
fn documents_of_groups_that_are_gone_do_not_stay() {
    let manifest = |groups: &str| format!("{HEAD}instance_groups: [{groups}]\n");
    let named = |name: &str| format!("{{name: {name}, instances: 1, jobs: [{{name: j, release: r}}]}}");
    let planned = plan_whole(&[("j", "")], &manifest(&["old", "deployment", "kept"].map(named).join(", ")));
    assert_eq!(planned.deployment().instance_groups.len(), 3);
    let out = planned.work.path().join("out");
    write(&out.join("old/notes.txt"), "the user's");
    write(&out.join("other/bpm/notes.txt"), "the user's");
    std::fs::create_dir(out.join("empty")).unwrap();
    assert!(out.join("deployment/ig-resolved/output.json").exists(), "a group may be called deployment");

    let planned = planned.again(&manifest(&named("kept")));
    let listing = || {
        let mut files: Vec<String> = walk(&out).into_iter().collect();
        files.sort();
        files.join(" ")
    };
    let expected = "deployment/output.json empty kept/bpm/output.json kept/ig-resolved/output.json old/notes.txt other/bpm/notes.txt";
    assert_eq!(listing(), expected);
    assert_eq!(planned.deployment().instance_groups.len(), 1);
}

/// All files and empty directories.
fn walk(directory: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let below = if entry.file_type().unwrap().is_dir() { walk(&entry.path()) } else { Vec::new() };
        if below.is_empty() {
            found.push(name)
        } else {
            found.extend(below.iter().map(|path| format!("{name}/{path}")))
        }
    }
    found
}
