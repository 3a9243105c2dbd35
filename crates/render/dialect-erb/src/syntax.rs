//! Syntax trees of templates, for tools that examine templates without running them.

use std::collections::HashSet;

use ruby::Vm;
use value::Value;

use crate::render::syntax_error;
use crate::ruby_text::utf8;
use crate::scanner;

/// A place in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A node of Ruby's syntax tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its kind as CRuby names it: `FCALL`, `STR`.
    pub kind: String,
    /// Where it begins.
    pub start: Position,
    /// Whether it lies in a tag whose value is output (`<%= %>`).
    pub is_output: bool,
    /// Its parts, in CRuby's order.
    pub children: Vec<Child>,
}

/// A part of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Child {
    /// A node.
    Node(Node),
    /// A name: of a method, a variable, a constant, or a literal Symbol.
    Name(String),
    /// The content of a text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Names of variables.
    Names(Vec<String>),
    /// Nothing, or a literal of another kind.
    Other,
}

impl Child {
    /// The node, if it is one.
    pub fn node(&self) -> Option<&Node> {
        match self {
            Child::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Child::Name(name) => Some(name),
            _ => None,
        }
    }
}

impl Node {
    /// The nodes directly below it.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.children.iter().filter_map(Child::node)
    }

    /// The node in this position of its parts.
    pub fn child(&self, index: usize) -> Option<&Node> {
        self.children.get(index).and_then(Child::node)
    }

    /// The name in this position of its parts.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.children.get(index).and_then(Child::name)
    }

    /// The content of a text without interpolation.
    pub fn text(&self) -> Option<&str> {
        match (self.kind.as_str(), self.children.first()) {
            ("STR", Some(Child::Text(text))) => Some(text),
            _ => None,
        }
    }
}

/// A template that CRuby does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line of the template, from 1.
    pub line: Option<u32>,
    /// Ruby's message, without the generated code.
    pub message: String,
}

/// The tree of a template; `None` if its code has none that has the template's places.
pub type Parsed = Result<Option<Node>, SyntaxError>;

/// What templates can call.
#[derive(Debug, Clone, Default)]
pub struct KnownMethods {
    /// Without a receiver.
    pub functions: HashSet<String>,
    /// On a link.
    pub of_links: HashSet<String>,
}

/// Parses templates, all in one call of the VM. Nothing of them is run.
///
/// # Errors
/// Only where the VM itself fails.
pub fn parse(vm: &Vm, templates: &[&[u8]]) -> problem::Result<Vec<Parsed>> {
    load(vm);
    let in_place: Vec<_> = templates.iter().map(|text| scanner::code_in_place(text)).collect();
    let sources = templates
        .iter()
        .zip(&in_place)
        .map(|(template, (code, _))| Value::array([utf8(scanner::compile(template)), utf8(code.clone())]));
    let parsed = vm.call("syntax", Value::array(sources)).map_err(|e| e.internal("parse templates"))?;
    let parsed = parsed.as_array().unwrap_or_default();
    let outcomes = templates.iter().zip(&in_place).zip(parsed).map(|((template, (_, outputs)), outcome)| match outcome
        .as_array()
    {
        Some([Value::Bool(true), tree]) => Ok(Tree::new(template, outputs).node(tree)),
        Some([_, message]) => Err(refused(message.as_str().unwrap_or_default())),
        _ => Ok(None),
    });
    Ok(outcomes.collect())
}

/// What templates can call, in BOSH's evaluation context, which a renderer has loaded.
///
/// # Errors
/// Only where the VM itself fails.
pub fn known_methods(vm: &Vm) -> problem::Result<KnownMethods> {
    load(vm);
    let names = vm.call("methods_of_templates", Value::Nil).map_err(|e| e.internal("list methods"))?;
    let names = names.as_array().unwrap_or_default();
    let set = |index: usize| {
        let names = names.get(index).and_then(Value::as_array).unwrap_or_default();
        names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    Ok(KnownMethods { functions: set(0), of_links: set(1) })
}

fn load(vm: &Vm) {
    vm.load_source("syntax", include_str!("../ruby/syntax.rb"));
}

fn refused(message: &str) -> SyntaxError {
    let line = message.strip_prefix("template:").and_then(|rest| rest.split(':').next()?.parse().ok());
    SyntaxError { line, message: syntax_error(message) }
}

/// Reads a tree that refers to bytes of a template.
struct Tree<'a> {
    lines: Vec<&'a [u8]>,
    /// Line and column in bytes of where each tag with an output begins and ends.
    outputs: Vec<[(usize, usize); 2]>,
}

impl<'a> Tree<'a> {
    fn new(template: &'a [u8], outputs: &[std::ops::Range<usize>]) -> Tree<'a> {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', template).map(|end| end + 1));
        let place = |at: usize| {
            let line = starts.partition_point(|start| *start <= at);
            (line, at - starts[line - 1])
        };
        let outputs = outputs.iter().map(|span| [place(span.start), place(span.end)]).collect();
        Tree { lines: template.split(|b| *b == b'\n').collect(), outputs }
    }

    fn node(&self, value: &Value) -> Option<Node> {
        let [Value::Symbol(kind), line, column, _, _, children] = value.as_array()? else { return None };
        let number = |value: &Value| value.as_int().and_then(|n| usize::try_from(n).ok());
        let (line, column) = (number(line)?, number(column)?);
        let at = (line, column);
        Some(Node {
            kind: kind.to_string(),
            start: self.position(line, column),
            is_output: self.outputs.iter().any(|[start, end]| *start <= at && at < *end),
            children: children.as_array()?.iter().map(|child| self.child(child)).collect(),
        })
    }

    fn child(&self, value: &Value) -> Child {
        match value {
            Value::Symbol(name) => Child::Name(name.to_string()),
            Value::Int(number) => Child::Number(*number),
            Value::Str(text) => Child::Text(String::from_utf8_lossy(&text.bytes).into_owned()),
            Value::Array(items) => match self.node(value) {
                Some(node) => Child::Node(node),
                None => Child::Names(
                    items
                        .iter()
                        .filter_map(|item| if let Value::Symbol(name) = item { Some(name.to_string()) } else { None })
                        .collect(),
                ),
            },
            _ => Child::Other,
        }
    }

    fn position(&self, line: usize, column: usize) -> Position {
        let text = self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = String::from_utf8_lossy(&text[..column.min(text.len())]).chars().count();
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position { line: number(line), column: number(before + 1) }
    }
}
