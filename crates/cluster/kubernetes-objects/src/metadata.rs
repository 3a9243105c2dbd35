//! Labels and annotations.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use object_basics::{LABEL, MANAGED_BY, MANAGER, dns_label};

/// Label of every object: the deployment.
pub const DEPLOYMENT: &str = "quarks.cloudfoundry.org/deployment-name";
/// Label of what belongs to one instance group.
pub const GROUP: &str = "quarks.cloudfoundry.org/instance-group-name";
/// Label of what is more than a part of a workload: `anchor`, `gather`, `preview`, `manifest`, `versionedSecret`, `errand`, `patches`, `dns`, `link`,
/// `run`, `tasks`.
pub const KIND: &str = "quarks.cloudfoundry.org/kind";
/// Label of a version of a document: its number.
pub const VERSION: &str = "quarks.cloudfoundry.org/secret-version";
/// Annotation of a StatefulSet and its pods: the digest of the pod template without the version of the documents.
pub const TEMPLATE_DIGEST: &str = "quarks.cloudfoundry.org/template-digest";
/// Annotation of a StatefulSet and its pods: digests of what its instances render, by ordinal.
pub const DIGESTS: &str = "quarks.cloudfoundry.org/instance-digests";
/// Annotation of a pod that is to be made anew, whatever it runs.
pub const RECREATE: &str = "quarks.cloudfoundry.org/recreate";
/// Annotation of a gather Job: the person who has started it.
pub const STARTED_BY: &str = "quarks.cloudfoundry.org/started-by";
/// Annotation of a StatefulSet of which one pod is active, and ready, and the others are standbys.
pub const ACTIVE_PASSIVE: &str = "quarks.cloudfoundry.org/active-passive";
/// Label of an errand's pods, which have no index of a StatefulSet.
pub(crate) const ORDINAL: &str = "quarks.cloudfoundry.org/pod-ordinal";

/// Labels, as Kubernetes has them.
pub(crate) type Labels = BTreeMap<String, String>;

/// The value of [`DEPLOYMENT`] for a deployment.
pub fn deployment_label(deployment: &str) -> String {
    dns_label(deployment, LABEL)
}

/// The label selector of everything of a deployment.
pub fn selector(deployment: &str) -> String {
    format!("{DEPLOYMENT}={},{MANAGED_BY}={MANAGER}", deployment_label(deployment))
}

/// What selects the pods of a group.
pub(crate) fn of_group(deployment: &str, group: &str) -> Labels {
    let values = [(DEPLOYMENT, deployment_label(deployment)), (GROUP, dns_label(group, LABEL))];
    values.map(|(label, value)| (label.to_owned(), value)).into()
}

/// Metadata of an object of a deployment.
pub(crate) fn of_deployment(name: String, deployment: &str, more: &[(&str, &str)]) -> ObjectMeta {
    let mut labels = crate::map(more.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())));
    labels.insert(DEPLOYMENT.to_owned(), deployment_label(deployment));
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    ObjectMeta { name: Some(name), labels: Some(labels), ..ObjectMeta::default() }
}

/// Metadata of an object of a group.
pub(crate) fn of_workload(name: String, deployment: &str, group: &str) -> ObjectMeta {
    of_deployment(name, deployment, &[(GROUP, &dns_label(group, LABEL))])
}
