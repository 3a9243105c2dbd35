//! Labels and annotations that are boson's or Kubernetes' own.

/// Domains of labels and annotations that select pods, or by which objects are found again.
const DOMAINS: [&str; 4] =
    ["quarks.cloudfoundry.org/", "statefulset.kubernetes.io/", "apps.kubernetes.io/", "batch.kubernetes.io/"];
const NAMES: [&str; 4] = ["app.kubernetes.io/managed-by", "controller-revision-hash", "controller-uid", "job-name"];

/// Whether a manifest may not set this label or annotation.
pub fn is_reserved(name: &str) -> bool {
    NAMES.contains(&name) || DOMAINS.iter().any(|domain| name.starts_with(domain))
}
