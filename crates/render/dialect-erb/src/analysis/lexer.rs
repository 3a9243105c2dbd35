//! Ruby code as tokens, as far as the analysis needs them; code that it does not understand is an error.

/// A piece of Ruby code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name in lower case: keyword, local variable or method, with its `?` or `!`.
    Word(String),
    /// A name in upper case.
    Constant(String),
    /// `@name`.
    Instance(String),
    /// `:name`, `"name":` and `name:`.
    Symbol(String),
    /// A string that holds no code, a number, or a regular expression that holds no code.
    Literal(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of a line or of a tag, or `;`.
    End,
}

/// The code is not understood: heredocs, globals, `%` literals other than lists of words, and the like.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown;

const SIGNS: &[&str] = &[
    "<=>", "===", "**=", "&&=", "||=", "...", "<<=", ">>=", "==", "!=", ">=", "<=", "=~", "!~", "=>", "->", "&&", "||",
    "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<", ">>", "**", "..", "::", "&.", "+", "-", "*", "/", "%", "=",
    "<", ">", "!", "&", "|", "^", "~", "?", ":", ",", ".", "(", ")", "[", "]", "{", "}",
];

/// The tokens of the code of some tags. Code inside strings (`#{...}`) follows in brackets.
pub(super) fn tokens(tags: &[&str]) -> Result<Vec<Token>, Unknown> {
    // Between two tags is text, of which ERB makes a string: one that is open there would end in it.
    if tags.iter().any(|code| code.contains(BETWEEN_TAGS)) {
        return Err(Unknown);
    }
    let code = tags.join(&format!("\n{BETWEEN_TAGS}"));
    let mut lexer = Lexer { rest: &code, tokens: Vec::new(), label: None };
    lexer.run(None)?;
    lexer.tokens.push(Token::End);
    Ok(lexer.tokens)
}

/// Stands between the code of two tags.
const BETWEEN_TAGS: char = '\0';

struct Lexer<'a> {
    rest: &'a str,
    tokens: Vec<Token>,
    /// The last token that is a label, `name:`, after which a value begins.
    label: Option<usize>,
}

impl<'a> Lexer<'a> {
    /// Reads up to the end, or up to the brace that closes an interpolation.
    fn run(&mut self, closing: Option<char>) -> Result<(), Unknown> {
        let mut depth = 0;
        let mut blank_before = true;
        while let Some(c) = self.rest.chars().next() {
            if closing == Some(c) && depth == 0 {
                return Ok(());
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if c == BETWEEN_TAGS && closing.is_some() {
                return Err(Unknown);
            } else if matches!(c, '\n' | ';' | BETWEEN_TAGS) {
                self.push(Token::End, 1);
                if self.rest.starts_with("=begin") {
                    return Err(Unknown);
                }
            } else if c.is_whitespace() {
                self.skip(c.len_utf8());
            } else if c == '#' {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end);
            } else {
                self.token(c, blank_before)?;
            }
            blank_before = c.is_whitespace();
        }
        if closing.is_some() { Err(Unknown) } else { Ok(()) }
    }

    fn skip(&mut self, n: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at(n);
        self.rest = rest;
        skipped
    }

    fn push(&mut self, token: Token, n: usize) {
        self.skip(n);
        self.tokens.push(token);
    }

    fn token(&mut self, c: char, blank_before: bool) -> Result<(), Unknown> {
        if c == '_' || c.is_alphabetic() {
            self.name();
            return Ok(());
        }
        match c {
            '0'..='9' => {
                let digit = |c: char| c.is_alphanumeric() || c == '_';
                let n = self.rest.find(|c| !digit(c)).unwrap_or(self.rest.len());
                let text = self.skip(n).to_owned();
                self.tokens.push(Token::Literal(text));
                Ok(())
            }
            '@' => self.instance(),
            '\'' => self.single_quoted(),
            '"' => self.double_quoted('"'),
            ':' if !self.rest.starts_with("::") => self.symbol(),
            '%' if !self.after_value() || self.may_be_argument(blank_before) => self.percent_list(),
            '/' if !self.after_value() => self.double_quoted('/'),
            // `name /x` may be a division or a call with a regular expression.
            '/' if self.may_be_argument(blank_before) => Err(Unknown),
            '<' if self.rest.starts_with("<<~") || self.rest.starts_with("<<-") => Err(Unknown),
            '<' if self.is_heredoc(blank_before) => Err(Unknown),
            // A character literal.
            '?' if !self.after_value() => Err(Unknown),
            '?' if blank_before && self.rest[1..].starts_with(|c: char| !c.is_whitespace()) => Err(Unknown),
            _ => {
                let first = self.rest.as_bytes()[0];
                let mut alike = SIGNS.iter().filter(|sign| sign.as_bytes()[0] == first);
                let sign = alike.find(|sign| self.rest.starts_with(**sign)).ok_or(Unknown)?;
                // A line that begins with a dot continues the one before.
                while matches!(*sign, "." | "&.") && self.tokens.last() == Some(&Token::End) {
                    self.tokens.pop();
                }
                self.push(Token::Sign(sign), sign.len());
                Ok(())
            }
        }
    }

    /// Whether the last token ends a value, so that an operator may follow.
    fn after_value(&self) -> bool {
        match self.tokens.last() {
            Some(Token::Word(word)) => self.is_method() || !super::names::is_keyword_before_value(word),
            Some(Token::Symbol(_)) => self.label != Some(self.tokens.len() - 1),
            Some(Token::Constant(_) | Token::Instance(_) | Token::Literal(_)) => true,
            Some(Token::Sign(sign)) => matches!(*sign, ")" | "]" | "}"),
            Some(Token::End) | None => false,
        }
    }

    /// Whether the last token is a name behind a dot: `range.begin` is not a keyword.
    fn is_method(&self) -> bool {
        matches!(self.tokens.iter().nth_back(1), Some(Token::Sign("." | "&." | "::")))
    }

    /// `name %(x)`, `name /x/` and `name <<x` may each be an operation, or a call whose argument is a literal.
    fn may_be_argument(&self, blank_before: bool) -> bool {
        let operand = self.rest.trim_start_matches(['%', '/', '<']);
        blank_before && !operand.starts_with(|c: char| c.is_whitespace() || c == '=')
    }

    fn is_heredoc(&self, blank_before: bool) -> bool {
        let rest = self.rest.strip_prefix("<<").unwrap_or("");
        let upper = rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        let begins = rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, '"' | '\'' | '`'));
        upper || begins && (!self.after_value() || self.may_be_argument(blank_before))
    }

    fn percent_list(&mut self) -> Result<(), Unknown> {
        let rest = self.rest;
        let body = rest.strip_prefix("%w").or_else(|| rest.strip_prefix("%i")).ok_or(Unknown)?;
        let closing = match body.chars().next() {
            Some('[') => ']',
            Some('(') => ')',
            Some('{') => '}',
            _ => return Err(Unknown),
        };
        let end = body.find(closing).ok_or(Unknown)?;
        let text = body[1..end].to_owned();
        if text.contains(BETWEEN_TAGS) {
            return Err(Unknown);
        }
        self.push(Token::Literal(text), rest.len() - body.len() + end + 1);
        Ok(())
    }

    fn name(&mut self) {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let mut n = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let after = &self.rest[n..];
        let label = after.starts_with(':') && !after.starts_with("::") && !self.in_ternary();
        if label {
            let name = self.skip(n).to_owned();
            self.push_label(name, 1);
            return;
        }
        if after.starts_with(['?', '!']) && !after[1..].starts_with('=') || after.starts_with("!==") {
            n += 1;
        }
        let name = self.skip(n).to_owned();
        let upper = name.starts_with(|c: char| c.is_uppercase());
        self.tokens.push(if upper { Token::Constant(name) } else { Token::Word(name) });
    }

    /// Between the `?` and the `:` of a conditional, `name:` is not a label.
    fn in_ternary(&self) -> bool {
        let line = self.tokens.iter().rev().take_while(|t| **t != Token::End);
        let mut open = 0;
        for token in line {
            match token {
                Token::Sign("?") => open += 1,
                Token::Sign(":") => open -= 1,
                _ => {}
            }
        }
        open > 0
    }

    fn instance(&mut self) -> Result<(), Unknown> {
        let body = &self.rest[1..];
        let n = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
        // `@@name` is a class variable.
        if n == 0 {
            return Err(Unknown);
        }
        let name = body[..n].to_owned();
        self.push(Token::Instance(name), n + 1);
        Ok(())
    }

    fn single_quoted(&mut self) -> Result<(), Unknown> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '\'' => {
                    self.string_or_label(text, i + 1);
                    return Ok(());
                }
                BETWEEN_TAGS => return Err(Unknown),
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                c => text.push(c),
            }
        }
        Err(Unknown)
    }

    fn string_or_label(&mut self, text: String, n: usize) {
        let after = &self.rest[n..];
        if after.starts_with(':') && !after.starts_with("::") && !self.in_ternary() {
            self.push_label(text, n + 1);
        } else {
            self.push(Token::Literal(text), n);
        }
    }

    fn push_label(&mut self, name: String, n: usize) {
        self.label = Some(self.tokens.len());
        self.push(Token::Symbol(name), n);
    }

    /// A string or regular expression with escapes and interpolated code.
    fn double_quoted(&mut self, quote: char) -> Result<(), Unknown> {
        let mut text = String::new();
        self.skip(1);
        loop {
            let c = self.rest.chars().next().filter(|c| *c != BETWEEN_TAGS).ok_or(Unknown)?;
            if c == quote {
                if quote == '/' {
                    let n = 1 + self.rest[1..].find(|c: char| !c.is_ascii_lowercase()).unwrap_or(self.rest.len() - 1);
                    self.push(Token::Literal(text), n);
                } else {
                    self.string_or_label(text, 1);
                }
                return Ok(());
            }
            if self.rest.starts_with("#{") {
                self.push(Token::Sign("("), 2);
                self.run(Some('}'))?;
                self.push(Token::Sign(")"), 1);
                self.tokens.push(Token::Sign(","));
            } else if self.rest.starts_with("#$") || self.rest.starts_with("#@") {
                return Err(Unknown);
            } else if c == '\\' {
                let escaped = self.rest[1..].chars().next().ok_or(Unknown)?;
                self.skip(1 + escaped.len_utf8());
            } else {
                text.push(c);
                self.skip(c.len_utf8());
            }
        }
    }

    fn symbol(&mut self) -> Result<(), Unknown> {
        let body = &self.rest[1..];
        if body.starts_with('"') {
            return Err(Unknown);
        }
        let n = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
        if n == 0 {
            self.push(Token::Sign(":"), 1);
            return Ok(());
        }
        let n = if body[n..].starts_with(['?', '!']) { n + 1 } else { n };
        let name = body[..n].to_owned();
        self.push(Token::Symbol(name), n + 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(code: &str) -> Vec<String> {
        tokens(&[code])
            .unwrap()
            .into_iter()
            .filter_map(|t| match t {
                Token::Word(w) | Token::Constant(w) => Some(w),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn identifiers_in_strings_do_not_count_but_code_does() {
        assert_eq!(words(r#"p('exit').x "a #{b.c("d")} e" # f"#), ["p", "x", "b", "c"]);
        assert_eq!(words("a / b; x =~ /exit/ && y"), ["a", "b", "x", "y"]);
        assert_eq!(words("c ? a : b"), ["c", "a", "b"]);
        assert_eq!(words("x.empty? ? f(a: 1) : y.map { |q| q }"), ["x", "empty?", "f", "a", "y", "map", "q", "q"]);
        assert_eq!(words("f(a: 1, 'b': 2)"), ["f"]);
        assert_eq!(words("%w[a b].each"), ["each"]);
        assert_eq!(words("a % b"), ["a", "b"]);
        assert_eq!(words("{a: %w[b], 'c': /d#/, e: f}"), ["f"]);
        assert_eq!(tokens(&["a\n  # b\n  .c"]), tokens(&["a.c"]));
    }

    #[test]
    fn what_is_not_understood_is_unknown() {
        for code in ["<<~X\nX", "x = <<EOF\nEOF", "$stdout", "@@x", "`ls`", "%x(ls)", "f /x/", "?a", "\"open", "%(x)"] {
            assert_eq!(tokens(&[code]), Err(Unknown), "{code}");
        }
    }

    #[test]
    fn a_literal_may_follow_a_name() {
        for code in
            ["f %(# )", "next %[#]", "f a: %(# )", "f(a:%{#})", "f <<\"X\"\n#\nX", "f <<x\n#\nx", "{a: <<'x'}\n#\nx"]
        {
            assert_eq!(tokens(&[code]), Err(Unknown), "{code}");
        }
        assert_eq!(words("x.begin / a; y.begin / b"), ["x", "begin", "a", "y", "begin", "b"]);
        assert_eq!(words("next/#/ if a"), ["next", "if", "a"]);
        assert_eq!(words("f %w[a]; a % b; a << b; a <<= b"), ["f", "a", "b", "a", "b", "a", "b"]);
    }

    #[test]
    fn what_is_open_at_the_end_of_a_tag_is_unknown() {
        for tags in [
            ["x = '", "'"],
            ["x = \"", "\""],
            ["x = \"#{a", "}\""],
            ["x = /a", "b/"],
            ["x = %w[a", "b]"],
            ["x = 'a\0'", ""],
        ] {
            assert_eq!(tokens(&tags), Err(Unknown), "{tags:?}");
        }
        assert_eq!(tokens(&["f {", "}"]), tokens(&["f {\n;}"]));
    }
}
