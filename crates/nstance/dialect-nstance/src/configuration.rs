//! The configuration of an Nstance server: what concerns args, vars, userdata, files and images.

mod files;
mod groups;
mod images;

use indexmap::IndexMap;
use problem::{Problems, Result};

use crate::document::Node;
use crate::instance::Instance;
use crate::layers::Layer;
use crate::report::{Fields, Kind, Report, Schema, Warning, member, suggest};
use crate::userdata::Userdata;

pub use files::{File, FileKind};
pub use groups::Group;
pub use images::{Filter, Image, Order, Sort};

/// What a configuration says.
#[derive(Debug)]
pub struct Configuration {
    /// The args of all groups.
    pub(crate) args: Option<Layer>,
    /// The vars of all groups: those at the top, and those of `defaults`.
    pub(crate) vars: Vec<Layer>,
    /// The userdata of templates that have none.
    pub(crate) userdata: Option<Userdata>,
    pub(crate) templates: IndexMap<String, InstanceTemplate>,
    /// The groups, in their order.
    pub groups: Vec<Group>,
    /// The images, in their order.
    pub images: IndexMap<String, Image>,
    /// Facts that an instance document may leave out, by the names of part and field.
    facts: Vec<(&'static str, &'static str, String)>,
    /// `shard.image_refresh_interval`, as it is written.
    pub image_refresh_interval: Option<Node>,
}

/// A template of instances.
#[derive(Debug, Default)]
pub(crate) struct InstanceTemplate {
    pub(crate) kind: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) instance_type: Option<String>,
    pub(crate) args: Option<Layer>,
    pub(crate) vars: Option<Layer>,
    pub(crate) userdata: Option<Userdata>,
    pub(crate) files: Vec<File>,
}

const ROOT: Schema = &[
    ("cluster", Kind::Object),
    ("shard", Kind::Object),
    ("load_balancers", Kind::Object),
    ("images", Kind::Object),
    ("certificates", Kind::Object),
    ("defaults", Kind::Object),
    ("vars", Kind::Object),
    ("templates", Kind::Object),
    ("groups", Kind::Object),
];
const DEFAULTS: Schema = &[("args", Kind::Object), ("vars", Kind::Object), ("userdata", Kind::Object)];
const TEMPLATE: Schema = &[
    ("kind", Kind::String),
    ("arch", Kind::String),
    ("files", Kind::Object),
    ("args", Kind::Object),
    ("userdata", Kind::Object),
    ("size", Kind::Count),
    ("instance_type", Kind::String),
    ("subnet_pool", Kind::String),
    ("vars", Kind::Object),
];
const CLUSTER: Schema =
    &[("id", Kind::String), ("slug", Kind::String), ("fqdn", Kind::String), ("ca_cert", Kind::String)];
const SHARD: Schema = &[
    ("id", Kind::String),
    ("infra", Kind::Object),
    ("advertise", Kind::Object),
    ("image_refresh_interval", Kind::String),
];
const INFRA: Schema = &[("provider", Kind::String), ("region", Kind::String), ("zone", Kind::String)];
const ADVERTISE: Schema =
    &[("registration_addr", Kind::String), ("operator_addr", Kind::String), ("agent_addr", Kind::String)];
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

/// The facts of a configuration: its object, the member, and the part and field of the template data.
const FACTS: [(&str, &str, &str, &str); 11] = [
    ("cluster", "id", "Cluster", "ID"),
    ("cluster", "slug", "Cluster", "Slug"),
    ("cluster", "fqdn", "Cluster", "FQDN"),
    ("cluster", "ca_cert", "Cluster", "CACert"),
    ("shard", "id", "Server", "Shard"),
    ("advertise", "registration_addr", "Server", "RegistrationAddr"),
    ("advertise", "operator_addr", "Server", "OperatorAddr"),
    ("advertise", "agent_addr", "Server", "AgentAddr"),
    ("infra", "provider", "Provider", "Kind"),
    ("infra", "region", "Provider", "Region"),
    ("infra", "zone", "Provider", "Zone"),
];

impl Configuration {
    /// Reads a configuration; `file` is its name in messages.
    ///
    /// # Errors
    /// All that is wrong with it, except for what templates say: those are parsed where they are used.
    pub fn read(file: &str, text: &[u8]) -> Result<(Configuration, Vec<Warning>)> {
        let document = crate::document::parse("configuration", file, text)?;
        let mut report = Report::default();
        let root = Fields::root("the configuration", &document)?;
        let configuration = read(root, &mut report);
        Problems::check(report.problems)?;
        Ok((configuration, report.warnings))
    }

    /// The group of an instance.
    ///
    /// # Errors
    /// None is named, or it does not exist.
    pub fn group(&self, instance: &Instance) -> Result<&Group> {
        groups::find(&self.groups, instance)
    }

    pub(crate) fn template_of(&self, group: &Group) -> Option<&InstanceTemplate> {
        self.templates.get(group.template.as_ref()?)
    }

    /// A field of the template data that does not depend on the group: the instance's, else the configuration's, else empty.
    pub fn provided<'f>(&'f self, instance: &'f Instance, part: &str, field: &str) -> &'f str {
        instance.field(part, field).or_else(|| self.fact(part, field)).unwrap_or_default()
    }

    /// A fact that an instance document may leave out.
    pub(crate) fn fact(&self, part: &str, field: &str) -> Option<&str> {
        self.facts.iter().find(|fact| (fact.0, fact.1) == (part, field)).map(|fact| &*fact.2)
    }
}

fn read(root: Fields<'_>, report: &mut Report) -> Configuration {
    let root = root.check(ROOT, report);
    let defaults = root.object("defaults").map(|defaults| defaults.check(DEFAULTS, report));
    let certificates: Vec<&str> =
        root.object("certificates").map(|all| all.members.keys().map(String::as_str).collect()).unwrap_or_default();
    let mut templates = IndexMap::new();
    if let Some(all) = root.object("templates") {
        for (name, fields) in all.objects(report) {
            templates.insert(name.clone(), template(fields.check(TEMPLATE, report), &certificates, report));
        }
    }
    let groups = root.object("groups").map(|all| groups::read(&all, &templates, report)).unwrap_or_default();
    let facts = facts(&root, report);
    let provider = facts.iter().find(|fact| (fact.0, fact.1) == ("Provider", "Kind")).map(|fact| fact.2.clone());
    let images = root.object("images").map(|all| images::read(&all, provider.as_deref(), report)).unwrap_or_default();
    Configuration {
        args: defaults.as_ref().and_then(|defaults| Layer::of(defaults, "args")),
        vars: global_vars(&root, defaults.as_ref(), report),
        userdata: defaults.as_ref().and_then(|defaults| Userdata::read(defaults, report)),
        templates,
        groups,
        images,
        facts,
        image_refresh_interval: root.object("shard").and_then(|shard| shard.get("image_refresh_interval").cloned()),
    }
}

fn global_vars(root: &Fields<'_>, defaults: Option<&Fields<'_>>, report: &mut Report) -> Vec<Layer> {
    let top = Layer::vars(root, report);
    let defaults = defaults.and_then(|defaults| Layer::vars(defaults, report));
    if let (Some(top), Some(defaults)) = (&top, &defaults) {
        for (key, node) in &defaults.members {
            if let Some(other) = top.members.get(key) {
                let names = (member(&top.name, key), member(&defaults.name, key));
                let message = format!("{} and {} are both set; both are for all groups", names.0, names.1);
                report.error(&node.position, message).hint = Some(format!("the other one is at {}", other.position));
            }
        }
    }
    top.into_iter().chain(defaults).collect()
}

fn facts(root: &Fields<'_>, report: &mut Report) -> Vec<(&'static str, &'static str, String)> {
    let cluster = root.object("cluster").map(|fields| fields.check(CLUSTER, report));
    let shard = root.object("shard").map(|fields| fields.check(SHARD, report));
    let inside = |name: &str| shard.as_ref().and_then(|shard| shard.object(name));
    let infra = inside("infra").map(|fields| fields.check(INFRA, report));
    let advertise = inside("advertise").map(|fields| fields.check(ADVERTISE, report));
    let objects = [("cluster", &cluster), ("shard", &shard), ("infra", &infra), ("advertise", &advertise)];
    let fact = |(at, key, part, field): &(&'static str, &'static str, &'static str, &'static str)| {
        let object = objects.iter().find(|(name, _)| name == at)?.1.as_ref()?;
        Some((*part, *field, object.string(key)?.to_owned()))
    };
    FACTS.iter().filter_map(fact).collect()
}

fn template(fields: Fields<'_>, certificates: &[&str], report: &mut Report) -> InstanceTemplate {
    if let Some(node) = fields.get("arch")
        && let Some(arch) = node.as_str()
        && !ARCHITECTURES.contains(&arch)
    {
        let message = format!("{} must be 'amd64' or 'arm64', not '{}'", fields.path_of("arch"), arch.escape_debug());
        suggest(report.error(&node.position, message), arch, ARCHITECTURES);
    }
    let text = |key: &str| fields.string(key).map(str::to_owned);
    InstanceTemplate {
        kind: text("kind"),
        arch: text("arch"),
        instance_type: text("instance_type"),
        args: Layer::of(&fields, "args"),
        vars: Layer::vars(&fields, report),
        userdata: Userdata::read(&fields, report),
        files: fields.object("files").map(|all| files::read(&all, certificates, report)).unwrap_or_default(),
    }
}
