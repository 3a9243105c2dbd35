//! Link consumers of a deployment (BOSH: link consumers parser).

use std::rc::Rc;

use manifest_model::job_spec::ConsumedLink;
use manifest_model::manifest::{InstanceGroup, Job};
use manifest_model::property::{json_round_trip, split};
use problem::{Problem, code, did_you_mean};
use value::{Map, Value};

use crate::Deployment;
use crate::external::{self, ExternalKey};

/// A link that a job consumes, and how to find its provider.
pub(crate) struct Consumer {
    /// Index of its group.
    pub(crate) group: usize,
    /// Index of its job in the group.
    pub(crate) job: usize,
    /// The name in the job's spec: the one that templates use.
    pub(crate) name: String,
    /// The wanted type.
    pub(crate) link_type: String,
    /// Whether the job can do without.
    pub(crate) optional: bool,
    /// How to find the provider.
    pub(crate) wanted: Wanted,
}

/// How a consumer finds its provider.
pub(crate) enum Wanted {
    /// By type alone.
    Implicit,
    /// Not at all: the manifest has `nil`.
    Blocked,
    /// By this name (alias) and type, on this network if one is given.
    From { alias: String, network: Option<String> },
    /// From outside of the deployment.
    External(ExternalKey),
    /// The manifest gives the link's content itself.
    Manual(Value),
}

/// Collects the consumers of all jobs, in BOSH's order.
pub(crate) fn collect(
    deployment: &Deployment,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<String>,
) -> Vec<Consumer> {
    let mut consumers = Vec::new();
    for (g, j) in deployment.jobs() {
        let group = &deployment.manifest.instance_groups[g];
        let job = &group.jobs[j];
        let Some(spec) = deployment.spec(job) else { continue };
        warnings.extend(unknown_names(job, &spec.consumes));
        for link in &spec.consumes {
            let entry = Entry { deployment, group, job, link };
            if let Some(wanted) = entry.wanted(problems) {
                consumers.push(Consumer {
                    group: g,
                    job: j,
                    name: link.name.clone(),
                    link_type: link.link_type.clone(),
                    optional: link.optional,
                    wanted,
                });
            }
        }
    }
    consumers
}

fn unknown_names(job: &Job, declared: &[ConsumedLink]) -> Option<String> {
    unknown_links("consumer", job, &job.consumes, || declared.iter().map(|link| link.name.as_str()))
}

/// BOSH's warning about keys of `consumes` or `provides` that are not declared, with similar names that are.
pub(crate) fn unknown_links<'d, D: Iterator<Item = &'d str>>(
    kind: &str,
    job: &Job,
    section: &Value,
    declared: impl Fn() -> D,
) -> Option<String> {
    let keys = section.as_map()?.iter().filter_map(|(key, _)| key.scalar_to_s());
    let unknown: Vec<String> = keys.filter(|key| declared().all(|name| name != *key)).collect();
    let line = |key| format!("\n  - Job '{}' does not define link {kind} '{key}' in the release spec", job.name);
    let hint = |key| {
        let similar = did_you_mean(key, declared())?;
        Some(format!("\n  hint: '{key}': did you mean '{similar}'?"))
    };
    let lines: String = unknown.iter().map(line).chain(unknown.iter().filter_map(|key| hint(key))).collect();
    (!lines.is_empty()).then(|| format!("Manifest defines unknown {kind}s:{lines}"))
}

struct Entry<'a> {
    deployment: &'a Deployment<'a>,
    group: &'a InstanceGroup,
    job: &'a Job,
    link: &'a ConsumedLink,
}

impl Entry<'_> {
    fn wanted(&self, problems: &mut Vec<Problem>) -> Option<Wanted> {
        let before = problems.len();
        let wanted = match self.job.consumes.get(&self.link.name) {
            None => Wanted::Implicit,
            Some(value) if value.as_str() == Some("nil") => Wanted::Blocked,
            Some(Value::Map(entry)) => self.explicit(entry, problems),
            Some(_) => {
                let message = format!(
                    "Consumer '{}' in job '{}' in instance group '{}' specified in the manifest should only be a hash or string 'nil'",
                    self.link.name, self.job.name, self.group.name
                );
                problems.push(self.problem(message));
                return None;
            }
        };
        (problems.len() == before).then_some(wanted)
    }

    fn problem(&self, message: String) -> Problem {
        let mut place = self.job.place();
        place.path.extend(["consumes".into(), self.link.name.as_str().into()]);
        Problem::input(message).code(code::LINK_INVALID).at(place)
    }

    fn explicit(&self, entry: &Map, problems: &mut Vec<Problem>) -> Wanted {
        let tail = format!(
            "for link '{}' in job '{}' in instance group '{}'.",
            self.link.name, self.job.name, self.group.name
        );
        let has = |key: &str| entry.get(key).is_some();
        let mut texts = Vec::new();
        if has("instances") && has("from") {
            texts.push(format!("Cannot specify both 'instances' and 'from' keys {tail}"));
        }
        if has("properties") && has("from") {
            texts.push(format!("Cannot specify both 'properties' and 'from' keys {tail}"));
        }
        if has("properties") && !has("instances") {
            texts.push(format!("Cannot specify 'properties' without 'instances' {tail}"));
        }
        if entry.get("ip_addresses").is_some_and(|v| !matches!(v, Value::Bool(_))) {
            texts.push(format!("Cannot specify non boolean values for 'ip_addresses' field {tail}"));
        }
        if has("name") || has("type") {
            texts.push(format!("Cannot specify 'name' or 'type' properties in the manifest {tail} Please provide these keys in the release only."));
        }
        if !texts.is_empty() {
            // As in BOSH, which then looks at nothing else of the entry.
            problems.extend(texts.into_iter().map(|text| self.problem(text)));
            return Wanted::Implicit;
        }
        if has("instances") || has("properties") || has("address") {
            return self.manual(entry, problems);
        }
        for key in ["from", "network", "deployment"] {
            if let Some(value @ (Value::Array(_) | Value::Map(_))) = entry.get(key) {
                let class = value.class_name();
                let message = format!("Property '{key}' value (a {class}) did not match the required type 'String'");
                problems.push(self.problem(message));
            }
        }
        let from = entry.get("from").and_then(Value::scalar_to_s).unwrap_or_else(|| self.link.name.clone());
        // `from` may carry more in front; the name is its last part (BOSH).
        let alias = split(&from).last().unwrap_or_default().to_owned();
        let elsewhere =
            |name: &String| *name != self.deployment.domain.deployment && *name != self.deployment.manifest.name;
        // BOSH checks whether they are true, not whether they are present.
        let given = |key: &str| entry.get(key).filter(|v| v.is_truthy()).and_then(Value::scalar_to_s);
        if let Some(other) = given("deployment").filter(elsewhere) {
            let link_type = self.link.link_type.clone();
            let key = ExternalKey { deployment: other, name: alias.clone(), link_type };
            if let Some(fault) = external::fault(self.deployment.external, &key) {
                let message = format!(
                    "Link '{from}' in job '{}' from instance group '{}' consumes from deployment '{}', {fault}",
                    self.job.name, self.group.name, key.deployment
                );
                let sharing = if self.deployment.alone {
                    "each deployment on one machine has a network of its own: put both into one manifest"
                } else {
                    "the other deployment has to share the link (`shared: true`) and to be deployed before"
                };
                let hint = format!(
                    "{sharing}; or give the link's content as a manual link, with `instances`, `properties` and `address` under consumes.{}",
                    self.link.name
                );
                problems.push(self.problem(message).hint(hint));
            }
            return Wanted::External(key);
        }
        Wanted::From { alias, network: given("network") }
    }

    fn manual(&self, entry: &Map, problems: &mut Vec<Problem>) -> Wanted {
        let mut content = Map::default();
        content.set("deployment_name", Value::str(self.deployment.domain.deployment.clone()));
        for key in ["address", "instances", "properties"] {
            match json_round_trip(entry.get(key).unwrap_or(&Value::Nil)) {
                Ok(value) => content.set(key, value),
                Err(why) => problems.push(self.problem(format!("Link '{}' holds {why}", self.link.name))),
            }
        }
        if let Some(instances) = content.get("instances").filter(|v| !v.is_nil() && v.as_array().is_none()) {
            let class = instances.class_name();
            problems.push(
                self.problem(format!("Property 'instances' value (a {class}) did not match the required type 'Array'")),
            );
        }
        Wanted::Manual(Value::Map(Rc::new(content)))
    }
}
