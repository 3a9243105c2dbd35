//! The groups of a configuration: `groups.TENANT.GROUP` or `groups.GROUP`.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use problem::{Problem, Result};

use super::InstanceTemplate;
use crate::document::{Data, Node, Position};
use crate::instance::Instance;
use crate::layers::Layer;
use crate::report::{Fields, Kind, Report, Schema, suggest_or_list};

/// A group of instances.
#[derive(Debug)]
pub struct Group {
    /// The tenant that it belongs to, if the configuration has tenants.
    pub tenant: Option<String>,
    /// Its name.
    pub name: String,
    /// Where it stands in the configuration.
    pub position: Position,
    pub(crate) template: Option<String>,
    pub(crate) instance_type: Option<String>,
    pub(crate) args: Option<Layer>,
    pub(crate) vars: Option<Layer>,
}

const GROUP: Schema = &[
    ("template", Kind::String),
    ("size", Kind::Count),
    ("instance_type", Kind::String),
    ("subnet_pool", Kind::String),
    ("vars", Kind::Object),
    ("args", Kind::Object),
    ("drain_timeout", Kind::String),
    ("load_balancers", Kind::List),
];

/// Reads all groups and checks that their templates exist.
pub(super) fn read(
    all: &Fields<'_>,
    templates: &IndexMap<String, InstanceTemplate>,
    report: &mut Report,
) -> Vec<Group> {
    let mut groups = Vec::new();
    for (name, fields) in all.objects(report) {
        if is_tenant(fields.node) {
            for (group, fields) in fields.objects(report) {
                groups.push(read_one(Some(name), group, fields, templates, report));
            }
        } else {
            groups.push(read_one(None, name, fields, templates, report));
        }
    }
    groups
}

/// Whether an object holds groups: all its members are objects, and one of them is not a field of a group. An empty object
/// is a group.
fn is_tenant(node: &Node) -> bool {
    let Data::Object(members) = &node.data else { return false };
    let is_field = |name: &str| GROUP.iter().any(|(field, _)| *field == name);
    members.values().all(|member| member.as_object().is_some()) && members.keys().any(|name| !is_field(name))
}

fn read_one(
    tenant: Option<&String>,
    name: &str,
    fields: Fields<'_>,
    templates: &IndexMap<String, InstanceTemplate>,
    report: &mut Report,
) -> Group {
    let fields = fields.check(GROUP, report);
    let template = fields.string("template").filter(|name| !name.is_empty());
    if let (Some(template), Some(node)) = (template, fields.get("template"))
        && !templates.contains_key(template)
    {
        let message = format!("{}: unknown template '{}'", fields.path_of("template"), template.escape_debug());
        let problem = report.error(&node.position, message);
        suggest_or_list(problem, template, "the templates are", templates.keys().map(String::as_str));
        if templates.is_empty() {
            problem.hint = Some(undefined(template));
        }
    }
    Group {
        tenant: tenant.cloned(),
        name: name.to_owned(),
        position: fields.node.position.clone(),
        template: template.map(str::to_owned),
        instance_type: fields.string("instance_type").map(str::to_owned),
        args: Layer::of(&fields, "args"),
        vars: Layer::vars(&fields, report),
    }
}

/// The hint about a template of a configuration that has none: Nstance's own example of GCP's args is one.
fn undefined(template: &str) -> String {
    let template = template.escape_debug();
    let example = if template.to_string() == "default" {
        "Nstance's example of GCP args has a group with this template and does not define it; "
    } else {
        ""
    };
    format!("{example}add \"templates\": {{ \"{template}\": {{}} }}, or remove the group's `template`")
}

/// The group that an instance names.
pub(super) fn find<'g>(groups: &'g [Group], instance: &Instance) -> Result<&'g Group> {
    let Some(node) = &instance.group else {
        let problem = Problem::input("the instance has no group");
        return Err(problem
            .hint("set `group` in the instance document, GROUP or --group, or give --all-groups")
            .into());
    };
    let name = node.as_str().unwrap_or_default();
    let tenant = instance.tenant.as_ref().and_then(Node::as_str);
    let in_tenant = || groups.iter().filter(move |group| group.tenant.as_deref() == tenant);
    if let Some(found) = in_tenant().find(|group| group.name == name) {
        return Ok(found);
    }
    if let (Some(tenant), Some(node), None) = (tenant, &instance.tenant, in_tenant().next()) {
        let mut problem = Problem::input(format!("unknown tenant '{}'", tenant.escape_debug()));
        let tenants = groups.iter().filter_map(|group| group.tenant.as_deref());
        let names: BTreeSet<&str> = tenants.clone().collect();
        suggest_or_list(&mut problem, tenant, "the tenants are", names);
        if tenants.count() == 0 {
            problem.hint = Some("the groups of the configuration have no tenants".into());
        }
        return Err(problem.at(node.position.place()).into());
    }
    let within = tenant.map(|tenant| format!(" of the tenant '{}'", tenant.escape_debug())).unwrap_or_default();
    let mut problem = Problem::input(format!("unknown group '{}'{within}", name.escape_debug()));
    suggest_or_list(&mut problem, name, "the groups are", in_tenant().map(|group| group.name.as_str()));
    let elsewhere = groups.iter().find(|group| group.name == name);
    if let (None, Some(other)) = (&tenant, elsewhere.and_then(|group| group.tenant.as_deref())) {
        problem.hint = Some(format!("the tenant '{}' has a group of this name: set TENANT", other.escape_debug()));
    } else if groups.iter().any(|group| tenant.is_none() && group.tenant.as_deref() == Some(name)) {
        problem.hint = Some("it is a tenant: set TENANT to it, and GROUP to one of its groups".into());
    }
    Err(problem.at(node.position.place()).into())
}
