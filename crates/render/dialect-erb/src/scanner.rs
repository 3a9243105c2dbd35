//! ERB scanning with trim mode `-`: the Ruby code that ERB's own compiler makes of a template, made faster.
//!
//! The rules are those of ERB's explicit scanner, its quirks included; the one difference is that a comment tag that
//! spans lines keeps their count, so that line numbers after it are right.

/// The Ruby code of a template. Its first line is a magic comment, so it is evaluated as starting at line 0.
pub fn compile(template: &[u8]) -> Vec<u8> {
    compile_with(template, None).script
}

/// A piece of a template whose result is output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Its first line in the template, from 1.
    pub(crate) line: u32,
    /// Its last line.
    pub(crate) last_line: u32,
    /// What it outputs; `None` for a tag.
    pub(crate) text: Option<Vec<u8>>,
}

/// As [`compile`]; each output is noted by `Boson::Trace`, with the index of its segment. No line has more or fewer lines.
pub(crate) fn compile_traced(template: &[u8]) -> (Vec<u8>, Vec<Segment>) {
    let compiler = compile_with(template, Some(Vec::new()));
    (compiler.script, compiler.segments.unwrap_or_default())
}

fn compile_with(template: &[u8], segments: Option<Vec<Segment>>) -> Compiler {
    let mut script = Vec::with_capacity(template.len() * 2);
    script.extend_from_slice(b"#coding:UTF-8\n");
    let mut compiler = Compiler { script, on_line: false, content: Vec::new(), segments, line: 1, counted: 0 };
    compiler.push(b"_erbout = +''");
    let mut at = 0;
    let mut tag: Option<Tag> = None;
    while at < template.len() {
        compiler.reach(template, at);
        at = match tag {
            None => {
                let (text_end, token, next) = next_opening(template, at);
                compiler.content.extend_from_slice(&template[at..text_end]);
                if &template[at..text_end] == b"\n" {
                    compiler.flush();
                }
                compiler.opening(token, &mut tag);
                next
            }
            Some(kind) => {
                let (code_end, token, next) = next_closing(template, at);
                compiler.content.extend_from_slice(&template[at..code_end]);
                match token {
                    Closing::Escaped => {
                        compiler.content.extend_from_slice(b"%>");
                        next
                    }
                    Closing::End => next,
                    Closing::Plain | Closing::Trim => {
                        compiler.close(kind);
                        tag = None;
                        if token == Closing::Trim { compiler.trim(template, next) } else { next }
                    }
                }
            }
        };
    }
    compiler.flush();
    compiler.push(b"_erbout");
    compiler
}

/// Whether a template is more than the text that it renders to.
pub fn has_tags(template: &[u8]) -> bool {
    find(template, 0, b"<%").is_some()
}

/// The pieces of Ruby code in a template, in order, without their tags.
pub fn fragments(template: &str) -> Vec<&str> {
    let bytes = template.as_bytes();
    let mut fragments = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (_, token, start) = next_opening(bytes, at);
        at = start;
        let Opening::Tag(kind) = token else { continue };
        loop {
            let (end, closing, next) = next_closing(bytes, at);
            at = next;
            if closing != Closing::Escaped {
                if kind != Tag::Comment {
                    fragments.push(&template[start..end]);
                }
                break;
            }
        }
    }
    fragments
}

/// The Ruby code of a template in the lines and columns that it has there: all else is blank, and a `;` ends each tag. With the
/// spans of the bytes of the tags whose value is output.
pub fn code_in_place(template: &[u8]) -> (Vec<u8>, Vec<std::ops::Range<usize>>) {
    let mut code: Vec<u8> = template.iter().map(|b| if *b == b'\n' { b'\n' } else { b' ' }).collect();
    let mut outputs = Vec::new();
    let mut at = 0;
    while at < template.len() {
        let (_, token, start) = next_opening(template, at);
        at = start;
        let Opening::Tag(kind) = token else { continue };
        let mut from = start;
        loop {
            let (end, closing, next) = next_closing(template, from);
            if kind != Tag::Comment {
                code[from..end].copy_from_slice(&template[from..end]);
            }
            at = next;
            match closing {
                Closing::Escaped => {
                    if kind != Tag::Comment {
                        code[next - 2..next].copy_from_slice(b"%>");
                    }
                    from = next;
                    continue;
                }
                Closing::Plain | Closing::Trim if kind != Tag::Comment => code[end] = b';',
                _ => {}
            }
            if kind == Tag::Output {
                outputs.push(start..end);
            }
            break;
        }
    }
    (code, outputs)
}

/// Whether the template opens with a comment that names an encoding or the like, which only ERB's own compiler reads.
pub fn has_magic_comment(template: &[u8]) -> bool {
    let first = template.split(|b| *b == b'\n').next().unwrap_or_default();
    first.starts_with(b"<%#") && {
        let text = String::from_utf8_lossy(first).to_lowercase();
        text.contains("coding") || text.contains("frozen")
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tag {
    Code,
    Output,
    Comment,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Opening {
    Tag(Tag),
    Escaped,
    End,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Closing {
    Plain,
    Trim,
    Escaped,
    End,
}

/// The next opening token from `at`: where the text before it ends, what it is, where it ends.
pub(crate) fn next_opening(template: &[u8], at: usize) -> (usize, Opening, usize) {
    let Some(found) = find(template, at, b"<%") else { return (template.len(), Opening::End, template.len()) };
    match template.get(found + 2) {
        Some(b'-') => {
            // Blanks before it belong to it where nothing else stands before them on the line. A line also starts
            // where the last token ended (the scanner looks no further back).
            let blanks = template[at..found].iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
            let start = found - blanks;
            let at_line_start = start == at || template[start - 1] == b'\n';
            (if at_line_start { start } else { found }, Opening::Tag(Tag::Code), found + 3)
        }
        Some(b'%') => (found, Opening::Escaped, found + 3),
        Some(b'=') => (found, Opening::Tag(Tag::Output), found + 3),
        Some(b'#') => (found, Opening::Tag(Tag::Comment), found + 3),
        _ => (found, Opening::Tag(Tag::Code), found + 2),
    }
}

pub(crate) fn next_closing(template: &[u8], at: usize) -> (usize, Closing, usize) {
    let Some(found) = find(template, at, b"%>") else { return (template.len(), Closing::End, template.len()) };
    let end = found + 2;
    match template[at..found].last() {
        Some(b'-') => (found - 1, Closing::Trim, end),
        Some(b'%') => (found - 1, Closing::Escaped, end),
        _ => (found, Closing::Plain, end),
    }
}

fn find(haystack: &[u8], from: usize, needle: &[u8; 2]) -> Option<usize> {
    memchr::memmem::find(&haystack[from..], needle).map(|i| from + i)
}

struct Compiler {
    script: Vec<u8>,
    on_line: bool,
    content: Vec<u8>,
    /// What was output so far, if that is noted.
    segments: Option<Vec<Segment>>,
    /// The line where the content begins, and the byte up to which lines were counted.
    line: u32,
    counted: usize,
}

impl Compiler {
    /// Counts the lines up to where the next token begins, if content begins there too.
    fn reach(&mut self, template: &[u8], at: usize) {
        if self.segments.is_some() && self.content.is_empty() {
            self.line += lines(&template[self.counted..at]);
            self.counted = at;
        }
    }

    /// Begins what notes an output; the end is one more parenthesis.
    fn note(&mut self, text: Option<&[u8]>, content: &[u8]) {
        let Some(segments) = &mut self.segments else { return };
        self.script.extend_from_slice(format!("::Boson::Trace.note({}, _erbout, ", segments.len()).as_bytes());
        let last_line = self.line + lines(content);
        segments.push(Segment { line: self.line, last_line, text: text.map(<[u8]>::to_vec) });
    }

    fn end_note(&mut self) {
        if self.segments.is_some() {
            self.script.push(b')');
        }
    }

    fn push(&mut self, command: &[u8]) {
        if self.on_line {
            self.script.extend_from_slice(b"; ");
        }
        self.script.extend_from_slice(command);
        self.on_line = true;
    }

    fn new_line(&mut self) {
        self.script.push(b'\n');
        self.on_line = false;
    }

    fn opening(&mut self, token: Opening, tag: &mut Option<Tag>) {
        match token {
            Opening::Tag(kind) => {
                self.flush();
                *tag = Some(kind);
            }
            Opening::Escaped => self.content.extend_from_slice(b"<%"),
            Opening::End => {}
        }
    }

    /// Writes the collected text as output.
    fn flush(&mut self) {
        if self.content.is_empty() {
            return;
        }
        self.push(b"_erbout.<< ");
        let content = std::mem::take(&mut self.content);
        self.note(Some(&content), &content);
        quote(&content, &mut self.script);
        self.script.extend_from_slice(b".freeze");
        self.end_note();
        let lines = memchr::memchr_iter(b'\n', &content).count();
        self.script.resize(self.script.len() + lines, b'\n');
        self.content = content;
        self.content.clear();
    }

    fn close(&mut self, kind: Tag) {
        let mut content = std::mem::take(&mut self.content);
        match kind {
            Tag::Code if content.ends_with(b"\n") => {
                content.pop();
                if content.ends_with(b"\r") {
                    content.pop();
                }
                self.push(&content);
                self.new_line();
            }
            Tag::Code => self.push(&content),
            Tag::Output => {
                self.push(b"_erbout.<<(");
                self.note(None, &content);
                self.script.push(b'(');
                self.script.extend_from_slice(&content);
                self.script.extend_from_slice(b").to_s)");
                self.end_note();
            }
            Tag::Comment => {
                for _ in content.iter().filter(|b| **b == b'\n') {
                    self.new_line();
                }
            }
        }
    }

    /// After `-%>`: the line's end is swallowed. Gives where scanning goes on.
    fn trim(&mut self, template: &[u8], at: usize) -> usize {
        let rest = &template[at..];
        let swallowed = if rest.starts_with(b"\r\n") {
            2
        } else if rest.starts_with(b"\n") {
            1
        } else if rest.is_empty() {
            0
        } else {
            return at;
        };
        self.new_line();
        at + swallowed
    }
}

fn lines(bytes: &[u8]) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(u32::MAX)
}

/// A Ruby string literal of these bytes.
fn quote(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = bytes;
    while let Some(n) = rest.iter().position(|b| !PLAIN[usize::from(*b)]) {
        out.extend_from_slice(&rest[..n]);
        escape(rest[n], rest.get(n + 1).copied(), out);
        rest = &rest[n + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// The bytes that stand for themselves in a literal.
static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut b = 0x20;
    while b <= 0x7e {
        plain[b] = !matches!(b as u8, b'"' | b'\\' | b'#');
        b += 1;
    }
    plain
};

fn escape(b: u8, next: Option<u8>, out: &mut Vec<u8>) {
    match b {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', b]),
        b'#' if matches!(next, Some(b'{' | b'$' | b'@')) => out.extend_from_slice(b"\\#"),
        b'#' => out.push(b),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0b => out.extend_from_slice(b"\\v"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x07 => out.extend_from_slice(b"\\a"),
        0x1b => out.extend_from_slice(b"\\e"),
        _ => out.extend_from_slice(format!("\\x{b:02X}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(template: &str) -> String {
        String::from_utf8(compile(template.as_bytes())).unwrap().replacen("#coding:UTF-8\n", "", 1)
    }

    #[test]
    fn tags_become_code() {
        assert_eq!(
            code("a<%= x %>b\n"),
            "_erbout = +''; _erbout.<< \"a\".freeze; _erbout.<<(( x ).to_s); _erbout.<< \"b\\n\".freeze\n; _erbout"
        );
    }

    #[test]
    fn trimming_follows_the_explicit_scanner() {
        let body = |t: &str| code(t).replacen("_erbout = +''; ", "", 1).replace("_erbout.<< ", "");
        assert_eq!(body("a\n  <%- x -%>\nb"), "\"a\\n\".freeze\n;  x \n\"b\".freeze; _erbout");
        assert_eq!(body("<% x -%>  \nb"), " x ; \"  \\nb\".freeze\n; _erbout");
        assert_eq!(body("<% x %>  <%- y %>"), " x ;  y ; _erbout");
        assert_eq!(body("q <%- y %>"), "\"q \".freeze;  y ; _erbout");
        assert_eq!(body("<%% a %>"), "\"<% a %>\".freeze; _erbout");
        assert_eq!(body("<%= '%%>' %>"), "_erbout.<<(( '%>' ).to_s); _erbout");
        assert_eq!(body("%% x\n% y"), "\"%% x\\n% y\".freeze\n; _erbout");
    }

    #[test]
    fn a_comment_keeps_the_count_of_lines() {
        assert_eq!(code("<%# a\nb %>\n<%= x %>").matches('\n').count(), 2);
    }

    #[test]
    fn code_stays_where_it_is() {
        let in_place = |template: &str| {
            let (code, outputs) = code_in_place(template.as_bytes());
            (String::from_utf8(code).unwrap(), outputs)
        };
        let (code, outputs) = in_place("a: <%= p('x') -%>\n<%# no %>é<% y\n -%> b\n<%% z %>");
        assert_eq!(code, "       p('x') ;  \n              y\n ;    \n        ");
        assert_eq!(outputs, vec![std::ops::Range { start: 6, end: 14 }]);
        assert_eq!(in_place("<%= '%%>' %>").0, "    ' %>' ; ");
        assert_eq!(in_place("<% open").0, "   open");
        assert_eq!(in_place("x\n").0, " \n");
    }

    #[test]
    fn text_is_quoted_for_ruby() {
        let mut out = Vec::new();
        quote("#{a} #b \"\\ é\u{0}".as_bytes(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"\\#{a} #b \\\"\\\\ \\xC3\\xA9\\x00\"");
    }
}
