//! The links that a manifest consumes of other deployments, and what of links a cluster does not have.

use std::collections::BTreeSet;

use go_yaml::{Node, Value};
use kubernetes_objects::LinkRef;
use problem::{Place, Problem, code};

use crate::nodes::{list, scalar};

/// The links of other deployments than `own` that the jobs of these documents consume. Each document comes with its file.
pub(crate) fn external<'a>(
    documents: impl Iterator<Item = (&'a Node, &'a str)>,
    own: &str,
    problems: &mut Vec<Problem>,
) -> BTreeSet<LinkRef> {
    let mut links = BTreeSet::new();
    for (document, file) in documents {
        let groups = list(document.get("instance_groups")).iter().chain(list(document.get("addons")));
        for job in groups.flat_map(|group| list(group.get("jobs"))) {
            let Some(Value::Map(consumes)) = job.get("consumes").map(|node| &node.value) else { continue };
            for (key, entry) in consumes.iter() {
                let Some(link) = key.as_str() else { continue };
                links.extend(of_entry(link, entry, own, file, problems));
            }
        }
    }
    links
}

fn of_entry(link: &str, entry: &Node, own: &str, file: &str, problems: &mut Vec<Problem>) -> Option<LinkRef> {
    let at = |problem: Problem| problem.code(code::LINK_INVALID).at(Place::line(file, entry.origin.line));
    if matches!(entry.get("ip_addresses").map(|node| &node.value), Some(Value::Bool(true))) {
        let message = format!("the link '{link}' asks for IP addresses, which are not known before pods run");
        problems
            .push(at(Problem::input(message)).hint("remove `ip_addresses: true`: DNS addresses resolve to the pods"));
    }
    let deployment = scalar(entry.get("deployment")).filter(|name| !name.is_empty() && name != own)?;
    let from = scalar(entry.get("from")).unwrap_or_else(|| link.to_owned());
    // As in BOSH, the name is the last part.
    let name = from.trim_end_matches('.').rsplit('.').next().unwrap_or_default().to_owned();
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('/');
    if !is_part(&deployment) || !is_part(&name) {
        problems.push(at(Problem::input(format!("the link '{link}' has a `deployment` or `from` that is not a name"))));
        return None;
    }
    Some(LinkRef { deployment, name })
}
