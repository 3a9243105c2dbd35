//! Random templates from Go's grammar, with random data: most are valid, many fail when they are executed, some do not
//! parse.

use serde_json::{Map as Object, Value as Json, json};

use crate::random::{KEYS, Random, WORDS, mutated, nstance_data, value};
use crate::samples::{CALM, FUNCTIONS, NSTANCE, NUMBERS, STRINGS, TEXTS};

struct Generator<'r> {
    random: &'r mut Random,
    text: String,
    left: String,
    right: String,
    variables: Vec<String>,
    nstance: bool,
    /// Does it avoid what mostly fails?
    calm: bool,
    /// How many nodes may still come.
    budget: usize,
    loops: usize,
    templates: usize,
}

/// A random request; `id` is its number.
pub(crate) fn request(random: &mut Random) -> Json {
    let kind = random.below(12);
    let mut generator = Generator {
        left: "{{".into(),
        right: "}}".into(),
        text: String::new(),
        variables: vec!["$".into()],
        nstance: kind == 0,
        calm: kind > 6,
        budget: 3 + random.below(22),
        loops: 0,
        templates: 0,
        random,
    };
    let mut request = Object::new();
    if generator.random.chance(25) {
        let (left, right) = [("[[", "]]"), ("<%", "%>"), ("{", "}"), ("{{", "}"), ("((", "))"), ("|", "|"), ("a", "b")]
            [generator.random.below(7)];
        (generator.left, generator.right) = (left.into(), right.into());
        request.insert("delims".into(), json!([left, right]));
    }
    generator.document();
    let mut text = std::mem::take(&mut generator.text);
    if kind <= 6 && random.chance(5) {
        text = mutated(random, text);
    }
    let loops = text.contains("range");
    if loops {
        // Go counts to the end, however far that is.
        text = text.replace("9223372036854775807", "4").replace("1_000", "1_0");
    }
    request.insert("template".into(), text.into());
    if random.chance(6) {
        let names = ["t.tmpl", "dir/file:1", "a b", "é", "quo\"te", "per%sent", "%s", "%v%q", "%%"];
        request.insert("name".into(), random.pick(&names).into());
    }
    match random.below(if kind > 6 { 12 } else { 5 }) {
        0 => request.insert("missingkey".into(), "zero".into()),
        1 => request.insert("missingkey".into(), "error".into()),
        2 => request.insert("missingkey".into(), "invalid".into()),
        _ => None,
    };
    let data = match kind {
        0 => {
            request.insert("data_type".into(), "nstance".into());
            nstance_data(random)
        }
        1 => {
            request.insert("data_type".into(), "map[string]string".into());
            let keys: Vec<&str> = KEYS.iter().copied().filter(|_| random.chance(2)).collect();
            Json::Object(keys.into_iter().map(|key| (key.into(), random.pick(&WORDS).into())).collect())
        }
        2 => value(random, 3, loops),
        _ => {
            let keys: Vec<&str> = KEYS.iter().copied().filter(|_| !random.chance(4)).collect();
            Json::Object(keys.into_iter().map(|key| (key.into(), value(random, 3, loops))).collect())
        }
    };
    request.insert("data".into(), data);
    if random.chance(6) {
        request.insert("numbers".into(), "float64".into());
    }
    request.into()
}

impl Generator<'_> {
    fn document(&mut self) {
        let definitions = if self.random.chance(3) { self.random.below(3) } else { 0 };
        for number in 0..definitions {
            self.action(&format!("define \"t{number}\""));
            let outer = std::mem::replace(&mut self.variables, vec!["$".into()]);
            self.list(2);
            self.variables = outer;
            self.action("end");
            self.templates = number + 1;
        }
        self.list(3);
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// An action with these words in it.
    fn action(&mut self, inside: &str) {
        let left = self.left.clone();
        self.push(&left);
        if self.random.chance(6) {
            self.push("- ");
        } else if self.random.chance(6) {
            self.push(" ");
        }
        self.push(inside);
        if self.random.chance(6) {
            self.push(" -");
        } else if self.random.chance(6) {
            self.push(" ");
        }
        let right = self.right.clone();
        self.push(&right);
    }

    fn list(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(4) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.node(depth);
        }
    }

    fn node(&mut self, depth: usize) {
        let text = self.random.pick(&TEXTS);
        self.push(text);
        match self.random.below(if depth == 0 { 8 } else { 14 }) {
            0 => {
                let word = self.random.pick(&TEXTS).to_owned();
                self.push(&word);
            }
            1 => {
                let comment = ["/* c */", "/**/", "/* a\n b */"][self.random.below(3)];
                let left = self.left.clone();
                let right = self.right.clone();
                let (before, after) = [("", ""), ("- ", ""), ("", " -"), ("- ", " -")][self.random.below(4)];
                self.push(&format!("{left}{before}{comment}{after}{right}"));
            }
            2..=5 => {
                let inside = self.pipeline(3, true);
                self.action(&inside);
            }
            6 if self.loops > 0 => {
                let word = self.random.pick(&["break", "continue"]);
                self.action(word);
            }
            6 | 7 => self.invocation(),
            8 | 9 => self.control("if", depth),
            10 => self.control("with", depth),
            _ => self.control("range", depth),
        }
    }

    fn invocation(&mut self) {
        let number = if self.random.chance(40) { 9 } else { self.random.below(self.templates.max(1)) };
        let pipe = if self.random.chance(4) { String::new() } else { self.pipeline(2, false) };
        if self.random.chance(3) && !pipe.is_empty() {
            let number = self.random.below(100_000);
            self.action(&format!("block \"b{number}\" {pipe}"));
            let outer = std::mem::replace(&mut self.variables, vec!["$".into()]);
            let loops = std::mem::take(&mut self.loops);
            self.list(1);
            self.loops = loops;
            self.variables = outer;
            self.action("end");
        } else if self.templates > 0 || self.random.chance(20) {
            self.action(&format!("template \"t{number}\" {pipe}"));
        }
    }

    fn control(&mut self, word: &str, depth: usize) {
        let declared = self.variables.len();
        let mut pipe = self.pipeline(2, true);
        if word == "range" {
            if self.calm || self.random.chance(3) {
                let over = ["3", ".l", ".list", ".m", ".missing", "$.l", "5", "2.5", ".n", "."];
                let most = if self.calm { 7 } else { over.len() };
                pipe = self.random.pick(&over[..most]).to_owned();
            }
            match self.random.below(6) {
                0 => {
                    pipe = format!("$v := {pipe}");
                    self.variables.push("$v".into());
                }
                1 => {
                    pipe = format!("$i, $e := {pipe}");
                    self.variables.extend(["$i".into(), "$e".into()]);
                }
                2 if self.variables.len() > 1 => {
                    let variable = self.variables[1 + self.random.below(self.variables.len() - 1)].clone();
                    pipe = format!("{variable} = {pipe}");
                }
                _ => {}
            }
            self.loops += 1;
        }
        self.action(&format!("{word} {pipe}"));
        self.list(depth - 1);
        if word == "range" {
            self.loops -= 1;
        }
        while word != "range" && self.random.chance(4) {
            let pipe = self.pipeline(2, false);
            self.action(&format!("else {word} {pipe}"));
            self.list(depth - 1);
        }
        if self.random.chance(3) {
            self.action("else");
            self.list(depth - 1);
        }
        self.action("end");
        self.variables.truncate(declared);
    }

    fn pipeline(&mut self, depth: usize, may_declare: bool) -> String {
        let mut pipe = self.command(depth);
        while self.random.chance(5) {
            let space = if self.random.chance(5) { "|" } else { " | " };
            let next = if self.random.chance(12) { self.command(depth) } else { self.call(depth) };
            pipe = format!("{pipe}{space}{next}");
        }
        if may_declare && self.random.chance(9) {
            let known = self.variables.len() > 1 && self.random.chance(2);
            if known {
                let variable = self.variables[1 + self.random.below(self.variables.len() - 1)].clone();
                return format!("{variable} = {pipe}");
            }
            let variable = self.random.pick(&["$x", "$y", "$z"]).to_owned();
            self.variables.push(variable.clone());
            return format!("{variable} := {pipe}");
        }
        pipe
    }

    fn command(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.chance(2) {
            return self.call(depth);
        }
        let operand = self.operand(depth);
        if !self.calm && self.random.chance(40) { format!("{operand} {}", self.operand(depth)) } else { operand }
    }

    fn call(&mut self, depth: usize) -> String {
        let functions = if self.calm && !self.random.chance(6) { &CALM[..] } else { &FUNCTIONS };
        let function = self.random.pick(functions);
        if function == "printf" && !self.random.chance(15) {
            return self.printf(depth);
        }
        let usual = match function {
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "index" => 2,
            "len" | "not" | "html" | "js" | "urlquery" => 1,
            "slice" => 2 + self.random.below(2),
            _ => 1 + self.random.below(3),
        };
        let count = if self.random.chance(12) { self.random.below(5) } else { usual };
        let mut call = function.to_owned();
        for place in 0..count {
            let argument = match (function, place) {
                ("slice" | "index", 1..) if self.random.chance(2) => self.random.pick(&["0", "1", "2", "5"]).to_owned(),
                _ => self.operand(depth.saturating_sub(1)),
            };
            call.push_str(if self.random.chance(20) { "  " } else { " " });
            call.push_str(&argument);
        }
        call
    }

    fn printf(&mut self, depth: usize) -> String {
        let mut format = String::new();
        let mut arguments = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            format.push_str(self.random.pick(&["", "", "a", " ", "é", "%%", ": "]));
            format.push('%');
            for _ in 0..self.random.below(3) {
                format.push_str(self.random.pick(&["", "+", "-", "#", " ", "0"]));
            }
            if self.random.chance(15) {
                format.push_str(self.random.pick(&["[1]", "[2]", "[3]", "[0]", "[", "[x]", "[99999999]", "[-1]"]));
            }
            if self.random.chance(4) {
                format.push_str(self.random.pick(&["1", "5", "12", "20", "*", "0"]));
                if format.ends_with('*') {
                    arguments.push(self.random.pick(&["6", "-6", ".n", "2.5", "\"x\"", "1000001"]).to_owned());
                }
            }
            if self.random.chance(4) {
                format.push_str(self.random.pick(&[".", ".0", ".1", ".3", ".20", ".*", ".25"]));
                if format.ends_with('*') {
                    arguments.push(self.random.pick(&["2", "-2", "0", ".n", "nil"]).to_owned());
                }
            }
            if self.random.chance(25) {
                format.push_str(self.random.pick(&["[1]", "[2]", "[]"]));
            }
            format.push_str(self.random.pick(&[
                "v", "v", "v", "s", "s", "d", "d", "q", "x", "X", "t", "T", "c", "U", "o", "O", "b", "e", "E", "f",
                "F", "g", "G", "w", "z", "é", "!",
            ]));
            if !self.random.chance(15) {
                arguments.push(self.operand(depth.saturating_sub(1)));
            }
        }
        if self.random.chance(15) {
            arguments.push(self.operand(0));
        }
        let quoted = if self.random.chance(2) { format!("`{format}`") } else { format!("\"{format}\"") };
        format!("printf {quoted} {}", arguments.join(" "))
    }

    fn operand(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 11 } else { 14 }) {
            0..=3 => self.fields(""),
            4 => ".".into(),
            5 | 6 => {
                let variable = self.variables[self.random.below(self.variables.len())].clone();
                if self.random.chance(3) { self.fields(&variable) } else { variable }
            }
            7 | 8 => {
                let most = if !self.calm && self.random.chance(4) { NUMBERS.len() } else { 29 };
                self.random.pick(&NUMBERS[..most]).to_owned()
            }
            9 => {
                let most = if self.random.chance(8) { STRINGS.len() } else { 19 };
                self.random.pick(&STRINGS[..most]).to_owned()
            }
            10 => self.random.pick(if self.calm { &["true", "false"] } else { &["true", "false", "nil"] }).to_owned(),
            _ => {
                let inside = self.pipeline(depth - 1, true);
                let inside = format!("({inside})");
                if self.random.chance(4) { self.fields(&inside) } else { inside }
            }
        }
    }

    fn fields(&mut self, before: &str) -> String {
        let mut text = before.to_owned();
        if self.nstance && before.len() <= 1 && !self.random.chance(5) {
            text.push('.');
            text.push_str(self.random.pick(&NSTANCE));
            return text;
        }
        let more = if self.calm { usize::from(self.random.chance(8)) } else { self.random.below(2) };
        for _ in 0..1 + more {
            text.push('.');
            text.push_str(self.random.pick(&KEYS));
        }
        text
    }
}
