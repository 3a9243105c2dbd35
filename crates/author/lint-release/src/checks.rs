//! The rules, by subject. A rule that cannot know stays silent.

pub(crate) mod files;
pub(crate) mod links;
pub(crate) mod manifest;
pub(crate) mod packages;
pub(crate) mod pods;
pub(crate) mod processes;
pub(crate) mod properties;
pub(crate) mod scripts;
pub(crate) mod shellcheck;
pub(crate) mod stemcell;
pub(crate) mod templates;
pub(crate) mod yaml;

use dialect_erb::syntax::Position;
use problem::Place;

use crate::finding::at;
use crate::source::TemplateSource;

/// The place of a node of a template.
fn place_of(template: &TemplateSource, position: Position) -> Place {
    at(&template.file, position.line, position.column)
}

/// A line of a text, from 1.
fn line_of(text: &str, line: u32) -> Option<&str> {
    text.lines().nth(line.checked_sub(1)? as usize)
}

/// The line and column of the only line of a text that contains another one.
fn position_of(text: &str, part: &str) -> Option<(u32, u32)> {
    let mut lines = text.lines().zip(1u32..).filter_map(|(line, number)| Some((number, line, line.find(part)?)));
    let (number, line, at) = lines.next()?;
    let column = u32::try_from(line[..at].chars().count() + 1).ok()?;
    lines.next().is_none().then_some((number, column))
}

/// A text that a template rendered to.
#[derive(Clone, Copy)]
struct Rendered<'a> {
    template: &'a TemplateSource,
    text: &'a str,
}

impl Rendered<'_> {
    /// The place in the template of a line and column of the text: known if the template has no tags, or only one line that is the
    /// same. Else the only line with this part, or the file.
    fn place(&self, position: Option<(u32, u32)>, part: &str) -> Place {
        let template = self.template;
        let source = template.text();
        let found = position.and_then(|(line, column)| {
            if !template.has_tags() {
                return Some((line, column));
            }
            let rendered = line_of(self.text, line).filter(|text| !text.trim().is_empty())?;
            let mut same = source.lines().zip(1u32..).filter(|(text, _)| *text == rendered);
            let (_, number) = same.next()?;
            same.next().is_none().then_some((number, column))
        });
        match found.or_else(|| position_of(&source, part).filter(|_| !part.is_empty())) {
            Some((line, column)) => at(&template.file, line, column),
            None => Place::file(&template.file),
        }
    }
}

/// The lines of a script or configuration that are no comments, with their numbers.
fn code_lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let is_comment = |line: &str| {
        let line = line.trim_start();
        line.starts_with('#') || line.starts_with("//")
    };
    (1..).zip(text.lines()).filter(move |(_, line)| !is_comment(line))
}

/// The names that follow a path in a line: packages after `/var/vcap/packages/`. Each with its column, from 1.
fn names_after<'l>(line: &'l str, path: &str) -> Vec<(&'l str, u32)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let mut names = Vec::new();
    for (at, _) in line.match_indices(path) {
        let rest = &line[at + path.len()..];
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('.');
        let next = rest[end..].chars().next();
        // A name that is put together is not known.
        if !name.is_empty() && !matches!(next, Some('$' | '{' | '#' | '<' | '*' | '?' | '%' | '[')) {
            names.push((name, u32::try_from(line[..at].chars().count() + 1).unwrap_or(1)));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_put_together_are_not_known() {
        let names =
            |line| names_after(line, "/var/vcap/packages/").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names("PATH=/var/vcap/packages/a/bin:/var/vcap/packages/b-1.2/bin"), ["a", "b-1.2"]);
        assert_eq!(names("see /var/vcap/packages/a."), ["a"]);
        assert!(names("/var/vcap/packages/$NAME /var/vcap/packages/a<%= x %> /var/vcap/packages/").is_empty());
    }

    #[test]
    fn a_part_has_a_place_if_it_occurs_once() {
        assert_eq!(position_of("a\n b\nc", "b"), Some((2, 2)));
        assert_eq!(position_of("b\nb", "b"), None);
    }
}
