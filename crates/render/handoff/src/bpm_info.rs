//! `bpm.yaml`: what runs in an instance group, and as which instances.
//!
//! A deployment manifest's structure with one instance group (specification, "Calculation of Required Properties").

use bpm::ProcessConfig;
use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::document::{Format, nullable};

const FORMAT: Format = Format { name: "bpm.yaml", version: 2, class: Class::Input };

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BpmInfo {
    /// The deployment's name.
    pub name: String,
    /// Exactly one group.
    pub instance_groups: Vec<Group>,
}

/// The instance group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name in the manifest.
    pub name: String,
    /// `service` or `errand`.
    pub lifecycle: String,
    /// The group's total over all AZs, as BOSH counts.
    pub instances: u32,
    /// Names of its AZs, in order; empty where the manifest names none.
    pub azs: Vec<String>,
    /// Its jobs, in the manifest's order.
    pub jobs: Vec<Job>,
    /// What holds for the whole group.
    pub properties: GroupProperties,
}

/// Holder of [`GroupQuarks`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupProperties {
    /// What was resolved for the group.
    pub quarks: GroupQuarks,
}

/// What was resolved for the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupQuarks {
    /// `REPLICAS`: the share of the largest AZ, the same number in all AZs.
    pub replicas: u32,
    /// Every instance that the group has, by index.
    pub instances: Vec<Instance>,
}

/// One instance of the group, as every job of it sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// `(AZ_INDEX-1)*REPLICAS + POD_ORDINAL`.
    pub index: u32,
    /// The AZ's name, where the group has AZs.
    #[serde(deserialize_with = "nullable")]
    pub az: Option<String>,
    /// `AZ_INDEX`, from 1; 1 where the group has no AZs.
    pub az_index: u32,
    /// `POD_ORDINAL`, from 0.
    pub ordinal: u32,
    /// `<deployment>-<ig>-<index>.<namespace>.<service domain>`.
    pub address: String,
}

/// One job of the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The job's name.
    pub name: String,
    /// The release it is from.
    pub release: String,
    /// Holder of [`JobQuarks`].
    pub properties: JobProperties,
}

/// Holder of [`JobQuarks`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobProperties {
    /// What was resolved for the job.
    pub quarks: JobQuarks,
}

/// What was resolved for the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobQuarks {
    /// What a pod runs for this job all the time: what the job's rendered `monit` starts, or its `bpm.yml` if the job has no
    /// `monit`. In the order of that file; those of an instance's first job come first.
    pub services: Vec<Service>,
    /// What the job runs as an errand, if it can be run as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errand: Option<ErrandKind>,
    /// Whether the job is for Windows: its rendered `monit` is JSON. It does not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_windows: bool,
    /// The rendered `bpm.yml`, where the job has one. Which of its processes are services is in `services`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bpm: Option<Bpm>,
}

/// Something that runs all the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Its name, unique in the job: the process of `bpm.yml`, or the name in `monit` if that starts a program of its own.
    pub process: String,
    /// What starts it.
    pub run: Run,
    /// Its name in the job's `monit`; absent if the job has no `monit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monit: Option<String>,
    /// Names in `monit`, of this job or of others of the instance, of what must run before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The instances whose `monit` starts it, by index; absent if all do. In the others, its container is idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Vec<u32>>,
}

/// What starts a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Run {
    /// BPM: it is a process of the job's `bpm.yml`.
    Bpm,
    /// The start program in the job's `monit`.
    Monit,
}

/// What a job runs as an errand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrandKind {
    /// `bin/run`.
    Script,
    /// The processes of its `bpm.yml`: it has no `bin/run`, and its group is an errand.
    Bpm,
}

/// A rendered `bpm.yml` as it came out for the first instance; each pod runs the one that it rendered itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bpm {
    /// Its `processes`, in its order.
    pub processes: Vec<ProcessConfig>,
}

impl BpmInfo {
    /// The document's text.
    ///
    /// # Errors
    /// Only internal ones.
    pub fn encode(&self) -> Result<String> {
        FORMAT.encode_yaml(self)
    }

    /// Reads the document; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields, values of the wrong type, several groups or none.
    pub fn decode(text: &str, path: &str) -> Result<BpmInfo> {
        let info: BpmInfo = FORMAT.decode_yaml(text, path)?;
        if info.instance_groups.len() != 1 {
            return Err(FORMAT.problem("instance_groups: not exactly one", path).into());
        }
        Ok(info)
    }

    /// The document's one group.
    pub fn group(&self) -> &Group {
        &self.instance_groups[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::refuses_other_documents;

    const EXAMPLE: &str = "version: 2
name: d
instance_groups:
- name: nats
  lifecycle: service
  instances: 1
  azs: []
  jobs:
  - name: nats
    release: nats
    properties:
      quarks:
        services:
        - {process: nats, run: bpm, monit: nats}
        - {process: agent, run: monit, monit: agent, depends_on: [nats], instances: [0]}
        errand: script
        bpm:
          processes:
          - name: nats
            executable: /var/vcap/packages/nats-server/bin/nats-server
            args: ['-c', /var/vcap/jobs/nats/config/nats.conf]
            env: {A: b}
            workdir: /tmp
            hooks: {pre_start: /bin/x}
            capabilities: [NET_ADMIN]
            limits: {memory: 512M, open_files: 1, processes: 2, core_file_size: 0}
            ephemeral_disk: true
            persistent_disk: true
            additional_volumes:
            - {path: /var/vcap/data/x, writable: true, allow_executions: true, mount_only: true, shared: true}
            unsafe: {privileged: true, unrestricted_volumes: [{path: /dev}], host_pid_namespace: true}
            shutdown_signal: INT
  properties:
    quarks:
      replicas: 1
      instances:
      - {index: 0, az: null, az_index: 1, ordinal: 0, address: d-nats-0.default.svc.cluster.local}
";

    #[test]
    fn the_document_survives_a_round_trip() {
        let info = BpmInfo::decode(EXAMPLE, "bpm.yaml").unwrap();
        let quarks = &info.group().jobs[0].properties.quarks;
        assert_eq!(quarks.services.iter().map(|s| s.run).collect::<Vec<_>>(), [Run::Bpm, Run::Monit]);
        assert_eq!(quarks.errand, Some(ErrandKind::Script));
        assert_eq!(quarks.bpm.as_ref().unwrap().processes[0].limits.open_files, Some(1));
        let text = info.encode().unwrap();
        assert_eq!(BpmInfo::decode(&text, "bpm.yaml").unwrap(), info);
    }

    #[test]
    fn other_documents_are_refused() {
        refuses_other_documents(EXAMPLE, |text| BpmInfo::decode(text, "x").map(drop));
    }

    #[test]
    fn a_problem_names_the_field_and_not_its_value() {
        let process = "instance_groups[0].jobs[0].properties.quarks.bpm.processes[0]";
        let cases = [
            ("memory: 512M", "memry: hunter2", format!("{process}.limits.memry: unknown field 'memry'")),
            ("executable: ", "program: ", format!("{process}.program: unknown field 'program'")),
            ("A: b", "A: [hunter2]", format!("{process}.env.A: value of the wrong type")),
            (
                "shutdown_signal: INT",
                "shutdown_signal: hunter2",
                format!("{process}.shutdown_signal: value of the wrong type"),
            ),
            ("  lifecycle: service\n", "", "instance_groups[0]: field 'lifecycle' is missing".to_owned()),
        ];
        for (good, bad, what) in cases {
            let error = BpmInfo::decode(&EXAMPLE.replacen(good, bad, 1), "x").unwrap_err();
            assert_eq!(error.to_string(), format!("error: bpm.yaml: {what}\n  --> x"));
        }
        let none = BpmInfo::decode("version: 2\nname: d\ninstance_groups: []\n", "x").unwrap_err();
        assert_eq!(none.to_string(), "error: bpm.yaml: instance_groups: not exactly one\n  --> x");
    }
}
