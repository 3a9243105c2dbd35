//! Text in HTML, and the frame of all pages.

/// Text or the value of an attribute; characters that HTML cannot contain are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            // Text that turns its direction would show lines that are not there.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A path in an address.
pub(crate) fn address(path: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(encode).collect()
}

/// The path that an address contains; `None` if it is not UTF-8 or not complete.
pub(crate) fn path_of(address: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok().filter(|text| !text.starts_with('+'))?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A page.
pub(crate) struct Frame<'a> {
    /// Its path below the root.
    pub(crate) path: &'a str,
    /// The title of the window.
    pub(crate) title: &'a str,
    /// The pages above it: text and path.
    pub(crate) above: &'a [(String, String)],
    /// What it is in this row.
    pub(crate) name: &'a str,
    /// The version of the files that it shows, of pages that are served.
    pub(crate) version: Option<u64>,
}

impl Frame<'_> {
    /// The way from the page to the root.
    pub(crate) fn root(&self) -> String {
        "../".repeat(self.path.matches('/').count())
    }

    /// The address of another page.
    pub(crate) fn to(&self, path: &str) -> String {
        format!("{}{}", self.root(), address(path))
    }

    /// The whole page.
    pub(crate) fn page(&self, main: &str) -> String {
        let (title, name, root) = (escaped(self.title), escaped(self.name), self.root());
        let above: String = self
            .above
            .iter()
            .map(|(text, path)| format!("<li><a href=\"{}\">{}</a></li>", escaped(&self.to(path)), escaped(text)))
            .collect();
        let version = self.version.map(|version| format!(" data-version=\"{version}\"")).unwrap_or_default();
        // The server says the same in its answers.
        let policy = match self.version {
            Some(_) => String::new(),
            None => format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n"),
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{policy}\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<link rel=\"stylesheet\" href=\"{root}view.css\">\n\
             <script src=\"{root}view.js\" defer></script>\n</head>\n<body data-root=\"{root}\"{version}>\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
             <header><nav aria-label=\"Pages\"><ol>{above}<li aria-current=\"page\">{name}</li></ol></nav>\
             <p id=\"status\" role=\"status\"></p></header>\n<main id=\"main\" tabindex=\"-1\">\n{main}</main>\n</body>\n</html>\n"
        )
    }
}

/// What a page may load.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escaped("<a href=\"x\">&\u{1b}\u{202e}\n"), "&lt;a href=&quot;x&quot;&gt;&amp;\u{fffd}\u{fffd}\n");
    }

    #[test]
    fn addresses_are_decoded_as_they_are_encoded() {
        for path in ["a/b c/ü%?#.html", "", "../x", "a\"b"] {
            assert_eq!(path_of(&address(path)).as_deref(), Some(path));
        }
        for address in ["%", "%4", "%zz", "%+4", "%ff"] {
            assert_eq!(path_of(address), None, "{address}");
        }
    }
}
