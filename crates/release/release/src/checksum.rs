//! Digests as BOSH writes them.

use std::fmt;
use std::io::{self, Read};

use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// Why a file differs from its checksum.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It cannot be read.
    Unreadable(io::Error),
    /// None of the digests is of a kind that is known.
    Unknown(String),
    /// It is another file.
    Other { kind: &'static str, expected: String, found: String },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unreadable(e) => e.fmt(f),
            Fault::Unknown(text) => write!(f, "no known digest algorithm in '{}'", text.escape_debug()),
            Fault::Other { kind, expected, found } => write!(f, "{kind} {found}, expected {expected}"),
        }
    }
}

type Algorithm = fn(&mut dyn Read) -> io::Result<String>;

/// From the weakest to the strongest.
const ALGORITHMS: [(&str, Algorithm); 3] =
    [("sha1", digest_of::<Sha1>), ("sha256", digest_of::<Sha256>), ("sha512", digest_of::<Sha512>)];

/// Whether a file has the digest that a manifest lists.
///
/// BOSH: one digest or several with semicolons between them, SHA-1 or with the algorithm's name and a colon before it; the
/// strongest is the one that counts.
pub(crate) fn check(file: &mut dyn Read, expected: &str) -> Result<(), Fault> {
    let strongest = expected.split(';').filter_map(|one| {
        let (name, digest) = one.trim().split_once(':').unwrap_or(("sha1", one.trim()));
        let strength = ALGORITHMS.iter().position(|(known, _)| *known == name)?;
        (!digest.is_empty()).then_some((strength, digest))
    });
    let Some((strength, digest)) = strongest.max_by_key(|(strength, _)| *strength) else {
        return Err(Fault::Unknown(expected.to_owned()));
    };
    let (kind, algorithm) = ALGORITHMS[strength];
    let found = algorithm(file).map_err(Fault::Unreadable)?;
    if found.eq_ignore_ascii_case(digest) {
        Ok(())
    } else {
        Err(Fault::Other { kind, expected: digest.to_owned(), found })
    }
}

fn digest_of<D: Digest>(file: &mut dyn Read) -> io::Result<String> {
    let mut digest = D::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&digest.finalize())),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// The digest by which an archive is known in the cache.
pub(crate) fn sha256(file: &mut dyn Read) -> io::Result<String> {
    digest_of::<Sha256>(file)
}

/// Bytes as hexadecimal digits, in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8";
    const SHA256: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

    #[test]
    fn the_strongest_digest_counts() {
        let check = |expected: &str| check(&mut b"a".as_slice(), expected).map_err(|fault| fault.to_string());
        for good in [
            SHA1.to_owned(),
            SHA1.to_uppercase(),
            format!("sha1:{SHA1}"),
            format!("sha256:{SHA256}"),
            format!("{SHA1};sha256:{SHA256}"),
            format!("00;sha256:{SHA256}"),
            format!("; sha256:{SHA256};;blake3:00"),
        ] {
            assert_eq!(check(&good), Ok(()), "{good}");
        }
        assert_eq!(check(&format!("{SHA1};sha256:00")), Err(format!("sha256 {SHA256}, expected 00")));
        for unknown in ["", ";", "blake3:00", "sha1:"] {
            assert_eq!(check(unknown), Err(format!("no known digest algorithm in '{unknown}'")));
        }
    }
}
