//! The Lease of an instance: who may change it, and which version of its state is valid.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::{Apply, Cluster, Created, Kind, Object};
use object_basics::{MANAGED_BY, MANAGER, dns_label};
use problem::{IoContext, Problem, Result, code};
use serde_json::json;

use crate::boot_time;

/// Annotation of a Lease: the id of the instance.
const INSTANCE: &str = "brokerpak.boson/instance-id";
/// Annotation of a Lease: the valid version of the state; 0 if there is none.
const VERSION: &str = "brokerpak.boson/state-version";
/// The longest name: Secrets add their versions.
const NAME: usize = 40;
/// Tries to change a Lease that the other container of the pod changes at the same time.
const TRIES: u32 = 20;

const APPLY: Apply<'static> = Apply { manager: MANAGER, force: true, dry_run: false };

/// The Lease of an instance.
pub(crate) struct Lease<'a> {
    cluster: &'a Cluster,
    instance: &'a str,
    holder: &'a str,
    duration: Duration,
    /// What the cluster has had last.
    known: Object,
    /// The last renewal of somebody else, and since when it has been the last one.
    seen: Option<(String, Instant)>,
}

impl<'a> Lease<'a> {
    pub(crate) fn new(cluster: &'a Cluster, instance: &'a str, holder: &'a str, duration: Duration) -> Lease<'a> {
        Lease { cluster, instance, holder, duration, known: Object::Null, seen: None }
    }

    /// The name of the Lease, with which the names of the state's Secrets begin.
    pub(crate) fn name(&self) -> String {
        dns_label(&format!("brokerpak-{}", self.instance), NAME)
    }

    /// The valid version of the state; 0 if there is none.
    pub(crate) fn version(&self) -> u64 {
        let text = self.known["metadata"]["annotations"][VERSION].as_str();
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// How long the Lease may be used without being renewed: shorter than others wait for it.
    pub(crate) fn usable(&self) -> Duration {
        self.duration * 2 / 3
    }

    /// How often it is renewed.
    pub(crate) fn interval(&self) -> Duration {
        self.duration / 6
    }

    fn object(&self, holder: &str, version: u64, resource_version: Option<&Object>) -> Object {
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {
                "name": self.name(),
                "labels": {MANAGED_BY: MANAGER},
                "annotations": {INSTANCE: self.instance, VERSION: version.to_string()},
            },
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": self.duration.as_secs().max(1),
                "renewTime": boot_time::timestamp(),
            },
        });
        if let Some(resource_version) = resource_version {
            lease["metadata"]["resourceVersion"] = resource_version.clone();
        }
        lease
    }

    /// Takes the Lease if it is free, one's own already, or has not been renewed for its duration; tells whether it has it.
    /// The clocks of nodes do not count: what does is how long this has seen no renewal.
    ///
    /// # Errors
    /// The Lease of another instance, failures of the cluster.
    pub(crate) fn try_acquire(&mut self) -> Result<bool> {
        let Some(found) = self.cluster.get(Kind::LEASE, &self.name())? else {
            return match self.cluster.create(&self.object(self.holder, 0, None), false)? {
                Created::New(lease) => {
                    self.known = lease;
                    Ok(true)
                }
                Created::Exists => Ok(false),
            };
        };
        if found["metadata"]["annotations"][INSTANCE] != self.instance {
            let message = format!("Lease {} exists, and is not that of the instance", self.name());
            return Err(Problem::input(message).code(code::CLUSTER_CONFLICT).into());
        }
        let holder = found["spec"]["holderIdentity"].as_str().unwrap_or_default();
        if !holder.is_empty() && holder != self.holder {
            let renewal = format!("{holder} {}", found["spec"]["renewTime"]);
            let duration = Duration::from_secs(found["spec"]["leaseDurationSeconds"].as_u64().unwrap_or_default());
            match &self.seen {
                Some((seen, since)) if *seen == renewal && since.elapsed() >= duration => {}
                Some((seen, _)) if *seen == renewal => return Ok(false),
                _ => {
                    self.seen = Some((renewal, Instant::now()));
                    return Ok(false);
                }
            }
        }
        self.known = found;
        let wanted = self.object(self.holder, self.version(), Some(&self.known["metadata"]["resourceVersion"]));
        match self.cluster.try_apply(&wanted, APPLY)? {
            Some(lease) => {
                self.known = lease;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Renews the Lease; gives until when it may be used, by the machine's clock.
    ///
    /// # Errors
    /// It is somebody else's; failures of the cluster.
    pub(crate) fn renew(&mut self) -> Result<Duration> {
        let start = boot_time::now().io("read", Path::new("the machine's clock"))?;
        self.change(self.holder, None)?;
        Ok(start + self.usable())
    }

    /// Makes a version of the state the valid one.
    ///
    /// # Errors
    /// As [`Lease::renew`]; the valid version stays then.
    pub(crate) fn set_version(&mut self, version: u64) -> Result<()> {
        self.change(self.holder, Some(version))
    }

    /// Gives the Lease back; deletes it if the instance has no state.
    ///
    /// # Errors
    /// As [`Lease::renew`].
    pub(crate) fn release(&mut self) -> Result<()> {
        self.change("", None)?;
        if self.version() == 0 {
            self.cluster.delete(Kind::LEASE, &self.name())?;
        }
        Ok(())
    }

    /// Changes the Lease only if this holds it.
    fn change(&mut self, holder: &str, version: Option<u64>) -> Result<()> {
        for _ in 0..TRIES {
            if self.known.is_null() {
                self.known = self.cluster.get(Kind::LEASE, &self.name())?.unwrap_or(Object::Null);
            }
            if self.known["spec"]["holderIdentity"] != self.holder {
                break;
            }
            let version = version.unwrap_or(self.version());
            let wanted = self.object(holder, version, Some(&self.known["metadata"]["resourceVersion"]));
            if let Some(lease) = self.cluster.try_apply(&wanted, APPLY)? {
                self.known = lease;
                return Ok(());
            }
            // The other container of the pod has changed it, or another pod has taken it.
            self.known = Object::Null;
        }
        let message = format!("the Lease {} is lost: another pod has it", self.name());
        Err(Problem::internal(message).code(code::CLUSTER_CONFLICT).into())
    }
}
