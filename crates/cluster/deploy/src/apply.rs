//! Applying objects.

use cluster::{Apply, Cluster, Object, name};
use kubernetes_objects as objects;
use problem::Result;

use crate::differences::{is_changed, is_replaced};
use crate::errands;
use crate::options::Request;
use crate::output::say;
use crate::plan::Plan;

/// Applies objects one after the other.
pub(crate) struct Applier<'a> {
    cluster: &'a Cluster,
    plan: &'a Plan,
    how: Apply<'static>,
}

impl<'a> Applier<'a> {
    pub(crate) fn new(cluster: &'a Cluster, request: &Request, plan: &'a Plan) -> Self {
        let how = Apply { manager: objects::MANAGER, force: request.force_conflicts, dry_run: request.dry_run };
        Applier { cluster, plan, how }
    }

    /// Applies an object, and prints what has become of it unless it was so already.
    pub(crate) fn object(&self, object: &Object) -> Result<()> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let present = self.plan.present(object);
        if let Some(present) = present.filter(|present| is_replaced(object, present)) {
            if !self.how.dry_run {
                errands::delete(self.cluster, name(present))?;
                self.cluster.apply(object, self.how)?;
            }
            say(format_args!("{kind} {} replaced", name(object)));
            return Ok(());
        }
        // What was edited by hand is restored: the documents decide about the deployment's own objects.
        let how = Apply { force: self.how.force || present.is_some(), ..self.how };
        let applied = self.cluster.apply(object, how)?;
        let version = |object: &Object| object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        match present {
            None => say(format_args!("{kind} {} created", name(object))),
            // A trial has the present version, whatever would change.
            Some(present) if self.how.dry_run => {
                if is_changed(present, &applied) {
                    say(format_args!("{kind} {} changed", name(object)));
                }
            }
            Some(present) if version(present) == version(&applied) => {}
            Some(_) => say(format_args!("{kind} {} changed", name(object))),
        }
        Ok(())
    }
}
