//! What a pod runs: the digests from which one sees which pods are to be replaced.

use object_basics::Object;

use crate::metadata::{DIGESTS, RECREATE, TEMPLATE_DIGEST};

/// Whether a pod runs what its StatefulSet says: the same template without regard to the versions of documents and patches, in which
/// the instance with its ordinal renders the same; and whether nobody has asked for it to be made anew ([`RECREATE`]). `annotation` and
/// `revision`, the label `controller-revision-hash`, are the pod's. A pod of an earlier release of boson does not tell.
pub fn is_current<'a>(
    annotation: impl Fn(&str) -> Option<&'a str>,
    revision: Option<&str>,
    set: &Object,
    ordinal: u32,
) -> bool {
    let of_set = |name: &str| set["metadata"]["annotations"][name].as_str();
    let of_instance = || nth(annotation(DIGESTS)?, ordinal);
    let has_same = || {
        annotation(TEMPLATE_DIGEST).is_some()
            && annotation(TEMPLATE_DIGEST) == of_set(TEMPLATE_DIGEST)
            && of_instance().is_some_and(|own| of_set(DIGESTS).and_then(|all| nth(all, ordinal)) == Some(own))
    };
    annotation(RECREATE).is_none() && (has_newest(revision, set) || has_same())
}

/// Whether a pod has the present template of its StatefulSet, whatever an admission webhook has made of it since.
fn has_newest(revision: Option<&str>, set: &Object) -> bool {
    let is_observed = set["metadata"]["generation"] == set["status"]["observedGeneration"];
    is_observed && revision.is_some() && revision == set["status"]["updateRevision"].as_str()
}

fn nth(digests: &str, ordinal: u32) -> Option<&str> {
    digests.split_whitespace().nth(usize::try_from(ordinal).ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
