//! A job's spec as its author wrote it, with places. What BOSH refuses is reported elsewhere; it is left out here.

use std::rc::Rc;

use go_yaml::{Origin, Raw};

use crate::yaml;

/// A spec.
#[derive(Default)]
pub(crate) struct Spec {
    /// The document.
    pub(crate) root: Option<Rc<Raw>>,
    pub(crate) properties: Vec<Property>,
    pub(crate) templates: Vec<Template>,
    pub(crate) packages: Vec<(String, Origin)>,
    pub(crate) provides: Vec<Link>,
    pub(crate) consumes: Vec<Link>,
}

/// A declared property.
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) at: Origin,
    pub(crate) default: Option<Rc<Raw>>,
    pub(crate) has_description: bool,
}

impl Property {
    /// Whether the name is that of a part of the property, of the property itself, or of a mapping that holds it.
    pub(crate) fn is_related(&self, name: &str) -> bool {
        is_related(&self.name, name)
    }
}

/// Whether one of two names is the other, or one of a part of it.
fn is_related(a: &str, b: &str) -> bool {
    let is_below = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    a == b || is_below(a, b) || is_below(b, a)
}

/// A listed template.
pub(crate) struct Template {
    pub(crate) source: String,
    pub(crate) destination: String,
    pub(crate) at: Origin,
}

/// A link that is provided or consumed.
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) link_type: String,
    pub(crate) at: Origin,
    /// Only of consumed links.
    pub(crate) is_optional: bool,
    /// Only of provided links.
    pub(crate) properties: Vec<(String, Origin)>,
}

impl Spec {
    /// Reads what can be read.
    pub(crate) fn read(text: &[u8]) -> Spec {
        let Some(root) = yaml::read(text) else { return Spec::default() };
        let section = |key: &str| yaml::get(&root, key);
        let mut spec = Spec::default();
        for (key, value) in section("properties").map_or(&[][..], yaml::entries) {
            let Some(name) = yaml::text(key) else { continue };
            let default = yaml::entries(value).iter().rev().find(|(key, _)| yaml::text(key) == Some("default"));
            let description = yaml::get(value, "description").and_then(yaml::text).unwrap_or_default();
            spec.properties.push(Property {
                name: name.to_owned(),
                at: key.origin,
                default: default.map(|(_, value)| Rc::clone(value)).filter(|value| !yaml::is_null(value)),
                has_description: !description.trim().is_empty(),
            });
        }
        for (key, value) in section("templates").map_or(&[][..], yaml::entries) {
            if let (Some(source), Some(destination)) = (yaml::text(key), yaml::text(value)) {
                let (source, destination) = (source.to_owned(), destination.to_owned());
                spec.templates.push(Template { source, destination, at: key.origin });
            }
        }
        let packages = section("packages").map_or(&[][..], yaml::items).iter();
        spec.packages = packages.filter_map(|item| Some((yaml::text(item)?.to_owned(), item.origin))).collect();
        spec.provides = links(section("provides"));
        spec.consumes = links(section("consumes"));
        spec.root = Some(root);
        spec
    }

    /// The property of this name.
    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Whether a property of this name can have a value: it is declared, or a part or a mapping of what is, or a link exposes it.
    pub(crate) fn can_be_set(&self, name: &str) -> bool {
        let exposed = self.provides.iter().flat_map(|link| &link.properties);
        self.properties.iter().any(|property| property.is_related(name))
            || exposed.into_iter().any(|(exposed, _)| is_related(exposed, name))
    }

    /// The names of all properties.
    pub(crate) fn property_names(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(|property| property.name.as_str())
    }
}

fn links(section: Option<&Raw>) -> Vec<Link> {
    let mut links = Vec::new();
    for item in section.map_or(&[][..], yaml::items) {
        let text = |key: &str| yaml::get(item, key).and_then(yaml::text).map(str::to_owned);
        let (Some(name), Some(link_type)) = (text("name"), text("type")) else { continue };
        let optional = yaml::get(item, "optional").and_then(yaml::text).unwrap_or_default();
        let properties = yaml::get(item, "properties").map_or(&[][..], yaml::items).iter();
        links.push(Link {
            name,
            link_type,
            at: item.origin,
            is_optional: !matches!(optional.to_ascii_lowercase().as_str(), "" | "false" | "no" | "off" | "~" | "null"),
            properties: properties.filter_map(|item| Some((yaml::text(item)?.to_owned(), item.origin))).collect(),
        });
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let text = "name: a\ntemplates: {x: config/x, y: [1]}\npackages: [p, {}]\nproperties:\n  a.b: {default: 1}\n  c:\nconsumes: [{name: l, type: t, optional: true}, 3]\n";
        let spec = Spec::read(text.as_bytes());
        assert_eq!(
            (spec.templates.len(), spec.packages.len(), spec.properties.len(), spec.consumes.len()),
            (1, 1, 2, 1)
        );
        assert!(spec.can_be_set("a") && spec.can_be_set("a.b.c") && spec.can_be_set("c") && !spec.can_be_set("a.c"));
        assert!(
            spec.consumes[0].is_optional
                && spec.properties[0].default.is_some()
                && spec.properties[1].default.is_none()
        );
        assert_eq!(spec.properties[1].at.line, 6);
        for text in ["", "[", "- 1", "properties: 3"] {
            assert!(Spec::read(text.as_bytes()).properties.is_empty(), "{text}");
        }
    }
}
