//! Globs with the rules of the crate globset, without its regular expressions: they take a fiftieth of an executable.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A glob whose `*`, `?` and `**` match bytes. `*` and `?` never match a slash.
pub(crate) struct Glob {
    program: Vec<Step>,
}

/// What the matcher does at a position of the path.
enum Step {
    /// A byte of a set.
    Byte(Set),
    /// Continues at both steps.
    Fork(usize, usize),
    /// Continues at another step.
    Jump(usize),
}

/// A set of bytes: one bit for each.
#[derive(Clone, Copy)]
struct Set([u32; 8]);

impl Set {
    const ALL: Set = Set([u32::MAX; 8]);

    fn of(bytes: &[u8]) -> Set {
        let mut set = Set([0; 8]);
        bytes.iter().for_each(|byte| set.0[usize::from(byte / 32)] |= 1 << (byte % 32));
        set
    }

    fn inverted(self) -> Set {
        Set(self.0.map(|bits| !bits))
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 32)] & (1 << (byte % 32)) != 0
    }
}

enum Token {
    Literal(char),
    /// `?`
    Any,
    /// `*`
    ZeroOrMore,
    /// `**/` at the beginning.
    RecursivePrefix,
    /// `/**` at the end.
    RecursiveSuffix,
    /// `/**/`
    RecursiveZeroOrMore,
    Class(Set),
    Alternates(Vec<Vec<Token>>),
}

impl Glob {
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn new(glob: &str) -> Result<Glob, String> {
        let mut parser = Parser {
            alternates: Vec::new(),
            branches: vec![Vec::new()],
            chars: glob.chars().peekable(),
            previous: None,
            current: None,
        };
        let tokens = parser.parse().map_err(|what| format!("error parsing glob '{glob}': {what}"))?;
        let mut glob = Glob { program: Vec::new() };
        match &tokens[..] {
            [Token::RecursivePrefix] => glob.any_number(Set::ALL),
            tokens => glob.compile(tokens),
        }
        Ok(glob)
    }

    fn compile(&mut self, tokens: &[Token]) {
        for token in tokens {
            match token {
                Token::Literal(c) => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.byte(byte));
                }
                Token::Any => self.program.push(Step::Byte(Set::of(b"/").inverted())),
                Token::ZeroOrMore => self.any_number(Set::of(b"/").inverted()),
                Token::RecursivePrefix => self.perhaps(|glob| {
                    glob.any_number(Set::ALL);
                    glob.byte(b'/');
                }),
                Token::RecursiveSuffix => {
                    self.byte(b'/');
                    self.any_number(Set::ALL);
                }
                Token::RecursiveZeroOrMore => {
                    self.byte(b'/');
                    self.perhaps(|glob| {
                        glob.any_number(Set::ALL);
                        glob.byte(b'/');
                    });
                }
                Token::Class(set) => self.program.push(Step::Byte(*set)),
                Token::Alternates(branches) => self.alternates(branches),
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        self.program.push(Step::Byte(Set::of(&[byte])));
    }

    fn any_number(&mut self, set: Set) {
        self.perhaps(|glob| {
            let start = glob.program.len() - 1;
            glob.program.push(Step::Byte(set));
            glob.program.push(Step::Jump(start));
        });
    }

    /// What `body` adds may be skipped.
    fn perhaps(&mut self, body: impl FnOnce(&mut Glob)) {
        let fork = self.program.len();
        self.program.push(Step::Jump(0));
        body(self);
        self.program[fork] = Step::Fork(fork + 1, self.program.len());
    }

    /// Empty branches do not count.
    fn alternates(&mut self, branches: &[Vec<Token>]) {
        let mut branches = branches.iter().filter(|branch| !is_empty(branch)).peekable();
        let mut ends = Vec::new();
        while let Some(branch) = branches.next() {
            if branches.peek().is_none() {
                self.compile(branch);
                break;
            }
            self.perhaps(|glob| {
                glob.compile(branch);
                ends.push(glob.program.len());
                glob.program.push(Step::Jump(0));
            });
        }
        for end in ends {
            self.program[end] = Step::Jump(self.program.len());
        }
    }

    /// Whether it matches the whole path.
    pub(crate) fn is_match(&self, path: &Path) -> bool {
        let mut current = States::new(self.program.len());
        let mut next = States::new(self.program.len());
        current.add(&self.program, 0);
        for byte in path.as_os_str().as_bytes() {
            for at in current.steps.drain(..) {
                if matches!(self.program.get(at), Some(Step::Byte(set)) if set.has(*byte)) {
                    next.add(&self.program, at + 1);
                }
            }
            if next.steps.is_empty() {
                return false;
            }
            current.is_in.fill(false);
            std::mem::swap(&mut current, &mut next);
        }
        current.is_in[self.program.len()]
    }
}

/// The steps at which the matcher is; the one after the last is a match.
struct States {
    steps: Vec<usize>,
    is_in: Vec<bool>,
}

impl States {
    fn new(program: usize) -> States {
        States { steps: Vec::new(), is_in: vec![false; program + 1] }
    }

    fn add(&mut self, program: &[Step], at: usize) {
        if std::mem::replace(&mut self.is_in[at], true) {
            return;
        }
        match program.get(at) {
            Some(Step::Fork(one, other)) => {
                self.add(program, *one);
                self.add(program, *other);
            }
            Some(Step::Jump(to)) => self.add(program, *to),
            Some(Step::Byte(_)) | None => self.steps.push(at),
        }
    }
}

/// Whether a branch has nothing but alternatives that are empty.
fn is_empty(tokens: &[Token]) -> bool {
    tokens.iter().all(|token| matches!(token, Token::Alternates(branches) if branches.iter().all(|of| is_empty(of))))
}

struct Parser<'a> {
    /// For each open `{`, its first branch.
    alternates: Vec<usize>,
    /// The tokens of the glob, and those of each branch that is open.
    branches: Vec<Vec<Token>>,
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    previous: Option<char>,
    current: Option<char>,
}

impl Parser<'_> {
    fn parse(&mut self) -> Result<Vec<Token>, String> {
        while let Some(c) = self.bump() {
            match c {
                '?' => self.push(Token::Any),
                '*' => self.star(),
                '[' => self.class()?,
                '{' => {
                    self.alternates.push(self.branches.len());
                    self.branches.push(Vec::new());
                }
                '}' => {
                    let message = "unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)";
                    let start = self.alternates.pop().ok_or(message)?;
                    let branches = self.branches.split_off(start);
                    self.push(Token::Alternates(branches));
                }
                ',' if !self.alternates.is_empty() => self.branches.push(Vec::new()),
                '\\' => {
                    let c = self.bump().ok_or("dangling '\\'")?;
                    self.push(Token::Literal(c));
                }
                c => self.push(Token::Literal(c)),
            }
        }
        if self.branches.len() > 1 {
            return Err("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)".to_owned());
        }
        Ok(self.branches.pop().unwrap_or_default())
    }

    fn bump(&mut self) -> Option<char> {
        self.previous = self.current;
        self.current = self.chars.next();
        self.current
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().copied()
    }

    fn push(&mut self, token: Token) {
        if let Some(tokens) = self.branches.last_mut() {
            tokens.push(token);
        }
    }

    /// One star or two. Two that are not whole names are like one.
    fn star(&mut self) {
        let before = self.previous;
        if self.peek() != Some('*') {
            return self.push(Token::ZeroOrMore);
        }
        self.bump();
        let next = self.peek();
        if self.branches.last().is_none_or(Vec::is_empty) {
            if next.is_none_or(|c| c == '/') {
                self.bump();
                return self.push(Token::RecursivePrefix);
            }
            return self.push(Token::ZeroOrMore);
        }
        let is_in_branch = self.branches.len() > 1;
        let is_start = before == Some('/') || (is_in_branch && matches!(before, Some(',' | '{')));
        let is_suffix = match next {
            None => true,
            Some(',' | '}') if is_in_branch => true,
            Some('/') => false,
            _ => return self.push(Token::ZeroOrMore),
        };
        if !is_start {
            return self.push(Token::ZeroOrMore);
        }
        if matches!(next, None | Some('/')) {
            self.bump();
        }
        let token = match self.branches.last_mut().and_then(Vec::pop) {
            Some(token @ (Token::RecursivePrefix | Token::RecursiveSuffix)) => token,
            _ if is_suffix => Token::RecursiveSuffix,
            _ => Token::RecursiveZeroOrMore,
        };
        self.push(token);
    }

    /// `[..]`, in which `]` or `-` in front stands for itself.
    fn class(&mut self) -> Result<(), String> {
        let is_negated = matches!(self.peek(), Some('!' | '^'));
        if is_negated {
            self.bump();
        }
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut is_range = false;
        loop {
            let c = self.bump().ok_or("unclosed character class; missing ']'")?;
            match (c, ranges.last_mut()) {
                (']', Some(_)) => break,
                ('-', Some(_)) if !is_range => {
                    is_range = true;
                    continue;
                }
                (c, Some((start, end))) if is_range => {
                    if c < *start {
                        return Err(format!("invalid range; '{start}' > '{c}'"));
                    }
                    *end = c;
                }
                (c, _) => ranges.push((c, c)),
            }
            is_range = false;
        }
        if is_range {
            ranges.push(('-', '-'));
        }
        let mut bytes = Vec::new();
        for (start, end) in ranges {
            let (mut one, mut other) = ([0; 4], [0; 4]);
            let (one, other) = (start.encode_utf8(&mut one).as_bytes(), end.encode_utf8(&mut other).as_bytes());
            bytes.extend_from_slice(one);
            if start != end {
                // Of characters with several bytes, the neighbors: a class has bytes.
                bytes.extend(one[one.len() - 1]..=other[0]);
                bytes.extend_from_slice(other);
            }
        }
        let set = Set::of(&bytes);
        self.push(Token::Class(if is_negated { set.inverted() } else { set }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use proptest::prelude::*;

    use super::*;

    /// What globset says: the message, or for each path whether it matches.
    fn reference(glob: &str, paths: &[String]) -> Result<Vec<bool>, String> {
        let glob = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
        let matcher = glob.map_err(|e| e.to_string())?.compile_matcher();
        Ok(paths.iter().map(|path| matcher.is_match(path)).collect())
    }

    fn own(glob: &str, paths: &[String]) -> Result<Vec<bool>, String> {
        let glob = Glob::new(glob)?;
        Ok(paths.iter().map(|path| glob.is_match(Path::new(path))).collect())
    }

    #[test]
    fn the_patterns_of_releases_match_what_globset_matches() {
        let paths =
            ["", "a", "a/b", "a/b/c.go", "b/a", "a/.b", "/a", "a/", "x-1.tgz", "a/b/", "é", "a,b", "]", "-", "a\nb"];
        let paths = paths.map(str::to_owned);
        for glob in [
            "**",
            "**/*",
            "a/**",
            "a/**/*",
            "a/**/*.go",
            "**/a",
            "*",
            "?",
            "??",
            "a/*",
            "a/?b",
            "x-*.tgz",
            "{a,b}/a",
            "{a,}",
            "{,}",
            "a{,/b}",
            "{a/**,x*}",
            "a/{**/,}c.go",
            "{**/a,é}",
            "[a-c]",
            "[!a]",
            "[^a-c]/[]a-]",
            "[]-]",
            "[é]",
            "[a-é]",
            "[!é]*",
            "\\a",
            "a\\,b",
            "a**",
            "a/**b",
            "**b",
            "a/**/**/c.go",
            "**/**",
            "a,b",
            "{a",
            "a}",
            "[a",
            "[]",
            "[b-a]",
            "\\",
            "{a,{b,c}/a}",
            "",
            "{a\\,**,b}",
            "a/***",
            "***",
            "{{},{}}",
            "[--a]",
            "[a--]",
            "[+--]",
            "[a-b-c]",
        ] {
            assert_eq!(own(glob, &paths), reference(glob, &paths), "{glob}");
        }
    }

    proptest! {
        #[test]
        fn any_glob_matches_what_globset_matches(
            glob in r"([abé./,*?{}\[\]!^\\-]|\*\*|\*\*/|/\*\*|\[[abé!^-]{1,4}\]|\{[ab,/*]{0,6}\}){0,9}",
            paths in prop::collection::vec("[abé./,-]{0,9}", 1..16),
        ) {
            prop_assert_eq!(own(&glob, &paths), reference(&glob, &paths));
        }
    }
}
