//! What OpenShift does with objects in addition to substitution: namespaces and API groups.

use crate::node::{Map, Node};
use crate::scan::{Piece, Syntax, pieces};

/// The groups of the kinds that OpenShift's API had in `v1` before it had groups.
const GROUPS: &[(&str, &[&str])] = &[
    ("apps.openshift.io/v1", &["DeploymentConfig", "DeploymentConfigRollback", "DeploymentLog", "DeploymentRequest"]),
    (
        "authorization.openshift.io/v1",
        &[
            "ClusterRole",
            "ClusterRoleBinding",
            "IsPersonalSubjectAccessReview",
            "LocalResourceAccessReview",
            "LocalSubjectAccessReview",
            "ResourceAccessReview",
            "ResourceAccessReviewResponse",
            "Role",
            "RoleBinding",
            "RoleBindingRestriction",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
            "SubjectAccessReviewResponse",
            "SubjectRulesReview",
        ],
    ),
    ("build.openshift.io/v1", &["BinaryBuildRequestOptions", "Build", "BuildConfig", "BuildLog", "BuildRequest"]),
    (
        "image.openshift.io/v1",
        &[
            "Image",
            "ImageSignature",
            "ImageStream",
            "ImageStreamImage",
            "ImageStreamImport",
            "ImageStreamMapping",
            "ImageStreamTag",
        ],
    ),
    ("network.openshift.io/v1", &["ClusterNetwork", "EgressNetworkPolicy", "HostSubnet", "NetNamespace"]),
    (
        "oauth.openshift.io/v1",
        &[
            "OAuthAccessToken",
            "OAuthAuthorizeToken",
            "OAuthClient",
            "OAuthClientAuthorization",
            "OAuthRedirectReference",
        ],
    ),
    ("project.openshift.io/v1", &["Project", "ProjectRequest"]),
    ("quota.openshift.io/v1", &["AppliedClusterResourceQuota", "ClusterResourceQuota"]),
    ("route.openshift.io/v1", &["Route"]),
    (
        "security.openshift.io/v1",
        &[
            "PodSecurityPolicyReview",
            "PodSecurityPolicySelfSubjectReview",
            "PodSecurityPolicySubjectReview",
            "SecurityContextConstraints",
        ],
    ),
    ("template.openshift.io/v1", &["ProcessedTemplate", "Template"]),
    ("user.openshift.io/v1", &["Group", "Identity", "User", "UserIdentityMapping"]),
];

/// Drops the namespace of an object, unless it has a reference to a parameter in it: `${NS}`, but not `${{NS}}`.
pub(crate) fn drop_namespace(object: &mut Map) {
    let Some(metadata) = object.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    let has_reference = metadata.str("namespace").is_some_and(|namespace| {
        pieces(namespace, Syntax::Openshift)
            .any(|piece| matches!(piece, Piece::Reference(reference) if !reference.is_unquoted))
    });
    if !has_reference {
        metadata.remove("namespace");
    }
}

/// Gives an OpenShift object of `v1` the API group of its kind.
pub(crate) fn set_group(object: &mut Map) {
    if object.str("apiVersion") != Some("v1") {
        return;
    }
    let kind = object.str("kind").unwrap_or_default();
    let Some((group, _)) = GROUPS.iter().find(|(_, kinds)| kinds.contains(&kind)) else { return };
    object.set("apiVersion", Node::string(*group));
}
