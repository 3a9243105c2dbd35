//! Which line of a template renders a line of the result.

use crate::scanner::{Closing, Opening, Tag, next_closing, next_opening};

/// The line (from 1) of a template that renders a line of its result: the only one with this text, else the only one that has
/// this text around what its tags output. `None` where no line or several may render it, or one that has no text.
pub fn line_origin(template: &[u8], rendered: &str) -> Option<u32> {
    let rendered = rendered.trim_end();
    let lines: Vec<(u32, Pattern)> = lines(template).iter().map(|line| (line.number, line.pattern())).collect();
    for is_fixed in [true, false] {
        let mut found = lines.iter().filter(|(_, line)| line.is_fixed() == is_fixed && line.matches(rendered));
        if let Some((number, line)) = found.next() {
            return (found.next().is_none() && line.has_text()).then_some(*number);
        }
    }
    None
}

/// A line that a template may render.
#[derive(Default)]
struct Line {
    /// The line of the template where its text begins.
    number: u32,
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    /// A tag whose value is output.
    Output,
    /// A tag of code, which may decide whether what follows is rendered.
    Code,
}

/// What a line renders to: texts, and anything between them.
struct Pattern {
    texts: Vec<String>,
    /// Texts of which one is among what is between, unless nothing is. None if anything may be.
    options: Vec<String>,
}

impl Line {
    fn push(&mut self, text: &str) {
        self.parts.push(Part::Text(text.to_owned()));
    }

    /// Whether nothing of it is rendered so far.
    fn is_blank(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Text(text) => text.trim().is_empty(),
            Part::Output => false,
            Part::Code => true,
        })
    }

    /// What is between its first and its last tag of code may be left out, or rendered several times.
    fn pattern(&self) -> Pattern {
        let is_code = |part: &Part| matches!(part, Part::Code);
        let first = self.parts.iter().position(is_code).unwrap_or_default();
        let last = self.parts.iter().rposition(is_code).unwrap_or_default();
        let (mut texts, mut options, mut is_anything) = (vec![String::new()], Vec::new(), false);
        // Of the part between two tags of code: whether it outputs something, and whether it has text.
        let (mut has_output, mut has_text) = (false, false);
        for (i, part) in self.parts.iter().enumerate() {
            let is_optional = first < i && i < last;
            match part {
                Part::Text(text) if is_optional && text.trim().is_empty() => {}
                Part::Text(text) if is_optional => {
                    has_text = true;
                    options.push(text.trim().to_owned());
                }
                Part::Text(text) => texts.last_mut().into_iter().for_each(|last| last.push_str(text)),
                Part::Output => {
                    has_output |= is_optional;
                    is_anything |= !is_optional;
                    texts.push(String::new());
                }
                Part::Code => {
                    is_anything |= has_output && !has_text;
                    (has_output, has_text) = (false, false);
                }
            }
            if i == last && !options.is_empty() {
                texts.push(String::new());
            }
        }
        if is_anything {
            options.clear();
        }
        Pattern { texts, options }
    }
}

impl Pattern {
    /// Whether it is the same text each time.
    fn is_fixed(&self) -> bool {
        self.texts.len() == 1
    }

    /// Whether anything of it is certain: else it may render any line, or several.
    fn has_text(&self) -> bool {
        self.texts.iter().chain(&self.options).any(|text| !text.trim().is_empty())
    }

    fn matches(&self, rendered: &str) -> bool {
        let [first, between @ ..] = self.texts.as_slice() else { return false };
        let [middle @ .., last] = between else { return first.trim_end() == rendered };
        let Some(mut rest) = rendered.strip_prefix(first.as_str()) else { return false };
        for text in middle {
            let Some(at) = rest.find(text.as_str()) else { return false };
            rest = &rest[at + text.len()..];
        }
        let Some(inner) = rest.strip_suffix(last.trim_end()) else { return false };
        self.options.is_empty() || inner.is_empty() || self.options.iter().any(|text| rendered.contains(text))
    }
}

/// The lines that a template may render.
fn lines(template: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut number, mut at) = (1, 0);
    let mut line = Line { number, parts: Vec::new() };
    while at < template.len() {
        let (text_end, opening, next) = next_opening(template, at);
        for text in String::from_utf8_lossy(&template[at..text_end]).split_inclusive('\n') {
            line.push(text.trim_end_matches(['\n', '\r']));
            if text.ends_with('\n') {
                number += 1;
                lines.push(std::mem::replace(&mut line, Line { number, parts: Vec::new() }));
            }
        }
        at = next;
        match opening {
            Opening::Tag(kind) => {
                match kind {
                    Tag::Code => line.parts.push(Part::Code),
                    Tag::Output => line.parts.push(Part::Output),
                    Tag::Comment => {}
                }
                at = tag_end(template, next);
                number += u32::try_from(memchr::memchr_iter(b'\n', &template[next..at]).count()).unwrap_or_default();
                if line.is_blank() {
                    line.number = number;
                }
            }
            Opening::Escaped => line.push("<%"),
            Opening::End => {}
        }
    }
    lines.push(line);
    lines
}

/// Where the tag ends whose content begins at `at`, with the end of its line if it swallows that.
fn tag_end(template: &[u8], mut at: usize) -> usize {
    loop {
        let (_, closing, next) = next_closing(template, at);
        match closing {
            Closing::Escaped => at = next,
            Closing::Trim if template[next..].starts_with(b"\r\n") => return next + 2,
            Closing::Trim if template[next..].starts_with(b"\n") => return next + 1,
            _ => return next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "<% if p('a') %>
processes:
<% p('list').each do |name| -%>
- name: <%= name %>
  executable: /bin/<%= name %>/run
<% end -%>
  args: [x]
<%#
a comment -%>
  args: [y]
  limits: {memory: <%= p('memory') %><% if p('unit') %>M<% end %>}
  <% if p('b') %>pid: <%= 1 %><% else %>unsafe: {}<% end %>
  <%% twice: 1
  same: 1
  same: 1
<% end %>
";

    #[test]
    fn the_line_is_found_where_only_one_renders_the_text() {
        for (rendered, line) in [
            ("processes:", Some(2)),
            ("- name: a", Some(4)),
            ("- name: b ", Some(4)),
            ("  executable: /bin/b/run", Some(5)),
            ("  executable: /bin/run", None),
            ("  args: [x]", Some(7)),
            ("  args: [y]", Some(10)),
            ("  limits: {memory: 1}", Some(11)),
            ("  limits: {memory: 1M}", Some(11)),
            ("  pid: 1", Some(12)),
            ("  unsafe: {}", Some(12)),
            ("  <% twice: 1", Some(13)),
            ("  same: 1", None),
            ("  elsewhere: 1", None),
        ] {
            assert_eq!(line_origin(TEMPLATE.as_bytes(), rendered), line, "{rendered}");
        }
    }

    #[test]
    fn a_line_that_may_render_anything_makes_others_uncertain() {
        let template = b"a: <%= 1 %>\n<%= text %>\nb: 1\n";
        assert_eq!(line_origin(template, "a: 1"), None);
        assert_eq!(line_origin(template, "b: 1"), Some(3));
        assert_eq!(line_origin(template, "c: 1"), None);
    }
}
