//! Links and headings of Markdown files, as far as the documents here use Markdown.

use std::collections::{BTreeMap, BTreeSet};

/// A link: its line, from 1, and its target as written.
pub type Link = (usize, String);

/// The links of a text; code contains none.
pub fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        for part in line.split("](").skip(1) {
            if let Some(target) = part.split(')').next() {
                links.push((number, target.to_owned()));
            }
        }
    }
    links
}

/// The anchors of a text's headings, as GitHub makes them.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(title.trim());
        let count = seen.entry(anchor.clone()).or_default();
        anchors.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// Letters, digits, dashes and underscores in lower case, a dash for each blank.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines outside fenced blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// A line without what stands in backquotes.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text = "a [b](c.md) `[x](y)` [`d`](e#f)\n```\n[g](h)\n```\n[i](j)\n";
        assert_eq!(links(text), [(1, "c.md".into()), (1, "e#f".into()), (5, "j".into())]);
    }

    #[test]
    fn anchors_follow_githubs_rules() {
        let text = "# `output.json`: it\n## Who an instance is\n```\n# no heading\n```\n## A\n### A\n#hash\n";
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["a", "a-1", "outputjson-it", "who-an-instance-is"]);
    }
}
