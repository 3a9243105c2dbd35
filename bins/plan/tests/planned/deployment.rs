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

    /// The digests of a group's instances.
    fn digests(&self, group: &str) -> Vec<String> {
        let group = self.deployment().group(group).unwrap().clone();
        group.instances.into_iter().map(|instance| instance.digest).collect()
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
          other: hunter2
        activePassiveProbes: {j: {exec: {command: [ready]}}}
        bpm: {processes: [{name: j, env: {A: hunter2}}]}
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
    assert_eq!(job.quarks.hidden, ["run.other", "bpm.processes", "debug"]);
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

/// A deployment with a template, and the digests of two instances.
fn digests(template: &str, properties: &str) -> Vec<String> {
    let manifest = format!(
        "instance_groups: [{{name: g, instances: 2, jobs: [{{name: j, release: r, properties: {properties}}}]}}]\n"
    );
    let spec = "properties: {a: {}, b: {}}\ntemplates: {t: config/t}";
    plan_templates(&[("j", spec)], &[("j", "t", template)], &manifest).digests("g")
}

#[test]
fn a_digest_changes_with_what_is_rendered_and_with_nothing_else() {
    let plain = digests("<%= p('a') %>", "{a: 1}");
    assert_eq!(plain[0], plain[1], "both render the same");
    assert_eq!(plain, digests("<%= p('a') %>", "{a: 1}"));
    assert_eq!(plain, digests("<%= p('a') %>", "{a: 1, b: 2}"), "nothing renders b");
    assert_eq!(plain, digests("1", "{a: 3}"), "another template of the same text");
    assert_ne!(plain, digests("<%= p('a') %>", "{a: 2}"));
    let own = digests("<%= spec.index %>", "{}");
    assert_ne!(own[0], own[1], "each renders its own");
}

#[test]
fn a_digest_covers_paths_and_links_and_not_the_bpm_that_is_never_installed() {
    let of = |name: &str, spec: &str, text: &str| {
        let manifest = format!("instance_groups: [{{name: g, instances: 1, jobs: [{{name: {name}, release: r}}]}}]\n");
        plan_templates(&[(name, spec)], &[(name, "t", text)], &manifest).digests("g").remove(0)
    };
    let plain = of("j", "templates: {t: config/t}", "x");
    assert_ne!(plain, of("j", "templates: {t: config/u}", "x"));
    assert_ne!(plain, of("k", "templates: {t: config/t}", "x"));
    assert_ne!(plain, of("j", "templates: {t: config/t}\nprovides: [{name: l, type: t}]", "x"));
    assert_eq!(of("bpm", "templates: {t: bin/bpm}", "x"), of("bpm", "templates: {t: bin/bpm}", "y"));
}

#[test]
fn what_differs_each_time_counts_by_its_inputs() {
    let manifest = |value: u32| {
        format!(
            "instance_groups: [{{name: g, instances: 2, jobs: [{{name: j, release: r, properties: {{a: {value}}}}}]}}]\n"
        )
    };
    let spec = "properties: {a: {}}\ntemplates: {t: config/t}";
    for template in [
        "<%= Time.now.to_f %>",
        "<%= Time.now.year %>",
        "<%= Time.new.strftime('%F') %>",
        "<%= Date.today %>",
        "<%= rand %>",
        "<% require 'securerandom' %><%= SecureRandom.hex %>",
        "<%= Process.clock_gettime(Process::CLOCK_REALTIME).to_i %>",
        "<%= 'x'.hash %>",
        "<%= $$ %>",
        "<%= Object.new.inspect %>",
    ] {
        let planned = |value| plan_templates(&[("j", spec)], &[("j", "t", template)], &manifest(value));
        let (first, again, other) = (planned(1), planned(1), planned(2));
        let warning = "template 't' of job 'j' of release 'r' does not render the same each time";
        assert_eq!(first.printed.matches(warning).count(), 1, "{template}: {}", first.printed);
        assert_eq!(first.digests("g"), again.digests("g"), "{template}");
        assert_ne!(first.digests("g"), other.digests("g"), "{template}");
    }
    // Neither the time nor chance decides here, though they are asked for.
    for (template, text) in [
        ("<%= Time.now.year > 1970 %>", "true"),
        ("<%= Time.new(2020, 1, 2).year %>", "2020"),
        ("<%= Time.at(0).utc.year %>", "1970"),
        ("<%= Date.new(2020, 1, 2) < Date.today %>", "true"),
        ("<%= rand < 2 %>", "true"),
        ("<%= 'x'.hash == 'x'.dup.hash && { 'x' => 1 }['x'] == 1 && [['x', :y]].include?(['x', :y]) %>", "true"),
        ("<% require 'time' %><%= Time.parse('2020-01-02 00:00:00 UTC').year %>", "2020"),
        ("<%= Process.clock_gettime(Process::CLOCK_MONOTONIC) > 0 %>", "true"),
        ("<% define_singleton_method(:own) { 1 } %><%= own %>", "1"),
    ] {
        let checked = plan_templates(&[("j", spec)], &[("j", "t", template)], &manifest(1));
        assert_eq!(checked.printed, "", "{template}");
        assert_eq!(checked.digests("g"), digests(text, "{}"), "{template}");
    }
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
