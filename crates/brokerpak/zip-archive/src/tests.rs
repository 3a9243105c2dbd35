#![allow(clippy::unwrap_used, reason = "a test may panic")]

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;

const LIMITS: Limits = Limits { entries: 100, total: 1 << 20 };

type File<'f> = (&'f str, u32, &'f [u8]);

/// An archive with these files: name, mode with the type, content.
fn bytes(files: &[File<'_>]) -> Vec<u8> {
    let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, mode, content) in files {
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).unix_permissions(*mode);
        if *mode & TYPE == 0o120_000 {
            writer.add_symlink(*name, "target", options).unwrap();
        } else if name.ends_with('/') {
            writer.add_directory(*name, options).unwrap();
        } else {
            writer.start_file(*name, options).unwrap();
            writer.write_all(content).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

fn open(bytes: &[u8]) -> io::Result<Archive> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    Archive::open(file.path(), LIMITS)
}

fn error(bytes: &[u8]) -> String {
    open(bytes).map(|_| ()).unwrap_err().to_string()
}

/// The bytes with every `from` replaced by `to`, of the same length.
fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn files_are_read_and_directories_listed() {
    let mut archive = open(&bytes(&[("bin/", 0o755, b""), ("bin/x", 0o755, b"content"), ("a", 0o600, b"")])).unwrap();
    let entries: Vec<(&str, u64, u32, bool)> =
        archive.entries().iter().map(|e| (e.name.as_str(), e.size, e.mode, e.is_directory)).collect();
    assert_eq!(entries, [("bin", 0, 0o755, true), ("bin/x", 7, 0o755, false), ("a", 0, 0o600, false)]);
    assert_eq!(archive.read("bin/x", 100).unwrap().unwrap(), b"content");
    assert_eq!(archive.read("none", 100).unwrap(), None);
    assert!(archive.read("bin/x", 3).unwrap_err().to_string().contains("more than 3"));
}

#[test]
fn names_that_lead_elsewhere_are_invalid() {
    let plain = bytes(&[("aa/bb/cc", 0o644, b"x")]);
    for name in [&b"../bb/cc"[..], b"/a/bb/cc", b"aa/../cc", b"aa//b/cc", b"aa\\bb\\cc", b"C:/bb/cc", b"aa/bb/\ncc"] {
        let name = &name[..8];
        assert!(error(&patched(&plain, b"aa/bb/cc", name)).contains("has a name"), "{name:?}");
    }
}

#[test]
fn doubled_names_and_links_are_invalid_and_set_uid_bits_are_dropped() {
    let two = bytes(&[("one", 0o644, b"x"), ("two", 0o644, b"y")]);
    assert!(error(&patched(&two, b"two", b"one")).contains("doubled"));
    assert!(error(&patched(&two, b"two", b"ONE")).contains("doubled"));
    let below = bytes(&[("one", 0o644, b"x"), ("two/a", 0o644, b"y")]);
    assert_eq!(error(&patched(&below, b"two", b"one")), "\"one\" is a file and a directory");
    assert!(error(&bytes(&[("l", 0o120_777, b"")])).contains("link"));
    let plain = bytes(&[("l", 0o644, b"")]);
    let (mode, special) = (0o100_644u16.to_le_bytes(), 0o104_755u16.to_le_bytes());
    assert_eq!(open(&patched(&plain, &mode, &special)).unwrap().entries()[0].mode, 0o755, "without set-uid");
}

#[test]
fn bombs_and_wrong_sizes_are_found_before_they_do_harm() {
    let big = bytes(&[("a", 0o644, &vec![0; 1 << 21])]);
    assert!(error(&big).contains("more than 1048576"));
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let many: Vec<File<'_>> = many.iter().map(|name| (name.as_str(), 0o644, &b""[..])).collect();
    assert!(error(&bytes(&many)).contains("101 entries"));
    // The directory declares 1 byte of 1,000: nothing more is read.
    let lying = patched(&bytes(&[("a", 0o644, &[0; 1000])]), &1000u32.to_le_bytes(), &1u32.to_le_bytes());
    let mut archive = open(&lying).unwrap();
    let mut content = Vec::new();
    assert!(archive.copy("a", &mut content).is_err());
    assert!(content.len() <= 2);
}

#[test]
fn other_files_are_not_archives() {
    let good = bytes(&[("a", 0o644, b"x")]);
    for bad in [&b""[..], b"text", &good[..good.len() - 1], &good[4..30]] {
        assert!(error(bad).contains("not a zip archive"), "{bad:?}");
    }
    // Whatever byte is damaged: an error or an archive, never a panic.
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 0xFF;
        if let Ok(mut archive) = open(&damaged) {
            let names: Vec<String> = archive.entries().iter().map(|entry| entry.name.clone()).collect();
            for name in names {
                let _ = archive.read(&name, 100);
            }
        }
    }
}

#[test]
fn what_is_written_is_read_and_has_the_same_bytes_each_time() {
    let written = |is_compressed: bool| {
        let mut writer = Writer::new(io::Cursor::new(Vec::new()), is_compressed);
        writer.directory("bin").unwrap();
        writer.copy("bin/x", 0o755, 7, &b"content"[..]).unwrap();
        writer.file("m", 0o600, 3).unwrap().write_all(b"abc").unwrap();
        writer.finish().unwrap().into_inner()
    };
    for is_compressed in [true, false] {
        let bytes = written(is_compressed);
        let mut archive = open(&bytes).unwrap();
        let entries: Vec<(&str, u64, u32, bool)> =
            archive.entries().iter().map(|e| (e.name.as_str(), e.size, e.mode, e.is_directory)).collect();
        assert_eq!(entries, [("bin", 0, 0o755, true), ("bin/x", 7, 0o755, false), ("m", 3, 0o600, false)]);
        assert_eq!(archive.read("bin/x", 100).unwrap().unwrap(), b"content");
        assert_eq!(bytes, written(is_compressed));
    }
    for size in [6, 8] {
        let mut writer = Writer::new(io::Cursor::new(Vec::new()), true);
        assert!(writer.copy("x", 0o755, size, &b"content"[..]).unwrap_err().to_string().contains("changes"));
    }
}
