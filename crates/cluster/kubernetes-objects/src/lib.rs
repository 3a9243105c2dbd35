//! The Kubernetes objects of a deployment, as typed values (k8s-openapi).
//!
//! * [`gather_objects`]: what `boson gather` prints: the gather Job and what it needs.
//! * [`Workloads`]: what `deploy` applies, from [`workload::Pod`] and the document of the deployment.
//! * [`outdated()`]: whether a pod runs what its StatefulSet says.
//!
//! Nothing here talks to an API server, and no value of a property is in an object, except in the Secrets that hold documents.

mod container;
mod content;
mod dns;
mod dns_server;
mod gather;
mod image;
mod links;
mod look;
mod manifest_settings;
mod metadata;
mod names;
mod network;
mod object;
mod ownership;
mod patches;
mod pod;
mod probes;
mod resources;
mod security;
mod services;
mod settings;
mod volumes;
mod workloads;

pub use content::{Outdated, is_observed, outdated};
pub use dns::{check as check_dns_aliases, ignored as ignored_dns_aliases};
pub use gather::{Gather, anchor_object, gather_objects};
pub use image::{ReleaseRef, release_images};
pub use links::{ENTANGLEMENT, LINK, LINK_PROVIDER, LinkRef, link_object, link_provider_label, link_secret};
pub use look::{CHECK, PREVIEW, expecting, preview_job};
pub use metadata::{
    ACTIVE_PASSIVE, DEPLOYMENT, DIGESTS, GROUP, KIND, RECREATE, STARTED_BY, TEMPLATE_DIGEST, VERSION, deployment_label,
    selector,
};
pub use names::{anchor, dns, gather_prefix, lease, record, replicas, tasks, versioned};
pub use object_basics::{LARGEST_IN_SECRET, MANAGER, Object, PARTS, digest, divided, document, part, parts, to_yaml};
pub use ownership::{check_anchor, check_owner, check_record, is_anchor, is_own, owner, set_owner};
pub use patches::{PATCHES, Patches};
pub use security::{Need, Standard, needs};
pub use settings::{ScriptsAs, Settings, UpdatedBy};
pub use workloads::{GroupObjects, GroupWorkload, InstancePod, Workloads, digest_of};

pub(crate) use object::{map, object, typed};
