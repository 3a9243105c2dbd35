//! What a job's `monit` starts is what runs.

use handoff::bpm_info::{ErrandKind, Run};

use crate::{Planned, plan_templates};

const BPM_YML: (&str, &str, &str) = ("j", "b", "processes: [{name: j, executable: /x}, {name: w, executable: /y}]");
const SPEC: (&str, &str) = ("j", "properties: {disable: {default: false}}\ntemplates: {b: config/bpm.yml}");
const GROUP: &str = "instance_groups: [{name: g, instances: 3, jobs: [{name: j, release: r}]}]";

/// A service that starts this program.
fn check(name: &str, program: &str) -> String {
    format!("check process {name}\n  with pidfile /run/{name}.pid\n  start program \"{program}\"\n  group vcap\n")
}

fn start(name: &str, args: &str) -> String {
    check(name, &format!("/var/vcap/jobs/bpm/bin/bpm start {args}"))
}

/// Plans a group of the job `j` with this `monit`.
fn plan(monit: &str) -> Planned {
    plan_templates(&[SPEC], &[BPM_YML, ("j", "monit", monit)], GROUP)
}

/// Each service of a group: process, how it runs, its name in monit, what it depends on, and the instances, if not all.
fn services(planned: &Planned, group: &str) -> Vec<String> {
    let info = planned.bpm_info(group);
    let services = info.group().jobs.iter().flat_map(|job| &job.properties.quarks.services);
    let shown = services.map(|service| {
        let run = if service.run == Run::Bpm { "bpm" } else { "monit" };
        let monit = service.monit.as_deref().unwrap_or("-");
        let mut text = format!("{} {run} {monit}", service.process);
        if !service.depends_on.is_empty() {
            text += &format!(" after {}", service.depends_on.join(","));
        }
        if let Some(instances) = &service.instances {
            text += &format!(" in {instances:?}");
        }
        text
    });
    shown.collect()
}

fn errands(planned: &Planned, group: &str) -> Vec<(String, Option<ErrandKind>)> {
    let jobs = &planned.bpm_info(group).group().jobs.clone();
    jobs.iter().map(|job| (job.name.clone(), job.properties.quarks.errand)).collect()
}

#[test]
fn the_processes_that_monit_starts_run() {
    assert_eq!(services(&plan(&start("j", "j")), "g"), ["j bpm j"]);
    assert_eq!(services(&plan(&start("j-w", "j -p w")), "g"), ["w bpm j-w"]);
    let both = start("j-w", "j -p w") + &start("j", "j");
    assert_eq!(services(&plan(&both), "g"), ["w bpm j-w", "j bpm j"], "in the order of monit");
}

#[test]
fn an_empty_monit_starts_nothing() {
    for monit in ["", "\n", "# nothing\n", "<% if p('disable') %>oops<% end %>"] {
        let planned = plan(monit);
        assert!(services(&planned, "g").is_empty(), "{monit}");
        // The file is known all the same: bpm run may name its processes.
        assert_eq!(planned.bpm_info("g").group().jobs[0].properties.quarks.bpm.as_ref().unwrap().processes.len(), 2);
    }
}

#[test]
fn without_monit_bpm_yml_decides() {
    let planned = plan_templates(&[SPEC], &[BPM_YML], GROUP);
    assert_eq!(services(&planned, "g"), ["j bpm -", "w bpm -"]);
}

#[test]
fn a_check_without_a_start_program_starts_nothing() {
    assert!(services(&plan("check process j with pidfile /run/j.pid\n group vcap"), "g").is_empty());
}

#[test]
fn programs_of_its_own_are_run_by_monit() {
    let monit = check("ctl", "/var/vcap/jobs/j/bin/ctl start") + &start("j", "j") + "  depends on ctl\n";
    assert_eq!(services(&plan(&monit), "g"), ["ctl monit ctl", "j bpm j after ctl"]);
    let alone = plan_templates(&[("j", "")], &[("j", "monit", &check("ctl", "/x start"))], GROUP);
    assert_eq!(services(&alone, "g"), ["ctl monit ctl"]);
    assert!(!alone.printed.contains("warning"), "{}", alone.printed);
}

#[test]
fn instances_may_differ() {
    let monit = format!("<% if spec.index == 1 %>{}<% end %>{}", start("w", "j -p w"), start("j", "j"));
    assert_eq!(services(&plan(&monit), "g"), ["j bpm j", "w bpm w in [1]"]);
}

#[test]
fn properties_decide_what_runs() {
    let monit = format!("<% unless p('disable') %>{}<% end %>", start("j", "j"));
    let off = "instance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r, properties: {disable: true}}]}]";
    assert_eq!(services(&plan(&monit), "g"), ["j bpm j"]);
    assert!(services(&plan_templates(&[SPEC], &[BPM_YML, ("j", "monit", &monit)], off), "g").is_empty());
}

#[test]
fn a_syntax_error_names_the_line_of_the_template() {
    let planned = plan(&(start("j", "j") + "  if 3 then oops\n"));
    assert_eq!(planned.code, Some(66));
    assert_eq!(planned.printed, "error: syntax error 'then'\n  caused by: job 'j' of instance group 'g'\n");
    // The column is that of the rendered line: it is not shown where the template's differs.
    let planned = plan(&format!("<%# a comment\nof two lines %>\n{}  if <%= 1 %> then oops\n", start("j", "j")));
    let (_, printed) = planned.with(&["--output-dir", "out"]);
    let line = start("j", "j").lines().count() + 3;
    let place = format!("error: syntax error 'then'\n  --> ./jobs-src/r/j/monit:{line}\n");
    assert!(printed.starts_with(&place), "{printed}");
}

#[test]
fn what_was_rendered_is_not_in_messages() {
    let spec = ("j", "properties: {secret: {}}\ntemplates: {b: config/bpm.yml}");
    let manifest = GROUP.replace("release: r}", "release: r, properties: {secret: hunter2}}");
    let planned = plan_templates(&[spec], &[BPM_YML, ("j", "monit", "<%= p('secret') %>")], &manifest);
    assert_eq!(planned.code, Some(66));
    assert!(planned.printed.contains("syntax error") && !planned.printed.contains("hunter2"), "{}", planned.printed);
}

#[test]
fn unknown_processes_and_jobs_are_errors() {
    let printed = |monit: &str| {
        let planned = plan(monit);
        assert_eq!(planned.code, Some(66), "{monit}");
        planned.printed
    };
    let cause = "  caused by: job 'j' of instance group 'g'\n";
    assert_eq!(
        printed(&start("a", "j -p v")),
        format!(
            "error: monit of job 'j' starts process 'v' with bpm, which its bpm.yml does not have\n{cause}  hint: its processes are: j, w\n"
        )
    );
    assert_eq!(
        printed(&start("a", "k")),
        format!(
            "error: monit of job 'j' starts job 'k' with bpm, not its own job\n{cause}  hint: a job's monit file starts the processes of that job's bpm.yml\n"
        )
    );
    let none = plan_templates(&[("j", "")], &[("j", "monit", &start("j", "j"))], GROUP);
    assert_eq!(
        none.printed,
        format!("error: monit of job 'j' starts process 'j' with bpm, but the job has no config/bpm.yml\n{cause}")
    );
}

#[test]
fn names_are_unique_in_an_instance_and_dependencies_exist() {
    let two = |monit: &str| {
        let manifest =
            "instance_groups: [{name: g, instances: 1, jobs: [{name: a, release: r}, {name: b, release: r}]}]";
        let of_a = check("x", "/x");
        plan_templates(&[("a", ""), ("b", "")], &[("a", "monit", &of_a), ("b", "monit", monit)], manifest)
    };
    let cause = "  caused by: job 'b' of instance group 'g'\n";
    assert_eq!(two(&check("x", "/y")).printed, format!("error: service name conflict, x already defined\n{cause}"));
    let unknown = two(&(check("y", "/y") + "  depends on z\n"));
    assert_eq!(
        (unknown.code, unknown.printed),
        (Some(66), format!("error: Depend service 'z' is not defined in the control file\n{cause}"))
    );
    assert_eq!(services(&two(&(check("y", "/y") + "  depends on x\n")), "g"), ["x monit x", "y monit y after x"]);
}

#[test]
fn what_has_no_effect_is_reported_once() {
    let warnings = |monit: &str| -> Vec<String> {
        let planned = plan(monit);
        planned.printed.lines().filter(|line| line.contains("has no effect")).map(str::to_owned).collect()
    };
    let file = "check file f with path /f\n  start program \"/y\"\n";
    let system = "check system s\n  if loadavg (1min) > 4 then alert\n  if swap > 10 % then alert\n";
    let found = warnings(&(check("ctl", "/x") + "  alert a@example.com\n" + file + system));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("'alert by mail' of 'ctl'"), "{found:?}");
    assert!(found[1].contains("'rule of check system' in monit"), "{found:?}");
    // Nothing would start it.
    let found = warnings("check system s\n  start program \"/y\"\n");
    assert!(found.len() == 1 && found[0].contains("the start program of 's', as the job has no process"), "{found:?}");
}

#[test]
fn a_file_or_host_stands_for_a_job_without_processes() {
    let file = "check file f with path /f\n  start program \"/y\"\n";
    let host = "check host h with address 127.0.0.1\n  group vcap\n  if failed port 1 then alert\n";
    let quiet = "check file q with path /q\n  if changed timestamp then alert\n";
    let services_of = |monit: &str| services(&plan(monit), "g");
    assert_eq!(services_of(&format!("{quiet}{file}{host}")), ["f monit f"]);
    assert_eq!(services_of(host), ["h monit h"]);
    assert_eq!(services_of(quiet), [""; 0], "nobody notices");
    assert_eq!(services_of(&format!("{file}{}", check("ctl", "/x"))), ["ctl monit ctl"]);
}

/// Plans a group of jobs `script` (`bin/run`), `both` (`bin/run` and `bpm.yml`) and `service` (`bpm.yml`), of which the last
/// two have these `monit` files.
fn plan_errands(lifecycle: &str, jobs: &[&str], both: &str, service: &str) -> Planned {
    let bpm_yml = |job: &'static str| (job, "b", "processes: [{name: p, executable: /x}]");
    let jobs: Vec<String> = jobs.iter().map(|job| format!("{{name: {job}, release: r}}")).collect();
    let manifest =
        format!("instance_groups: [{{name: g, lifecycle: {lifecycle}, instances: 1, jobs: [{}]}}]", jobs.join(", "));
    plan_templates(
        &[
            ("script", "templates: {run: bin/run}"),
            ("both", "templates: {run: bin/run, b: config/bpm.yml}"),
            ("service", "templates: {b: config/bpm.yml}"),
        ],
        &[
            ("script", "run", ""),
            ("script", "monit", ""),
            ("both", "run", ""),
            bpm_yml("both"),
            ("both", "monit", both),
            bpm_yml("service"),
            ("service", "monit", service),
        ],
        &manifest,
    )
}

#[test]
fn an_errand_that_is_colocated_with_a_service_does_not_run_as_one() {
    let planned = plan_errands("service", &["script", "both", "service"], "", &start("s", "service -p p"));
    assert_eq!(services(&planned, "g"), ["p bpm s"]);
    let script = Some(ErrandKind::Script);
    assert_eq!(errands(&planned, "g"), [("script".into(), script), ("both".into(), script), ("service".into(), None)]);
    // Nor is a service an errand because monit does not start it.
    assert_eq!(errands(&plan_errands("service", &["service"], "", ""), "g"), [("service".into(), None)]);
}

#[test]
fn a_job_can_have_services_and_an_errand() {
    let planned = plan_errands("service", &["both"], &start("b", "both -p p"), "");
    assert_eq!(services(&planned, "g"), ["p bpm b"]);
    assert_eq!(errands(&planned, "g"), [("both".into(), Some(ErrandKind::Script))]);
}

#[test]
fn services_of_an_errand_group_are_colocated_with_its_errand() {
    let planned = plan_errands("errand", &["script", "service"], "", &start("s", "service -p p"));
    assert_eq!(services(&planned, "g"), ["p bpm s"]);
    assert_eq!(errands(&planned, "g"), [("script".into(), Some(ErrandKind::Script)), ("service".into(), None)]);
}

#[test]
fn an_errand_without_a_script_is_its_bpm_process() {
    for monit in ["", &start("s", "service -p p")] {
        let planned = plan_errands("errand", &["service"], "", monit);
        assert!(services(&planned, "g").is_empty(), "{monit}");
        assert_eq!(errands(&planned, "g"), [("service".into(), Some(ErrandKind::Bpm))]);
    }
}

#[test]
fn a_job_for_windows_is_planned_without_services() {
    let planned =
        plan("<%= require 'json'; JSON.dump('processes' => [{ 'name' => 'j', 'executable' => 'j.exe' }]) %>\n");
    assert!(services(&planned, "g").is_empty());
    assert!(planned.bpm_info("g").group().jobs[0].properties.quarks.for_windows);
    assert!(!plan("").bpm_info("g").group().jobs[0].properties.quarks.for_windows);
    let malformed = plan("{\"processes\": [}");
    assert_eq!(malformed.code, Some(66), "{}", malformed.printed);
}
