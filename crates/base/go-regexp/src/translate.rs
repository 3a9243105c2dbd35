//! Go's syntax (`regexp/syntax`), translated into that of the crate `regex`.

use crate::class;
use crate::error::{Result, before, error, next};

/// How deep groups may nest, as in Go.
pub(crate) const DEEPEST: u32 = 1000;

struct Translator<'t> {
    whole: &'t str,
    out: String,
    /// Number of open groups.
    open: u32,
    /// Whether something precedes that can be repeated.
    repeatable: bool,
}

/// The expression for the crate `regex`.
pub(crate) fn translate(whole: &str) -> Result<String> {
    let mut translator = Translator { whole, out: String::with_capacity(whole.len()), open: 0, repeatable: false };
    let mut text = whole;
    let mut last_repeat = None;
    while !text.is_empty() {
        let start = text;
        let is_repeat;
        (text, is_repeat) = translator.item(text, last_repeat)?;
        last_repeat = is_repeat.then_some(start);
    }
    if translator.open > 0 {
        return error("missing closing )", whole);
    }
    Ok(translator.out)
}

impl<'t> Translator<'t> {
    /// Translates what `text` begins with; gives the rest, and whether it was a repetition.
    fn item(&mut self, text: &'t str, last_repeat: Option<&'t str>) -> Result<(&'t str, bool)> {
        let mut repeatable = true;
        let rest = match text.as_bytes()[0] {
            b'(' => return Ok((self.open_group(text)?, false)),
            b'|' => {
                self.out.push('|');
                repeatable = false;
                &text[1..]
            }
            b')' => {
                if self.open == 0 {
                    return error("unexpected )", self.whole);
                }
                self.open -= 1;
                self.out.push(')');
                &text[1..]
            }
            b'^' | b'$' | b'.' => {
                self.out.push_str(&text[..1]);
                &text[1..]
            }
            b'[' => class::bracket(&mut self.out, text)?,
            b'*' | b'+' | b'?' => return Ok((self.repeat(text, &text[1..], last_repeat)?, true)),
            b'{' => match bounds(text) {
                None => {
                    self.literal('{');
                    &text[1..]
                }
                Some((least, most, rest)) => {
                    let too_many = |count: Option<u32>| count.is_none_or(|count| count > 1000);
                    if too_many(least) || most.is_some_and(|most| too_many(most) || most < least) {
                        return error("invalid repeat count", before(text, rest));
                    }
                    return Ok((self.repeat(text, rest, last_repeat)?, true));
                }
            },
            b'\\' => self.escape(text)?,
            _ => match next(text) {
                Some((literal, rest)) => {
                    self.literal(literal);
                    rest
                }
                None => "",
            },
        };
        self.repeatable = repeatable;
        Ok((rest, false))
    }

    fn literal(&mut self, literal: char) {
        self.out.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
    }

    /// A repetition that stands at the start of `text`, before `rest`.
    fn repeat(&mut self, text: &'t str, rest: &'t str, last: Option<&'t str>) -> Result<&'t str> {
        let rest = rest.strip_prefix('?').unwrap_or(rest);
        if let Some(last) = last {
            return error("invalid nested repetition operator", before(last, rest));
        }
        if !self.repeatable {
            return error("missing argument to repetition operator", before(text, rest));
        }
        self.out.push_str(before(text, rest));
        Ok(rest)
    }

    /// A group or flags, at the start of `text`.
    fn open_group(&mut self, text: &'t str) -> Result<&'t str> {
        let Some(inside) = text.strip_prefix("(?") else {
            self.group("(")?;
            return Ok(&text[1..]);
        };
        let name = inside.strip_prefix("P<").filter(|name| !name.is_empty()).or(inside.strip_prefix('<'));
        if let Some(name) = name.filter(|_| text.len() > 3) {
            let Some(end) = name.find('>') else { return error("invalid named capture", text) };
            let (name, rest) = (&name[..end], &name[end + 1..]);
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return error("invalid named capture", before(text, rest));
            }
            // What it captures is never asked for.
            self.group("(?:")?;
            return Ok(rest);
        }
        self.flags(text, inside)
    }

    fn group(&mut self, opening: &str) -> Result<()> {
        self.open += 1;
        if self.open > DEEPEST {
            return error("expression nests too deeply", self.whole);
        }
        self.out.push_str(opening);
        self.repeatable = false;
        Ok(())
    }

    /// `(?flags)` or `(?flags:`; `inside` is what follows the question mark.
    fn flags(&mut self, text: &'t str, inside: &'t str) -> Result<&'t str> {
        let mut flags: Vec<(char, bool)> = Vec::new();
        let (mut on, mut seen) = (true, true);
        let mut left = inside;
        while let Some((letter, rest)) = next(left) {
            left = rest;
            match letter {
                'i' | 'm' | 's' | 'U' => {
                    flags.retain(|flag| flag.0 != letter);
                    flags.push((letter, on));
                    seen = true;
                }
                '-' if on => (on, seen) = (false, false),
                ':' | ')' if seen => {
                    let names = |on: bool| flags.iter().filter(move |flag| flag.1 == on).map(|flag| flag.0);
                    let mut opening: String = "(?".into();
                    opening.extend(names(true));
                    if names(false).next().is_some() {
                        opening.push('-');
                        opening.extend(names(false));
                    }
                    opening.push(letter);
                    if letter == ':' {
                        self.group(&opening)?;
                    } else if !flags.is_empty() {
                        self.out.push_str(&opening);
                    }
                    return Ok(rest);
                }
                _ => break,
            }
        }
        error("invalid or unsupported Perl syntax", before(text, left))
    }

    /// An escape, at the start of `text`.
    fn escape(&mut self, text: &'t str) -> Result<&'t str> {
        match text.as_bytes().get(1) {
            Some(b'A' | b'z') => self.out.push_str(&text[..2]),
            Some(b'b' | b'B') => self.out.push_str(&format!("(?-u:{})", &text[..2])),
            Some(b'C') => return error("invalid escape sequence", &text[..2]),
            Some(b'Q') => {
                let (literals, rest) = text[2..].split_once(r"\E").unwrap_or((&text[2..], ""));
                literals.chars().for_each(|literal| self.literal(literal));
                return Ok(rest);
            }
            _ => {
                if let Some((part, rest)) = class::escaped(text)? {
                    self.out.push('[');
                    self.out.push_str(&part);
                    self.out.push(']');
                    return Ok(rest);
                }
                let (code, rest) = class::character(text)?;
                match char::from_u32(code) {
                    Some(literal) => self.literal(literal),
                    None => self.out.push_str(class::NOTHING),
                }
                return Ok(rest);
            }
        }
        Ok(&text[2..])
    }
}

/// A count that the expression has; `None` if it is too large for any.
type Count = Option<u32>;

/// `{2}`, `{2,}` or `{2,3}` at the start of `text`: the least, the most if it is limited, the rest.
fn bounds(text: &str) -> Option<(Count, Option<Count>, &str)> {
    let (least, rest) = count(text.strip_prefix('{')?)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((least, Some(least), rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((least, None, rest));
    }
    let (most, rest) = count(rest)?;
    Some((least, Some(most), rest.strip_prefix('}')?))
}

fn count(text: &str) -> Option<(Count, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let digits = &text[..end];
    let is_count = !digits.is_empty() && (digits == "0" || !digits.starts_with('0'));
    is_count.then(|| (digits.parse().ok(), &text[end..]))
}
