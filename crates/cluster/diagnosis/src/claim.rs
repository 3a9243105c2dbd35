//! Disks: why a claim is not bound.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};

use crate::{Cause, Evidence, Finding};

impl Evidence {
    /// What keeps the claims of a pod from being bound.
    pub(crate) fn of_claims(&self, pod: &Pod) -> Vec<Finding> {
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
        let names = volumes.filter_map(|volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(claim), _) => Some(claim.claim_name.clone()),
            // Named by the volume's controller.
            (None, Some(_)) => Some(format!("{pod_name}-{}", volume.name)),
            (None, None) => None,
        });
        let named = |name: String| self.claims.iter().find(|claim| claim.metadata.name.as_ref() == Some(&name));
        names.filter_map(named).filter_map(|claim| self.of_claim(claim)).collect()
    }

    fn of_claim(&self, claim: &PersistentVolumeClaim) -> Option<Finding> {
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        if phase == Some("Bound") {
            return None;
        }
        let event = self.warnings("PersistentVolumeClaim", &claim.metadata).last();
        let class = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
        let subject = format!("PersistentVolumeClaim {}", claim.metadata.name.as_deref().unwrap_or_default());
        if phase == Some("Lost") {
            return Some(Finding::new(Cause::Storage, subject, "its volume does not exist any more").lasting());
        }
        let event = event?;
        let finding = Finding::new(Cause::Storage, subject, event.message.clone().unwrap_or_default());
        if is_missing_class(&finding.message) {
            let finding = finding.hint(format!(
                "kubectl get storageclasses lists them; persistent_disk_type, or its storage_class in a cloud config, names '{}'",
                class.unwrap_or_default()
            ));
            return Some(Finding { may_pass: self.is_earlier(event), ..finding });
        }
        Some(finding)
    }
}

/// Whether a message says that a storage class does not exist.
pub(crate) fn is_missing_class(message: &str) -> bool {
    message.contains("storageclass") && message.contains("not found")
}
