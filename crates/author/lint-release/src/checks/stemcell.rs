//! What later stemcells no longer have (`--stemcell`).

use clap::ValueEnum;

use super::code_lines;
use crate::finding::{Findings, at};
use crate::rules;
use crate::source::JobSource;

/// A stemcell that a release is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StemcellLine {
    /// Ubuntu 24.04
    Noble,
    /// Ubuntu 26.04
    Resolute,
}

pub(crate) fn check(job: &JobSource, stemcell: StemcellLine, findings: &mut Findings) {
    for template in job.all_templates() {
        let text = template.text();
        for (number, line) in code_lines(&text) {
            let place = || at(&template.file, number, 1);
            let words = || line.split(|c: char| !(c.is_alphanumeric() || "_./-".contains(c)));
            let has_word =
                |names: &[&str]| words().any(|word| names.contains(&word.rsplit('/').next().unwrap_or_default()));
            let is_script = template.destination.starts_with("bin/") || template.destination == "monit";
            if is_script && (has_word(&["chpst", "runsv", "runsvdir", "svlogd"]) || line.contains("/etc/sv/")) {
                let finding = findings.add(rules::STEMCELL_RUNIT, place(), "the stemcell has no runit");
                finding.hint("use setpriv or bpm in place of chpst, systemd in place of services of runit");
            }
            if is_script && stemcell == StemcellLine::Resolute && has_word(&["apt-key"]) {
                let finding = findings.add(rules::STEMCELL_APT_KEY, place(), "the stemcell has no apt-key");
                finding.hint("put the key into /etc/apt/keyrings and name it with signed-by");
            }
            let controllers =
                ["cpu", "cpuacct", "cpu,cpuacct", "memory", "devices", "pids", "blkio", "freezer", "cpuset"];
            let is_v1 = |name: &&str| {
                let path = format!("/sys/fs/cgroup/{name}");
                line.split(&path).skip(1).any(|rest| rest.is_empty() || rest.starts_with(['/', ' ', '"', '\'']))
            };
            if controllers.iter().any(is_v1) {
                let finding = findings.add(rules::STEMCELL_CGROUP, place(), "the stemcell has cgroup v2 alone");
                finding.hint("controllers have no directories of their own: /sys/fs/cgroup/memory.max, cpu.max");
            }
        }
    }
}
