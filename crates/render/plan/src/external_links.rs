//! The links from outside of the deployment: `DIR/<deployment>/<name>/<type>`, as a cluster mounts their Secrets.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use instance_group::{ExternalKey, ExternalLink, ExternalLinks};
use manifest_model::JobSpec;
use manifest_model::identity::Domain;
use manifest_model::property::{Found, json_round_trip, lookup};
use problem::{IoContext, Place, Problem, Problems, Result, code};
use ruby::{Document, Vm};
use value::{Map, Value};

/// The keys that a link may have.
const KEYS: [&str; 11] = [
    "address",
    "default_network",
    "deployment_name",
    "domain",
    "group_name",
    "instance_group",
    "instances",
    "properties",
    "service",
    "use_link_dns_names",
    "use_short_dns_addresses",
];

/// Reads all links of a directory, which need not exist.
///
/// # Errors
/// All links that are malformed, or lack a property that the specs of the deployment's own providers of their type promise.
pub(crate) fn read<'s>(
    vm: &Vm,
    directory: &Path,
    domain: &Domain,
    specs: impl Iterator<Item = &'s JobSpec> + Clone,
) -> Result<ExternalLinks> {
    let mut files = Vec::new();
    for (deployment, path) in children(directory)? {
        for (name, path) in children(&path)? {
            for (link_type, path) in children(&path)? {
                let key = ExternalKey { deployment: deployment.clone(), name: name.clone(), link_type };
                files.push((key, path));
            }
        }
    }
    let documents = files.iter().map(|(_, path)| {
        let text = vcap::input::read_file(path).io("read", path)?;
        Ok(Document { file: path.display().to_string(), text })
    });
    let documents = documents.collect::<Result<Vec<_>>>()?;
    let mut problems = Vec::new();
    let mut links = ExternalLinks::new();
    for ((key, _), (document, value)) in files.iter().zip(documents.iter().zip(vm.load_yaml(&documents)?)) {
        let invalid = |what: &str| {
            let message = format!("the link '{}' of deployment '{}' {what}", key.name, key.deployment);
            Problem::input(message).code(code::LINK_INVALID).at(Place::file(&document.file))
        };
        match value.map_err(|_| "is not YAML".to_owned()).and_then(|value| link(&value, key, domain)) {
            Ok(link) => {
                problems.extend(broken_promise(&link, key, specs.clone()).map(|what| invalid(&what)));
                links.insert(key.clone(), link);
            }
            Err(what) => problems.push(invalid(&what)),
        }
    }
    Problems::check(problems)?;
    Ok(links)
}

/// Names and paths in a directory, sorted; none if it does not exist. Names that begin with a dot are those of the directories in
/// which Kubernetes keeps the files of a Secret.
fn children(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.io("read", directory)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.io("read", directory)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

fn link(value: &Value, key: &ExternalKey, domain: &Domain) -> std::result::Result<ExternalLink, String> {
    let map = value.as_map().ok_or("is not a mapping")?;
    let names = map.iter().map(|(name, _)| name.scalar_to_s().unwrap_or_default());
    if let Some(unknown) = names.into_iter().find(|name| !KEYS.contains(&name.as_str())) {
        let near = problem::did_you_mean(&unknown, KEYS).map(|near| format!(": did you mean '{near}'?"));
        return Err(format!("has an unknown key '{}'{}", unknown.escape_debug(), near.unwrap_or_default()));
    }
    if !map.get("properties").is_none_or(|of| of.is_nil() || of.as_map().is_some()) {
        return Err("has 'properties' that are not a mapping".to_owned());
    }
    if map.get("instances").is_some_and(|of| of.as_array().is_none()) {
        return Err("has 'instances' that are not a list".to_owned());
    }
    let Value::Map(content) = json_round_trip(value).map_err(|why| format!("holds {why}"))? else {
        return Err("is not a mapping".to_owned());
    };
    let mut content = Rc::unwrap_or_clone(content);
    let service = map.get("service").and_then(Value::as_str).map(str::to_owned);
    if let Some(service) = &service {
        if service.is_empty() || service.contains(['.', '/']) {
            return Err("has a 'service' that is not the name of a Service".to_owned());
        }
        of_service(&mut content, service, key, domain);
    } else if map.get("service").is_some() {
        return Err("has a 'service' that is not the name of a Service".to_owned());
    } else if content.get("address").or_else(|| content.get("instances")).is_none() {
        return Err("has neither 'service' nor 'address' and 'instances'".to_owned());
    }
    for (name, default) in [("properties", Value::map([])), ("instances", Value::array([]))] {
        if content.get(name).is_none_or(Value::is_nil) {
            content.set(name, default);
        }
    }
    content.set("group_name", Value::str(format!("{}-{}", key.name, key.link_type)));
    Ok(ExternalLink { content: Value::Map(Rc::new(content)), service })
}

/// A Service outside of any deployment is one instance with the address of the Service.
fn of_service(content: &mut Map, service: &str, key: &ExternalKey, domain: &Domain) {
    let address = format!("{service}.{}.{}", domain.namespace, domain.service_domain);
    let instance = Value::map([
        ("name", Value::str(service)),
        ("index", Value::Int(0)),
        ("id", Value::str(service)),
        ("az", Value::Nil),
        ("address", Value::str(address.clone())),
        ("bootstrap", Value::Bool(true)),
    ]);
    let defaults = [
        ("address", Value::str(address)),
        ("deployment_name", Value::str(key.deployment.clone())),
        ("domain", Value::str(domain.service_domain.clone())),
        ("instance_group", Value::str(service)),
        ("instances", Value::array([instance])),
        ("use_link_dns_names", Value::Bool(false)),
        ("use_short_dns_addresses", Value::Bool(false)),
    ];
    for (name, value) in defaults {
        if content.get(name).is_none() {
            content.set(name, value);
        }
    }
}

/// What a link lacks of what the job specs of the deployment promise for its type: one of them has to be kept.
fn broken_promise<'s>(
    link: &ExternalLink,
    key: &ExternalKey,
    specs: impl Iterator<Item = &'s JobSpec>,
) -> Option<String> {
    let empty = Value::map([]);
    let properties = link.content.get("properties").unwrap_or(&empty);
    let promises = specs.flat_map(|spec| &spec.provides).filter(|provided| provided.link_type == key.link_type);
    let lacking = promises.map(|provided| -> BTreeSet<&str> {
        let is_absent = |name: &&String| !matches!(lookup(properties, name), Found::Value(_));
        provided.properties.iter().filter(is_absent).map(String::as_str).collect()
    });
    let least = lacking.min_by_key(BTreeSet::len)?;
    let names: Vec<&str> = least.into_iter().collect();
    (!names.is_empty())
        .then(|| format!("lacks properties that links of the type '{}' have: {}", key.link_type, names.join(", ")))
}
