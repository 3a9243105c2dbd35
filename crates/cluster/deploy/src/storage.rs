//! Whether the storage classes of disks exist, before anything is applied: the API server accepts claims of any class, and their
//! pods wait for ever.

use std::collections::BTreeMap;

use cluster::{Cluster, Kind, Object, Seen, name};
use problem::{Problem, Problems, Result, code};

use crate::plan::Plan;

/// Reports the classes that do not exist. An account that may not read storage classes, as that of the gather Job if nobody has
/// granted it, checks nothing: then [`diagnosis`] finds it out.
pub(crate) fn check(cluster: &Cluster, plan: &Plan) -> Result<()> {
    let mut problems = Vec::new();
    for (class, users) in classes(plan.objects()) {
        match cluster.get_of_cluster(Kind::STORAGE_CLASS, class)? {
            Seen::Present(_) => {}
            Seen::Absent => {
                let message = format!("storage class '{class}' of {} does not exist", users.join(", "));
                let hint = "`kubectl get storageclasses` lists them; persistent_disk_type, or its storage_class in a cloud \
                            config, names one";
                problems.push(Problem::input(message).code(code::STORAGE_CLASS_UNKNOWN).hint(hint));
            }
            // The events of the claims tell, when pods wait for them.
            Seen::Forbidden => {}
        }
    }
    Problems::check(problems)
}

/// The storage classes of all claims, and the objects that use each.
fn classes<'a>(objects: impl Iterator<Item = &'a Object>) -> BTreeMap<&'a str, Vec<String>> {
    let mut classes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for object in objects {
        let templates = object["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
        let volumes = object["spec"]["template"]["spec"]["volumes"].as_array().into_iter().flatten();
        let ephemeral = volumes.map(|volume| &volume["ephemeral"]["volumeClaimTemplate"]);
        let own = (object["kind"] == Kind::CLAIM.kind).then_some(object);
        let user = format!("{} {}", object["kind"].as_str().unwrap_or_default(), name(object));
        for claim in templates.chain(ephemeral).chain(own) {
            // An empty name asks for a volume without a class.
            let class = claim["spec"]["storageClassName"].as_str().filter(|class| !class.is_empty());
            if let Some(users) = class.map(|class| classes.entry(class).or_default())
                && !users.contains(&user)
            {
                users.push(user.clone());
            }
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn classes_of_all_kinds_of_claims_are_found() {
        let claim = |class: &str| json!({"spec": {"storageClassName": class}});
        let set = json!({"kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {
            "volumeClaimTemplates": [claim("fast"), claim("fast"), {"spec": {}}, claim("")],
            "template": {"spec": {"volumes": [{"ephemeral": {"volumeClaimTemplate": claim("slow")}}, {"emptyDir": {}}]}}}});
        let mut own = claim("slow");
        own["kind"] = "PersistentVolumeClaim".into();
        own["metadata"] = json!({"name": "errand-store"});
        let objects = [set, own];
        let found: Vec<_> = classes(objects.iter()).into_iter().collect();
        let users = |list: &[&str]| list.iter().map(|&user| user.to_owned()).collect::<Vec<_>>();
        let expected = vec![
            ("fast", users(&["StatefulSet db"])),
            ("slow", users(&["StatefulSet db", "PersistentVolumeClaim errand-store"])),
        ];
        assert_eq!(found, expected);
    }
}
