//! Checksums of downloads.

use std::fmt::Write as _;
use std::io::{self, Read};

use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512};

/// What a file's checksum has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// The checksum.
    Known(Sum),
    /// The URL of a list of checksums and names.
    List(String),
}

/// A checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sum {
    kind: Kind,
    hex: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sha1,
    Sha256,
    Sha512,
}

const KINDS: [(&str, Kind, usize); 3] =
    [("sha1", Kind::Sha1, 40), ("sha256", Kind::Sha256, 64), ("sha512", Kind::Sha512, 128)];

impl Checksum {
    /// Reads `sha256:HEX`, `HEX` or `file:URL`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Checksum, String> {
        match text.strip_prefix("file:") {
            Some(url) => Ok(Checksum::List(url.to_owned())),
            None => Sum::parse(text).map(Checksum::Known),
        }
    }
}

impl Sum {
    fn parse(text: &str) -> Result<Sum, String> {
        let (name, hex) = text.split_once(':').map_or((None, text), |(name, hex)| (Some(name), hex));
        let is_it =
            |(own, _, length): &&(&str, Kind, usize)| name.is_none_or(|name| name == *own) && hex.len() == *length;
        let kind = KINDS.iter().find(is_it).filter(|_| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (_, kind, _) = kind.ok_or("the checksum is not sha256:, sha512: or sha1: with its hexadecimal digits")?;
        Ok(Sum { kind: *kind, hex: hex.to_ascii_lowercase() })
    }

    /// The checksum of a file in a list as `sha256sum` prints it; the only checksum of a list without names.
    ///
    /// # Errors
    /// The list does not have the file.
    pub(crate) fn in_list(list: &str, file_name: &str) -> Result<Sum, String> {
        for line in list.lines() {
            let mut words = line.split_whitespace();
            let (Some(sum), name) = (words.next(), words.next()) else { continue };
            let name = name.map(|name| name.trim_start_matches(['*', '.', '/']));
            if name.is_none_or(|name| name.rsplit('/').next() == Some(file_name)) {
                return Sum::parse(sum);
            }
        }
        Err(format!("the list of checksums does not have {file_name}"))
    }

    /// Compares it with the checksum of a content.
    ///
    /// # Errors
    /// A content that cannot be read; another checksum (kind `InvalidData`).
    pub(crate) fn check(&self, content: impl Read) -> io::Result<()> {
        let found = match self.kind {
            Kind::Sha1 => hex::<Sha1>(content)?,
            Kind::Sha256 => hex::<Sha256>(content)?,
            Kind::Sha512 => hex::<Sha512>(content)?,
        };
        if found == self.hex {
            return Ok(());
        }
        let message = format!("the checksum is {found}, not {}", self.hex);
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

/// The SHA-256 of a content, in hexadecimal digits.
pub(crate) fn sha256(content: impl Read) -> io::Result<String> {
    hex::<Sha256>(content)
}

fn hex<D: Digest>(mut content: impl Read) -> io::Result<String> {
    let mut digest = D::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => digest.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut text = String::new();
    for byte in digest.finalize() {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_compared() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(&b""[..]).unwrap_or_default(), empty);
        for text in [empty.to_owned(), format!("sha256:{empty}"), empty.to_uppercase()] {
            let Ok(Checksum::Known(sum)) = Checksum::parse(&text) else { panic!("{text}") };
            assert!(sum.check(&b""[..]).is_ok());
            assert!(sum.check(&b"x"[..]).is_err_and(|error| error.to_string().contains(empty)));
        }
        let sha1 = "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709";
        let Ok(Checksum::Known(sum)) = Checksum::parse(sha1) else { panic!("{sha1}") };
        assert!(sum.check(&b""[..]).is_ok());
        for bad in ["", "sha256:", "md5:d41d8cd98f00b204e9800998ecf8427e", "sha512:00", &"g".repeat(64)] {
            assert!(Checksum::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_have_names() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let list = format!("{a}  other.zip\n{b} *./x.zip\n");
        assert_eq!(Sum::in_list(&list, "x.zip").map(|sum| sum.hex), Ok(b));
        assert_eq!(Sum::in_list(&a, "x.zip").map(|sum| sum.hex), Ok(a));
        assert!(Sum::in_list(&list, "y.zip").is_err());
    }
}
