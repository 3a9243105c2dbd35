//! Userdata: where its template comes from, and how it is encoded.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;

use crate::document::Node;
use crate::report::{Fields, Kind, Report, Schema};

/// The userdata of a template, or that of the defaults.
#[derive(Debug, Clone)]
pub(crate) struct Userdata {
    /// Where it stands: `templates.default.userdata`.
    pub(crate) path: String,
    pub(crate) source: Source,
    pub(crate) encoding: Encoding,
    /// The text, or the URL.
    pub(crate) content: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Inline,
    Url,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Base64,
    Gzip,
    Base64Gzip,
}

const USERDATA: Schema = &[("source", Kind::String), ("encoding", Kind::String), ("content", Kind::String)];
const SOURCES: [(&str, Source); 2] = [("inline", Source::Inline), ("url", Source::Url)];
const ENCODINGS: [(&str, Encoding); 4] = [
    ("plain", Encoding::Plain),
    ("base64", Encoding::Base64),
    ("gzip", Encoding::Gzip),
    ("base64+gzip", Encoding::Base64Gzip),
];

impl Userdata {
    /// The member `userdata`; what is wrong with it is reported.
    pub(crate) fn read(parent: &Fields<'_>, report: &mut Report) -> Option<Userdata> {
        let fields = parent.object("userdata")?.check(USERDATA, report);
        let is_set = |key: &str| fields.string(key).is_some_and(|text| !text.is_empty());
        let source = if is_set("source") { fields.choice("source", &SOURCES, report) } else { Some(Source::Inline) };
        let encoding =
            if is_set("encoding") { fields.choice("encoding", &ENCODINGS, report) } else { Some(Encoding::Plain) };
        if (source, encoding) == (Some(Source::Inline), Some(Encoding::Gzip))
            && let Some(node) = fields.get("encoding")
        {
            let path = fields.path_of("encoding");
            let problem = report.error(&node.position, format!("{path}: 'gzip' is only valid with the source 'url'"));
            problem.hint = Some("JSON cannot hold binary data: use 'base64+gzip'".into());
        }
        let Some(content) = fields.get("content").filter(|node| node.as_str() != Some("")) else {
            let path = fields.path_of("content");
            report.error(&fields.node.position, format!("{path} is missing or empty"));
            return None;
        };
        Some(Userdata { path: fields.path, source: source?, encoding: encoding?, content: content.clone() })
    }

    /// Decodes the template; at most `limit` bytes may come out of gzip.
    pub(crate) fn decode(&self, content: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        match self.encoding {
            Encoding::Plain => Ok(content.to_vec()),
            Encoding::Base64 => base64(content),
            Encoding::Gzip => gunzip(content, limit),
            Encoding::Base64Gzip => gunzip(&base64(content)?, limit),
        }
    }
}

/// Decodes base64 with padding; line breaks are allowed, nothing else.
fn base64(text: &[u8]) -> Result<Vec<u8>, String> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    STANDARD.decode(text).map_err(|_| "it is not valid base64".to_owned())
}

/// Inflates gzip: one or more members, each with its checksum, and nothing behind them.
fn gunzip(data: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = MultiGzDecoder::new(data).take(limit as u64 + 1).read_to_end(&mut text);
    if text.len() > limit {
        return Err(format!("it is larger than {limit} bytes when it is inflated"));
    }
    match read {
        Ok(_) if data.is_empty() => Err("it is not valid gzip: it is empty".to_owned()),
        Ok(_) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err("it is not valid gzip: it is truncated".into())
        }
        Err(_) => Err("it is not valid gzip".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn base64_is_strict_but_for_line_breaks() {
        assert_eq!(base64(b"aGVs\r\nbG8=\n").unwrap(), b"hello");
        assert_eq!(base64(b"").unwrap(), b"");
        for bad in ["aGVsbG8", "aGVs bG8=", "aGVsbG8==", "aGVsbG9=", "aGVs-_8=", "aGVsbG8=aGVs", "=", "a"] {
            assert_eq!(base64(bad.as_bytes()).unwrap_err(), "it is not valid base64", "{bad}");
        }
    }

    #[test]
    fn gzip_has_members_checksums_and_an_end() {
        let one = gzip(b"hello ");
        let two = [one.clone(), gzip(b"world")].concat();
        assert_eq!(gunzip(&one, 100).unwrap(), b"hello ");
        assert_eq!(gunzip(&two, 11).unwrap(), b"hello world");
        assert_eq!(gunzip(&two, 10).unwrap_err(), "it is larger than 10 bytes when it is inflated");
        let truncated = &one[..one.len() - 1];
        assert_eq!(gunzip(truncated, 100).unwrap_err(), "it is not valid gzip: it is truncated");
        let trailing = [one.clone(), b"x".repeat(20)].concat();
        assert_eq!(gunzip(&trailing, 100).unwrap_err(), "it is not valid gzip");
        for end in [&b"x"[..], b"\0", b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
            assert!(gunzip(&[one.clone(), end.to_vec()].concat(), 100).is_err(), "{end:?}");
        }
        let mut damaged = one;
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        assert!(gunzip(&damaged, 100).is_err());
        assert!(gunzip(b"", 100).is_err());
        assert!(gunzip(b"hello", 100).is_err());
    }

    #[test]
    fn a_bomb_is_not_inflated_completely() {
        let bomb = gzip(&vec![0; 4 << 20]);
        assert!(gunzip(&bomb, 1 << 20).unwrap_err().contains("larger than 1048576 bytes"));
    }
}
