//! The text that is written, with a limit: a template of 1 MiB may make hundreds.

/// A text of a limited size.
pub(super) struct Out {
    text: String,
    /// In bytes.
    most: usize,
    /// Whether something did not fit: it and all that follows is lost.
    is_over: bool,
}

impl Out {
    pub(super) fn new(most: usize) -> Out {
        Out { text: String::new(), most, is_over: false }
    }

    pub(super) fn push_str(&mut self, text: &str) {
        if self.is_over || text.len() > self.most - self.text.len() {
            self.is_over = true;
            return;
        }
        self.text.push_str(text);
    }

    pub(super) fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// Inserts a text before what was written behind `at` bytes.
    pub(super) fn insert_str(&mut self, at: usize, text: &str) {
        if self.is_over || text.len() > self.most - self.text.len() {
            self.is_over = true;
            return;
        }
        self.text.insert_str(at, text);
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether the limit has been reached.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The text; `None` if it would have more bytes than the limit.
    pub(super) fn finish(self) -> Option<String> {
        (!self.is_over).then_some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_lost_with_all_that_follows() {
        let mut out = Out::new(4);
        out.push('\u{e9}');
        out.push_str("b");
        out.insert_str(2, "a");
        assert_eq!(out.len(), 4);
        out.push_str("");
        assert_eq!(out.finish().as_deref(), Some("\u{e9}ab"));
        let mut out = Out::new(2);
        out.push_str("abc");
        out.push('a');
        assert_eq!((out.len(), out.finish()), (0, None));
        let mut out = Out::new(2);
        out.push_str("ab");
        out.insert_str(0, "a");
        assert_eq!(out.finish(), None);
    }
}
