//! Documents in Secrets. One that is too large for a Secret is divided ([`packed`]): each part is in a Secret of its own.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use crate::{Object, packed, part};

/// The most bytes of a document in a Secret; the API server's limit for a Secret is 1 MiB.
pub const LARGEST_IN_SECRET: usize = 1_000_000;
/// The most bytes of documents in an object that people apply. `kubectl apply` copies the object, with its data in base64, into an
/// annotation, and all annotations together have 262,144 bytes at most.
pub const LARGEST_TO_APPLY: usize = 180_000;
/// Label of the first Secret of a document that is divided: how many there are.
pub const PARTS: &str = "quarks.cloudfoundry.org/parts";

/// What the Secrets of a document have: each one's name, key and content. `name` is that of the first one.
pub fn divided(name: &str, key: &str, text: &str) -> Vec<(String, String, Vec<u8>)> {
    let files = packed::pack(text.as_bytes(), LARGEST_IN_SECRET);
    let secret = |(number, (end, content))| (part(name, number + 1), format!("{key}{end}"), content);
    files.into_iter().enumerate().map(secret).collect()
}

/// Files distributed over as many objects as they need, in order: each has [`LARGEST_TO_APPLY`] bytes at most. Larger documents are
/// compressed and divided.
pub fn distributed(documents: Vec<(String, &[u8])>) -> Vec<BTreeMap<String, Vec<u8>>> {
    let mut objects = vec![BTreeMap::new()];
    let mut size = 0;
    for (name, text) in documents {
        for (end, content) in packed::pack(text, LARGEST_TO_APPLY) {
            size += content.len();
            if size > LARGEST_TO_APPLY {
                size = content.len();
                objects.push(BTreeMap::new());
            }
            if let Some(object) = objects.last_mut() {
                object.insert(format!("{name}{end}"), content);
            }
        }
    }
    objects
}

/// The number of Secrets of a document, from the first one.
pub fn parts(first: &Object) -> usize {
    let label = first["metadata"]["labels"][PARTS].as_str();
    label.and_then(|number| number.parse().ok()).unwrap_or(1).clamp(1, packed::MOST_PARTS)
}

/// The document with this key in its Secrets, of which `name` is the first; nothing if it is not in them.
///
/// # Errors
/// Content that is not compressed or not text.
pub fn document<'a>(
    secrets: impl IntoIterator<Item = &'a Object> + Clone,
    name: &str,
    key: &str,
) -> Result<Option<String>> {
    let file = |end: &str| {
        let number = end.rsplit_once('.').and_then(|(_, number)| number.parse().ok()).unwrap_or(1);
        let wanted = part(name, number);
        let secret = secrets.clone().into_iter().find(|secret| secret["metadata"]["name"] == wanted.as_str());
        let data = secret.and_then(|secret| secret["data"].get(format!("{key}{end}")));
        let bytes = data.map(|data: &Value| BASE64.decode(data.as_str().unwrap_or_default())).transpose();
        bytes.map_err(|error| Error::new(ErrorKind::InvalidData, error))
    };
    let text = packed::unpack(file)?.map(String::from_utf8).transpose();
    text.map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_found_in_its_secrets() {
        // 16 digits of different numbers: half a byte of chance in each byte.
        let digits = |number: u64| format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        let large: String = (0..250_000).map(digits).collect();
        for (text, count) in [("short".to_owned(), 1), (large, 2)] {
            let found = divided("bpm.x-v1", "bpm.yaml", &text);
            assert!(found.len() >= count, "{}", found.len());
            let secrets: Vec<Object> = found
                .into_iter()
                .map(|(name, key, content)| {
                    let data = BASE64.encode(content);
                    json!({"metadata": {"name": name}, "data": {key: data}})
                })
                .collect();
            assert_eq!(document(&secrets, "bpm.x-v1", "bpm.yaml").unwrap().as_deref(), Some(text.as_str()));
            assert_eq!(document(&secrets, "bpm.x-v2", "bpm.yaml").unwrap(), None);
        }
    }
}
