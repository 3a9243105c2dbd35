//! The images of a configuration.

use indexmap::IndexMap;

use crate::document::{Data, Position};
use crate::report::{Fields, Kind, Report, Schema, element, strings, suggest};

/// How the id of an image is found.
#[derive(Debug, Clone)]
pub struct Image {
    /// Where the configuration describes it.
    pub position: Position,
    /// The cloud provider; only images of `aws` are looked up.
    pub provider: String,
    /// The filters, forwarded unchanged.
    pub filters: Vec<Filter>,
    /// The owners; if there are none, those of all images.
    pub owners: Vec<String>,
    /// What the images that are found are sorted by.
    pub sort: Sort,
    /// In which order; the first one is taken.
    pub order: Order,
    /// The id if the lookup fails and the cache has none.
    pub fallback: Option<String>,
}

/// A filter of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Its name, as the provider defines it.
    pub name: String,
    /// The values of which one must match.
    pub values: Vec<String>,
}

/// What images are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// `creation-date`
    CreationDate,
    /// `name`
    Name,
}

/// The order of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// `asc`: the oldest or first in the alphabet comes first.
    Ascending,
    /// `desc`
    Descending,
}

const IMAGE: Schema = &[
    ("provider", Kind::String),
    ("filters", Kind::List),
    ("owners", Kind::List),
    ("sort", Kind::String),
    ("order", Kind::String),
    ("fallback", Kind::String),
];
const FILTER: Schema = &[("name", Kind::String), ("values", Kind::List)];
const SORTS: [(&str, Sort); 2] = [("creation-date", Sort::CreationDate), ("name", Sort::Name)];
const ORDERS: [(&str, Order); 2] = [("asc", Order::Ascending), ("desc", Order::Descending)];

/// Reads all images; `server` is the provider of the configuration's server.
pub(super) fn read(all: &Fields<'_>, server: Option<&str>, report: &mut Report) -> IndexMap<String, Image> {
    let mut images = IndexMap::new();
    for (name, fields) in all.objects(report) {
        if let Some(image) = read_one(fields.check(IMAGE, report), server, report) {
            images.insert(name.clone(), image);
        }
    }
    images
}

fn read_one(fields: Fields<'_>, server: Option<&str>, report: &mut Report) -> Option<Image> {
    let provider = required(&fields, "provider", report);
    if let (Some(provider), Some(server), Some(node)) = (provider, server, fields.get("provider"))
        && provider != server
    {
        let path = fields.path_of("provider");
        let message = format!("{path} must be the server's ('{}'), not '{}'", quoted(server), quoted(provider));
        suggest(report.error(&node.position, message), provider, [server]);
    }
    let owners = fields.get("owners").map(|node| strings(node, &fields.path_of("owners"), report));
    let filters = filters(&fields, report);
    let sort = required(&fields, "sort", report).and_then(|_| fields.choice("sort", &SORTS, report));
    let order = required(&fields, "order", report).and_then(|_| fields.choice("order", &ORDERS, report));
    Some(Image {
        position: fields.node.position.clone(),
        provider: provider?.to_owned(),
        filters,
        owners: owners.unwrap_or_default(),
        sort: sort?,
        order: order?,
        fallback: fields.string("fallback").filter(|id| !id.is_empty()).map(str::to_owned),
    })
}

fn quoted(text: &str) -> String {
    text.escape_debug().to_string()
}

/// A string that must be present and not empty.
fn required<'n>(fields: &Fields<'n>, key: &str, report: &mut Report) -> Option<&'n str> {
    match fields.get(key) {
        None => {
            report.error(&fields.node.position, format!("{} is missing", fields.path_of(key)));
            None
        }
        Some(node) => match node.as_str() {
            Some("") => {
                report.error(&node.position, format!("{} is empty", fields.path_of(key)));
                None
            }
            text => text,
        },
    }
}

fn filters(fields: &Fields<'_>, report: &mut Report) -> Vec<Filter> {
    let path = fields.path_of("filters");
    let Some(node) = fields.get("filters") else {
        report.error(&fields.node.position, format!("{path} is missing"));
        return Vec::new();
    };
    let Data::List(items) = &node.data else { return Vec::new() };
    if items.is_empty() {
        report.error(&node.position, format!("{path} is empty; an image needs at least one filter"));
    }
    let mut filters = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = element(&path, index);
        let Some(fields) = Fields::of(item, path, report) else { continue };
        let fields = fields.check(FILTER, report);
        let name = required(&fields, "name", report);
        let values = match fields.get("values") {
            Some(values) => strings(values, &fields.path_of("values"), report),
            None => Vec::new(),
        };
        if values.is_empty()
            && fields.get("values").is_none_or(|node| matches!(&node.data, Data::List(l) if l.is_empty()))
        {
            report.error(&item.position, format!("{} needs at least one value", fields.path_of("values")));
        }
        if let Some(name) = name {
            filters.push(Filter { name: name.to_owned(), values });
        }
    }
    filters
}
