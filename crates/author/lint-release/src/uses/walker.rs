//! The walk over a template's syntax tree.

use std::collections::HashMap;

use dialect_erb::syntax::Node;

use super::calls::{Chain, Segment, arguments, chain_of, first_parameter, is_struct, only_text, pattern, read_of_one};
use super::{LinkRead, LinkUse, Need, Oddity, Read, Uses};

/// Kinds of nodes whose parts, except for the first, may not be evaluated.
const CONDITIONAL: [&str; 14] = [
    "IF",
    "UNLESS",
    "CASE",
    "CASE2",
    "CASE3",
    "AND",
    "OR",
    "WHILE",
    "UNTIL",
    "FOR",
    "ITER",
    "OP_ASGN_OR",
    "OP_ASGN_AND",
    "LAMBDA",
];

/// Methods that reach objects or names that are not seen here.
const REFLECTIVE: [&str; 22] = [
    "eval",
    "binding",
    "send",
    "__send__",
    "public_send",
    "method",
    "public_method",
    "instance_eval",
    "instance_exec",
    "class_eval",
    "class_exec",
    "module_eval",
    "define_method",
    "define_singleton_method",
    "method_missing",
    "include",
    "extend",
    "instance_variable_get",
    "instance_variables",
    "openstruct",
    "create_evaluation_link",
    "local_variable_get",
];

/// Constants whose methods use files, the network or programs.
const IO_CONSTANTS: [&str; 14] = [
    "File",
    "IO",
    "Dir",
    "Net",
    "Socket",
    "TCPSocket",
    "TCPServer",
    "UDPSocket",
    "Open3",
    "Resolv",
    "Tempfile",
    "FileUtils",
    "FileTest",
    "Kernel",
];

/// Methods of those that only compute.
const PURE_METHODS: [&str; 12] = [
    "basename",
    "dirname",
    "extname",
    "join",
    "split",
    "expand_path",
    "format",
    "sprintf",
    "Integer",
    "Float",
    "String",
    "Array",
];

/// What the template with this tree does.
pub(super) fn uses(tree: &Node) -> Uses {
    let mut walker = Walker::default();
    walker.visit(tree, true);
    walker.uses
}

#[derive(Default)]
struct Walker {
    uses: Uses,
    /// How many conditions are around.
    conditions: usize,
    /// Whether calls are looked at: not in classes, and not where a NameError is rescued.
    ignored_calls: usize,
    /// The links that variables hold.
    variables: HashMap<String, String>,
}

impl Walker {
    /// Visits a node; `is_statement` if its value is not used, or only output.
    fn visit(&mut self, node: &Node, is_statement: bool) {
        match node.kind.as_str() {
            "FCALL" | "VCALL" => self.function(node, is_statement),
            "CALL" | "QCALL" | "OPCALL" => self.call(node),
            "IVAR" => self.instance_variable(node),
            "SELF" => self.uses.is_dynamic = true,
            "CONST" => self.constant(node),
            "STR" | "XSTR" | "DSTR" | "DXSTR" => self.text(node),
            "GVAR" if node.name(0) == Some("$$") => self.odd(Oddity::Unstable, "$$", node),
            "DEFN" | "DEFS" => self.definition(node),
            "CLASS" | "MODULE" | "SCLASS" | "RESCUE" => self.ignoring_calls(node),
            "DEFINED" => {
                self.ignored_calls += 1;
                self.children(node, false);
                self.ignored_calls -= 1;
            }
            "LASGN" | "DASGN" | "DASGN_CURR" => self.assignment(node),
            "RETURN" | "NEXT" => {
                self.children(node, false);
                // What follows may never be reached.
                self.conditions += 1;
            }
            "ITER" => self.block(node),
            kind if CONDITIONAL.contains(&kind) => self.condition(node),
            kind => self.children(node, matches!(kind, "SCOPE" | "BLOCK" | "BEGIN")),
        }
    }

    fn children(&mut self, node: &Node, are_statements: bool) {
        node.nodes().for_each(|child| self.visit(child, are_statements));
    }

    /// The first part is always evaluated.
    fn condition(&mut self, node: &Node) {
        let mut parts = node.nodes();
        if let Some(first) = parts.next() {
            if matches!(node.kind.as_str(), "IF" | "UNLESS") {
                let negated = first.kind == "OPCALL" && first.name(1) == Some("!");
                let asked = if negated { first.child(0) } else { Some(first) };
                if let Some(name) = asked.and_then(read_of_one) {
                    self.uses.conditions.push((name.to_owned(), first.start));
                }
            }
            self.visit(first, false);
        }
        self.conditions += 1;
        let before = self.conditions;
        parts.for_each(|part| self.visit(part, true));
        // A `return` in here makes everything after it conditional.
        self.conditions -= usize::from(self.conditions == before);
    }

    fn ignoring_calls(&mut self, node: &Node) {
        self.ignored_calls += 1;
        self.conditions += 1;
        self.children(node, false);
        self.conditions -= 1;
        self.ignored_calls -= 1;
    }

    fn definition(&mut self, node: &Node) {
        let name = node.name(0).or_else(|| node.name(1)).unwrap_or_default();
        self.uses.is_reflective |= name == "method_missing";
        self.uses.definitions.insert(name.to_owned());
        let before = self.conditions;
        self.conditions += 1;
        node.nodes().filter(|part| part.kind != "SELF").for_each(|part| self.visit(part, false));
        self.conditions = before;
    }

    fn block(&mut self, node: &Node) {
        let Some(call) = node.child(0) else { return self.children(node, false) };
        self.visit(call, false);
        let before = self.conditions;
        self.conditions += 1;
        let parameter = node.child(1).and_then(first_parameter);
        let is_of_link = matches!(call.name(0).or_else(|| call.name(1)), Some("if_link" | "else_if_link"));
        let shadowed = parameter.map(|name| (name, self.variables.remove(name)));
        if let (Some(name), true) = (parameter, is_of_link)
            && let Some(link) = arguments(call).as_deref().and_then(only_text)
        {
            self.variables.insert(name.to_owned(), link.to_owned());
        }
        node.nodes().skip(1).for_each(|part| self.visit(part, true));
        if let Some((name, link)) = shadowed {
            self.variables.remove(name);
            self.variables.extend(link.map(|link| (name.to_owned(), link)));
        }
        self.conditions = before;
    }

    fn assignment(&mut self, node: &Node) {
        let (Some(name), Some(value)) = (node.name(0), node.child(1)) else { return self.children(node, false) };
        self.visit(value, false);
        match self.link_of(value) {
            Some(link) if self.conditions == 0 => self.variables.insert(name.to_owned(), link),
            _ => self.variables.remove(name),
        };
    }

    /// The link that a node stands for.
    fn link_of(&self, node: &Node) -> Option<String> {
        match node.kind.as_str() {
            "FCALL" if node.name(0) == Some("link") => only_text(&arguments(node)?).map(str::to_owned),
            "LVAR" | "DVAR" => self.variables.get(node.name(0)?).cloned(),
            _ => None,
        }
    }

    fn function(&mut self, node: &Node, is_statement: bool) {
        let name = node.name(0).unwrap_or_default();
        if matches!(name, "properties" | "raw_properties" | "spec") && node.kind == "VCALL" {
            return self.chain(node);
        }
        match name {
            "p" => {
                self.read(node, Need::Required);
                if let (true, true, Some(name)) = (is_statement, node.is_output, read_of_one(node)) {
                    self.uses.outputs.push((name.to_owned(), node.start));
                }
            }
            "if_p" => self.read(node, Need::Optional),
            "link" | "if_link" => self.link(node, name == "link"),
            name if REFLECTIVE.contains(&name) => self.reflect(),
            "rand" | "srand" => self.odd(Oddity::Unstable, name, node),
            "system" | "exec" | "spawn" | "fork" | "open" | "load" | "require_relative" => {
                self.odd(Oddity::Io, name, node);
            }
            _ => {}
        }
        // ERB's own variable.
        if self.ignored_calls == 0 && name != "_erbout" {
            self.uses.calls.push((name.to_owned(), node.start));
        }
        self.children(node, false);
    }

    fn reflect(&mut self) {
        self.uses.is_reflective = true;
        self.uses.is_dynamic = true;
        self.uses.has_dynamic_links = true;
    }

    fn odd(&mut self, oddity: Oddity, name: &str, node: &Node) {
        self.uses.oddities.push((oddity, name.to_owned(), node.start));
    }

    /// A read of the job's properties.
    fn read(&mut self, node: &Node, need: Need) {
        match self.parsed_read(node, need) {
            Some(read) => self.uses.reads.push(read),
            None => {
                let names = arguments(node).unwrap_or_default();
                let names = if need == Need::Optional { &names[..] } else { &names[..names.len().min(1)] };
                let patterns: Option<Vec<_>> = names.iter().map(|name| pattern(name)).collect();
                match patterns {
                    Some(patterns) if !patterns.is_empty() => self.uses.patterns.extend(patterns),
                    _ => self.uses.is_dynamic = true,
                }
            }
        }
    }

    /// A read whose names are all known.
    fn parsed_read(&self, node: &Node, need: Need) -> Option<Read> {
        let arguments = arguments(node)?;
        let (names, need): (Vec<&Node>, Need) = match need {
            Need::Optional => (arguments, need),
            _ => {
                let first = *arguments.first()?;
                let names = if first.kind == "LIST" { first.nodes().collect() } else { vec![first] };
                (names, if arguments.len() > 1 { Need::Default } else { need })
            }
        };
        let names: Option<Vec<String>> = names.iter().map(|name| name.text().map(str::to_owned)).collect();
        let names = names.filter(|names| !names.is_empty())?;
        Some(Read { names, need, is_conditional: self.conditions > 0, at: node.start })
    }

    fn link(&mut self, node: &Node, is_required: bool) {
        match arguments(node).as_deref().and_then(only_text) {
            Some(name) => self.uses.links.push(LinkUse {
                name: name.to_owned(),
                is_required,
                is_conditional: self.conditions > 0,
                at: node.start,
            }),
            None => self.uses.has_dynamic_links = true,
        }
    }

    fn call(&mut self, node: &Node) {
        let (Some(receiver), Some(method)) = (node.child(0), node.name(1)) else { return self.children(node, false) };
        if chain_of(node).is_some_and(|chain| is_struct(&chain.root)) {
            return self.chain(node);
        }
        if let Some(link) = self.link_of(receiver) {
            self.uses.link_calls.push((method.to_owned(), node.start));
            let need = if method == "if_p" { Need::Optional } else { Need::Required };
            if let ("p" | "if_p", Some(read)) = (method, self.parsed_read(node, need)) {
                self.uses.link_reads.push(LinkRead { link, read });
            }
        } else if receiver.kind == "SELF" && matches!(method, "p" | "if_p") {
            self.uses.is_dynamic = true;
        }
        // What is asked first may depend on the kind.
        if let Some(name) = read_of_one(receiver).filter(|_| self.conditions == 0) {
            self.uses.receivers.push((name.to_owned(), method.to_owned(), node.start));
        }
        match method {
            "else_if_p" => self.read_else(node),
            "else_if_link" => self.link(node, false),
            "is_a?" | "kind_of?" | "instance_of?" | "respond_to?" | "class" | "===" => self.uses.asks_for_kinds = true,
            "object_id" | "__id__" | "shuffle" | "shuffle!" | "sample" => self.odd(Oddity::Unstable, method, node),
            name if REFLECTIVE.contains(&name) => self.reflect(),
            _ => {}
        }
        if receiver.kind == "CONST" {
            self.call_on_constant(node, receiver.name(0).unwrap_or_default(), method);
            node.nodes().skip(1).for_each(|part| self.visit(part, false));
        } else {
            self.children(node, false);
        }
    }

    /// `.else_if_p('a')`: of the job, or of a link whose chain it continues.
    fn read_else(&mut self, node: &Node) {
        match self.parsed_read(node, Need::Optional) {
            // Whose property it is depends on where the chain begins.
            Some(read) => self.uses.texts.extend(read.names),
            None => self.uses.is_dynamic = true,
        }
    }

    fn call_on_constant(&mut self, node: &Node, constant: &str, method: &str) {
        let name = format!("{constant}.{method}");
        match constant {
            // A time that is only compared does not show.
            "Time" | "DateTime" | "Date" if matches!(method, "now" | "today") && node.is_output => {
                self.odd(Oddity::Unstable, &name, node);
            }
            "SecureRandom" | "Random" | "ObjectSpace" => self.odd(Oddity::Unstable, &name, node),
            "Process" if matches!(method, "pid" | "ppid" | "clock_gettime") => {
                self.odd(Oddity::Unstable, &name, node);
            }
            "ENV" => self.odd(Oddity::Environment, "ENV", node),
            "Class" | "Module" | "Struct" if method == "new" => self.uses.is_reflective = true,
            constant if IO_CONSTANTS.contains(&constant) && !PURE_METHODS.contains(&method) => {
                self.odd(Oddity::Io, &name, node);
            }
            _ => {}
        }
    }

    fn constant(&mut self, node: &Node) {
        match node.name(0) {
            Some("ENV") => self.odd(Oddity::Environment, "ENV", node),
            Some("ObjectSpace") => self.odd(Oddity::Unstable, "ObjectSpace", node),
            _ => {}
        }
    }

    fn text(&mut self, node: &Node) {
        if node.kind.ends_with("XSTR") {
            self.odd(Oddity::Io, "a program in backticks", node);
        }
        self.uses.texts.extend(node.text().map(str::to_owned));
        if node.kind == "DSTR" {
            // It may be the name of a property, wherever it is read.
            self.uses.patterns.extend(pattern(node).filter(|pieces| pieces.iter().any(|piece| piece.len() > 1)));
        }
        self.children(node, false);
    }

    fn instance_variable(&mut self, node: &Node) {
        match node.name(0) {
            Some("@properties" | "@raw_properties" | "@spec") => self.chain(node),
            Some("@links") => self.uses.has_dynamic_links = true,
            _ => {}
        }
    }

    /// A chain of calls that begins with `properties` or `spec`.
    fn chain(&mut self, node: &Node) {
        let Some(Chain { root, at, segments, arguments }) = chain_of(node) else { return };
        let names: Vec<String> = segments
            .into_iter()
            .map_while(|segment| if let Segment::Name(name) = segment { Some(name) } else { None })
            .collect();
        match (root.trim_start_matches('@'), names.first().map(String::as_str)) {
            ("spec", Some("properties")) => self.uses.paths.push((names[1..].to_vec(), at)),
            ("spec", Some("links")) => match names.get(1) {
                Some(link) => {
                    self.uses.links.push(LinkUse { name: link.clone(), is_required: false, is_conditional: true, at })
                }
                None => self.uses.has_dynamic_links = true,
            },
            ("spec", Some(name)) => self.uses.spec_reads.push((name.to_owned(), at)),
            ("spec", None) => {
                self.uses.is_dynamic = true;
                self.uses.has_dynamic_links = true;
            }
            _ => self.uses.paths.push((names, at)),
        }
        arguments.into_iter().for_each(|argument| self.visit(argument, false));
    }
}
