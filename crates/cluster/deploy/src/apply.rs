//! Applying objects.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cluster::{Apply, Cluster, Kind, Object, name};
use kubernetes_objects as objects;
use problem::Result;
use serde_json::json;

use crate::differences::{is_changed, is_replaced, is_rolled_by_kubernetes};
use crate::errands;
use crate::options::Request;
use crate::output::say;
use crate::plan::Plan;

/// Applies objects one after the other.
pub(crate) struct Applier<'a> {
    cluster: &'a Cluster,
    plan: &'a Plan,
    how: Apply<'static>,
    request: &'a Request,
    /// The revisions of StatefulSets that somebody has edited by hand: pods that have them are to be replaced.
    edited: RefCell<BTreeMap<String, String>>,
}

impl<'a> Applier<'a> {
    pub(crate) fn new(cluster: &'a Cluster, request: &'a Request, plan: &'a Plan) -> Self {
        let how = Apply { manager: objects::MANAGER, force: request.force_conflicts, dry_run: request.dry_run };
        Applier { cluster, plan, how, request, edited: RefCell::default() }
    }

    /// Applies an object, and prints what has become of it unless it was so already.
    pub(crate) fn object(&self, object: &Object) -> Result<()> {
        self.request.check_session()?;
        let present = self.plan.present(object);
        if let Some(present) = present.filter(|present| is_replaced(object, present)) {
            if !self.how.dry_run {
                errands::delete(self.cluster, name(present))?;
                self.cluster.apply(object, self.how)?;
            }
            self.say(object, "replaced");
            return Ok(());
        }
        if present.is_some_and(|present| is_rolled_by_kubernetes(object, present)) {
            if self.how.dry_run {
                self.say(object, "changed");
                return Ok(());
            }
            let strategy = json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}});
            self.cluster.merge(Kind::STATEFUL_SET, name(object), &strategy)?;
        }
        // What was edited by hand is restored: the documents decide about the deployment's own objects.
        let how = Apply { force: self.how.force || present.is_some(), ..self.how };
        let applied = self.cluster.apply(object, how)?;
        let version = |object: &Object| object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        match present {
            None => self.say(object, "created"),
            // A trial has the present version, whatever would change.
            Some(present) if self.how.dry_run => {
                if is_changed(present, &applied) {
                    self.say(object, "changed");
                }
            }
            Some(present) if version(present) == version(&applied) => {}
            Some(present) => {
                self.say(object, "changed");
                let revision = present["status"]["updateRevision"].as_str().filter(|_| is_edited(present, &applied));
                self.edited
                    .borrow_mut()
                    .extend(revision.map(|revision| (name(object).to_owned(), revision.to_owned())));
            }
        }
        Ok(())
    }

    fn say(&self, object: &Object, what: &str) {
        let line = format!("{} {} {what}", object["kind"].as_str().unwrap_or_default(), name(object));
        say(format_args!("{line}"));
        self.request.note(|task| task.object(line));
    }

    /// The revisions of StatefulSets that were restored, by their names.
    pub(crate) fn edited(&self) -> BTreeMap<String, String> {
        self.edited.borrow().clone()
    }
}

/// Whether somebody else has changed the template of a StatefulSet: it says that it has what was applied, and mounts the same versions.
fn is_edited(present: &Object, applied: &Object) -> bool {
    let is_same = |path: &str| present.pointer(path) == applied.pointer(path);
    present["kind"] == Kind::STATEFUL_SET.kind
        && is_same("/spec/template/metadata/annotations")
        && is_same("/spec/template/spec/volumes")
        && !is_same("/spec/template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_edited_if_nothing_of_boson_has_changed_it() {
        let set = |digest: &str, secret: &str, image: &str| {
            json!({"kind": "StatefulSet", "spec": {"template": {"metadata": {"annotations": {"digest": digest}},
                "spec": {"volumes": [{"secret": {"secretName": secret}}], "containers": [{"image": image}]}}}})
        };
        let present = set("a", "v1", "x");
        assert!(is_edited(&present, &set("a", "v1", "y")));
        for not in [set("a", "v1", "x"), set("b", "v1", "y"), set("a", "v2", "x")] {
            assert!(!is_edited(&present, &not), "{not}");
        }
    }
}
