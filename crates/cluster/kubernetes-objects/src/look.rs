//! Looking before a run: the Job that shows what a gather Job would do, and the gather Job that does exactly that.

use object_basics::Object;
use serde_json::json;

use crate::metadata::KIND;
use crate::names;

/// The value of the label [`KIND`] of Jobs that look.
pub const PREVIEW: &str = "preview";
/// The container of a gather Job that compares before anything is written, and the only one of a Job that looks.
pub const CHECK: &str = "check";
/// The flag of `deploy --check` with which it prints what the run would do.
const DIFF: &str = "--diff";
/// The flag of `deploy --check` with the digest of what the run is to do.
const EXPECT: &str = "--expect";
/// How long a Job that looks stays after its end, if the command that has started it does not delete it.
const KEPT_SECONDS: u32 = 600;
/// A Job that cannot run ends after this time, also if the command that waits for it was killed.
const MAX_SECONDS: u32 = 1800;

/// The Job that plans as a gather Job of the deployment does, and prints what that one would do instead of doing it. The API server
/// gives it a name: each is a Job of its own. Nothing if the gather Job has no check.
pub fn preview_job(gather: &Object, deployment: &str) -> Option<Object> {
    let mut job = gather.clone();
    let metadata = job["metadata"].as_object_mut()?;
    metadata.remove("name");
    metadata.insert("generateName".to_owned(), format!("{}-", names::preview_prefix(deployment)).into());
    metadata["labels"][KIND] = PREVIEW.into();
    let spec = &mut job["spec"];
    spec["ttlSecondsAfterFinished"] = KEPT_SECONDS.into();
    spec["activeDeadlineSeconds"] = MAX_SECONDS.into();
    let is_of_others = |rule: &Object| rule["onExitCodes"]["containerName"].as_str().is_some_and(|name| name != CHECK);
    spec["podFailurePolicy"]["rules"].as_array_mut()?.retain(|rule| !is_of_others(rule));
    let pod = &mut spec["template"]["spec"];
    let steps = pod["initContainers"].as_array()?;
    let at = steps.iter().position(|step| step["name"] == CHECK)?;
    let (before, mut check) = (steps[..at].to_vec(), steps[at].clone());
    check["command"].as_array_mut()?.push(DIFF.into());
    pod["initContainers"] = before.into();
    pod["containers"] = json!([check]);
    Some(job)
}

/// A gather Job that does what has this digest, or refuses before it writes anything. It keeps its name, so that the same content is the
/// same run.
pub fn expecting(gather: &mut Object, digest: &str) -> Option<()> {
    let steps = gather["spec"]["template"]["spec"]["initContainers"].as_array_mut()?;
    let check = steps.iter_mut().find(|step| step["name"] == CHECK)?;
    check["command"].as_array_mut()?.push(format!("{EXPECT}={digest}").into());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather() -> Object {
        let rule = |name: &str| json!({"action": "Count", "onExitCodes": {"containerName": name}});
        let step = |name: &str| json!({"name": name, "command": [name]});
        json!({"kind": "Job", "metadata": {"name": "nats-gather-1", "labels": {KIND: "gather"}}, "spec": {
            "podFailurePolicy": {"rules": [rule("check"), rule("deploy"), {"action": "FailJob", "onExitCodes": {}}]},
            "template": {"spec": {"initContainers": [step("plan"), step("check"), step("write-secrets")],
                "containers": [step("deploy")]}}}})
    }

    #[test]
    fn a_job_that_looks_ends_with_the_check() {
        let job = preview_job(&gather(), "nats").unwrap();
        let metadata = json!({"generateName": "nats-preview-", "labels": {KIND: PREVIEW}});
        assert_eq!(job["metadata"], metadata);
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["initContainers"], json!([{"name": "plan", "command": ["plan"]}]));
        assert_eq!(pod["containers"], json!([{"name": "check", "command": ["check", "--diff"]}]));
        // The API server refuses rules about containers that the pod does not have.
        let rules = job["spec"]["podFailurePolicy"]["rules"].as_array().unwrap();
        let names: Vec<&Object> = rules.iter().map(|rule| &rule["onExitCodes"]["containerName"]).collect();
        assert_eq!(names, [&json!("check"), &Object::Null]);
    }

    #[test]
    fn an_expectation_does_not_change_the_name() {
        let mut job = gather();
        expecting(&mut job, "abc").unwrap();
        let command = &job["spec"]["template"]["spec"]["initContainers"][1]["command"];
        assert_eq!(command, &json!(["check", "--expect=abc"]));
        assert_eq!(job["metadata"], gather()["metadata"]);
    }
}
