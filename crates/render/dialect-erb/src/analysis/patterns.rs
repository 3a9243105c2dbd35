//! Whether code matches patterns: `case ... in`, `value in pattern` and `value => pattern`.

use super::lexer::Token;
use super::names;

/// What a bracket encloses.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Statements,
    /// Arguments, or the elements of a list or map: `=>` stands between a key and its value.
    Elements,
}

/// Whether there is a pattern. Arguments without brackets may be taken for one.
pub(super) fn are_in(tokens: &[Token]) -> bool {
    let mut enclosing = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign(sign @ ("(" | "[" | "{")) => enclosing.push(inside(sign, &tokens[..i])),
            Token::Sign(")" | "]" | "}") => {
                enclosing.pop();
            }
            Token::Sign("=>") if enclosing.last() != Some(&Inside::Elements) && !is_rescued(&tokens[..i]) => {
                return true;
            }
            Token::Word(word) if word == "in" && !is_of_loop(&tokens[..i]) => return true,
            _ => {}
        }
    }
    false
}

/// Whether `=>` after this gives a name to what was rescued: `rescue A, B => e`.
pub(super) fn is_rescued(before: &[Token]) -> bool {
    let exceptions = |token: &&Token| matches!(token, Token::Constant(_) | Token::Sign("," | "::"));
    matches!(before.iter().rev().find(|token| !exceptions(token)), Some(Token::Word(word)) if word == "rescue")
}

/// `for a, b in`
fn is_of_loop(before: &[Token]) -> bool {
    let names = |token: &&Token| match token {
        Token::Word(word) => word != "for",
        token => matches!(token, Token::Instance(_) | Token::Sign("," | "*" | "(" | ")")),
    };
    matches!(before.iter().rev().find(|token| !names(token)), Some(Token::Word(_)))
}

fn inside(bracket: &str, before: &[Token]) -> Inside {
    let after_value = match before.last() {
        Some(Token::Word(word)) => !names::is_keyword(word),
        Some(Token::Constant(_)) => true,
        Some(Token::Sign(sign)) => matches!(*sign, ")" | "]" | "}" | "." | "&."),
        _ => false,
    };
    match bracket {
        "[" => Inside::Elements,
        "(" if after_value => Inside::Elements,
        "(" => Inside::Statements,
        _ if after_value || before.last() == Some(&Token::Sign("->")) => Inside::Statements,
        _ => Inside::Elements,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::lexer;

    fn matches(code: &str) -> bool {
        are_in(&lexer::tokens(&[code]).unwrap())
    }

    #[test]
    fn patterns_are_found() {
        for code in [
            "p('x') => y",
            "p('x') => {y:}",
            "case p('x')\nin [y, *]\ny\nend",
            "z if p('x') in [_, y]",
            "p('xs').each { |x| x => y }",
            "p('xs').each do |x| x => [y] end",
            "f = -> { p('x') => y }",
            "f = ->(x) { x => y }",
            "z = (p('x') => y)",
            "x if (p('x') in y)",
        ] {
            assert!(matches(code), "{code}");
        }
    }

    #[test]
    fn keys_and_loops_are_none() {
        for code in [
            "x = { 'a' => p('b'), c => { d => e } }",
            "x = [{ 'a' => 1 }, 'b' => 2]",
            "f('a' => 1).g(1, 'b' => 2)\nf.(:c => 3)",
            "f(\n'a' => [1],\n'b' => 2\n)",
            "x.merge!({ 'a' => 1 }) { |k, a, b| a }",
            "begin; rescue A, B::C => e; end",
            "for x in p('xs') do end\nfor a, (b, *c) in p('xs') do end",
            "return { 'a' => 1 }",
            "x.each { |y| z << { 'a' => y } }",
        ] {
            assert!(!matches(code), "{code}");
        }
    }
}
