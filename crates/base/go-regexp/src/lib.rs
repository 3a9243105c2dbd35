//! Regular expressions as Go's package `regexp` has them: its syntax, classes of ASCII characters (`\d`, `\w`, `\s`, `\b`) and
//! messages. The expression is translated; the crate `regex` matches, in linear time too.

mod class;
mod error;
mod translate;

pub use error::Error;

/// How much memory a compiled expression may take, in bytes.
const LARGEST: usize = 4 << 20;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Regexp {
    // Of bytes: the other one does not have `\B` of ASCII characters.
    inner: regex::bytes::Regex,
}

impl Regexp {
    /// Compiles an expression.
    ///
    /// # Errors
    /// With Go's message, for an expression that Go does not accept, and one that would take too much memory.
    pub fn new(text: &str) -> Result<Regexp, Error> {
        let translated = translate::translate(text)?;
        let compiled =
            regex::bytes::RegexBuilder::new(&translated).nest_limit(translate::DEEPEST * 2).size_limit(LARGEST).build();
        let too_large = |_| Error { what: "expression too large", part: text.to_owned() };
        Ok(Regexp { inner: compiled.map_err(too_large)? })
    }

    /// Whether any part of `text` matches.
    pub fn is_match(&self, text: &str) -> bool {
        self.inner.is_match(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_go_does() {
        for (expression, text, matches) in [
            ("b+", "abc", true),
            ("^[a-z]+$", "abc1", false),
            (r"^\d$", "٣", false),
            (r"^\w$", "é", false),
            (r"^\s$", "\u{b}", false),
            (r"\bé", "aé", true),
            (r"a\Bb", "ab", true),
            ("a{,2}", "a{,2}", true),
            ("[[a]", "[", true),
            ("[a&&b]", "&", true),
            (r"\Qa.b\E+", "a.bb", true),
            ("(?i)AB", "ab", true),
            ("(?i-s:A).", "a\n", false),
            ("a$", "a\n", false),
            ("(?m)a$", "a\n", true),
            (r"\x{1F600}\101\.", "😀A.", true),
            (r"[\x{D800}]", "a", false),
            (r"^[^\D5]+$", "12", true),
            (r"^\p{Greek}\pL$", "αz", true),
            (r"\<", "<", true),
            ("(?P<x>a)(?<y>b)", "ab", true),
            ("a|*b", "", true),
        ] {
            match Regexp::new(expression) {
                Ok(compiled) => assert_eq!(compiled.is_match(text), matches, "{expression}"),
                Err(e) => assert_eq!((expression, e.part.as_str()), ("a|*b", "*"), "{expression}: {e}"),
            }
        }
    }

    #[test]
    fn messages_are_gos() {
        for (expression, message) in [
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a-", "missing closing ]: `[a-`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a|+?", "missing argument to repetition operator: `+?`"),
            ("a**b", "invalid nested repetition operator: `**`"),
            ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            (r"\y", r"invalid escape sequence: `\y`"),
            (r"\8", r"invalid escape sequence: `\8`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            (r"\xg1", r"invalid escape sequence: `\xg1`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
            ("(?P<n", "invalid named capture: `(?P<n`"),
            ("(?P<a b>x)", "invalid named capture: `(?P<a b>`"),
        ] {
            let error = Regexp::new(expression).map(|_| ()).unwrap_err();
            assert_eq!(error.to_string(), format!("error parsing regexp: {message}"), "{expression}");
        }
        assert!(Regexp::new(&"(".repeat(5000)).is_err());
        assert!(Regexp::new(&"a{1000}".repeat(3000)).is_err());
    }
}
