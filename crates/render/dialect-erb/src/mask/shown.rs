//! The parts of a message that are shown whatever values contain.

use std::cmp::Reverse;
use std::ops::Range;

use super::fold;
use super::public_texts::PUBLIC_TEXTS;

/// The shortest text of Ruby or BOSH that is recognised by itself.
const SHORTEST_TEXT: usize = 8;
/// The shortest name that is recognised by itself.
const SHORTEST_NAME: usize = 2;
/// Ends BOSH's message about missing properties, which quotes the `inspect` of a list of names.
const LIST_END: &str = "\"]'";
/// What separates the parts of a name, and names of a list.
const SEPARATORS: [&str; 3] = [".", "::", "\", \""];

/// The public parts of a message.
#[derive(Default)]
pub(super) struct Shown {
    /// Texts of Ruby and BOSH: always shown.
    pub(super) phrases: Vec<Range<usize>>,
    /// Names: shown unless they are in a part that is masked.
    pub(super) names: Vec<Range<usize>>,
}

/// Finds the public parts of a message: names, and the texts of Ruby and BOSH with what they quote, if that is in `written`. All
/// texts are folded.
pub(super) fn find(text: &[char], names: impl Iterator<Item = String>, written: &str) -> Shown {
    let mut shown = phrases(text, written);
    // A blank between two texts of Ruby's belongs to its message.
    shown.phrases.sort_by_key(|range| (range.start, range.end));
    let both: Vec<&Range<usize>> = shown.phrases.iter().chain(&shown.names).collect();
    let follows = |at: usize| both.iter().any(|range| range.start == at);
    let blanks: Vec<Range<usize>> = shown
        .phrases
        .iter()
        .filter(|range| text.get(range.end) == Some(&' ') && follows(range.end + 1))
        .map(|range| range.end..range.end + 1)
        .collect();
    shown.phrases.extend(blanks);
    for name in names {
        let name: Vec<char> = name.chars().collect();
        if name.len() >= SHORTEST_NAME {
            shown.names.extend(occurrences(text, &name).filter(|range| stands_alone(text, range)));
        }
    }
    shown
}

/// The texts of Ruby and BOSH, with what they quote if that is in `written`.
fn phrases(text: &[char], written: &str) -> Shown {
    let mut shown = Shown::default();
    let mut phrases: Vec<String> = PUBLIC_TEXTS.iter().map(|phrase| fold(phrase)).collect();
    // A phrase may contain a shorter one, which does not quote then.
    phrases.sort_by_key(|phrase| Reverse(phrase.len()));
    let mut covered: Vec<Range<usize>> = Vec::new();
    for phrase in phrases.iter().filter(|phrase| phrase.len() >= SHORTEST_TEXT) {
        let chars: Vec<char> = phrase.chars().collect();
        for range in occurrences(text, &chars) {
            if covered.iter().any(|longer| longer.start <= range.start && range.end <= longer.end) {
                continue;
            }
            if let Some(end) = end_of_quote(phrase) {
                add_quoted(text, range.end, end, written, &mut shown);
            } else if phrase.ends_with(' ') {
                let length = text[range.end..].iter().take_while(|c| is_word(**c)).count();
                let word: String = text[range.end..range.end + length].iter().collect();
                // Ruby's own classes.
                if phrases.iter().any(|phrase| has_word(phrase, &word)) {
                    shown.names.push(range.end..range.end + length);
                }
            }
            covered.push(range);
        }
    }
    shown.phrases.extend(covered);
    shown
}

/// What ends the text that a phrase begins to quote.
fn end_of_quote(phrase: &str) -> Option<&'static str> {
    if phrase.ends_with("'[\"") {
        return Some(LIST_END);
    }
    match phrase.chars().last()? {
        '\'' => Some("'"),
        '"' => Some("\""),
        _ => None,
    }
}

/// Adds the words of a quoted text that are known, with what separates names if all are; and the end of the quote.
fn add_quoted(text: &[char], start: usize, end: &str, written: &str, shown: &mut Shown) {
    let end: Vec<char> = end.chars().collect();
    let Some(closing) = occurrences(&text[start..], &end).next() else { return };
    let closing = start + closing.start..start + closing.end;
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut are_names = true;
    let mut at = start;
    while at < closing.start {
        let length = text[at..closing.start].iter().take_while(|c| is_word(**c)).count();
        if length > 0 {
            let word: String = text[at..at + length].iter().collect();
            if has_word(written, &word) {
                let gap: String = text[words.last().map_or(start, |last| last.end)..at].iter().collect();
                are_names &= if words.is_empty() { gap.is_empty() } else { SEPARATORS.contains(&gap.as_str()) };
                words.push(at..at + length);
            } else {
                are_names = false;
            }
        }
        at += length.max(1);
    }
    if are_names && words.last().is_some_and(|last| last.end == closing.start) {
        shown.names.push(start..closing.start);
    }
    shown.names.extend(words);
    shown.phrases.push(closing);
}

/// Whether a text has this word.
fn has_word(text: &str, word: &str) -> bool {
    if word.is_empty() {
        return false;
    }
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

fn occurrences<'t>(text: &'t [char], part: &'t [char]) -> impl Iterator<Item = Range<usize>> + 't {
    let is_part = move |window: &[char]| window.first() == part.first() && window == part;
    let starts = text.windows(part.len().max(1)).enumerate().filter(move |(_, window)| is_part(window));
    starts.map(move |(start, _)| start..start + part.len())
}

/// Whether no letter, digit, `_` or `-` touches a part of the text.
fn stands_alone(text: &[char], range: &Range<usize>) -> bool {
    let before = range.start.checked_sub(1).map(|i| text[i]);
    let after = text.get(range.end).copied();
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}
