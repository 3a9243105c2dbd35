//! Generated values: expressions such as `[a-zA-Z0-9]{16}`.

use crate::Mode;
use crate::parameter::{Declaration, Type};

/// Fills a buffer with unpredictable random bytes.
pub type Random<'r> = &'r dyn Fn(&mut [u8]);

/// So many values are generated until one has the parameter's type: `[0-9]{4}` begins with 0 in one of ten cases.
const ATTEMPTS: usize = 100;

/// A class yields up to so many characters.
const LONGEST: usize = 255;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
/// `\A` in OpenShift's expressions.
const SYMBOLS: &str = "~!@#$%^&*()-_+={}[]\\|<,>.?/\"';:`";

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// So many characters of these, each as likely as the others.
    Characters(Vec<char>, usize),
}

/// An expression: text, and classes of characters with a length, such as `[a-z0-9_]{8}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    parts: Vec<Part>,
}

impl Expression {
    /// Parses an expression. A class has characters, ranges that contain both ends, `\w` (letters, digits and `_`), `\d`
    /// (digits), `\a` (letters and digits), `\A` (punctuation), and other characters behind `\`.
    ///
    /// # Errors
    /// A message for a class that does not end, is empty or has no length, for a range whose ends are in the wrong order, and
    /// for a length that is not from 1 to 255.
    pub fn parse(text: &str) -> Result<Expression, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let Some(open) = rest.find('[') else {
                parts.push(Part::Text(rest.to_owned()));
                break;
            };
            if open > 0 {
                parts.push(Part::Text(rest[..open].to_owned()));
            }
            let (characters, behind) = class(&rest[open + 1..]).ok_or_else(|| malformed(text))??;
            let length = behind.strip_prefix('{').and_then(|behind| behind.split_once('}'));
            let Some((digits, behind)) = length.filter(|(digits, _)| is_digits(digits)) else {
                return Err(format!("{}: a class needs its length behind it, as in [a-z]{{8}}", malformed(text)));
            };
            let length = digits.parse().unwrap_or(usize::MAX);
            if !(1..=LONGEST).contains(&length) {
                return Err(format!("range must be within [1-{LONGEST}] characters ({digits})"));
            }
            parts.push(Part::Characters(characters, length));
            rest = behind;
        }
        Ok(Expression { parts })
    }

    /// Whether all values of the expression are the same.
    pub fn is_constant(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// A value.
    pub fn value(&self, random: Random<'_>) -> String {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => value.push_str(text),
                Part::Characters(characters, length) => {
                    value.extend((0..*length).map(|_| characters[below(characters.len(), random)]));
                }
            }
        }
        value
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn malformed(text: &str) -> String {
    format!("malformed expression syntax: {}", text.escape_debug())
}

/// The characters of a class, and the text behind its `]`; `None` if it does not end or is empty.
fn class(text: &str) -> Option<Result<(Vec<char>, &str), String>> {
    let mut characters = Vec::new();
    let mut rest = text.chars();
    loop {
        let first = match rest.next()? {
            ']' if characters.is_empty() => return None,
            ']' => break,
            '\\' => match rest.next()? {
                'w' => {
                    characters.extend([LETTERS, DIGITS, "_"].concat().chars());
                    continue;
                }
                'd' => {
                    characters.extend(DIGITS.chars());
                    continue;
                }
                'a' => {
                    characters.extend([LETTERS, DIGITS].concat().chars());
                    continue;
                }
                'A' => {
                    characters.extend(SYMBOLS.chars());
                    continue;
                }
                c => c,
            },
            c => c,
        };
        let mut ahead = rest.clone();
        let last = match (ahead.next(), ahead.next()) {
            // `-` before the end is a character.
            (Some('-'), Some(last)) if last != ']' => last,
            _ => {
                characters.push(first);
                continue;
            }
        };
        rest = ahead;
        let last = if last == '\\' { rest.next()? } else { last };
        if first > last {
            return Some(Err(format!("invalid range specified: {}-{}", first.escape_debug(), last.escape_debug())));
        }
        if u32::from(last) - u32::from(first) > 0xffff {
            return Some(Err(format!("range is too large: {}-{}", first.escape_debug(), last.escape_debug())));
        }
        characters.extend(first..=last);
    }
    // Each character once: one that is named twice is not more likely.
    characters.sort_unstable();
    characters.dedup();
    Some(Ok((characters, rest.as_str())))
}

/// A number below `limit`, each as likely as the others.
fn below(limit: usize, random: Random<'_>) -> usize {
    let limit = limit as u64;
    let most = u64::MAX - u64::MAX % limit;
    loop {
        let mut bytes = [0; 8];
        random(&mut bytes);
        let number = u64::from_le_bytes(bytes);
        if number < most {
            return (number % limit) as usize;
        }
    }
}

/// A value of the generator that a parameter names; `None` if it names none.
///
/// # Errors
/// A message: the generator is unknown, its expression malformed or always the same in strict mode, or its values do not have the
/// parameter's type.
pub fn generated(parameter: &Declaration, mode: Mode, random: Random<'_>) -> Option<Result<String, String>> {
    let generator = parameter.generate.as_deref().filter(|generator| !generator.is_empty())?;
    let from = parameter.from.as_deref().unwrap_or_default();
    let name = &parameter.name;
    if generator != "expression" {
        return Some(Err(format!("Unknown generator name '{}' for parameter {name}", generator.escape_debug())));
    }
    let parsed = Expression::parse(from).map_err(|message| format!("{message} (parameter {name})"));
    Some(parsed.and_then(|expression| {
        if expression.is_constant() && (mode == Mode::Strict || from.is_empty()) {
            return Err(format!("the expression for parameter {name} always generates the same value"));
        }
        let fits = |value: &String| parameter.kind.is_none_or(|kind| kind.accepts(value));
        (0..ATTEMPTS).map(|_| expression.value(random)).find(fits).ok_or_else(|| {
            let kind = parameter.kind.map_or("a string", Type::description);
            format!("the expression for parameter {name} does not generate {kind}")
        })
    }))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::*;

    /// All values of a class of one character that 4,096 different numbers give.
    fn characters(expression: &str) -> String {
        let expression = Expression::parse(expression).unwrap();
        let next = Cell::new(0u64);
        let count = |bytes: &mut [u8]| {
            bytes.copy_from_slice(&next.get().to_le_bytes());
            next.set(next.get() + 1);
        };
        let values: BTreeSet<String> = (0..4096).map(|_| expression.value(&count)).collect();
        values.into_iter().collect()
    }

    #[test]
    fn ranges_contain_both_ends() {
        for (expression, expected) in [
            ("[0-1]{1}", "01"),
            ("[A-F0-9]{1}", "0123456789ABCDEF"),
            ("[a-a]{1}", "a"),
            ("[ABC]{1}", "ABC"),
            ("[aaab]{1}", "ab"),
            ("[a-c_]{1}", "_abc"),
            ("[-a]{1}", "-a"),
            ("[a-]{1}", "-a"),
            ("[\\]\\-x]{1}", "-]x"),
            ("[\\d]{1}", "0123456789"),
        ] {
            assert_eq!(characters(expression), expected, "{expression}");
        }
        assert_eq!(characters("[\\w]{1}").len(), 63);
        assert_eq!(characters("[\\a]{1}").len(), 62);
        assert_eq!(characters("[\\A]{1}").len(), SYMBOLS.len());
    }

    #[test]
    fn a_value_has_the_length_of_its_parts() {
        let zeros = |bytes: &mut [u8]| bytes.fill(0);
        let value = |text| Expression::parse(text).unwrap().value(&zeros);
        assert_eq!(value("user[0-9]{3}-[A-Z]{2}"), "user000-AA");
        assert_eq!(value("[a-z]{255}").len(), 255);
        assert!(Expression::parse("abc").unwrap().is_constant());
    }

    #[test]
    fn malformed_expressions_are_refused() {
        for (text, message) in [
            ("[Z-A]{3}", "invalid range specified: Z-A"),
            ("[a-z]{300}", "range must be within [1-255] characters (300)"),
            ("[a-z]{0}", "range must be within [1-255] characters (0)"),
            ("[a-z]{99999999999999999999999}", "range must be within [1-255] characters (99999999999999999999999)"),
            ("[a-z", "malformed expression syntax: [a-z"),
            ("[]{3}", "malformed expression syntax: []{3}"),
            ("x[a-z]", "malformed expression syntax: x[a-z]: a class needs its length behind it, as in [a-z]{8}"),
            ("[a]{x}", "malformed expression syntax: [a]{x}: a class needs its length behind it, as in [a-z]{8}"),
            ("[a]{3", "malformed expression syntax: [a]{3: a class needs its length behind it, as in [a-z]{8}"),
        ] {
            assert_eq!(Expression::parse(text).unwrap_err(), message);
        }
        assert!(Expression::parse("[\0-\u{10ffff}]{1}").is_err());
    }
}
