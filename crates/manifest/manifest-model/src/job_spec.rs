//! A job's `spec` (in a compiled release: `job.MF`).

use problem::{Problems, code};
use value::Value;

use crate::property::{json_round_trip, split};
use crate::reader::{Object, Reader};

/// A release's description of one of its jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSpec {
    /// The job's name.
    pub name: String,
    /// Template source (below `templates/`) and destination (below the job's directory), in order.
    pub templates: Vec<(String, String)>,
    /// Names of the packages it needs at run time.
    pub packages: Vec<String>,
    /// Declared properties by dotted name, in order.
    pub properties: Vec<PropertyDefinition>,
    /// Links it provides.
    pub provides: Vec<ProvidedLink>,
    /// Links it consumes.
    pub consumes: Vec<ConsumedLink>,
    /// Identifies the document by its content; empty where it was not read from a file.
    pub digest: String,
}

/// A declared property.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyDefinition {
    /// Its dotted name.
    pub name: String,
    /// Its default, `Nil` where there is none; through JSON, as the director stores it.
    pub default: Value,
    /// Its `example`, `Nil` where there is none or it is no JSON. BOSH only documents it.
    pub example: Value,
}

/// An entry of `provides`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvidedLink {
    /// The link's name.
    pub name: String,
    /// The link's type.
    pub link_type: String,
    /// Dotted names of the properties it exposes.
    pub properties: Vec<String>,
}

/// An entry of `consumes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumedLink {
    /// The link's name.
    pub name: String,
    /// The link's type.
    pub link_type: String,
    /// Whether the job can do without.
    pub optional: bool,
}

impl JobSpec {
    /// Reads the document of the job in directory `job` of its release; `file` is named in problems.
    ///
    /// # Errors
    /// All that is wrong with it, with the director's messages.
    pub fn parse(value: &Value, job: &str, file: &str) -> problem::Result<JobSpec> {
        let mut reader = Reader::new(file, code::SPEC_INVALID);
        let Value::Map(map) = value else {
            reader.problem(vec![], format!("Job '{job}' has a spec that is not a Hash (a {})", value.class_name()));
            Problems::check(reader.problems)?;
            unreachable!("a problem was collected");
        };
        let root = Object { map, path: vec![] };
        let name = reader.required_string(&root, "name", &format!("the spec of job '{job}'"));
        if matches!(map.get("name"), Some(Value::Str(_) | Value::Int(_) | Value::Float(_))) && name != job {
            reader.problem(
                root.at("name"),
                format!("Inconsistent name for job '{job}'(exptected: '{job}', got: '{name}')"),
            );
        }
        let spec = JobSpec {
            templates: templates(&mut reader, &root, job),
            packages: packages(&mut reader, &root, job),
            properties: properties(&mut reader, &root, job),
            provides: links(&mut reader, &root, job, "provides").into_iter().map(|l| l.provided).collect(),
            consumes: links(&mut reader, &root, job, "consumes").into_iter().map(Link::consumed).collect(),
            name,
            digest: String::new(),
        };
        Problems::check(reader.problems)?;
        Ok(spec)
    }

    /// The definition of a property.
    pub fn property(&self, name: &str) -> Option<&PropertyDefinition> {
        self.properties.iter().find(|p| p.name == name)
    }
}

fn templates(reader: &mut Reader, root: &Object, job: &str) -> Vec<(String, String)> {
    let Some(value) = root.map.get("templates").filter(|v| !v.is_nil()) else { return Vec::new() };
    let Value::Map(map) = value else {
        reader.problem(root.at("templates"), format!("Job '{job}' has invalid templates spec format"));
        return Vec::new();
    };
    let mut templates = Vec::new();
    for (source, destination) in map.iter() {
        match (source.scalar_to_s(), destination.as_str()) {
            (Some(source), Some(_)) if leads_out(&source) => {
                let mut path = root.at("templates");
                path.push(source.as_str().into());
                let message = format!(
                    "Job '{job}' has a template '{}' that does not lie in its templates directory",
                    source.escape_debug()
                );
                reader.problem(path, message);
            }
            (Some(source), Some(destination)) => templates.push((source, destination.to_owned())),
            (source, _) => {
                let mut path = root.at("templates");
                path.extend(source.as_deref().map(Into::into));
                reader.problem(path, format!("Job '{job}' has a template whose destination is not a String"));
            }
        }
    }
    templates
}

/// Whether a template's path names a file that is not the release's own.
fn leads_out(source: &str) -> bool {
    source.starts_with('/') || source.contains('\0') || source.split('/').any(|part| part == "..")
}

fn packages(reader: &mut Reader, root: &Object, job: &str) -> Vec<String> {
    match root.map.get("packages") {
        None | Some(Value::Nil) => Vec::new(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::scalar_to_s).collect(),
        Some(_) => {
            reader.problem(root.at("packages"), format!("Job '{job}' has invalid package spec format"));
            Vec::new()
        }
    }
}

fn properties(reader: &mut Reader, root: &Object, job: &str) -> Vec<PropertyDefinition> {
    let Some(value) = root.map.get("properties").filter(|v| !v.is_nil()) else { return Vec::new() };
    let Value::Map(map) = value else {
        reader.problem(root.at("properties"), format!("Job '{job}' has invalid properties spec format"));
        return Vec::new();
    };
    let mut definitions = Vec::with_capacity(map.len());
    for (key, body) in map.iter() {
        let Some(name) = key.scalar_to_s() else { continue };
        let default = body.get("default").map_or(Ok(Value::Nil), json_round_trip);
        match default {
            Ok(default) => {
                let example =
                    body.get("example").and_then(|example| json_round_trip(example).ok()).unwrap_or(Value::Nil);
                definitions.push(PropertyDefinition { name, default, example });
            }
            Err(why) => {
                let mut path = root.at("properties");
                path.push(name.as_str().into());
                reader.problem(path, format!("Job '{job}' has a default of property '{name}' that holds {why}"));
            }
        }
    }
    definitions
}

struct Link {
    provided: ProvidedLink,
    optional: bool,
}

impl Link {
    fn consumed(self) -> ConsumedLink {
        ConsumedLink { name: self.provided.name, link_type: self.provided.link_type, optional: self.optional }
    }
}

fn links(reader: &mut Reader, root: &Object, job: &str, section: &str) -> Vec<Link> {
    let items = match root.map.get(section) {
        None | Some(Value::Nil) => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            reader.problem(
                root.at(section),
                format!(
                    "Job '{job}' has invalid spec format: '{section}' must be an array of hashes with name and type"
                ),
            );
            return Vec::new();
        }
    };
    let mut links: Vec<Link> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let mut path = root.at(section);
        path.push(i.into());
        match link(item, section) {
            Ok(link) if links.iter().any(|l| l.provided.name == link.provided.name) => reader.problem(
                path,
                format!("Job '{job}' specifies duplicate {section} link with name '{}'", link.provided.name),
            ),
            Ok(link) => links.push(link),
            Err(message) => reader.problem(path, message),
        }
    }
    links
}

fn link(item: &Value, section: &str) -> Result<Link, String> {
    let titled = if section == "provides" { "Provides" } else { "Consumes" };
    let Value::Map(map) = item else {
        return Err(format!("{titled} section in the release spec must be a list of hashes"));
    };
    let text = |key: &str| map.get(key).and_then(Value::scalar_to_s).filter(|s| !s.is_empty());
    let (Some(name), Some(link_type)) = (text("name"), text("type")) else {
        return Err(format!(
            "Each {section} item in the {section} section of the release spec must contain 'name' and 'type'"
        ));
    };
    if section == "provides" && map.get("optional").is_some() {
        return Err(format!(
            "Link '{name}' of type '{link_type}' is a provides link, not allowed to have 'optional' key"
        ));
    }
    let properties = property_names(map.get("properties"))
        .ok_or_else(|| format!("Link '{name}' of type '{link_type}' has properties that are no list of names"))?;
    // Any truthy value counts, even the String "false" (BOSH).
    let optional = map.get("optional").is_some_and(Value::is_truthy);
    Ok(Link { provided: ProvidedLink { name, link_type, properties }, optional })
}

/// The names in a link's list of properties, which may be absent; `None` where it is something else.
pub fn property_names(list: Option<&Value>) -> Option<Vec<String>> {
    let name = |item: &Value| match item {
        Value::Str(_) | Value::Int(_) | Value::Float(_) => {
            item.scalar_to_s().filter(|name| split(name).next().is_some())
        }
        _ => None,
    };
    match list {
        None | Some(Value::Nil) => Some(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(name).collect(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_reported_at_once() {
        let link = |properties: Value| {
            Value::map([("name", Value::str("l")), ("type", Value::str("t")), ("properties", properties)])
        };
        let spec = Value::map([
            ("name", Value::str("other")),
            ("packages", Value::str("x")),
            ("properties", Value::array([])),
            (
                "provides",
                Value::array([
                    Value::map([("name", Value::str("l"))]),
                    link(Value::str("a.b")),
                    link(Value::map([("a", Value::Nil)])),
                    link(Value::array([Value::str("a"), Value::Nil])),
                    link(Value::array([Value::str("")])),
                ]),
            ),
            ("consumes", Value::str("l")),
        ]);
        let texts: Vec<String> =
            JobSpec::parse(&spec, "j", "job.MF").unwrap_err().iter().map(|p| p.message.clone()).collect();
        assert_eq!(
            texts,
            [
                "Inconsistent name for job 'j'(exptected: 'j', got: 'other')",
                "Job 'j' has invalid package spec format",
                "Job 'j' has invalid properties spec format",
                "Each provides item in the provides section of the release spec must contain 'name' and 'type'",
                "Link 'l' of type 't' has properties that are no list of names",
                "Link 'l' of type 't' has properties that are no list of names",
                "Link 'l' of type 't' has properties that are no list of names",
                "Link 'l' of type 't' has properties that are no list of names",
                "Job 'j' has invalid spec format: 'consumes' must be an array of hashes with name and type",
            ]
        );
    }
}
