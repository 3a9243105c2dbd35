//! Documents that are too large for one Secret: compressed, and divided into parts.
//!
//! A document that fits is one file of its name. A larger one is `<name>.gz`; if that is too large as well, its parts are
//! `<name>.gz.1`, `<name>.gz.2` and so on.

use std::io::{Error, ErrorKind, Read, Result, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// The most that a document may have when it is unpacked: 256 MiB, far more than any has.
const LARGEST: u64 = 256 << 20;
/// The most parts that writers make of a document of `plan`; [`unpack`] takes as many as there are.
pub const MOST_PARTS: usize = 16;

/// The files of a document: the end of each one's name, and its content. Each has at most `most` bytes.
pub fn pack(text: &[u8], most: usize) -> Vec<(String, Vec<u8>)> {
    if text.len() <= most {
        return vec![(String::new(), text.to_vec())];
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to a Vec does not fail.
    let packed = encoder.write_all(text).and_then(|()| encoder.finish()).unwrap_or_default();
    if packed.len() <= most {
        return vec![(".gz".to_owned(), packed)];
    }
    let parts = packed.chunks(most).enumerate();
    parts.map(|(number, part)| (format!(".gz.{}", number + 1), part.to_vec())).collect()
}

/// The document, from what `file` gives for the end of a file's name: nothing if that file does not exist. Nothing if no file of the
/// document exists.
///
/// # Errors
/// Those of `file`, and content that is not compressed.
pub fn unpack(mut file: impl FnMut(&str) -> Result<Option<Vec<u8>>>) -> Result<Option<Vec<u8>>> {
    if let Some(text) = file("")? {
        return Ok(Some(text));
    }
    let mut packed = file(".gz")?.unwrap_or_default();
    if packed.is_empty() {
        for number in 1_usize.. {
            match file(&format!(".gz.{number}"))? {
                Some(_) if packed.len() as u64 > LARGEST => return Err(too_large()),
                Some(part) => packed.extend(part),
                None => break,
            }
        }
    }
    if packed.is_empty() {
        return Ok(None);
    }
    let mut text = Vec::new();
    GzDecoder::new(packed.as_slice()).take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(too_large());
    }
    Ok(Some(text))
}

fn too_large() -> Error {
    Error::new(ErrorKind::FileTooLarge, format!("it has more than {} MiB", LARGEST >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that hardly compress.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    fn names_and_text(text: &[u8], most: usize) -> (Vec<String>, Vec<u8>) {
        let files = pack(text, most);
        assert!(files.iter().all(|(_, content)| content.len() <= most));
        let of = |name: &str| files.iter().find(|(known, _)| known == name).map(|(_, content)| content.clone());
        let text = unpack(|name| Ok(of(name))).unwrap().unwrap();
        (files.into_iter().map(|(name, _)| name).collect(), text)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        assert_eq!(names_and_text(b"short", 5), (vec![String::new()], b"short".to_vec()));
        let even = vec![b'x'; 5000];
        assert_eq!(names_and_text(&even, 1000), (vec![".gz".to_owned()], even));
        let noise = noise(2500);
        assert_eq!(names_and_text(&noise, 1000), ([".gz.1", ".gz.2", ".gz.3"].map(str::to_owned).to_vec(), noise));
    }

    #[test]
    fn a_document_that_is_not_there_or_broken_is_not_empty() {
        assert_eq!(unpack(|_| Ok(None)).unwrap(), None);
        let files = pack(&noise(2500), 1000);
        let first = |name: &str| files.iter().find(|(known, _)| known == name && known.ends_with('1'));
        assert!(unpack(|name| Ok(first(name).map(|(_, content)| content.clone()))).is_err());
    }
}
