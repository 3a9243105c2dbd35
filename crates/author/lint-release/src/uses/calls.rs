//! Calls in a syntax tree: chains, arguments, texts.

use dialect_erb::syntax::{Child, Node, Position};

/// A chain of calls.
pub(super) struct Chain<'n> {
    pub(super) root: String,
    pub(super) at: Position,
    pub(super) segments: Vec<Segment>,
    /// Arguments on the way.
    pub(super) arguments: Vec<&'n Node>,
}

/// A part of a chain.
pub(super) enum Segment {
    /// `.name` without arguments, or `['name']`.
    Name(String),
    /// Another call.
    Call,
}

/// Whether a chain with this root reads a struct of the context.
pub(super) fn is_struct(root: &str) -> bool {
    matches!(root, "properties" | "raw_properties" | "spec" | "@properties" | "@raw_properties" | "@spec")
}

/// The chain that ends with this node, if it begins with a call without arguments or an instance variable.
pub(super) fn chain_of(node: &Node) -> Option<Chain<'_>> {
    match node.kind.as_str() {
        "VCALL" | "IVAR" => {
            Some(Chain { root: node.name(0)?.to_owned(), at: node.start, segments: Vec::new(), arguments: Vec::new() })
        }
        "CALL" | "QCALL" | "OPCALL" => {
            let mut chain = chain_of(node.child(0)?)?;
            let method = node.name(1)?;
            let given = arguments(node);
            let texts: Option<Vec<&str>> =
                given.as_ref().and_then(|given| given.iter().map(|argument| argument.text()).collect());
            match (method, given.as_deref(), texts) {
                (name, Some([]), _) if name != "[]" => chain.segments.push(Segment::Name(name.to_owned())),
                ("[]" | "dig", Some([_, ..]), Some(names)) => {
                    chain.segments.extend(names.into_iter().map(|name| Segment::Name(name.to_owned())));
                }
                _ => chain.segments.push(Segment::Call),
            }
            chain.arguments.extend(node.nodes().skip(1));
            Some(chain)
        }
        _ => None,
    }
}

/// The arguments of a call; `None` if their number is not known.
pub(super) fn arguments(node: &Node) -> Option<Vec<&Node>> {
    let index = if matches!(node.kind.as_str(), "FCALL" | "VCALL") { 1 } else { 2 };
    let list = match node.children.get(index) {
        None | Some(Child::Other) => return Some(Vec::new()),
        Some(child) => child.node()?,
    };
    let list = if list.kind == "BLOCK_PASS" {
        match list.child(0) {
            None => return Some(Vec::new()),
            Some(list) => list,
        }
    } else {
        list
    };
    (list.kind == "LIST").then(|| list.nodes().collect())
}

/// The text that is the only argument.
pub(super) fn only_text<'n>(arguments: &[&'n Node]) -> Option<&'n str> {
    match arguments {
        [only] => only.text(),
        _ => None,
    }
}

/// The property that `p('x')` reads.
pub(super) fn read_of_one(node: &Node) -> Option<&str> {
    if node.kind != "FCALL" || node.name(0) != Some("p") {
        return None;
    }
    arguments(node)?.first()?.text()
}

/// The first parameter of a block.
pub(super) fn first_parameter(scope: &Node) -> Option<&str> {
    let Some(Child::Names(names)) = scope.children.first() else { return None };
    let has_parameters = matches!(scope.child(1)?.children.first(), Some(Child::Number(count)) if *count > 0);
    names.first().filter(|_| has_parameters).map(String::as_str)
}

/// The texts around the interpolations of a text; `None` for other nodes.
pub(super) fn pattern(node: &Node) -> Option<Vec<String>> {
    if node.kind != "DSTR" {
        return node.text().map(|text| vec![text.to_owned()]);
    }
    let mut pieces = vec![String::new()];
    collect_pieces(node, &mut pieces);
    Some(pieces)
}

fn collect_pieces(node: &Node, pieces: &mut Vec<String>) {
    for child in &node.children {
        match child {
            Child::Text(text) => {
                if let Some(piece) = pieces.last_mut() {
                    piece.push_str(text);
                }
            }
            Child::Node(part) if part.kind == "EVSTR" => pieces.push(String::new()),
            Child::Node(part) => collect_pieces(part, pieces),
            _ => {}
        }
    }
}
