//! What a pod must allow for a job to run.

use super::{Rendered, code_lines};
use crate::finding::{Findings, at};
use crate::rules;
use crate::source::JobSource;

const BPM_YML: &str = "config/bpm.yml";

pub(crate) fn check(job: &JobSource, findings: &mut Findings) {
    processes(job, findings);
    scripts(job, findings);
    without_bpm(job, findings);
}

fn processes(job: &JobSource, findings: &mut Findings) {
    let (Some(template), Some(text)) = (job.template(BPM_YML), job.rendered_text(BPM_YML)) else { return };
    let Ok(config) = bpm::parse_for_job(&text, BPM_YML, &job.name) else { return };
    for process in &config.processes {
        let name = &process.name;
        let mut add = |rule, part: &str, message: String| {
            findings.add(rule, Rendered { template, text: &text }.place(None, part), message);
        };
        if process.unsafe_.privileged {
            add(rules::POD_PRIVILEGED, "privileged", format!("process '{name}' needs a privileged container"));
        }
        if process.unsafe_.host_pid_namespace {
            add(
                rules::POD_PRIVILEGED,
                "host_pid_namespace",
                format!("process '{name}' sees the processes of the machine"),
            );
        }
        if !process.capabilities.is_empty() {
            let list = process.capabilities.join(", ");
            add(rules::POD_CAPABILITIES, "capabilities", format!("process '{name}' needs the capabilities {list}"));
        }
    }
}

/// Commands that change the kernel or raise limits.
fn scripts(job: &JobSource, findings: &mut Findings) {
    for template in job.templates.iter().filter(|template| template.destination.starts_with("bin/")) {
        let text = template.text();
        for (number, line) in code_lines(&text) {
            let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or_default());
            let place = || at(&template.file, number, 1);
            match words.next() {
                Some(
                    command @ ("sysctl" | "modprobe" | "insmod" | "iptables" | "ip6tables" | "nft" | "mount"
                    | "swapoff"),
                ) => {
                    findings.add(rules::POD_KERNEL, place(), format!("{command} needs a privileged container"));
                }
                Some("ulimit") if line.split_whitespace().count() > 2 => {
                    findings.add(rules::POD_LIMITS, place(), "a container may refuse to raise limits");
                }
                _ if line.contains("> /proc/sys/") || line.contains(">/proc/sys/") => {
                    findings.add(rules::POD_KERNEL, place(), "parameters of the kernel need a privileged container");
                }
                _ => {}
            }
        }
    }
}

/// Programs that monit starts itself.
fn without_bpm(job: &JobSource, findings: &mut Findings) {
    let (Some(template), Some(text)) = (&job.monit, job.rendered_text("monit")) else { return };
    let Ok(config) = monit::parse(&text, "monit") else { return };
    for service in &config.services {
        if service.start.as_ref().is_some_and(|start| start.bpm_start().is_none()) {
            let place =
                Rendered { template, text: &text }.place(Some((service.at.line, service.at.column)), &service.name);
            let message = format!(
                "service '{}' is started without bpm: as root, and isolated only by its container",
                service.name
            );
            findings.add(rules::POD_MONIT, place, message);
        }
    }
}
