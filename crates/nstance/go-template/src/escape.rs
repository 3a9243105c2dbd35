//! `html`, `js` and `urlquery`.

use go_strconv::unicode::{decode, is_printable};

/// Appends the text with HTML's special characters as entities.
pub(crate) fn html(out: &mut Vec<u8>, text: &[u8]) {
    let replacement = |byte: u8| -> Option<&'static [u8]> {
        Some(match byte {
            0 => "\u{FFFD}".as_bytes(),
            b'"' => b"&#34;",
            b'\'' => b"&#39;",
            b'&' => b"&amp;",
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            _ => return None,
        })
    };
    let mut plain = 0;
    for (index, byte) in text.iter().enumerate() {
        if let Some(replacement) = replacement(*byte) {
            out.extend_from_slice(&text[plain..index]);
            out.extend_from_slice(replacement);
            plain = index + 1;
        }
    }
    out.extend_from_slice(&text[plain..]);
}

/// Appends the text as it may stand in a JavaScript string.
pub(crate) fn js(out: &mut Vec<u8>, text: &[u8]) {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let mut size = 1;
        match byte {
            b'\\' | b'\'' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b'<' | b'>' | b'&' | b'=' | 0..=0x1F => out.extend_from_slice(format!("\\u{byte:04X}").as_bytes()),
            0x80.. => {
                let (rune, length) = decode(&text[at..]);
                size = length;
                if is_printable(rune) {
                    out.extend_from_slice(&text[at..at + size]);
                } else {
                    out.extend_from_slice(format!("\\u{rune:04X}").as_bytes());
                }
            }
            _ => out.push(byte),
        }
        at += size;
    }
}

/// Appends the text as a part of a URL's query.
pub(crate) fn urlquery(out: &mut Vec<u8>, text: &[u8]) {
    const UPPER: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => out.extend_from_slice(&[b'%', UPPER[usize::from(byte >> 4)], UPPER[usize::from(byte & 15)]]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(escape: fn(&mut Vec<u8>, &[u8]), text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        escape(&mut out, text);
        out
    }

    #[test]
    fn escapes() {
        assert_eq!(
            escaped(html, b"<a href=\"x\">'&'\0"),
            "&lt;a href=&#34;x&#34;&gt;&#39;&amp;&#39;\u{FFFD}".as_bytes()
        );
        assert_eq!(
            escaped(js, "'<=\n\u{e9}\u{ad}\u{2028}".as_bytes()),
            "\\'\\u003C\\u003D\\u000Aé\\u00AD\\u2028".as_bytes()
        );
        assert_eq!(escaped(js, b"\xFF"), b"\xFF", "an invalid byte counts as U+FFFD, which can be printed");
        assert_eq!(escaped(urlquery, "a b&\u{e9}~".as_bytes()), b"a+b%26%C3%A9~");
    }
}
