//! What a pod runs: the digests from which one sees which pods are to be replaced.

use object_basics::Object;

use crate::metadata::{DIGESTS, RECREATE, TEMPLATE_DIGEST};

/// Why a pod does not run what its StatefulSet says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outdated {
    /// An earlier release of boson made it, and it does not tell what it runs.
    Unknown,
    /// It is to be recreated: [`RECREATE`].
    Recreated,
    /// The template differs, without regard to the versions of documents and patches.
    Template,
    /// The instance renders other files.
    Files,
}

/// Why a pod does not run what its StatefulSet says; empty if it does. `annotation` and `revision`, the label
/// `controller-revision-hash`, are the pod's, `ordinal` is its number.
pub fn outdated<'a>(
    annotation: impl Fn(&str) -> Option<&'a str>,
    revision: Option<&str>,
    set: &Object,
    ordinal: u32,
) -> Vec<Outdated> {
    let of_set = |name: &str| set["metadata"]["annotations"][name].as_str();
    let is_newest = has_newest(revision, set);
    let (template, digests) = (annotation(TEMPLATE_DIGEST), annotation(DIGESTS));
    let of_instance = |digests: Option<&'a str>| nth(digests?, ordinal);
    let has_same_files =
        || of_instance(digests).is_some_and(|own| of_set(DIGESTS).and_then(|all| nth(all, ordinal)) == Some(own));
    let reasons = [
        (annotation(RECREATE).is_some(), Outdated::Recreated),
        (!is_newest && template.is_none(), Outdated::Unknown),
        (!is_newest && template.is_some() && template != of_set(TEMPLATE_DIGEST), Outdated::Template),
        (!is_newest && template.is_some() && !has_same_files(), Outdated::Files),
    ];
    reasons.into_iter().filter(|(is, _)| *is).map(|(_, reason)| reason).collect()
}

/// Whether a pod has the present template of its StatefulSet, whatever an admission webhook has made of it since.
fn has_newest(revision: Option<&str>, set: &Object) -> bool {
    is_observed(set) && revision.is_some() && revision == set["status"]["updateRevision"].as_str()
}

/// Whether a StatefulSet's controller has seen its present specification.
pub fn is_observed(set: &Object) -> bool {
    set["metadata"]["generation"] == set["status"]["observedGeneration"]
}

fn nth(digests: &str, ordinal: u32) -> Option<&str> {
    digests.split_whitespace().nth(usize::try_from(ordinal).ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_current<'a>(
        annotation: impl Fn(&str) -> Option<&'a str>,
        revision: Option<&str>,
        set: &Object,
        ordinal: u32,
    ) -> bool {
        outdated(annotation, revision, set, ordinal).is_empty()
    }

    #[test]
    fn a_pod_is_current_if_template_and_own_digest_are_those_of_the_set() {
        let is = |pod: [Option<&'static str>; 2], ordinal: u32| {
            let set = json!({"metadata": {"annotations": {TEMPLATE_DIGEST: "t", DIGESTS: "a b c"}}});
            let annotation = |name: &str| match name {
                TEMPLATE_DIGEST => pod[0],
                DIGESTS => pod[1],
                _ => None,
            };
            is_current(annotation, None, &set, ordinal)
        };
        assert!(is([Some("t"), Some("a b")], 1), "it was scaled");
        assert!(is([Some("t"), Some("x b")], 1), "another instance differs");
        assert!(!is([Some("t"), Some("x b")], 0));
        assert!(!is([Some("u"), Some("a b")], 0));
        for unknown in [[None, Some("a b")], [Some("t"), None], [Some("t"), Some("")], [None, None]] {
            assert!(!is(unknown, 1), "{unknown:?}");
        }
        assert!(!is([Some("t"), Some("a b c d")], 3), "it has left the set");
    }

    #[test]
    fn a_pod_of_the_present_template_is_current_unless_it_is_to_be_made_anew() {
        let set = |observed: u32| json!({"metadata": {"generation": 2}, "status": {"observedGeneration": observed, "updateRevision": "r2"}});
        assert!(is_current(|_| None, Some("r2"), &set(2), 0));
        assert!(!is_current(|_| None, Some("r1"), &set(2), 0));
        assert!(!is_current(|_| None, Some("r2"), &set(1), 0), "the controller has not seen the template");
        let mark = |name: &str| (name == RECREATE).then_some("true");
        assert!(!is_current(mark, Some("r2"), &set(2), 0));
    }
}
