//! What is wrong with a `bpm.yml`, all of it, once.

use crate::{plan, plan_templates};

const SPEC: &[(&str, &str)] = &[("j", "templates: {bpm.yml.erb: config/bpm.yml}")];

#[test]
fn every_field_that_a_pod_cannot_vary_is_named() {
    let template = "processes:
- {name: j, executable: /x, args: [<%= index %>], capabilities: [C<%= index %>], limits: {open_files: <%= index %>}}
- {name: k, executable: /x, unsafe: {privileged: <%= index > 0 %>}, persistent_disk: <%= index == 2 %>}
";
    let manifest = "instance_groups: [{name: g, instances: 3, jobs: [{name: j, release: r}]}]";
    let planned = plan_templates(SPEC, &[("j", "bpm.yml.erb", template)], manifest);
    let fields = [("j", "capabilities"), ("j", "limits"), ("k", "unsafe"), ("k", "persistent_disk")];
    let hint =
        "  hint: a pod template cannot differ between its replicas; executable, args and env may, this field may not\n";
    let expected: String = fields
        .iter()
        .map(|(process, field)| format!("error: job 'j' of instance group 'g' renders a bpm.yml whose process '{process}' has a field '{field}' that differs between instances\n{hint}"))
        .collect();
    assert_eq!((planned.code, planned.printed), (Some(65), expected));
}

#[test]
fn a_missing_template_is_reported_once() {
    let groups = "instance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r}]}, {name: h, instances: 1, jobs: [{name: j, release: r}]}]";
    assert_eq!(plan(SPEC, groups).printed, "error: Missing template file 'bpm.yml.erb' for job 'j'\n");
}
