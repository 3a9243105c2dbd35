//! Writing a document: equal values give equal bytes.

mod json;
mod out;
mod yaml;

use crate::node::Node;
use crate::read::Format;
use out::Out;

/// The text of a node, with a line feed at its end. YAML is in block style; each string in it is one for YAML 1.1 and 1.2.
pub fn write(node: &Node, format: Format) -> String {
    write_within(node, format, usize::MAX).unwrap_or_default()
}

/// As [`write()`]; `None` if the text would have more than `most` bytes.
pub fn write_within(node: &Node, format: Format, most: usize) -> Option<String> {
    let mut out = Out::new(most);
    match format {
        Format::Json => json::write(&mut out, node, 0),
        Format::Yaml => yaml::write(&mut out, node),
    }
    out.push('\n');
    out.finish()
}

/// JSON without spaces and line feeds.
pub fn compact(node: &Node) -> String {
    compact_within(node, usize::MAX).unwrap_or_default()
}

/// As [`compact`]; `None` if the text would have more than `most` bytes.
pub fn compact_within(node: &Node, most: usize) -> Option<String> {
    let mut out = Out::new(most);
    json::compact(&mut out, node);
    out.finish()
}
