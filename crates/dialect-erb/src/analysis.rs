//! What a template's code may touch, seen without running it.
//!
//! Most templates read properties and links and write text. Those may follow one another in one process; every other
//! template is evaluated in a process of its own. A template counts as harmless only if each of its words is known to
//! be: whatever is unknown costs a process, never isolation.

mod lexer;
mod words;

use std::collections::{HashMap, HashSet};

use crate::scanner;
use lexer::Token;

/// What is known about a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Evaluating it cannot change anything that a later template sees. Where that is not certain, it is false.
    pub leaves_nothing_behind: bool,
    /// It could tell a struct built on demand from one built at once.
    pub eager: bool,
    /// Libraries worth loading before processes are forked.
    pub features: Vec<&'static str>,
    /// Its output is the same for every instance of a group.
    pub same_for_all_instances: bool,
}

/// Looks at a template.
pub fn analyse(template: &[u8]) -> Facts {
    let Ok(text) = std::str::from_utf8(template) else { return unknown(template) };
    let mut code = String::new();
    for fragment in scanner::fragments(text) {
        code.push_str(fragment);
        code.push('\n');
    }
    let Ok(tokens) = lexer::tokens(&code) else { return unknown(template) };
    let mut reader = Reader { tokens: &tokens, locals: locals(&tokens), facts: Facts::default(), constant: true };
    let harmless = reader.is_harmless();
    let mut facts = reader.facts;
    facts.leaves_nothing_behind = harmless && !scanner::has_magic_comment(template);
    facts.same_for_all_instances = facts.leaves_nothing_behind && reader.constant;
    facts
}

/// For code that is not understood: nothing is assumed, but libraries that its text names are loaded early.
fn unknown(template: &[u8]) -> Facts {
    let text = String::from_utf8_lossy(template);
    let mut features = Vec::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        remember(&mut features, word);
    }
    Facts { eager: text.contains('@') || text.contains("instance_variable"), features, ..Facts::default() }
}

fn remember(features: &mut Vec<&'static str>, word: &str) {
    if let Some(library) = words::library(word).filter(|library| !features.contains(library)) {
        features.push(library);
    }
}

/// A local variable of a template.
#[derive(Default)]
struct Local {
    /// Every value it gets is an object that the template makes on the spot.
    own: bool,
}

/// The local variables: what is assigned to, parameters of blocks, variables of loops and rescues.
fn locals(tokens: &[Token]) -> HashMap<String, Local> {
    let mut locals: HashMap<String, Local> = HashMap::new();
    locals.insert("_erbout".to_owned(), Local { own: true });
    let mut foreign: HashSet<String> = HashSet::new();
    let mut in_parameters = false;
    for (i, token) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| &tokens[i]);
        match token {
            Token::Sign("|") => {
                let opens = match before {
                    Some(Token::Sign("{")) => true,
                    Some(Token::Word(word)) => word == "do",
                    _ => false,
                };
                in_parameters = opens && !in_parameters;
            }
            Token::Word(name) if in_parameters => {
                foreign.insert(name.clone());
            }
            Token::Word(name) => {
                let dotted = matches!(before, Some(Token::Sign("." | "&." | "::")));
                let loops = matches!(before, Some(Token::Word(w)) if w == "for");
                let rescued = matches!(before, Some(Token::Sign("=>"))) && !dotted;
                let lambda = matches!(before, Some(Token::Sign("->")));
                match tokens.get(i + 1) {
                    Some(Token::Sign("=")) if !dotted => {
                        if is_made_here(&tokens[i + 2..]) {
                            locals.entry(name.clone()).or_insert(Local { own: true });
                        } else {
                            foreign.insert(name.clone());
                        }
                    }
                    Some(Token::Sign("||=" | "&&=" | "+=" | "-=" | "*=" | "/=" | "|=" | "&=")) if !dotted => {
                        foreign.insert(name.clone());
                    }
                    // One of several that are assigned at once.
                    Some(Token::Sign(",")) if !dotted && assigns_several(&tokens[i..]) => {
                        foreign.insert(name.clone());
                    }
                    _ if loops || rescued || lambda => {
                        foreign.insert(name.clone());
                    }
                    _ => {}
                }
            }
            // Parameters of `->(a, b)`.
            Token::Sign("->") if matches!(tokens.get(i + 1), Some(Token::Sign("("))) => {
                let parameters = tokens[i + 2..].iter().take_while(|t| **t != Token::Sign(")"));
                foreign.extend(parameters.filter_map(|t| match t {
                    Token::Word(name) => Some(name.clone()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    for name in foreign {
        locals.insert(name, Local { own: false });
    }
    locals
}

/// `a, b = ...`: names and commas up to an assignment.
fn assigns_several(tokens: &[Token]) -> bool {
    let mut rest = tokens.iter().skip_while(|t| matches!(t, Token::Word(_) | Token::Sign("," | "*")));
    matches!(rest.next(), Some(Token::Sign("=")))
}

/// Whether the value that begins here is a new object and nothing else: a literal that ends the statement or is only
/// called upon.
fn is_made_here(value: &[Token]) -> bool {
    match value.first() {
        Some(Token::Literal(_)) => return matches!(value.get(1), Some(Token::End)),
        Some(Token::Sign("[" | "{")) => {}
        _ => return false,
    }
    let mut depth = 0usize;
    for (i, token) in value.iter().enumerate() {
        match token {
            Token::Sign("[" | "{" | "(") => depth += 1,
            Token::Sign("]" | "}" | ")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return matches!(value.get(i + 1), Some(Token::End));
        }
    }
    false
}

struct Reader<'a> {
    tokens: &'a [Token],
    locals: HashMap<String, Local>,
    facts: Facts,
    /// Nothing was seen that differs between instances.
    constant: bool,
}

impl Reader<'_> {
    fn is_harmless(&mut self) -> bool {
        let tokens = self.tokens;
        let mut harmless = true;
        for (i, token) in tokens.iter().enumerate() {
            if let Token::Word(word) | Token::Constant(word) | Token::Symbol(word) = token {
                remember(&mut self.facts.features, word);
            }
            harmless &= match token {
                Token::Word(word) => self.word(i, word),
                Token::Constant(word) => self.constant(i, word),
                Token::Instance(name) => {
                    self.constant = false;
                    self.facts.eager |= matches!(name.as_str(), "spec" | "properties");
                    true
                }
                // `&:name` calls it.
                Token::Symbol(name) => i == 0 || tokens[i - 1] != Token::Sign("&") || words::is_pure(name),
                Token::Sign("<<") => self.is_own(i.checked_sub(1)),
                Token::Sign(
                    "=" | "||=" | "&&=" | "+=" | "-=" | "*=" | "/=" | "|=" | "&=" | "<<=" | "**=" | "%=" | "^=" | ">>=",
                ) => self.assignment(i),
                _ => true,
            };
        }
        harmless
    }

    /// Whether the value that ends at a token is a local variable which holds only the template's own objects.
    fn is_own(&self, at: Option<usize>) -> bool {
        let Some(i) = at else { return false };
        let dotted = i > 0 && matches!(self.tokens[i - 1], Token::Sign("." | "&." | "::"));
        match &self.tokens[i] {
            Token::Word(name) => !dotted && self.locals.get(name).is_some_and(|l| l.own),
            Token::Literal(_) => true,
            _ => false,
        }
    }

    /// An assignment changes a local variable, or an element of an object that is the template's own.
    fn assignment(&self, i: usize) -> bool {
        let Some(before) = i.checked_sub(1) else { return false };
        match &self.tokens[before] {
            Token::Word(_) => before == 0 || !matches!(self.tokens[before - 1], Token::Sign("." | "&." | "::")),
            Token::Sign("]") => self.opening(before).is_some_and(|open| self.is_own(open.checked_sub(1))),
            // Default values of block parameters, `a, (b, c) = ...`.
            _ => false,
        }
    }

    fn opening(&self, closing: usize) -> Option<usize> {
        let mut depth = 0usize;
        for i in (0..=closing).rev() {
            match self.tokens[i] {
                Token::Sign("]") => depth += 1,
                Token::Sign("[") => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(i);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn word(&mut self, i: usize, word: &str) -> bool {
        let before = i.checked_sub(1).map(|i| &self.tokens[i]);
        if matches!(before, Some(Token::Sign("." | "&." | "::"))) {
            return self.method(i, word);
        }
        if word == "require" {
            let feature = self.tokens[i + 1..].iter().find(|t| **t != Token::Sign("("));
            return matches!(feature, Some(Token::Literal(feature)) if words::is_requirable(feature));
        }
        if self.locals.contains_key(word) {
            // A parameter may carry a name of the context's.
            return true;
        }
        self.constant &= !words::is_of_the_instance(word);
        words::is_keyword(word) || words::is_function(word)
    }

    fn method(&mut self, i: usize, word: &str) -> bool {
        if word == "now" || word == "object_id" {
            self.constant = false;
        }
        if words::is_changing(word) {
            return self.is_own(i.checked_sub(2));
        }
        words::is_pure(word) || (self.is_struct_path(i) && !self.takes_arguments(i))
    }

    /// `properties.a.b` and `spec.a.b`: a name that is no method of a struct reads a key.
    fn is_struct_path(&self, mut i: usize) -> bool {
        while i >= 2 && matches!(self.tokens[i - 1], Token::Sign("." | "&.")) {
            i -= 2;
        }
        matches!(&self.tokens[i], Token::Word(root) if matches!(root.as_str(), "properties" | "spec") && !self.locals.contains_key(root))
    }

    fn takes_arguments(&self, i: usize) -> bool {
        matches!(
            self.tokens.get(i + 1),
            Some(
                Token::Sign("(" | "{" | "=" | "->" | "*" | "&")
                    | Token::Literal(_)
                    | Token::Symbol(_)
                    | Token::Constant(_)
            )
        ) || matches!(self.tokens.get(i + 1), Some(Token::Word(w)) if !words::is_keyword(w) || w == "do")
    }

    fn constant(&mut self, i: usize, word: &str) -> bool {
        self.constant &= !words::is_of_the_instance(word);
        let called = matches!(self.tokens.get(i + 1), Some(Token::Sign("(")));
        if called && words::is_function(word) {
            return true;
        }
        let reopened = matches!(self.tokens.get(i + 1), Some(Token::Sign("=" | "||=")));
        words::is_known_constant(word) && !reopened
    }
}

/// Code that leaves a template with a magic comment to ERB's own compiler.
pub fn delegate(template: &[u8]) -> Vec<u8> {
    let mut code = b"#coding:UTF-8\n".to_vec();
    code.extend_from_slice(b"eval(ERB.new(\"");
    for b in template {
        code.extend_from_slice(format!("\\x{b:02X}").as_bytes());
    }
    code.extend_from_slice(b"\".dup.force_encoding(Encoding::UTF_8), trim_mode: '-').src, binding, __FILE__, 0)");
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmless(template: &str) -> bool {
        analyse(template.as_bytes()).leaves_nothing_behind
    }

    #[test]
    fn reading_and_writing_text_is_harmless() {
        for template in [
            "plain text",
            "<%= p('a.b') %>",
            "<% if_p('a', 'b') do |a, b| %><%= a %><% end.else do %>x<% end %>",
            "<% link('db').instances.each do |i| %><%= i.address %>:<%= link('db').p('port') %>\n<% end %>",
            "<%= JSON.pretty_generate(p('h').merge('a' => 1)) %>",
            "<% require 'json' %><%= p('x').to_json %>",
            "<% lines = []\np('xs').each { |x| lines << \"a #{x['n']}\" }\n%><%= lines.join(\"\\n\") %>",
            "<% h = {}; h['a'] = p('b'); h.delete('c') %><%= h.to_yaml %>",
            "<%= properties.nats.user %><%= spec.networks.default.ip %>",
            "<%= p('a') ? 'x' : 'y' %>",
            "<% total = 0; p('xs').each { |x| total += x.to_i } %><%= total %>",
            "<%= p('xs').map(&:to_s).sort.join(',') %>",
            "<%= Integer(p('n')) / 2 %>",
            "<% raise ArgumentError, 'no' unless p('x') =~ /^a+$/ %>",
        ] {
            assert!(harmless(template), "{template}");
        }
    }

    #[test]
    fn everything_else_gets_a_process_of_its_own() {
        for template in [
            "<% def x; end %>",
            "<% X = 1 %>",
            "<% $x = 1 %>",
            "<% class String; end %>",
            "<% ::String.class_eval { } %>",
            "<% p('x') << 'y' %>",
            "<% x = p('x'); x << 'y' %>",
            "<% x = []; x = p('x'); x << 'y' %>",
            "<% x = [] && p('x'); x << 'y' %>",
            "<% p('h')['a'] = 1 %>",
            "<% p('h').delete('a') %>",
            "<% p('h').each { |k, v| v << 'x' } %>",
            "<% properties.a.list.push(1) %>",
            "<% properties.a.list.pop %>",
            "<% properties.a = 1 %>",
            "<% properties.x.merge! %>",
            "<% ENV['A'] = 'b' %>",
            "<% exit! %>",
            "<% at_exit { } %>",
            "<% p('xs').map(&:clear) %>",
            "<% send(:define_method, :x) { } %>",
            "<% eval('1') %>",
            "<% String.freeze %>",
            "<% require 'bigdecimal/util' %>",
            "<% include ERB::Util %>",
            "<% extend Comparable %>",
            "<% Object.const_set(:X, 1) %>",
            "<% a, b = p('x'), p('y'); a << 'z' %>",
            "<% x = %w(a b); y = <<~E\nE\n %>",
            "<% @x ||= p('x'); @x << 'y' %>",
            "<% spec.networks.foo('x') %>",
            "<% system 'true' %>",
        ] {
            assert!(!harmless(template), "{template}");
        }
    }

    #[test]
    fn instances_differ_only_where_a_template_can_tell() {
        let same = |t: &str| analyse(t.as_bytes()).same_for_all_instances;
        assert!(same("processes:\n- name: <%= p('x') %>\n"));
        assert!(same("<% link('l').instances.each do |i| %><%= i.name %><%= i.index %><% end %>"));
        for other in
            ["<%= spec.id %>", "<%= index %>", "<%= name %>", "<%= @index %>", "<%= Time.now %>", "<% def x; end %>"]
        {
            assert!(!same(other), "{other}");
        }
    }

    #[test]
    fn libraries_are_known_before_forking() {
        assert_eq!(analyse(b"<%= p('x').to_json %><%= IPAddr.new(p('y')) %>").features, ["json", "ipaddr"]);
        assert_eq!(analyse(b"<% x = <<~E\nE\n %><%= YAML.dump(x) %>").features, ["yaml"]);
        assert!(analyse(b"<%= @spec.inspect %>").eager);
    }
}
