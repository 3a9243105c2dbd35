//! Link providers of a deployment (BOSH: link providers parser).

use std::collections::BTreeMap;
use std::rc::Rc;

use manifest_model::JobSpec;
use manifest_model::job_spec::property_names;
use manifest_model::manifest::{InstanceGroup, Job};
use manifest_model::property::{self, Found};
use problem::{Problem, code};
use value::{Map, Value};

use crate::Deployment;
use crate::bind::given;
use crate::consumers::unknown_links;

/// A link that a job provides.
pub(crate) struct Provider {
    /// Index of its group.
    pub(crate) group: usize,
    /// Index of its job in the group.
    pub(crate) job: usize,
    /// The name in the job's spec or its custom definition.
    pub(crate) original_name: String,
    /// The name by which `from` finds it: the original, or the manifest's `as`.
    pub(crate) name: String,
    /// Its type.
    pub(crate) link_type: String,
    /// False where the manifest has `nil`.
    pub(crate) consumable: bool,
    /// Whether other deployments may consume it.
    pub(crate) shared: bool,
    /// The names of the properties that it exposes.
    pub(crate) property_names: Vec<String>,
    /// The exposed properties, through JSON.
    pub(crate) properties: Value,
}

impl Provider {
    /// Its name for others (BOSH: the canonical name of the provider's intent).
    pub(crate) fn known_as(&self) -> &str {
        if self.name.is_empty() { &self.original_name } else { &self.name }
    }
}

/// Name and type of the links that each job provides, by group and job.
pub(crate) fn by_job(providers: &[Provider]) -> BTreeMap<(usize, usize), Vec<(String, String)>> {
    let mut by_job: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for provider in providers {
        let link = (provider.known_as().to_owned(), provider.link_type.clone());
        by_job.entry((provider.group, provider.job)).or_default().push(link);
    }
    by_job
}

/// Collects the providers of all jobs, in BOSH's order; custom definitions before those of the spec.
pub(crate) fn collect(
    deployment: &Deployment,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<String>,
) -> Vec<Provider> {
    let mut providers = Vec::new();
    for (g, j) in deployment.jobs() {
        let group = &deployment.manifest.instance_groups[g];
        let job = &group.jobs[j];
        let Some(spec) = deployment.spec(job) else { continue };
        let owner = Owner { deployment, group, job, spec };
        let mut declared = owner.custom_definitions(problems);
        declared.extend(spec.provides.iter().map(|p| Declared {
            name: p.name.clone(),
            link_type: p.link_type.clone(),
            properties: p.properties.clone(),
        }));
        warnings.extend(owner.unknown_names(&declared));
        for link in declared {
            if let Some((name, consumable, shared)) = owner.override_of(&link.name, problems) {
                let properties = owner.exposed(&link.properties, problems);
                let Declared { name: original_name, link_type, properties: property_names } = link;
                providers.push(Provider {
                    group: g,
                    job: j,
                    original_name,
                    name,
                    link_type,
                    consumable,
                    shared,
                    property_names,
                    properties,
                });
            }
        }
    }
    providers
}

/// The names that several definitions have.
fn several(definitions: &[Value]) -> Vec<&str> {
    let mut met: Vec<(&str, bool)> = Vec::new();
    for name in definitions.iter().filter_map(|d| d.get("name").and_then(Value::as_str)).filter(|n| !n.is_empty()) {
        match met.iter_mut().find(|(known, _)| *known == name) {
            Some((_, again)) => *again = true,
            None => met.push((name, false)),
        }
    }
    met.into_iter().filter(|(_, again)| *again).map(|(name, _)| name).collect()
}

struct Declared {
    name: String,
    link_type: String,
    properties: Vec<String>,
}

struct Owner<'a> {
    deployment: &'a Deployment<'a>,
    group: &'a InstanceGroup,
    job: &'a Job,
    spec: &'a JobSpec,
}

impl Owner<'_> {
    fn problem(&self, section: &str, message: String) -> Problem {
        let mut place = self.job.place();
        place.path.push(section.into());
        Problem::input(message).code(code::LINK_INVALID).at(place)
    }

    fn custom_definitions(&self, problems: &mut Vec<Problem>) -> Vec<Declared> {
        const SECTION: &str = "custom_provider_definitions";
        let (job, group) = (&self.job.name, &self.group.name);
        let definitions = self.job.custom_provider_definitions.as_array().unwrap_or_default();
        let mut declared: Vec<Declared> = Vec::new();
        for definition in definitions {
            let text = |key: &str| definition.get(key).and_then(Value::as_str).filter(|s| !s.is_empty());
            for (key, title) in [("name", "Name"), ("type", "Type")] {
                if text(key).is_none() {
                    problems.push(self.problem(
                        SECTION,
                        format!("{title} for custom link provider definition in manifest in job '{job}' in instance group '{group}' must be a valid non-empty string."),
                    ));
                }
            }
            let Some(name) = text("name") else { continue };
            if self.spec.provides.iter().any(|p| p.name == name) {
                let release = &self.job.release;
                let message = format!(
                    "Custom provider '{name}' in job '{job}' in instance group '{group}' is already defined in release '{release}'"
                );
                problems.push(self.problem(SECTION, message));
            } else if let Some(link_type) = text("type").filter(|_| declared.iter().all(|d| d.name != name)) {
                let properties = property_names(definition.get("properties")).unwrap_or_else(|| {
                    let message =
                        format!("Link '{name}' of type '{link_type}' has properties that are no list of names");
                    problems.push(self.problem(SECTION, message));
                    Vec::new()
                });
                declared.push(Declared { name: name.to_owned(), link_type: link_type.to_owned(), properties });
            }
        }
        for name in several(definitions) {
            let message = format!(
                "Custom provider '{name}' in job '{job}' in instance group '{group}' is defined multiple times in manifest."
            );
            problems.push(self.problem(SECTION, message));
        }
        declared
    }

    /// The provider's name after the manifest's `provides`, whether it can be consumed, and whether by other deployments; `None` for
    /// a wrong entry.
    fn override_of(&self, link: &str, problems: &mut Vec<Problem>) -> Option<(String, bool, bool)> {
        let (job, group) = (&self.job.name, &self.group.name);
        match self.job.provides.get(link) {
            None => Some((link.to_owned(), true, false)),
            Some(value) if value.as_str() == Some("nil") => Some((link.to_owned(), false, false)),
            Some(Value::Map(entry)) => {
                if entry.get("name").or_else(|| entry.get("type")).is_some() {
                    let message = format!(
                        "Cannot specify 'name' or 'type' properties in the manifest for link '{link}' in job '{job}' in instance group '{group}'. Please provide these keys in the release only."
                    );
                    problems.push(self.problem("provides", message));
                    return None;
                }
                let shared = entry.get("shared").is_some_and(Value::is_truthy);
                Some((entry.get("as").and_then(Value::scalar_to_s).unwrap_or_else(|| link.to_owned()), true, shared))
            }
            Some(_) => {
                let message = format!(
                    "Provider '{link}' in job '{job}' in instance group '{group}' specified in the manifest should only be a hash or string 'nil'"
                );
                problems.push(self.problem("provides", message));
                None
            }
        }
    }

    fn unknown_names(&self, declared: &[Declared]) -> Option<String> {
        unknown_links("provider", self.job, &self.job.provides, || declared.iter().map(|link| link.name.as_str()))
    }

    /// The properties that the link exposes: a key that the manifest has wins even if it is nil, else the default.
    fn exposed(&self, names: &[String], problems: &mut Vec<Problem>) -> Value {
        let given = given(self.deployment.manifest, self.group, self.job);
        let mut exposed = Map::default();
        for name in names {
            let definition = self.spec.property(name);
            let value = match (property::lookup(&given, name), definition) {
                (Found::Value(value), _) => value,
                // BOSH: `false` has no keys, and in other values no key can be searched.
                (Found::Absent | Found::NotAHash("FalseClass"), Some(definition)) => &definition.default,
                (Found::Absent | Found::NotAHash("FalseClass"), None) => {
                    let message =
                        format!("Link property {name} in template {} is not defined in release spec", self.job.name);
                    problems.push(self.problem("provides", message));
                    continue;
                }
                (Found::NotAHash(class), _) => {
                    let message = format!("Property '{name}' expects a hash, but received '{class}'");
                    problems.push(self.problem("properties", message));
                    continue;
                }
            };
            match property::json_round_trip(value) {
                Ok(value) => property::set(&mut exposed, name, value),
                Err(why) => problems.push(self.problem("properties", format!("Link property {name} holds {why}"))),
            }
        }
        Value::Map(Rc::new(exposed))
    }
}
