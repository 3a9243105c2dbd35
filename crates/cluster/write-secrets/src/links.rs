//! Links between deployments: those that this one shares become Secrets, those that it consumes are checked.

use std::collections::{BTreeMap, BTreeSet};

use cluster::{Cluster, Kind, Object, label, name};
use handoff::deployment::Deployment;
use handoff::links::SharedLinks;
use kubernetes_objects as objects;
use objects::LinkRef;
use problem::{Problem, Problems, Result, code};

use crate::{APPLY, Target};

/// Checks that the Secrets and Services of the links that the deployment consumes exist, and are labelled for it.
///
/// # Errors
/// All that are missing or have no label.
pub(crate) fn check(cluster: &Cluster, deployment: &Deployment) -> Result<()> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let jobs = deployment.instance_groups.iter().flat_map(|group| &group.jobs);
    for external in jobs.flat_map(|job| &job.consumes).filter_map(|link| link.external.as_ref()) {
        if !seen.insert((&external.deployment, &external.name)) {
            continue;
        }
        let secret = objects::link_secret(&external.deployment, &external.name);
        let found = cluster.get(Kind::SECRET, &secret)?;
        problems.extend(fault("Secret", &secret, found.as_ref(), objects::ENTANGLEMENT, "true"));
        if let Some(service) = &external.service {
            let found = cluster.get(Kind::SERVICE, service)?;
            let value = objects::link_provider_label(&external.name);
            problems.extend(fault("Service", service, found.as_ref(), objects::LINK_PROVIDER, &value));
        }
    }
    Problems::check(problems)
}

fn fault(kind: &str, named: &str, found: Option<&Object>, wanted: &str, value: &str) -> Option<Problem> {
    let message = match found {
        None => format!("{kind} {named}, which a link names, does not exist"),
        Some(object) if label(object, wanted) == Some(value) => return None,
        Some(_) => format!("{kind} {named}, which a link names, does not have the label {wanted}={value}"),
    };
    let hint = format!("kubectl label {} {named} {wanted}={value}", kind.to_lowercase());
    let problem = Problem::input(message).code(code::LINK_UNRESOLVED);
    Some(if found.is_some() { problem.hint(hint) } else { problem })
}

/// Checks that no Secret of a shared link belongs to something else.
///
/// # Errors
/// All that do.
pub(crate) fn check_owners(target: &Target, shared: &SharedLinks) -> Result<()> {
    let names: BTreeSet<&String> = shared.links.iter().map(|link| &link.name).collect();
    let mut problems = Vec::new();
    for name in names {
        let present = target.cluster.get(Kind::SECRET, &objects::link_secret(target.deployment, name))?;
        let checked = present.iter().try_for_each(|present| target.check(Kind::SECRET, present));
        problems.extend(checked.err().into_iter().flat_map(Problems::into_vec));
    }
    Problems::check(problems)
}

/// Writes the shared links, and deletes those that are no longer shared.
pub(crate) fn write(cluster: &Cluster, deployment: &str, owner: &Object, shared: &SharedLinks) -> Result<()> {
    let wanted = secrets(deployment, owner, shared);
    let selector = format!("{},{}={}", objects::selector(deployment), objects::KIND, objects::LINK);
    for present in cluster.list(Kind::SECRET, &selector)? {
        if wanted.iter().all(|object| name(object) != name(&present)) {
            cluster.delete(Kind::SECRET, name(&present))?;
        }
    }
    wanted.iter().try_for_each(|secret| cluster.apply(secret, APPLY).map(drop))
}

fn secrets(deployment: &str, owner: &Object, shared: &SharedLinks) -> Vec<Object> {
    let mut by_name: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for link in &shared.links {
        by_name.entry(&link.name).or_default().insert(link.link_type.clone(), link.content.to_string());
    }
    let secret = |(name, contents): (&str, BTreeMap<String, String>)| {
        let link = LinkRef { deployment: deployment.to_owned(), name: name.to_owned() };
        let mut secret = objects::link_object(&link, &contents);
        secret["metadata"]["ownerReferences"] = serde_json::json!([owner]);
        secret
    };
    by_name.into_iter().map(secret).collect()
}

#[cfg(test)]
mod tests {
    use handoff::links::SharedLink;
    use serde_json::json;

    use super::*;

    #[test]
    fn links_of_one_name_share_a_secret() {
        let link = |name: &str, link_type: &str| SharedLink {
            name: name.to_owned(),
            link_type: link_type.to_owned(),
            content: json!({"address": name}),
        };
        let shared = SharedLinks { links: vec![link("db", "sql"), link("db", "admin"), link("Q_1", "queue")] };
        let secrets = secrets("cf", &json!({"name": "cf"}), &shared);
        let names: Vec<&str> = secrets.iter().map(name).collect();
        assert!(names[0].starts_with("link-cf-q-1-") && names[1] == "link-cf-db", "{names:?}");
        let keys: Vec<&String> = secrets[1]["data"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["admin", "sql"]);
        assert_eq!(label(&secrets[1], objects::ENTANGLEMENT), Some("true"));
        assert_eq!(secrets[1]["metadata"]["ownerReferences"][0]["name"], "cf");
    }

    #[test]
    fn what_a_link_names_must_exist_with_its_label() {
        let service = json!({"metadata": {"labels": {objects::LINK_PROVIDER: "db"}}});
        let fault_of = |found: Option<&Object>, value: &str| {
            fault("Service", "postgres", found, objects::LINK_PROVIDER, value).map(|problem| problem.message)
        };
        assert_eq!(fault_of(Some(&service), "db"), None);
        assert_eq!(fault_of(None, "db").as_deref(), Some("Service postgres, which a link names, does not exist"));
        assert!(fault_of(Some(&service), "other").unwrap().contains("does not have the label"));
    }
}
