//! Whether the namespace admits the pods, before anything is applied: StatefulSets and Jobs are admitted whatever their pods
//! need, and fail later where it is not seen.

use cluster::{Cluster, Object, name};
use problem::{Class, Problem, Problems, Result, code};
use serde_json::json;

use crate::plan::Plan;

/// Tries to create a pod of each workload that is new or has changed.
pub(crate) fn check(cluster: &Cluster, plan: &Plan) -> Result<()> {
    let mut problems = Vec::new();
    for object in plan.groups.iter().flat_map(|group| &group.objects) {
        let Some(pod) = pod(object) else { continue };
        if let Err(found) = cluster.create(&pod, true) {
            let what = format!(
                "the namespace does not admit the pods of {} {}",
                object["kind"].as_str().unwrap_or_default(),
                name(object)
            );
            // What the API server refuses, it refuses again.
            let class =
                |found: &Problem| if found.code == code::CLUSTER_FORBIDDEN { Class::Update } else { found.class };
            let renamed = |found: Problem| Problem { message: what.clone(), class: class(&found), ..found };
            problems.extend(found.into_vec().into_iter().map(renamed));
        }
    }
    let needs_less = problems.iter().any(|problem| problem.causes.iter().any(|cause| cause.contains("PodSecurity")));
    // With the first problem: a termination message has no place for many.
    if let Some(problem) = problems.first_mut().filter(|_| needs_less) {
        problem.hint = Some("--run-hooks-as vcap runs lifecycle scripts without root".to_owned());
    }
    Problems::check(problems)
}

/// A pod of a workload, complete without the claims of a StatefulSet.
fn pod(workload: &Object) -> Option<Object> {
    let template = workload["spec"]["template"].as_object()?;
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": format!("{}-trial-", name(workload)), "labels": template["metadata"]["labels"]},
        "spec": template["spec"],
    });
    let claims = workload["spec"]["volumeClaimTemplates"].as_array();
    let claims = claims.into_iter().flatten().map(|claim| json!({"name": name(claim), "emptyDir": {}}));
    pod["spec"]["volumes"].as_array_mut()?.extend(claims);
    Some(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trial_has_the_volumes_of_claims() {
        let set = json!({"kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"volumes": [{"name": "jobs"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "store"}}]}});
        let pod = pod(&set).unwrap();
        assert_eq!(pod["spec"]["volumes"], json!([{"name": "jobs"}, {"name": "store", "emptyDir": {}}]));
        assert_eq!(pod["metadata"]["labels"]["a"], "b");
        assert_eq!(super::pod(&json!({"kind": "PodDisruptionBudget"})), None);
    }
}
