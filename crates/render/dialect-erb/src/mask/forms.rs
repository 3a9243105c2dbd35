//! The forms in which a text may stand in a message, where they have other letters than the text itself.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Shorter texts are Base64 by chance.
const SHORTEST_BASE64: usize = 8;

/// The text, and what escaping, percent-encoding and Base64 make of it.
pub(super) fn of(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned(), escaped(text), percent_encoded(text), base64(text.as_bytes())];
    forms.extend([1, 2].map(|before| base64_behind(before, text.as_bytes())));
    forms.extend(from_base64(text));
    if !text.is_ascii() {
        forms.extend(BY_NUMBER.map(|number| by_number(text, number)));
    }
    // One capital for one letter is seen through; ß becomes SS.
    let capitals = text.to_uppercase();
    if capitals.chars().count() != text.chars().count() {
        forms.push(capitals);
    }
    forms.dedup();
    forms
}

/// With the letters that Ruby's `inspect` and JSON use for white space.
fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

/// How `inspect` of bytes, JSON, `dump` and YAML write letters that are no ASCII.
const BY_NUMBER: [fn(char) -> String; 4] = [
    |c| c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\x{byte:02X}")).collect(),
    |c| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    |c| if c > '\u{FFFF}' { format!("\\u{{{:X}}}", u32::from(c)) } else { format!("\\u{:04X}", u32::from(c)) },
    |c| if c > '\u{FFFF}' { format!("\\U{:08X}", u32::from(c)) } else { c.to_string() },
];

fn by_number(text: &str, number: fn(char) -> String) -> String {
    text.chars().map(|c| if c.is_ascii() { c.to_string() } else { number(c) }).collect()
}

/// As in a URL. (What stands for a blank does not matter: it is no letter.)
fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'-' | b'.' | b'_' | b'*' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().enumerate().fold(0u32, |bits, (i, byte)| bits | u32::from(*byte) << (16 - 8 * i));
        for i in 0..=three.len() {
            out.push(char::from(BASE64[(bits >> (18 - 6 * i) & 63) as usize]));
        }
    }
    out
}

/// What Base64 makes of these bytes where so many others are before them, as in `user:password`. The first digits depend on
/// those, the last one on what follows.
fn base64_behind(others: usize, bytes: &[u8]) -> String {
    let all = base64(&[&vec![0; others], bytes].concat());
    let end = all.len() - usize::from(!(others + bytes.len()).is_multiple_of(3));
    all.get(others + 1..end).unwrap_or_default().to_owned()
}

/// What the text decodes to, where that is a text.
fn from_base64(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=').collect();
    if digits.len() < SHORTEST_BASE64 {
        return None;
    }
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let mut bits = 0u32;
        for (i, digit) in four.iter().enumerate() {
            let digit = match digit {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            };
            let value = BASE64.iter().position(|b| *b == digit)?;
            bits |= u32::try_from(value).ok()? << (18 - 6 * i);
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_there_and_back() {
        for (text, encoded) in [("a", "YQ"), ("ab", "YWI"), ("abc", "YWJj"), ("sure.?>", "c3VyZS4/Pg")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        assert_eq!(from_base64("c3VyZS4/Pg==").as_deref(), Some("sure.?>"));
        assert_eq!(from_base64("c3VyZS4_\nPg==").as_deref(), Some("sure.?>"));
        assert_eq!([1, 2].map(|n| base64_behind(n, b"abcdef")), ["FiY2RlZ".to_owned(), "hYmNkZW".to_owned()]);
        assert_eq!([1, 2].map(|n| base64_behind(n, b"")), ["", ""]);
        assert_eq!(from_base64("no base 64"), None);
        assert_eq!(from_base64("YWJj"), None);
    }
}
