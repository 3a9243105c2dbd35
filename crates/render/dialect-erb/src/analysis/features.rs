//! Libraries that a template uses.

use super::names;

/// Adds the library that a name belongs to.
pub(super) fn remember(features: &mut Vec<&'static str>, word: &str) {
    names::library(word).into_iter().for_each(|library| add(features, library));
}

/// Some libraries can be required in parts (`uri/http`) only where the rest is there, as it is in BOSH.
pub(super) fn remember_required(features: &mut Vec<&'static str>, text: &str) {
    if text.contains("require") {
        names::libraries().filter(|library| text.contains(&format!("{library}/"))).for_each(|l| add(features, l));
    }
}

fn add(features: &mut Vec<&'static str>, library: &'static str) {
    if !features.contains(&library) {
        features.push(library);
    }
}
