//! The document of an instance: what is known about it in addition to the configuration.

use indexmap::IndexMap;
use problem::{Problems, Result};

use crate::data::PARTS;
use crate::document::{Node, Object};
use crate::layers::Layer;
use crate::report::{Fields, Kind, Report, Schema, Warning};

/// What is known about an instance.
#[derive(Debug, Default)]
pub struct Instance {
    /// Its tenant, where groups have tenants.
    pub tenant: Option<Node>,
    /// Its group.
    pub group: Option<Node>,
    /// The token that it registers with.
    pub nonce: Option<Node>,
    /// Ids of images, which need no lookup.
    pub images: IndexMap<String, Node>,
    /// What its MachinePool sets.
    pub(crate) machine_pool: Machine,
    /// What its Machine sets.
    pub(crate) machine: Machine,
    /// Vars that come as files of their own: the highest level.
    pub(crate) secret_vars: Option<Layer>,
    /// Fields of the template data, by the names of part and field.
    fields: Vec<(&'static str, &'static str, String)>,
}

/// What a MachinePool or Machine sets.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) vars: Option<Layer>,
    pub(crate) args: Option<Layer>,
    pub(crate) instance_type: Option<String>,
}

const DOCUMENT: Schema = &[
    ("tenant", Kind::String),
    ("group", Kind::String),
    ("instance", Kind::Object),
    ("cluster", Kind::Object),
    ("server", Kind::Object),
    ("provider", Kind::Object),
    ("nonce", Kind::String),
    ("images", Kind::Object),
    ("machine_pool", Kind::Object),
    ("machine", Kind::Object),
];
const MACHINE: Schema = &[("vars", Kind::Object), ("args", Kind::Object), ("instance_type", Kind::String)];

impl Instance {
    /// Reads a document; `file` is its name in messages.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(file: &str, text: &[u8]) -> Result<(Instance, Vec<Warning>)> {
        let document = crate::document::parse("instance document", file, text)?;
        let mut report = Report::default();
        let root = Fields::root("the instance document", &document)?.check(DOCUMENT, &mut report);
        let mut fields = Vec::new();
        for (part, names) in PARTS {
            let Some(object) = root.object(&part.to_ascii_lowercase()) else { continue };
            let schema: Vec<_> = names.iter().map(|name| (*name, Kind::String)).collect();
            let object = object.check(&schema, &mut report);
            fields.extend(names.iter().filter_map(|name| Some((part, *name, object.string(name)?.to_owned()))));
        }
        let text = |key: &str| root.get(key).filter(|node| node.as_str().is_some_and(|text| !text.is_empty())).cloned();
        let instance = Instance {
            tenant: text("tenant"),
            group: text("group"),
            nonce: text("nonce"),
            images: root.object("images").map(|images| ids(&images, &mut report)).unwrap_or_default(),
            machine_pool: machine(&root, "machine_pool", &mut report),
            machine: machine(&root, "machine", &mut report),
            secret_vars: None,
            fields,
        };
        Problems::check(report.problems)?;
        Ok((instance, report.warnings))
    }

    /// The fields of the template data, with the variable of each: `INSTANCE_IP4`, `SERVER_REGISTRATION_ADDR`.
    pub fn variables() -> impl Iterator<Item = (&'static str, &'static str, String)> {
        PARTS.into_iter().flat_map(|(part, names)| {
            names.iter().map(move |name| (part, *name, format!("{}_{}", part.to_ascii_uppercase(), variable(name))))
        })
    }

    /// Sets a field of the template data.
    pub fn set(&mut self, part: &'static str, field: &'static str, value: String) {
        self.fields.retain(|known| (known.0, known.1) != (part, field));
        self.fields.push((part, field, value));
    }

    /// A field of the template data that is set and not empty.
    pub(crate) fn field(&self, part: &str, field: &str) -> Option<&str> {
        let known = self.fields.iter().find(|known| (known.0, known.1) == (part, field))?;
        Some(known.2.as_str()).filter(|text| !text.is_empty())
    }

    /// Sets the vars of the highest level; `name` is where they come from.
    pub fn set_vars(&mut self, name: &str, vars: Object) {
        self.secret_vars = Some(Layer { name: name.into(), members: vars });
    }
}

/// A field's name as part of a variable: `RegistrationAddr` is `REGISTRATION_ADDR`, `CACert` is `CA_CERT`.
fn variable(field: &str) -> String {
    let bytes = field.as_bytes();
    let mut name = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        let starts = byte.is_ascii_uppercase()
            && index > 0
            && (bytes[index - 1].is_ascii_lowercase() || bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase));
        if starts {
            name.push('_');
        }
        name.push(char::from(byte.to_ascii_uppercase()));
    }
    name
}

fn ids(images: &Fields<'_>, report: &mut Report) -> IndexMap<String, Node> {
    let mut ids = IndexMap::new();
    for (name, node) in images.members {
        match node.as_str() {
            Some("") => {
                report.error(&node.position, format!("{} is empty", images.path_of(name)));
            }
            Some(_) => {
                ids.insert(name.clone(), node.clone());
            }
            None => {
                report.error(&node.position, format!("{} is {}, not a string", images.path_of(name), node.kind()));
            }
        }
    }
    ids
}

fn machine(root: &Fields<'_>, key: &str, report: &mut Report) -> Machine {
    let Some(fields) = root.object(key) else { return Machine::default() };
    let fields = fields.check(MACHINE, report);
    let vars = Layer::vars(&fields, report);
    Machine { vars, args: Layer::of(&fields, "args"), instance_type: fields.string("instance_type").map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_a_variable() {
        let names: Vec<String> = Instance::variables().map(|variable| variable.2).collect();
        assert_eq!(
            names,
            [
                "INSTANCE_ID",
                "INSTANCE_KIND",
                "INSTANCE_ARCH",
                "INSTANCE_TYPE",
                "INSTANCE_HOSTNAME",
                "INSTANCE_FQDN",
                "INSTANCE_IP4",
                "INSTANCE_IP6",
                "CLUSTER_ID",
                "CLUSTER_SLUG",
                "CLUSTER_FQDN",
                "CLUSTER_CA_CERT",
                "SERVER_SHARD",
                "SERVER_REGISTRATION_ADDR",
                "SERVER_OPERATOR_ADDR",
                "SERVER_AGENT_ADDR",
                "PROVIDER_KIND",
                "PROVIDER_REGION",
                "PROVIDER_ZONE",
            ]
        );
    }
}
