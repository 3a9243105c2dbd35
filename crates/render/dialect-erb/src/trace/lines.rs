//! Which lines of a template render which lines of the result.

use std::collections::BTreeSet;

use crate::scanner::Segment;

/// Bytes of a result, and the lines of the template that they come from.
struct Span {
    start: usize,
    end: usize,
    first: u32,
    last: u32,
}

/// For each line of a result, the lines of the template that render it; `pieces` are index of a segment, start and end in the
/// result, in the order in which they were output. A line that code has output by itself has none.
pub(super) fn origins(segments: &[Segment], pieces: &[[usize; 3]], result: &[u8]) -> Vec<Vec<u32>> {
    let spans = spans(segments, &standing(pieces, result.len()));
    let mut spans = spans.iter().peekable();
    let mut origins = Vec::new();
    let mut start = 0;
    while start < result.len() {
        let end = memchr::memchr(b'\n', &result[start..]).map_or(result.len(), |length| start + length);
        // The end of the line belongs to it only if it has nothing else.
        let visible = start..end.max(start + 1);
        let next = (end + 1).min(result.len());
        let mut lines = BTreeSet::new();
        while let Some(span) = spans.peek().filter(|span| span.start < next.max(visible.end)) {
            if span.end > visible.start && span.start < visible.end {
                lines.extend(span.first..=span.last);
            }
            // It may reach into the next line.
            if span.end > next {
                break;
            }
            spans.next();
        }
        origins.push(lines.into_iter().collect());
        start = next;
    }
    origins
}

/// The pieces without what the template removed again from the end of its output.
fn standing(pieces: &[[usize; 3]], length: usize) -> Vec<[usize; 3]> {
    let mut standing: Vec<[usize; 3]> = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().copied().chain([[usize::MAX, length, length]]) {
        while let Some(last) = standing.last_mut() {
            last[2] = last[2].min(piece[1]);
            if last[1] < last[2] {
                break;
            }
            standing.pop();
        }
        standing.push(piece);
    }
    standing.pop();
    standing
}

fn spans(segments: &[Segment], pieces: &[[usize; 3]]) -> Vec<Span> {
    let mut spans = Vec::with_capacity(pieces.len());
    for [index, start, end] in pieces {
        let Some(segment) = segments.get(*index) else { continue };
        let Some(text) = &segment.text else {
            spans.push(Span { start: *start, end: *end, first: segment.line, last: segment.last_line });
            continue;
        };
        let (mut at, mut line) = (*start, segment.line);
        for part in text.split_inclusive(|b| *b == b'\n') {
            let next = (at + part.len()).min(*end);
            spans.push(Span { start: at, end: next, first: line, last: line });
            (at, line) = (next, line + 1);
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: u32, text: &str) -> Segment {
        let lines = u32::try_from(text.matches('\n').count()).unwrap();
        Segment { line, last_line: line + lines, text: Some(text.into()) }
    }

    #[test]
    fn each_line_has_the_lines_of_its_bytes() {
        let segments =
            [text(1, "a: "), Segment { line: 1, last_line: 2, text: None }, text(2, "\nb\n\n"), text(4, "end\n")];
        let pieces = [[0, 0, 3], [1, 3, 6], [2, 6, 10], [3, 10, 14]];
        assert_eq!(origins(&segments, &pieces, b"a: x\ny\nb\n\nend\n"[..].into()).len(), 5);
        let found = origins(&segments, &pieces, b"a: xxx\nb\n\nend\n");
        assert_eq!(found, [vec![1, 2], vec![3], vec![4], vec![4]]);
    }

    #[test]
    fn a_value_of_several_lines_has_one_origin() {
        let segments = [Segment { line: 3, last_line: 3, text: None }, text(3, "\n")];
        assert_eq!(origins(&segments, &[[0, 0, 5], [1, 5, 6]], b"a\nb\nc\n"), [[3], [3], [3]]);
    }

    #[test]
    fn what_the_template_removes_or_adds_by_itself_has_no_origin() {
        let segments = [text(1, "aaa\n"), text(2, "b\n")];
        assert_eq!(origins(&segments, &[[0, 0, 4], [1, 1, 3]], b"ab\n"), [[1, 2]]);
        assert_eq!(origins(&segments, &[[0, 0, 4], [1, 6, 8]], b"aaa\nx\nb\n"), [vec![1], vec![], vec![2]]);
        assert_eq!(origins(&segments, &[[0, 0, 4]], b""), Vec::<Vec<u32>>::new());
    }
}
