//! What would become of the objects: the API server tries all of them before anything is applied.

use std::collections::BTreeSet;

use cluster::{Apply, Cluster, Object, label};
use problem::{Problem, Problems, Result, code};

use crate::instance::{ID, Instance, MANAGER, PART_OF, Reach};
use crate::kinds::Kinds;
use crate::live;
use crate::members::{Member, reach};
use crate::options::Request;
use crate::secrets::Secrets;

/// An object that is applied.
pub(crate) struct Step {
    pub(crate) member: Member,
    /// The object as it is.
    pub(crate) present: Option<Object>,
    /// The object as it would be; nothing if its namespace or kind does not exist yet.
    pub(crate) tried: Option<Object>,
}

/// What a run does.
pub(crate) struct Plan {
    /// In their order.
    pub(crate) steps: Vec<Step>,
    /// Members that have left the template, in the order in which they are deleted.
    pub(crate) unwanted: Vec<Member>,
    /// The kinds and namespaces of the template's objects.
    pub(crate) reach: Reach,
    /// The namespace of the instance.
    pub(crate) namespace: String,
}

impl Plan {
    pub(crate) fn new(
        cluster: &Cluster,
        request: &Request,
        instance: &Instance,
        members: Vec<Member>,
        secrets: &Secrets,
        kinds: &mut Kinds,
    ) -> Result<Plan> {
        let reach = reach(&members, cluster.namespace());
        let wanted: BTreeSet<_> = members.iter().map(Member::key).collect();
        let mut problems = Vec::new();
        let mut steps = Vec::new();
        for member in members {
            match step(cluster, request, instance, member, kinds) {
                Ok(step) => steps.push(step),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        secrets.mask(Problems::check(problems))?;
        let mut unwanted = live::members(cluster, instance, &instance.reach.with(&reach), kinds)?;
        unwanted.retain(|member| !wanted.contains(&member.key()));
        Ok(Plan { steps, unwanted, reach, namespace: cluster.namespace().to_owned() })
    }
}

fn step(cluster: &Cluster, request: &Request, instance: &Instance, member: Member, kinds: &mut Kinds) -> Result<Step> {
    if !kinds.is_served(&member.resource)? {
        return Ok(Step { member, present: None, tried: None });
    }
    let present = cluster.read(&member.resource, &member.namespace, cluster::name(&member.object))?;
    if let Some(present) = present.as_ref().filter(|_| !request.force_conflicts) {
        check_owner(present, &member, instance)?;
    }
    let how = Apply { manager: MANAGER, force: request.force_conflicts, dry_run: true };
    let tried = cluster.apply_to(&member.resource, &member.namespace, &member.object, how)?;
    Ok(Step { member, present, tried })
}

/// Refuses to change objects of others.
fn check_owner(present: &Object, member: &Member, instance: &Instance) -> Result<()> {
    let what = member.shown(&instance.namespace);
    let (message, hint) = match label(present, PART_OF) {
        Some(id) if id == instance.id => return Ok(()),
        Some(id) => (
            format!("{what} exists, and belongs to another instance"),
            format!("`kubectl get secrets -A -l {ID}={id}` shows which; --force-conflicts takes the object over"),
        ),
        None => (
            format!("{what} exists, and does not belong to the instance {}", instance.name),
            "delete or rename it, or take it over with --force-conflicts; it is then deleted with the instance"
                .to_owned(),
        ),
    };
    Err(Problem::input(message).code(code::CLUSTER_CONFLICT).hint(hint).into())
}

impl Step {
    /// Whether applying it would change the object; a new one changes.
    pub(crate) fn would_change(&self) -> bool {
        match (&self.present, &self.tried) {
            (Some(present), Some(tried)) => content(present) != content(tried),
            _ => true,
        }
    }
}

/// An object without what every request changes.
fn content(object: &Object) -> Object {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| !["managedFields", "resourceVersion", "generation"].contains(&key.as_str()));
    }
    object
}
