//! What a template defines for itself.

use std::collections::HashSet;

use super::lexer::Token;

/// Names of the methods that the template defines for itself.
pub(super) fn defined(tokens: &[Token], keyword: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    for window in tokens.windows(4) {
        match window {
            [Token::Word(k), Token::Word(this), Token::Sign("."), Token::Word(name)]
                if k == keyword && this == "self" =>
            {
                names.insert(name.clone());
            }
            [Token::Word(k), Token::Word(name), ..] if k == keyword => {
                names.insert(name.clone());
            }
            _ => {}
        }
    }
    names
}

pub(super) fn assigned_constants(tokens: &[Token]) -> HashSet<String> {
    let pairs = tokens.windows(2).filter_map(|window| match window {
        [Token::Constant(name), Token::Sign("=" | "||=")] => Some(name.clone()),
        _ => None,
    });
    pairs.collect()
}
