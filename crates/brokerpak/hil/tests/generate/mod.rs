//! Random expressions: most are valid, many have wrong types, some do not parse.

use serde_json::{Value as Json, json};
use testkit::random::Random;

/// The types that an expression is generated for.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Int,
    Float,
    Bool,
    List,
    Map,
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "text",
    "é",
    "12",
    "0x1F",
    "010",
    "1.5",
    "true",
    "T",
    "0",
    "1",
    "-3",
    "1e400",
    " x ",
    "日本",
    "a.b",
    "k",
    "$$",
    "\n",
    "1_000",
    "inf",
    "nAn",
    "99999999999999999999",
    "key",
    "<&>",
    "0b101",
    "[a-z]+",
    "^d[0-9]+$",
    "(",
    "a**",
    "+",
    "%41",
    "{}",
];
const LITERALS: &[&str] = &["", "", " ", "text ", "$$", "$", "$${x}", "}", "\"", "é\n", "\\n", "\r\n", "{", "日 "];
const INTS: &[&str] =
    &["0", "1", "2", "3", "7", "010", "42", "100", "9223372036854775807", "9223372036854775808", "0012"];
const FLOATS: &[&str] =
    &["0.5", "1.0", "2.", "3.25", "100000.0", "1000000.0", "1234567.8", "0.00001", "123456789012345678901.5"];

pub(crate) fn request(random: &mut Random) -> Json {
    let variables = json!({
        "s": random.pick(TEXTS), "n": random.pick(INTS).parse::<f64>().unwrap_or(5.0), "f": 1.25, "big": 1e21, "yes": true, "no": false,
        "nil": null, "list": ["a", random.pick(TEXTS), 3], "empty": [], "none": {}, "map": { "k": "v", "key": random.pick(TEXTS), "2": 2 },
        "mixed": ["a", ["b"]], "mixedmap": { "a": "x", "b": {} }, "lists": [["x", "y"], ["z"]], "maps": { "k": { "a": "b" }, "a": {} },
        "request.plan_id": "p-1", "with-dash": "d", "a.*.b": "star", "ünï": "u", "_x": "17", "numbers": [1, 2, 30],
    });
    let mut generator = Generator { random, budget: 3 };
    generator.budget = 3 + generator.random.below(14);
    let mut text = generator.template(3, false);
    if random.one_in(6) {
        text = mutated(random, &text);
    }
    json!({ "expression": text, "variables": variables })
}

struct Generator<'r> {
    random: &'r mut Random,
    budget: usize,
}

impl Generator<'_> {
    fn kind(&mut self) -> Kind {
        *self.random.pick(&[
            Kind::Text,
            Kind::Text,
            Kind::Int,
            Kind::Int,
            Kind::Float,
            Kind::Bool,
            Kind::List,
            Kind::Map,
        ])
    }

    fn template(&mut self, depth: usize, quoted: bool) -> String {
        let mut text = String::new();
        let alone = self.random.one_in(3);
        for _ in 0..if alone { 1 } else { 1 + self.random.below(3) } {
            if !alone {
                text.push_str(&self.literal(quoted));
            }
            let kind =
                if alone { self.kind() } else { *self.random.pick(&[Kind::Text, Kind::Int, Kind::Bool, Kind::Float]) };
            let inside = self.expression(kind, depth);
            let (left, right) = (self.space(), self.space());
            text.push_str(&format!("${{{left}{inside}{right}}}"));
        }
        if !alone {
            text.push_str(&self.literal(quoted));
        }
        text
    }

    fn literal(&mut self, quoted: bool) -> String {
        let text = self.random.pick(LITERALS);
        if quoted { text.replace('\\', "\\\\").replace('"', "\\\"") } else { (*text).to_owned() }
    }

    fn space(&mut self) -> &'static str {
        if self.random.one_in(4) { self.random.pick::<&str>(&[" ", "  ", "\n", "\t", "\r\n"]) } else { "" }
    }

    fn expression(&mut self, kind: Kind, depth: usize) -> String {
        // Now and then another type than is wanted.
        let kind = if self.random.one_in(12) { self.kind() } else { kind };
        if depth == 0 || self.budget == 0 {
            return self.term(kind, depth);
        }
        self.budget -= 1;
        match self.random.below(9) {
            0 => {
                let condition = self.expression(Kind::Bool, depth - 1);
                let other = if self.random.one_in(3) { self.kind() } else { kind };
                let (yes, no) = (self.expression(kind, depth - 1), self.expression(other, depth - 1));
                format!("{condition} ? {yes} : {no}")
            }
            1..=3 => self.operation(kind, depth),
            4 => format!("({})", self.expression(kind, depth - 1)),
            _ => self.term(kind, depth),
        }
    }

    fn operation(&mut self, kind: Kind, depth: usize) -> String {
        let operators: &[&str] = match kind {
            Kind::Bool => &["==", "!=", "<", ">", "<=", ">=", "&&", "||"],
            _ => &["+", "-", "*", "/", "%"],
        };
        let mut text = String::new();
        for place in 0..2 + self.random.below(3) {
            let operator = *self.random.pick(operators);
            let operand = match (kind, operator) {
                (Kind::Bool, "&&" | "||") => Kind::Bool,
                (Kind::Bool, _) => *self.random.pick(&[Kind::Int, Kind::Float, Kind::Text, Kind::Bool]),
                (Kind::Text, _) => Kind::Int,
                _ => kind,
            };
            if place > 0 {
                let space = if self.random.one_in(5) { "" } else { " " };
                text.push_str(&format!("{space}{operator}{space}"));
            }
            text.push_str(&self.term(operand, depth - 1));
        }
        text
    }

    fn quoted(&mut self, depth: usize) -> String {
        if depth > 0 && self.budget > 0 && self.random.one_in(4) {
            self.budget -= 1;
            return format!("\"{}\"", self.template(depth - 1, true));
        }
        let text = self.random.pick(TEXTS);
        let text = if self.random.one_in(2) { text.replace('\n', "\\n") } else { (*text).to_owned() };
        format!("\"{text}\"")
    }

    fn term(&mut self, kind: Kind, depth: usize) -> String {
        if self.random.one_in(12) {
            let sign = if kind == Kind::Bool { "!" } else { "-" };
            return format!("{sign}{}", self.term(kind, depth.saturating_sub(1)));
        }
        let call = depth > 0 && self.random.one_in(3);
        match kind {
            Kind::Int if call => {
                self.random.pick(&["counter.next()", "numbers[1]", "numbers[\"0\"]", "map[\"2\"]"]).to_string()
            }
            Kind::Int => (*self.random.pick(INTS)).to_owned(),
            Kind::Float => (*self.random.pick(FLOATS)).to_owned(),
            Kind::Bool if call => {
                let (first, second) = (self.expression(Kind::Text, depth - 1), self.expression(Kind::Text, depth - 1));
                match self.random.below(2) {
                    0 => format!("regexp.matches({first}, {second})"),
                    _ => format!("assert({}, {second})", self.expression(Kind::Bool, depth - 1)),
                }
            }
            Kind::Bool => self.random.pick(&["true", "false", "yes", "no", "\"T\""]).to_string(),
            Kind::List => {
                self.random.pick(&["list", "empty", "mixed", "lists", "lists[0]", "numbers", "lists[5]"]).to_string()
            }
            Kind::Map => {
                self.random.pick(&["map", "none", "maps", "mixedmap", "maps[\"k\"]", "maps[\"zz\"]"]).to_string()
            }
            Kind::Text if call => self.text_call(depth - 1),
            Kind::Text if self.random.one_in(3) => self.quoted(depth),
            Kind::Text => {
                let names = [
                    "s",
                    "n",
                    "f",
                    "big",
                    "nil",
                    "request.plan_id",
                    "with-dash",
                    "a.*.b",
                    "ünï",
                    "_x",
                    "unknown",
                    "list[0]",
                    "list[1]",
                    "map[\"k\"]",
                    "map[s]",
                    "map[n]",
                    "list[n]",
                    "list[s]",
                    "s[0]",
                    "mixed[0]",
                    "mixedmap[\"a\"]",
                    "empty[0]",
                    "none[\"x\"]",
                    "list[true]",
                    "list[1.9]",
                    "f.*",
                    "yes",
                ];
                (*self.random.pick(&names)).to_owned()
            }
        }
    }

    fn text_call(&mut self, depth: usize) -> String {
        let kind = self.kind();
        let any = self.expression(kind, depth);
        let text = self.expression(Kind::Text, depth);
        match self.random.below(9) {
            0 | 1 => format!("json.marshal({any})"),
            2 => format!("map.flatten({text}, \";\", {})", self.expression(Kind::Map, depth)),
            3 => format!("str.truncate({}, {text})", self.expression(Kind::Int, depth)),
            4 => format!("str.queryEscape({text})"),
            5 => format!("env({})", self.random.pick(&["\"HOME\"", "\"NOPE\"", "s"])),
            6 => format!("config({text},)"),
            7 => format!("nope({text})"),
            _ => format!("json.marshal({any}, {text})"),
        }
    }
}

/// The text with a character more, less or other.
fn mutated(random: &mut Random, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let signs: Vec<char> = "{}()[]$\"\\:?=&|!<>.,+-*/% \n0ae_#é٣🙂'".chars().collect();
    for _ in 0..1 + random.below(2) {
        let place = random.below(characters.len() + 1);
        let sign = *random.pick(&signs);
        match random.below(4) {
            0 | 1 => characters.insert(place, sign),
            2 if place < characters.len() => characters[place] = sign,
            _ => {
                if place < characters.len() {
                    characters.remove(place);
                }
            }
        }
    }
    characters.into_iter().collect()
}
