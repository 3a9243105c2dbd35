//! The expression after `matching`.

/// An expression that a command line matches or not: text, in which `.` is any character and `.*` any number of them,
/// between `^` and `$` where it stands for the whole line. A backslash makes any character text.
///
/// Monit has POSIX' extended expressions. No public release that was looked at uses more than this, and a library would be
/// a fortieth of `boson-pod`.
#[derive(Debug)]
pub(crate) struct Expression {
    at_start: bool,
    at_end: bool,
    items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Item {
    Byte(u8),
    Any,
    AnyNumber,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with it, without quoting it: it may contain rendered values.
    pub(crate) fn new(text: &str) -> Result<Expression, String> {
        let at_start = text.starts_with('^');
        let mut items = Vec::new();
        let mut at_end = false;
        let mut bytes = text.as_bytes()[usize::from(at_start)..].iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\\' => items.push(Item::Byte(bytes.next().ok_or("it ends with a backslash")?)),
                b'.' if bytes.next_if_eq(&b'*').is_some() => items.push(Item::AnyNumber),
                b'.' => items.push(Item::Any),
                b'$' if bytes.peek().is_none() => at_end = true,
                b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'*' | b'+' | b'?' | b'|' | b'^' | b'$' => {
                    let operator = char::from(byte);
                    return Err(format!(
                        "'{operator}' has a meaning that boson does not carry out; write \\{operator} for the character"
                    ));
                }
                byte => items.push(Item::Byte(byte)),
            }
        }
        Ok(Expression { at_start, at_end, items })
    }

    /// Whether some part of the line matches.
    pub(crate) fn is_match(&self, line: &[u8]) -> bool {
        let starts = if self.at_start { 0..=0 } else { 0..=line.len() };
        starts.into_iter().any(|start| self.matches_from(&line[start..]))
    }

    /// By the last `.*` alone: what an earlier one leaves for it is the longest rest.
    fn matches_from(&self, line: &[u8]) -> bool {
        let (mut item, mut byte) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let is_over = item == self.items.len();
            if is_over && (!self.at_end || byte == line.len()) {
                return true;
            }
            let fits = match self.items.get(item) {
                Some(Item::AnyNumber) => {
                    retry = Some((item + 1, byte));
                    item += 1;
                    continue;
                }
                Some(Item::Any) => byte < line.len(),
                Some(Item::Byte(expected)) => line.get(byte) == Some(expected),
                None => false,
            };
            if fits {
                (item, byte) = (item + 1, byte + 1);
                continue;
            }
            match retry {
                Some((after, from)) if from < line.len() => {
                    retry = Some((after, from + 1));
                    (item, byte) = (after, from + 1);
                }
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_dots_and_ends_match() {
        for (pattern, text, matches) in [
            ("bin/web", "/var/vcap/packages/web/bin/web -p 80", true),
            ("bin/web", "bin/we", false),
            ("^bin/web", "/bin/web", false),
            ("^bin/web", "bin/web -p", true),
            ("web$", "web -p", false),
            ("web$", "web web", true),
            ("^sh.*b.c$", "sh abc b c", true),
            ("^sh.*b.c$", "sh abc b cd", false),
            ("^.*a.*b.*$", "xxaxxbxx", true),
            ("a.*b.*c", "a c b", false),
            (r"a\.b", "a.b", true),
            (r"a\.b", "axb", false),
            (r"\[x\]\$", "[x]$1", true),
            ("", "x", true),
            ("^$", "", true),
            ("^$", "x", false),
            ("x", "", false),
        ] {
            assert_eq!(Expression::new(pattern).unwrap().is_match(text.as_bytes()), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn other_operators_are_refused_by_name() {
        for operator in ["[", "]", "(", ")", "{", "}", "*", "+", "?", "|", "^", "$"] {
            let message = Expression::new(&format!("a{operator}b")).unwrap_err();
            assert!(message.starts_with(&format!("'{operator}' ")), "{message}");
        }
        assert_eq!(Expression::new("a\\").unwrap_err(), "it ends with a backslash");
    }
}
