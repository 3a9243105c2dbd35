//! References in a text.

/// How references are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `$(NAME)` and `$((NAME))`, as the proposal of Kubernetes Templates has them; `$$` is `$`.
    Kubernetes,
    /// `${NAME}`, and `${{NAME}}` as a whole text, as in OpenShift; nothing is escaped.
    Openshift,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Text that stays.
    Text(&'t str),
    /// A reference.
    Reference(Reference<'t>),
}

/// A reference to a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference<'t> {
    /// The parameter's name.
    pub(crate) name: &'t str,
    /// Whether the value loses its quotes.
    pub(crate) is_unquoted: bool,
    /// The reference as it is written.
    pub(crate) text: &'t str,
}

/// Whether a text is the name of a parameter: `[a-zA-Z0-9_]+`.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The parts of a text, from left to right.
pub(crate) fn pieces(text: &str, syntax: Syntax) -> Pieces<'_> {
    Pieces { rest: text, is_start: true, syntax }
}

pub(crate) struct Pieces<'t> {
    rest: &'t str,
    is_start: bool,
    syntax: Syntax,
}

impl<'t> Pieces<'t> {
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// The reference that the rest, which begins with `$`, begins with.
    fn reference(&self, is_whole: bool) -> Option<Reference<'t>> {
        let forms: &[(&str, &str, bool)] = match self.syntax {
            Syntax::Kubernetes => &[("$((", "))", true), ("$(", ")", false)],
            Syntax::Openshift if is_whole => &[("${{", "}}", true), ("${", "}", false)],
            Syntax::Openshift => &[("${", "}", false)],
        };
        forms.iter().find_map(|(open, close, is_unquoted)| {
            let behind = self.rest.strip_prefix(open)?;
            let end = behind.bytes().take_while(|byte| is_name_byte(*byte)).count();
            let is_reference = end > 0 && behind[end..].starts_with(close);
            let length = open.len() + end + close.len();
            if !is_reference || (self.syntax == Syntax::Openshift && *is_unquoted && length != self.rest.len()) {
                return None;
            }
            Some(Reference { name: &behind[..end], is_unquoted: *is_unquoted, text: &self.rest[..length] })
        })
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        let is_whole = std::mem::replace(&mut self.is_start, false);
        let text = self.rest.find('$').unwrap_or(self.rest.len());
        if text > 0 {
            return Some(Piece::Text(self.take(text)));
        }
        if self.rest.is_empty() {
            return None;
        }
        if self.syntax == Syntax::Kubernetes && self.rest.starts_with("$$") {
            return Some(Piece::Text(&self.take(2)[..1]));
        }
        if let Some(reference) = self.reference(is_whole) {
            self.take(reference.text.len());
            return Some(Piece::Reference(reference));
        }
        Some(Piece::Text(self.take(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts as they are, references in `<>` or `<<>>`.
    fn shown(text: &str, syntax: Syntax) -> String {
        let show = |piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Reference(Reference { name, is_unquoted: true, .. }) => format!("<<{name}>>"),
            Piece::Reference(Reference { name, .. }) => format!("<{name}>"),
        };
        pieces(text, syntax).map(show).collect()
    }

    #[test]
    fn references_of_kubernetes() {
        for (text, expected) in [
            ("", ""),
            ("a$(X)b$((Y))c", "a<X>b<<Y>>c"),
            ("$(a_1Z)", "<a_1Z>"),
            ("$$(X)", "$(X)"),
            ("$$((X))", "$((X))"),
            ("$$$(X)", "$<X>"),
            ("$$$$", "$$"),
            ("$", "$"),
            ("a$", "a$"),
            ("$()", "$()"),
            ("$(())", "$(())"),
            ("$(X", "$(X"),
            ("$((X)", "$((X)"),
            ("$(X))", "<X>)"),
            ("$(a-b) $(date +%s) $((1 + 2))", "$(a-b) $(date +%s) $((1 + 2))"),
            ("$(a$(X))", "$(a<X>)"),
            ("${X} $X \u{e9}$(X)\u{e9}", "${X} $X \u{e9}<X>\u{e9}"),
            ("$(\u{e9})", "$(\u{e9})"),
        ] {
            assert_eq!(shown(text, Syntax::Kubernetes), expected, "{text}");
        }
    }

    #[test]
    fn references_of_openshift() {
        for (text, expected) in [
            ("${X}", "<X>"),
            ("$${X}", "$<X>"),
            ("${{X}}", "<<X>>"),
            ("a${{X}}", "a${{X}}"),
            ("${{X}}a", "${{X}}a"),
            ("${{X}}${{X}}", "${{X}}${{X}}"),
            ("${{A B}}", "${{A B}}"),
            ("${A}_${B}", "<A>_<B>"),
            ("${{X}", "${{X}"),
            ("$(X)$$", "$(X)$$"),
        ] {
            assert_eq!(shown(text, Syntax::Openshift), expected, "{text}");
        }
    }
}
