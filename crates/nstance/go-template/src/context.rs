//! An expression as messages show it: its tokens in Go's own spacing.

use crate::code::{Node, Program};
use crate::lexer::Lexer;
use crate::token::{Kind, Token};
use go_strconv::quote;

/// The text of a node.
pub(crate) fn describe(program: &Program, node: Node) -> Vec<u8> {
    let text = |token: Token| &program.text[token.start as usize..token.end as usize];
    let mut lexer = Lexer::inside(&program.text, &program.delimiters, node.start);
    let mut tokens = Vec::new();
    while tokens.last().map_or(node.start, |token: &Token| token.end) < node.end {
        let token = lexer.next();
        debug_assert!(token.kind != Kind::Error && token.kind != Kind::Eof);
        if matches!(token.kind, Kind::Error | Kind::Eof) {
            break;
        }
        tokens.push(token);
    }
    let mut out = Vec::new();
    let mut tokens = &tokens[..];
    if node.invocation {
        out.extend_from_slice(b"{{template ");
        if let [name, rest @ ..] = tokens {
            quote::quote(&mut out, &quote::unquote(text(*name)).unwrap_or_default());
            tokens = rest;
        }
        if tokens.iter().any(|token| token.kind != Kind::Space) {
            out.push(b' ');
        }
    }
    write(&mut out, tokens, &text);
    if node.invocation {
        out.extend_from_slice(b"}}");
    }
    out
}

/// Where a token stands in its pipeline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start of a pipeline, or behind its declarations.
    Start,
    /// Behind `|`.
    Piped,
    /// Behind an operand; `true` if nothing stands between.
    Operand(bool),
}

fn write<'s>(out: &mut Vec<u8>, tokens: &[Token], text: &dyn Fn(Token) -> &'s [u8]) {
    let mut place = Place::Start;
    let mut index = 0;
    while let Some(&token) = tokens.get(index) {
        index += 1;
        match token.kind {
            Kind::Space => {
                if place == Place::Operand(true) {
                    place = Place::Operand(false);
                }
                continue;
            }
            Kind::Pipe => {
                place = Place::Piped;
                continue;
            }
            Kind::RightParen => {
                out.push(b')');
                place = Place::Operand(true);
                continue;
            }
            Kind::Variable if place == Place::Start => {
                if let Some(next) = declarations(out, &tokens[index - 1..], text) {
                    index += next - 1;
                    continue;
                }
            }
            _ => {}
        }
        match place {
            Place::Start => {}
            Place::Operand(true) if token.kind == Kind::Field => {}
            Place::Operand(_) => out.push(b' '),
            Place::Piped => out.extend_from_slice(b" | "),
        }
        out.extend_from_slice(text(token));
        place = if token.kind == Kind::LeftParen { Place::Start } else { Place::Operand(true) };
    }
}

/// Writes the declarations that a pipeline begins with: `$x := `, `$i, $v = `. Returns how many tokens they take, `None`
/// if there are none.
fn declarations<'s>(out: &mut Vec<u8>, tokens: &[Token], text: &dyn Fn(Token) -> &'s [u8]) -> Option<usize> {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut end = 0;
    let mut sign = " := ";
    loop {
        let significant =
            |from: usize| tokens[from..].iter().position(|token| token.kind != Kind::Space).map(|n| from + n);
        let Some(name) = significant(end).filter(|at| tokens[*at].kind == Kind::Variable) else { break };
        let Some(behind) = significant(name + 1) else { break };
        match tokens[behind].kind {
            Kind::Char => {}
            Kind::Declare => {}
            Kind::Assign => sign = " = ",
            _ => break,
        }
        names.push(text(tokens[name]));
        end = behind + 1;
        if tokens[behind].kind != Kind::Char {
            break;
        }
    }
    if names.is_empty() {
        return None;
    }
    out.extend_from_slice(&names.join(&b", "[..]));
    out.extend_from_slice(sign.as_bytes());
    Some(end)
}
