//! The line of a rendered file that a problem is about, and the line of the template that it comes from.

use dialect_erb::{Mask, line_origin};
use problem::{Note, Place, Problem};
use template::Source;

/// Longer lines are not shown.
const MAX_SHOWN: usize = 160;

/// Adds to a problem of a rendered file the line, without rendered values, and the line of the template where only one can have
/// rendered it.
pub(crate) fn show(problem: &mut Problem, text: &[u8], source: &Source, mask: &Mask) {
    let text = String::from_utf8_lossy(text);
    let Some(place) = &mut problem.place else { return };
    let Some(rendered) = place.line.and_then(|number| line(&text, number)) else { return };
    let masked = mask.apply_to_line(rendered);
    if masked.chars().count() <= MAX_SHOWN {
        // The column is that of the line with its values: it is right up to the first of them.
        let same = rendered.chars().zip(masked.chars()).take_while(|(a, b)| a == b).count();
        place.column = place.column.filter(|column| masked == rendered || *column as usize <= same + 1);
        place.excerpt = Some(masked);
    }
    if let Some(number) = line_origin(&source.text, rendered) {
        let template = String::from_utf8_lossy(&source.text);
        let excerpt = line(&template, number).filter(|line| line.chars().count() <= MAX_SHOWN).map(str::to_owned);
        let place = Place { excerpt, ..Place::line(&source.file, number) };
        problem.notes.push(Note { place, what: Some("renders this line".to_owned()), hint: None });
    }
}

/// The line of this number, from 1.
pub(crate) fn line(text: &str, number: u32) -> Option<&str> {
    text.lines().nth(number.checked_sub(1)? as usize)
}
