//! Links that other deployments share, or that Services outside of any deployment provide.

use std::collections::{BTreeMap, BTreeSet};

use value::Value;

/// Which link: of which deployment, by which name, of which type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalKey {
    /// The deployment that shares it.
    pub deployment: String,
    /// The provider's name.
    pub name: String,
    /// Its type.
    pub link_type: String,
}

/// A link from outside of the deployment.
#[derive(Debug, Clone)]
pub struct ExternalLink {
    /// What `link(name)` sees: a Hash.
    pub content: Value,
    /// The Service that it names, if it is that of a Service outside of any deployment.
    pub service: Option<String>,
}

/// All links from outside that are known.
pub type ExternalLinks = BTreeMap<ExternalKey, ExternalLink>;

/// Why a link cannot be found among those that are known; nothing if it can.
pub(crate) fn fault(known: &ExternalLinks, wanted: &ExternalKey) -> Option<String> {
    if known.contains_key(wanted) {
        return None;
    }
    let ExternalKey { deployment, name, link_type } = wanted;
    let of_deployment = || known.keys().filter(|key| key.deployment == *deployment);
    let types: Vec<&str> = of_deployment().filter(|key| key.name == *name).map(|key| key.link_type.as_str()).collect();
    if !types.is_empty() {
        let types = types.join("', '");
        return Some(format!("but its link '{name}' has the type '{types}', not '{link_type}'."));
    }
    let names: BTreeSet<&str> = of_deployment().map(|key| key.name.as_str()).collect();
    if names.is_empty() {
        return Some("but the deployment does not exist.".to_owned());
    }
    let names: Vec<&str> = names.into_iter().collect();
    Some(format!("but the deployment shares no link '{name}'; it shares: {}.", names.join(", ")))
}
