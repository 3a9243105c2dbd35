//! The Lease of a deployment: one run at a time replaces its instances. It is renewed while the run lives, so that one that was killed is
//! taken over.
//!
//! No clocks are compared: a Lease is abandoned when it has not changed for its duration, as measured by the run that waits for it.

use std::time::{Duration, Instant};

use cluster::{Apply, Cluster, Created, Kind, Object};
use k8s_openapi::jiff::Timestamp;
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use serde_json::json;

use crate::output::say;

/// A Lease that was not renewed for this time belongs to a run that does not live any more.
const DURATION: Duration = Duration::from_secs(15);
/// How often a run renews it.
pub(crate) const RENEWAL: Duration = Duration::from_secs(3);
/// How long after a renewal a run may change something: no other run has taken the Lease over before.
pub(crate) const VALID: Duration = Duration::from_secs(10);
/// How often a run that waits for it looks.
const INTERVAL: Duration = Duration::from_millis(500);
/// The annotation with the holder that is to stop.
const CANCELLED: &str = "quarks.cloudfoundry.org/cancelled";
/// The annotation with the person who has cancelled it.
const CANCELLED_BY: &str = "quarks.cloudfoundry.org/cancelled-by";
const APPLY: Apply<'static> = Apply { manager: objects::MANAGER, force: true, dry_run: false };

/// What a run does while another one holds the Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// It waits until the other one has ended.
    Wait,
    /// It refuses.
    Refuse,
}

/// Why a run does not hold the Lease any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    /// A person has cancelled it.
    Cancelled(String),
    /// Another run holds it.
    Taken(String),
}

/// A Lease that a run holds.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    deployment: String,
    holder: String,
    /// When the run has got it.
    acquired: String,
    /// The owner of everything.
    owner: Object,
}

impl Lease {
    /// Gets the Lease of a deployment for `holder`. `anchor` is the deployment's.
    ///
    /// # Errors
    /// Another run that lives, unless it is waited for; failures of the cluster.
    pub(crate) fn acquire(
        cluster: &Cluster,
        anchor: &Object,
        deployment: &str,
        holder: &str,
        beside: Beside,
    ) -> Result<Lease> {
        let (deployment, holder) = (deployment.to_owned(), holder.to_owned());
        let lease = Lease { deployment, holder, acquired: now(), owner: objects::owner(anchor) };
        let mut others: Option<Other> = None;
        loop {
            let Some(present) = lease.get(cluster)? else {
                if let Created::New(_) = cluster.create(&lease.object(None, true), false)? {
                    return Ok(lease);
                }
                continue;
            };
            objects::check_owner(&present, Kind::LEASE.kind, &lease.deployment)?;
            let abandoned = others.as_ref().filter(|other| other.is_abandoned(&present));
            if holder_of(&present).is_none_or(|holder| holder == lease.holder) || abandoned.is_some() {
                if cluster.try_apply(&lease.object(Some(&present), true), APPLY)?.is_some() {
                    if abandoned.is_some() {
                        say(format_args!("{} has ended without a result, and is taken over", description(&present)));
                    }
                    return Ok(lease);
                }
                continue;
            }
            match &mut others {
                Some(other) => {
                    if other.look(&present) && beside == Beside::Refuse {
                        return Err(under_way(&present).into());
                    }
                }
                None => {
                    if beside == Beside::Wait {
                        say(format_args!("{} is under way, and is waited for", description(&present)));
                    }
                    others = Some(Other::new(&present));
                }
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// The reference to the deployment's anchor.
    pub(crate) fn owner(&self) -> &Object {
        &self.owner
    }

    fn get(&self, cluster: &Cluster) -> Result<Option<Object>> {
        cluster.get(Kind::LEASE, &objects::lease(&self.deployment))
    }

    /// The object beside the present one: held, or given back.
    fn object(&self, present: Option<&Object>, is_held: bool) -> Object {
        let labels = json!({"app.kubernetes.io/managed-by": objects::MANAGER, objects::KIND: "run",
            objects::DEPLOYMENT: objects::deployment_label(&self.deployment)});
        let mut lease = json!({
            "apiVersion": Kind::LEASE.api, "kind": Kind::LEASE.kind,
            "metadata": {"name": objects::lease(&self.deployment), "labels": labels, "ownerReferences": [self.owner]},
            "spec": {"leaseDurationSeconds": DURATION.as_secs(), "acquireTime": self.acquired, "renewTime": now()},
        });
        if let Some(present) = present {
            lease["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
        }
        // Not without the field: it would keep its value, which the request that made the Lease has set.
        lease["spec"]["holderIdentity"] = if is_held { self.holder.as_str() } else { "" }.into();
        lease
    }

    /// Renews it. Returns why that is not possible.
    ///
    /// # Errors
    /// Failures of the cluster: it may be possible later.
    pub(crate) fn renew(&self, cluster: &Cluster) -> Result<Option<Lost>> {
        loop {
            let Some(present) = self.get(cluster)? else {
                return Ok(Some(Lost::Taken("the Lease was deleted".to_owned())));
            };
            if let Some(lost) = self.lost(&present) {
                return Ok(Some(lost));
            }
            if cluster.try_apply(&self.object(Some(&present), true), APPLY)?.is_some() {
                return Ok(None);
            }
        }
    }

    fn lost(&self, present: &Object) -> Option<Lost> {
        let annotation = |name: &str| present["metadata"]["annotations"][name].as_str();
        if holder_of(present) != Some(&self.holder) {
            return Some(Lost::Taken(description(present)));
        }
        let is_cancelled = annotation(CANCELLED) == Some(&self.holder);
        is_cancelled.then(|| Lost::Cancelled(annotation(CANCELLED_BY).unwrap_or_default().to_owned()))
    }

    /// Gives it back, if this run has it. Returns why it had lost it.
    ///
    /// # Errors
    /// Failures of the cluster.
    pub(crate) fn release(&self, cluster: &Cluster) -> Result<Option<Lost>> {
        loop {
            let Some(present) = self.get(cluster)? else { return Ok(None) };
            let lost = self.lost(&present);
            if matches!(lost, Some(Lost::Taken(_)))
                || cluster.try_apply(&self.object(Some(&present), false), APPLY)?.is_some()
            {
                return Ok(lost);
            }
        }
    }
}

impl Lost {
    /// The problem of the run.
    pub(crate) fn problem(&self) -> Problem {
        match self {
            Lost::Cancelled(by) => Problem::update(format!("the run was cancelled by {by}")).code(code::INTERRUPTED),
            Lost::Taken(by) => Problem::update("another run has taken over the update of the deployment")
                .code(code::UPDATE_UNDER_WAY)
                .because(by),
        }
    }
}

/// The Lease of another run, and since when it has not changed.
#[derive(Debug)]
struct Other {
    version: Object,
    since: Instant,
}

impl Other {
    fn new(present: &Object) -> Other {
        Other { version: present["metadata"]["resourceVersion"].clone(), since: Instant::now() }
    }

    /// Tells whether it has changed.
    fn look(&mut self, present: &Object) -> bool {
        let has_changed = self.version != present["metadata"]["resourceVersion"];
        if has_changed {
            *self = Other::new(present);
        }
        has_changed
    }

    fn is_abandoned(&self, present: &Object) -> bool {
        let duration = present["spec"]["leaseDurationSeconds"].as_u64().map_or(DURATION, Duration::from_secs);
        self.version == present["metadata"]["resourceVersion"] && self.since.elapsed() >= duration
    }
}

/// The present time, as Leases have it.
pub(crate) fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

fn holder_of(lease: &Object) -> Option<&str> {
    lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty())
}

/// Who holds a Lease, and since when.
fn description(lease: &Object) -> String {
    // Without fractions of seconds.
    let since = lease["spec"]["acquireTime"].as_str().unwrap_or_default();
    let since = since.split_once('.').map_or(since.to_owned(), |(seconds, _)| format!("{seconds}Z"));
    format!("the run of {} (since {since})", holder_of(lease).unwrap_or("an unknown process"))
}

fn under_way(lease: &Object) -> Problem {
    let problem = Problem::update(format!("{} is under way", description(lease))).code(code::UPDATE_UNDER_WAY);
    problem.hint("wait until it has ended, or stop it: kubectl boson cancel")
}

/// The run that holds the Lease of a deployment, as it is called there.
///
/// # Errors
/// Failures of the cluster.
pub fn holder(cluster: &Cluster, deployment: &str) -> Result<Option<String>> {
    let lease = cluster.get(Kind::LEASE, &objects::lease(deployment))?;
    Ok(lease.as_ref().and_then(holder_of).map(str::to_owned))
}

/// Asks the run that holds the Lease of a deployment to stop. Returns the run, to be waited for with [`until_free`].
///
/// # Errors
/// Failures of the cluster.
pub fn cancel(cluster: &Cluster, deployment: &str, by: &str) -> Result<Option<String>> {
    let Some(holder) = holder(cluster, deployment)? else { return Ok(None) };
    let annotations = json!({CANCELLED: holder, CANCELLED_BY: by});
    cluster.merge(Kind::LEASE, &objects::lease(deployment), &json!({"metadata": {"annotations": annotations}}))?;
    Ok(Some(holder))
}

/// Waits until a run does not hold the Lease any more, or does not live.
///
/// # Errors
/// Failures of the cluster.
pub fn until_free(cluster: &Cluster, deployment: &str, run: &str) -> Result<()> {
    let mut other: Option<Other> = None;
    loop {
        let lease = cluster.get(Kind::LEASE, &objects::lease(deployment))?;
        let Some(lease) = lease.filter(|lease| holder_of(lease) == Some(run)) else { return Ok(()) };
        let other = other.get_or_insert_with(|| Other::new(&lease));
        other.look(&lease);
        if other.is_abandoned(&lease) {
            return Ok(());
        }
        std::thread::sleep(INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_lost_to_a_person_or_to_another_run() {
        let lease =
            Lease { deployment: "nats".to_owned(), holder: "a".to_owned(), acquired: now(), owner: Object::Null };
        let mut present = lease.object(None, true);
        assert_eq!(lease.lost(&present), None);
        // Of another run, before this one.
        present["metadata"]["annotations"] = json!({CANCELLED: "b", CANCELLED_BY: "me"});
        assert_eq!(lease.lost(&present), None);
        present["metadata"]["annotations"][CANCELLED] = "a".into();
        assert_eq!(lease.lost(&present), Some(Lost::Cancelled("me".to_owned())));
        present["spec"]["holderIdentity"] = "b".into();
        present["spec"]["acquireTime"] = "2026-01-02T03:04:05.678901Z".into();
        assert_eq!(lease.lost(&present), Some(Lost::Taken("the run of b (since 2026-01-02T03:04:05Z)".to_owned())));
        assert_eq!(holder_of(&lease.object(None, false)), None);
    }
}
