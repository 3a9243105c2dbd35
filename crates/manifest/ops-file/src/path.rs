//! Paths: `/instance_groups/name=web/jobs/0:before`.

use std::fmt;
use std::str::FromStr;

/// A path to a node of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path {
    tokens: Vec<Token>,
}

/// One part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// `0`, `-1`: an item of a list.
    Index {
        /// From 0, or from -1 at the end of the list.
        index: i64,
        /// `:next`, `:before` ...
        modifiers: Vec<Modifier>,
    },
    /// `-` at the end of a path: behind the last item of a list.
    End,
    /// `name=web`: the item of a list that is a map with this value.
    Match {
        /// The key.
        key: String,
        /// Its value, a string.
        value: String,
        /// Whether the item may be missing.
        optional: bool,
        /// `:next`, `:before` ...
        modifiers: Vec<Modifier>,
    },
    /// `name`: the value of a map's key.
    Key {
        /// The key.
        key: String,
        /// Whether it may be missing.
        optional: bool,
    },
}

/// What moves an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modifier {
    /// `:prev`: the item before.
    Prev,
    /// `:next`: the item behind.
    Next,
    /// `:before`: a new item before it.
    Before,
    /// `:after`: a new item behind it.
    After,
}

/// A text that is not a path, with go-patch's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError(String);

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PathError {}

impl Modifier {
    fn name(self) -> &'static str {
        match self {
            Modifier::Prev => "prev",
            Modifier::Next => "next",
            Modifier::Before => "before",
            Modifier::After => "after",
        }
    }

    /// Go's name of the type, in messages.
    pub(crate) fn go_type(self) -> &'static str {
        match self {
            Modifier::Prev => "patch.PrevModifier",
            Modifier::Next => "patch.NextModifier",
            Modifier::Before => "patch.BeforeModifier",
            Modifier::After => "patch.AfterModifier",
        }
    }
}

impl Path {
    /// The tokens; none for the whole document.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The path of the first `length` tokens.
    pub(crate) fn start(&self, length: usize) -> Path {
        Path { tokens: self.tokens.iter().take(length).cloned().collect() }
    }

    /// The same path with every index as a key: `1` names the string key `1`.
    #[must_use]
    pub fn with_indices_as_keys(&self) -> Path {
        let tokens = self.tokens.iter().map(|token| match token {
            Token::Index { index, modifiers } if modifiers.is_empty() => {
                Token::Key { key: index.to_string(), optional: false }
            }
            other => other.clone(),
        });
        Path { tokens: tokens.collect() }
    }
}

/// As many as the levels of a document that is read. Beyond go-patch.
const MAX_TOKENS: usize = 500;

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Path, PathError> {
        if text.is_empty() {
            return Ok(Path::default());
        }
        let Some(parts) = text.strip_prefix('/') else {
            return Err(PathError("Expected to start with '/'".to_owned()));
        };
        let parts: Vec<&str> = parts.split('/').collect();
        if parts.len() > MAX_TOKENS {
            return Err(PathError(format!("Expected at most {MAX_TOKENS} tokens but found {}", parts.len())));
        }
        let mut optional = false;
        let tokens = parts.iter().enumerate().map(|(i, part)| token(part, i + 1 == parts.len(), &mut optional));
        Ok(Path { tokens: tokens.collect::<Result<_, _>>()? })
    }
}

/// Reads one token; `optional` is whether it or one before it ends in `?`.
fn token(part: &str, is_last: bool, optional: &mut bool) -> Result<Token, PathError> {
    let mut pieces = part.split(':');
    let name = pieces.next().unwrap_or_default();
    let pieces: Vec<&str> = pieces.collect();
    let modifiers: Option<Vec<Modifier>> = pieces.iter().map(|piece| modifier(piece)).collect();
    let Some(modifiers) = modifiers else {
        // The first one, whichever is wrong: go-patch's message. The one that is wrong helps more.
        let wrong = pieces.iter().find(|piece| modifier(piece).is_none()).copied().unwrap_or_default();
        return Err(PathError(format!(
            "Expected to find one of the following modifiers: 'prev', 'next', 'before', or 'after' but found '{wrong}'"
        )));
    };
    let name = decode(name);
    if is_last && name == "-" {
        return match modifiers.is_empty() {
            true => Ok(Token::End),
            false => Err(PathError("Expected not to find any modifiers with after last index token".to_owned())),
        };
    }
    if let Ok(index) = name.parse() {
        return Ok(Token::Index { index, modifiers });
    }
    *optional |= name.ends_with('?');
    let without_mark = |text: &str| text.strip_suffix('?').unwrap_or(text).to_owned();
    if let Some((key, value)) = name.split_once('=') {
        return Ok(Token::Match { key: key.to_owned(), value: without_mark(value), optional: *optional, modifiers });
    }
    if !modifiers.is_empty() {
        return Err(PathError("Expected not to find any modifiers with key token".to_owned()));
    }
    Ok(Token::Key { key: without_mark(&name), optional: *optional })
}

fn modifier(name: &str) -> Option<Modifier> {
    [Modifier::Prev, Modifier::Next, Modifier::Before, Modifier::After].into_iter().find(|one| one.name() == name)
}

/// `~0` is `~`, `~1` is `/`, `~7` is `:`, in one pass; any other `~` stays.
fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('~') {
        decoded.push_str(&rest[..at]);
        let (character, length) = match rest.as_bytes().get(at + 1) {
            Some(b'0') => ('~', 2),
            Some(b'1') => ('/', 2),
            Some(b'7') => (':', 2),
            _ => ('~', 1),
        };
        decoded.push(character);
        rest = &rest[at + length..];
    }
    decoded + rest
}

fn encode(text: &str) -> String {
    text.replace('~', "~0").replace('/', "~1").replace(':', "~7")
}

impl Path {
    /// The path of a node in the node at this path.
    #[must_use]
    pub fn child(&self, token: Token) -> Path {
        let mut tokens = self.tokens.clone();
        tokens.push(token);
        Path { tokens }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_marked = false;
        let mut mark = |optional: bool| {
            let is_first = optional && !is_marked;
            is_marked |= optional;
            if is_first { "?" } else { "" }
        };
        for token in &self.tokens {
            match token {
                Token::Index { index, modifiers } => write!(f, "/{index}{}", suffix(modifiers))?,
                Token::End => f.write_str("/-")?,
                Token::Match { key, value, optional, modifiers } => {
                    write!(f, "/{}={}{}{}", encode(key), encode(value), mark(*optional), suffix(modifiers))?;
                }
                Token::Key { key, optional } => write!(f, "/{}{}", encode(key), mark(*optional))?,
            }
        }
        Ok(())
    }
}

fn suffix(modifiers: &[Modifier]) -> String {
    modifiers.iter().map(|modifier| format!(":{}", modifier.name())).collect()
}
