//! Documents in several files: `boson gather` compresses and divides those that are too large for one Secret ([`object_basics::packed`]).

use std::io::{ErrorKind, Result};
use std::path::Path;

use object_basics::packed::unpack;

/// The content of a file, or of `<path>.gz` or `<path>.gz.1`, `<path>.gz.2` and so on where the file does not exist.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    match vcap::input::read(path) {
        Err(missing) if missing.kind() == ErrorKind::NotFound => {
            let file = |end: &str| if end.is_empty() { Ok(None) } else { read_if_present(path, end) };
            unpack(file)?.ok_or(missing)
        }
        read => read,
    }
}

fn read_if_present(path: &Path, end: &str) -> Result<Option<Vec<u8>>> {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    match vcap::input::read(Path::new(&path)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use object_basics::packed::pack;

    use super::*;

    #[test]
    fn a_document_is_read_from_its_parts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manifest.yaml");
        assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::NotFound);
        let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let files = pack(&text, 1000);
        assert!(files.len() > 20, "{}", files.len());
        for (end, content) in files {
            std::fs::write(dir.path().join(format!("manifest.yaml{end}")), content).unwrap();
        }
        assert!(read(&path).unwrap() == text);
        std::fs::write(dir.path().join("manifest.yaml.gz.2"), "other").unwrap();
        assert!(read(&path).is_err(), "a part is broken");
        std::fs::write(&path, "whole").unwrap();
        assert_eq!(read(&path).unwrap(), b"whole");
    }
}
