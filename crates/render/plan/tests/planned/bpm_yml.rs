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

/// What `plan` prints about a template of `bpm.yml`, with places.
fn printed(template: &str) -> String {
    let spec =
        ("j", "templates: {bpm.yml.erb: config/bpm.yml}\nproperties: {password: {}, pin: {}, port: {default: 5432}}");
    let manifest = "instance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r, properties: {password: hunter2-and-more, pin: a7}}]}]";
    let planned = plan_templates(&[spec], &[("j", "bpm.yml.erb", template)], manifest);
    let (code, printed) = planned.with(&["--output-dir", "out"]);
    assert_eq!(code, Some(66), "{printed}");
    assert!(!printed.contains("hunter2") && !printed.contains("a7"), "{printed}");
    printed
}

#[test]
fn the_rendered_line_and_the_line_of_the_template_are_shown_without_secrets() {
    let head = "<% if p('port') -%>\nprocesses:\n- name: j\n  executable: /x\n";
    for (line, message) in [
        (
            "  limits: {memory: <%= p('port') %>X}",
            "error: process \"j\": limits.memory: byte quantity must be a positive integer with a unit of measurement like M, MB, MiB, G, GiB, or GB
  --> config/bpm.yml rendered from ./jobs-src/r/j/templates/bpm.yml.erb:4:11
    |
  4 |   limits: {memory: 5432X}
    |           ^
  caused by: job 'j' of instance group 'g'
  --> ./jobs-src/r/j/templates/bpm.yml.erb:5: renders this line
    |
  5 |   limits: {memory: <%= p('port') %>X}
",
        ),
        (
            "  args: <%= p('password') %>",
            "error: process \"j\": args: cannot unmarshal !!str into []string
  --> config/bpm.yml rendered from ./jobs-src/r/j/templates/bpm.yml.erb:4:9
    |
  4 |   args: <redacted>
    |         ^
  caused by: job 'j' of instance group 'g'
  --> ./jobs-src/r/j/templates/bpm.yml.erb:5: renders this line
    |
  5 |   args: <%= p('password') %>
",
        ),
        (
            "  args: [<%= p('pin') %>: b: c]",
            "error: failed to parse job configuration: did not find expected ',' or ']' while parsing a flow sequence
  --> config/bpm.yml rendered from ./jobs-src/r/j/templates/bpm.yml.erb:4
    |
  4 |   args: [<redacted>: b: c]
  caused by: job 'j' of instance group 'g'
  --> ./jobs-src/r/j/templates/bpm.yml.erb:5: renders this line
    |
  5 |   args: [<%= p('pin') %>: b: c]
",
        ),
        // Two lines may have rendered it.
        (
            "<% if p('port') == 1 %>\n  args: <%= p('pin') %>\n<% else %>\n  args: <%= p('password') %>\n<% end %>",
            "error: process \"j\": args: cannot unmarshal !!str into []string
  --> config/bpm.yml rendered from ./jobs-src/r/j/templates/bpm.yml.erb:5:9
    |
  5 |   args: <redacted>
    |         ^
  caused by: job 'j' of instance group 'g'
  code: ",
        ),
    ] {
        let printed = printed(&format!("{head}{line}\n<% end -%>\n"));
        assert!(printed.starts_with(message), "{printed}");
    }
}

#[test]
fn a_line_that_is_too_long_is_not_shown() {
    let printed = printed(&format!("processes:\n- name: j\n  executable: /x\n  args: {}\n", "x".repeat(200)));
    assert!(!printed.contains("xxx") && printed.contains("bpm.yml.erb:4: renders this line\n"), "{printed}");
}
