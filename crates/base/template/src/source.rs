//! The source of a template, and places in it.

use std::ops::Range;

use problem::Place;

/// A template's text and where it comes from.
///
/// A template that is a value in a larger document (an expression in a YAML file) has the document as its source: its
/// spans are places in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What messages call the template.
    pub name: String,
    /// The file that the text was read from, for places in problems.
    pub file: String,
    /// The text; not necessarily UTF-8.
    pub text: Vec<u8>,
}

/// A part of a source, within one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The line, from 1.
    pub line: u32,
    /// The first column, in characters from 1; `None` if only the line is known.
    pub column: Option<u32>,
    /// The length in characters; 0 is shown as 1.
    pub length: u32,
}

impl Span {
    /// A whole line, from 1.
    pub fn line(line: u32) -> Span {
        Span { line, column: None, length: 0 }
    }
}

impl Source {
    /// The span of a range of bytes; a range of several lines ends with its first line, and a range beyond the end
    /// lies at the end.
    pub fn span(&self, bytes: Range<usize>) -> Span {
        let start = bytes.start.min(self.text.len());
        let line_start = self.text[..start].iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
        let line_end = self.text[start..].iter().position(|b| *b == b'\n').map_or(self.text.len(), |n| start + n);
        let count = |part: &[u8]| u32::try_from(String::from_utf8_lossy(part).chars().count()).unwrap_or(u32::MAX);
        let lines_before = self.text[..start].iter().filter(|b| **b == b'\n').count();
        Span {
            line: u32::try_from(lines_before).unwrap_or(u32::MAX).saturating_add(1),
            column: Some(count(&self.text[line_start..start]).saturating_add(1)),
            length: count(&self.text[start..bytes.end.clamp(start, line_end)]),
        }
    }

    /// The line with this number, from 1, without its line break.
    pub fn line(&self, number: u32) -> Option<String> {
        let line = self.text.split(|b| *b == b'\n').nth(number.checked_sub(1)? as usize)?;
        Some(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
    }

    /// The place of a problem in this template: the whole file, or a span together with its line.
    pub fn place(&self, span: Option<Span>) -> Place {
        let mut place = Place::file(&self.file);
        if let Some(span) = span {
            place.line = Some(span.line);
            place.column = span.column;
            place.length = span.length;
            place.excerpt = self.line(span.line);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { name: "x".into(), file: "x".into(), text: text.into() }
    }

    #[test]
    fn lines_are_counted_from_one() {
        let source = source("a\r\nb\n");
        assert_eq!(source.line(1).as_deref(), Some("a"));
        assert_eq!(source.line(2).as_deref(), Some("b"));
        assert_eq!(source.line(0), None);
        assert_eq!(source.line(9), None);
    }

    #[test]
    fn spans_count_characters_and_stay_in_their_line() {
        let source = source("ab\näöü x\n");
        let span = |bytes| source.span(bytes);
        let at = |line, column, length| Span { line, column: Some(column), length };
        assert_eq!(span(0..2), at(1, 1, 2));
        assert_eq!(span(1..9), at(1, 2, 1));
        assert_eq!(span(5..7), at(2, 2, 1));
        assert_eq!(span(10..11), at(2, 5, 1));
        assert_eq!(span(2..2), at(1, 3, 0));
        assert_eq!(span(99..100), at(3, 1, 0));
        assert_eq!(span(Range { start: 4, end: 1 }), at(2, 2, 0));
    }
}
