//! `bpm.yaml`: what runs in an instance group, and as which instances.
//!
//! A deployment manifest's structure with one instance group (specification, "Calculation of Required Properties").

use problem::{Place, Problem};
use serde::{Deserialize, Serialize};

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BpmInfo {
    /// The deployment's name.
    pub name: String,
    /// Exactly one group.
    pub instance_groups: Vec<Group>,
}

/// The instance group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
pub struct GroupProperties {
    /// What was resolved for the group.
    pub quarks: GroupQuarks,
}

/// What was resolved for the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupQuarks {
    /// `REPLICAS`: the share of the largest AZ, the same number in all AZs.
    pub replicas: u32,
    /// Every instance that the group has, by index.
    pub instances: Vec<Instance>,
}

/// One instance of the group, as every job of it sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// `(AZ_INDEX-1)*REPLICAS + POD_ORDINAL`.
    pub index: u32,
    /// The AZ's name, where the group has AZs.
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
pub struct JobProperties {
    /// What was resolved for the job.
    pub quarks: JobQuarks,
}

/// What was resolved for the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobQuarks {
    /// What a pod runs for this job.
    pub run: Run,
    /// The rendered `bpm.yml`, where [`Run::Bpm`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bpm: Option<Bpm>,
}

/// What a pod runs for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Run {
    /// The processes of its `bpm.yml`, each under `run-process`.
    Bpm,
    /// `bin/run`, once.
    Errand,
    /// Nothing but its lifecycle hooks.
    Hooks,
}

/// A rendered `bpm.yml` as it came out for the first instance; each pod runs the one that it rendered itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bpm {
    /// `processes` of the `bpm.yml`, fields as bpm names them, scalars that bpm reads as text being strings.
    pub processes: Vec<Process>,
}

/// One process of a rendered `bpm.yml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The process' name.
    pub name: String,
    /// All its other fields.
    #[serde(flatten)]
    pub fields: serde_yaml::Mapping,
}

impl BpmInfo {
    /// Reads the document; `path` is named in the problem.
    pub fn parse(text: &str, path: &str) -> problem::Result<BpmInfo> {
        let info: BpmInfo = serde_yaml::from_str(text).map_err(|e| {
            // The error itself may quote a value.
            let mut place = Place::file(path);
            if let Some(at) = e.location() {
                place.line = u32::try_from(at.line()).ok();
                place.column = u32::try_from(at.column()).ok();
            }
            Problem::input("not a bpm.yaml of boson's plan").at(place)
        })?;
        if info.instance_groups.len() != 1 {
            return Err(Problem::input("a bpm.yaml holds exactly one instance group").at(Place::file(path)).into());
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

    const EXAMPLE: &str = "name: d
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
        run: bpm
        bpm:
          processes:
          - name: nats
            executable: /var/vcap/packages/nats-server/bin/nats-server
            args: ['-c', /var/vcap/jobs/nats/config/nats.conf]
  properties:
    quarks:
      replicas: 1
      instances:
      - {index: 0, az: null, az_index: 1, ordinal: 0, address: d-nats-0.default.svc.cluster.local}
";

    #[test]
    fn the_document_survives_a_round_trip() {
        let info = BpmInfo::parse(EXAMPLE, "bpm.yaml").unwrap();
        assert_eq!(info.group().jobs[0].properties.quarks.run, Run::Bpm);
        let text = serde_yaml::to_string(&info).unwrap();
        assert_eq!(BpmInfo::parse(&text, "bpm.yaml").unwrap(), info);
    }
}
