//! StatefulSets and Jobs: whether their pods are created.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::{Evidence, Finding, refusal};

const FAILED_CREATE: &str = "FailedCreate";

impl Evidence {
    /// What keeps a StatefulSet's pods from being created and from being ready.
    pub fn of_set(&self, set: &Value) -> Vec<Finding> {
        let Ok(set) = serde_json::from_value::<StatefulSet>(set.clone()) else { return Vec::new() };
        let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
        let pods = self.pods_of("StatefulSet", &set.metadata);
        let mut findings = Vec::new();
        if i32::try_from(pods.len()).unwrap_or(i32::MAX) < wanted {
            findings.extend(self.refused("StatefulSet", &set.metadata));
        }
        findings.extend(pods.into_iter().flat_map(|pod| self.of_pod(pod)));
        findings
    }

    /// What keeps a Job's pods from being created and from completing.
    pub fn of_job(&self, job: &Value) -> Vec<Finding> {
        let Ok(job) = serde_json::from_value::<Job>(job.clone()) else { return Vec::new() };
        let pods = self.pods_of("Job", &job.metadata);
        let is_suspended = job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
        if pods.is_empty() && !is_suspended {
            return self.refused("Job", &job.metadata).into_iter().collect();
        }
        pods.into_iter().flat_map(|pod| self.of_pod(pod)).collect()
    }

    /// Why the pods of ReplicaSets with these names are not created.
    pub fn of_creation(&self, is_of: impl Fn(&str) -> bool) -> Vec<Finding> {
        let of_set = |event: &&Event| {
            let about = &event.involved_object;
            about.kind.as_deref() == Some("ReplicaSet") && about.name.as_deref().is_some_and(&is_of)
        };
        let refused = self.events.iter().filter(of_set).filter(|event| event.reason.as_deref() == Some(FAILED_CREATE));
        let finding = |event: &Event| {
            let subject = format!("ReplicaSet {}", event.involved_object.name.as_deref().unwrap_or_default());
            let finding = refusal::finding(&subject, event);
            Finding { may_pass: finding.may_pass || self.is_earlier(event), ..finding }
        };
        refused.last().map(finding).into_iter().collect()
    }

    /// The latest refusal.
    fn refused(&self, kind: &str, metadata: &ObjectMeta) -> Option<Finding> {
        let subject = format!("{kind} {}", metadata.name.as_deref().unwrap_or_default());
        let events = self.warnings(kind, metadata).filter(|event| event.reason.as_deref() == Some(FAILED_CREATE));
        let event = events.last()?;
        let finding = refusal::finding(&subject, event);
        Some(Finding { may_pass: finding.may_pass || self.is_earlier(event), ..finding })
    }

    fn pods_of(&self, kind: &str, metadata: &ObjectMeta) -> Vec<&Pod> {
        let is_own = |pod: &&Pod| {
            let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
            owners.iter().any(|owner| {
                owner.kind == kind
                    && Some(&owner.name) == metadata.name.as_ref()
                    && metadata.uid.as_ref().is_none_or(|uid| *uid == owner.uid)
            })
        };
        self.pods.iter().filter(is_own).collect()
    }
}
