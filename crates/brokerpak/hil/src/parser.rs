//! The parser.

use go_strconv::number::{parse_float, parse_int};

use crate::ast::{Literal, Node, NodeKind, Operator};
use crate::error::{Error, Position};
use crate::scanner::{Kind, Scanner, Token};

type Result<T> = std::result::Result<T, Error>;

/// How deep expressions may nest; HIL itself has no limit.
const DEEPEST: usize = 250;

/// Parses a text with expressions.
pub(crate) fn parse(text: &str) -> Result<Node> {
    Parser { scanner: Scanner::new(text), depth: 0 }.sequence(None)
}

struct Parser<'t> {
    scanner: Scanner<'t>,
    depth: usize,
}

fn unexpected<T>(wanted: &str, found: &Token<'_>) -> Result<T> {
    Err(Error::parse(found.position, format_args!("expected {wanted} but found {found}")))
}

/// The operator of a token, with its precedence.
fn operator(kind: Kind) -> Option<(usize, Operator)> {
    Some(match kind {
        Kind::Or => (0, Operator::Or),
        Kind::And => (1, Operator::And),
        Kind::Equal => (2, Operator::Equal),
        Kind::NotEqual => (2, Operator::NotEqual),
        Kind::Sign(b'>') => (3, Operator::Greater),
        Kind::GreaterOrEqual => (3, Operator::GreaterOrEqual),
        Kind::Sign(b'<') => (3, Operator::Less),
        Kind::LessOrEqual => (3, Operator::LessOrEqual),
        Kind::Sign(b'+') => (4, Operator::Add),
        Kind::Sign(b'-') => (4, Operator::Subtract),
        Kind::Sign(b'*') => (5, Operator::Multiply),
        Kind::Sign(b'/') => (5, Operator::Divide),
        Kind::Sign(b'%') => (5, Operator::Modulo),
        _ => return None,
    })
}

impl Parser<'_> {
    /// Text with expressions, up to the end or, in quotes, to the closing quote. `quotes` is where the opening one stands.
    fn sequence(&mut self, quotes: Option<Position>) -> Result<Node> {
        let start = quotes.unwrap_or_else(|| self.scanner.peek().position);
        let (literal, end) =
            if quotes.is_some() { (Kind::Text, Kind::CloseQuote) } else { (Kind::Literal, Kind::EndOfText) };
        let mut parts = Vec::new();
        loop {
            let token = self.scanner.read();
            match token.kind {
                kind if kind == end => break,
                kind if kind == literal => {
                    let text = Literal::Text(unescape(&token, quotes.is_some())?);
                    parts.push(Node { position: token.position, kind: NodeKind::Literal(text) });
                }
                Kind::Begin => {
                    parts.push(self.expression()?);
                    self.require(Kind::End, "\"}\"")?;
                }
                _ => return unexpected("\"${\"", &token),
            }
        }
        if parts.is_empty() {
            return Ok(Node { position: start, kind: NodeKind::Literal(Literal::Text(String::new())) });
        }
        if parts.len() == 1 && matches!(parts[0].kind, NodeKind::Literal(Literal::Text(_))) {
            return Ok(parts.swap_remove(0));
        }
        Ok(Node { position: start, kind: NodeKind::Output(parts) })
    }

    fn require(&mut self, kind: Kind, name: &str) -> Result<()> {
        let token = self.scanner.read();
        if token.kind == kind { Ok(()) } else { unexpected(name, &token) }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            let position = self.scanner.peek().position;
            return Err(Error::parse(position, format_args!("expressions are nested deeper than {DEEPEST} levels")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// An operand or a condition with its two results.
    fn expression(&mut self) -> Result<Node> {
        self.deeper(|parser| {
            let position = parser.scanner.peek().position;
            let condition = parser.operands(0)?;
            if parser.scanner.peek().kind != Kind::Sign(b'?') {
                return Ok(condition);
            }
            parser.scanner.read();
            let yes = parser.expression()?;
            parser.require(Kind::Sign(b':'), ":")?;
            let no = parser.expression()?;
            Ok(Node { position, kind: NodeKind::Conditional(Box::new([condition, yes, no])) })
        })
    }

    /// Terms with operators of at least this precedence.
    fn operands(&mut self, least: usize) -> Result<Node> {
        let position = self.scanner.peek().position;
        let mut left = self.term()?;
        let mut last = None;
        while let Some((precedence, operator)) = operator(self.scanner.peek().kind).filter(|found| found.0 >= least) {
            self.scanner.read();
            let right = self.operands(precedence + 1)?;
            match &mut left.kind {
                NodeKind::Chain(_, more) if last == Some(precedence) => more.push((operator, right)),
                _ => left = Node { position, kind: NodeKind::Chain(Box::new(left), vec![(operator, right)]) },
            }
            last = Some(precedence);
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<Node> {
        let next = self.scanner.peek();
        let position = next.position;
        let kind = match next.kind {
            Kind::Sign(b'(') => {
                self.scanner.read();
                let inside = self.expression()?;
                self.require(Kind::Sign(b')'), "\")\"")?;
                return Ok(inside);
            }
            Kind::OpenQuote => {
                self.scanner.read();
                return self.sequence(Some(position));
            }
            Kind::Integer => {
                let value = parse_int(next.content.as_bytes(), 10).map_err(|error| error.message("Atoi", next.content));
                Literal::Int(value.map_err(|error| Error::parse(position, format_args!("invalid integer: {error}")))?)
            }
            Kind::Float => {
                let value =
                    parse_float(next.content.as_bytes()).map_err(|error| error.message("ParseFloat", next.content));
                Literal::Float(value.map_err(|error| Error::parse(position, format_args!("invalid float: {error}")))?)
            }
            Kind::Bool => Literal::Bool(next.content == "true"),
            Kind::Sign(b'-') => return self.prefixed(position, Literal::Int(0), Operator::Subtract),
            Kind::Sign(b'!') => return self.prefixed(position, Literal::Bool(false), Operator::Equal),
            Kind::Identifier => return self.name(),
            _ => return unexpected("expression", &next),
        };
        self.scanner.read();
        Ok(Node { position, kind: NodeKind::Literal(kind) })
    }

    /// `-x` is `0 - x`, `!x` is `false == x`.
    fn prefixed(&mut self, position: Position, first: Literal, operator: Operator) -> Result<Node> {
        self.scanner.read();
        let operand = self.deeper(Self::term)?;
        let first = Box::new(Node { position, kind: NodeKind::Literal(first) });
        Ok(Node { position, kind: NodeKind::Chain(first, vec![(operator, operand)]) })
    }

    /// A variable, an element of one, or a call.
    fn name(&mut self) -> Result<Node> {
        let token = self.scanner.read();
        let (name, position) = (token.content.to_owned(), token.position);
        let next = self.scanner.peek();
        match next.kind {
            Kind::Sign(b'(') => {
                self.scanner.read();
                let mut arguments = Vec::new();
                while self.scanner.peek().kind != Kind::Sign(b')') {
                    arguments.push(self.expression()?);
                    if self.scanner.peek().kind != Kind::Sign(b',') {
                        break;
                    }
                    self.scanner.read();
                }
                self.require(Kind::Sign(b')'), "\")\"")?;
                Ok(Node { position, kind: NodeKind::Call(name, arguments) })
            }
            Kind::Sign(b'[') => {
                self.scanner.read();
                let key = Box::new(self.expression()?);
                self.require(Kind::Sign(b']'), "\"]\"")?;
                Ok(Node { position: next.position, kind: NodeKind::Index(name, position, key) })
            }
            _ => Ok(Node { position, kind: NodeKind::Variable(name) }),
        }
    }
}

/// The text that a token stands for: `$$` is `$` and, in quotes, backslashes escape.
fn unescape(token: &Token<'_>, is_quoted: bool) -> Result<String> {
    let raw = token.content;
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars().enumerate().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '$' => {
                characters.next_if(|next| next.1 == '$');
                text.push('$');
            }
            '\\' if is_quoted => {
                // The column does not take line ends within the text into account, as in HIL.
                let position = Position { column: token.position.column + at as u32, ..token.position };
                text.push(match characters.next() {
                    Some((_, '\\')) => '\\',
                    Some((_, '"')) => '"',
                    Some((_, 'n')) => '\n',
                    Some(_) => return Err(Error::parse(position, "invalid backslash escape sequence")),
                    None => return Err(Error::parse(position, "unfinished backslash escape sequence")),
                });
            }
            other => text.push(other),
        }
    }
    Ok(text)
}
