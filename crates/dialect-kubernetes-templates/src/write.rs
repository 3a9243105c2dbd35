//! Writing a document: equal values give equal bytes.

mod json;
mod yaml;

use crate::node::Node;
use crate::read::Format;

/// The text of a node, with a line feed at its end. YAML is in block style; each string in it is one for YAML 1.1 and 1.2.
pub fn write(node: &Node, format: Format) -> String {
    let mut out = String::new();
    match format {
        Format::Json => json::write(&mut out, node, 0),
        Format::Yaml => yaml::write(&mut out, node),
    }
    out.push('\n');
    out
}

/// JSON without spaces and line feeds.
pub fn compact(node: &Node) -> String {
    let mut out = String::new();
    json::compact(&mut out, node);
    out
}
