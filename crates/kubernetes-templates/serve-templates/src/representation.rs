//! In what shape a client sees templates: whole, as a Table, or their metadata alone.

use dialect_kubernetes_templates::{Map, Node};

use crate::node::{list, metadata, object, text};
use crate::request::{Accepted, Query, Wanted};
use crate::table::{Include, partial, table};

/// The shape of objects in answers and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Representation {
    Whole,
    Table(Include),
    /// `PartialObjectMetadata`, which controllers ask for that need no more.
    Metadata,
}

impl Representation {
    /// What a client asks for.
    pub(crate) fn of(accepted: Accepted, query: &Query) -> Representation {
        match accepted.wanted {
            Wanted::Object => Representation::Whole,
            Wanted::Table => Representation::Table(Include::named(query.get("includeObject"))),
            Wanted::Metadata => Representation::Metadata,
        }
    }

    /// Whether whole objects are shown.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Representation::Whole | Representation::Table(Include::Object))
    }

    /// One template.
    pub(crate) fn one(self, template: Node) -> Node {
        match self {
            Representation::Whole => template,
            Representation::Metadata => partial(&template),
            Representation::Table(include) => {
                let version = metadata(&template).and_then(|metadata| metadata.get("resourceVersion"));
                let head = version.map(|version| ("resourceVersion", version.clone())).into_iter().collect();
                table([template].into_iter(), head, include)
            }
        }
    }

    /// A mark between events: an object that has metadata only.
    pub(crate) fn mark(self, mark: Node) -> Node {
        match self {
            Representation::Table(include) => {
                let head = metadata(&mark).into_iter().flat_map(Map::iter).cloned();
                let head = head.filter_map(|entry| match entry.key.as_str() {
                    "resourceVersion" => Some(("resourceVersion", entry.node)),
                    "annotations" => Some(("annotations", entry.node)),
                    _ => None,
                });
                table([].into_iter(), head.collect(), include)
            }
            other => other.one(mark),
        }
    }

    /// A list with this metadata; `api_version` is that of templates.
    pub(crate) fn all(
        self,
        templates: impl Iterator<Item = Node>,
        head: Vec<(&'static str, Node)>,
        api_version: &str,
    ) -> Node {
        let listed = |kind: &str, version: &str, items: Node| {
            object([
                ("kind", text(kind)),
                ("apiVersion", text(version)),
                ("metadata", object(head.clone())),
                ("items", items),
            ])
        };
        match self {
            Representation::Whole => listed("TemplateList", api_version, list(templates)),
            Representation::Metadata => {
                let items = list(templates.map(|template| partial(&template)));
                listed("PartialObjectMetadataList", "meta.k8s.io/v1", items)
            }
            Representation::Table(include) => table(templates, head, include),
        }
    }
}
