//! Release archives: no input stops the reader, and none makes it write outside of its cache.
//!
//! An input is text, so that a fuzzer gets past gzip, tar's sums and the digests in a release's manifest. Its first byte chooses
//! the compression; then come the entries, each begun by a zero byte:
//!
//! ```text
//! f PATH          a file; the other lines are its content
//! d PATH          a directory
//! l PATH TARGET   a symbolic link
//! h PATH TARGET   a hard link
//! a PATH          an archive, of the entries up to the next one
//! ```
//!
//! `@PATH@` in `release.MF` stands for the digest of the archive with that path.
#![no_main]

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

/// An entry of a tar archive.
struct Entry {
    kind: EntryType,
    path: Vec<u8>,
    link: Vec<u8>,
    content: Vec<u8>,
}

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    let mut outer = Vec::new();
    // Of each archive in the archive, its path and entries.
    let mut inner: Vec<(Vec<u8>, Vec<Entry>)> = Vec::new();
    for (mark, entry) in rest.split(|byte| *byte == 0).skip(1).filter_map(parse) {
        match (mark, inner.last_mut()) {
            (b'a', _) => inner.push((entry.path, Vec::new())),
            (_, Some((_, entries))) => entries.push(entry),
            (_, None) => outer.push(entry),
        }
    }
    for (path, entries) in inner {
        let content = compressed(*mode >> 1, tar(&entries));
        let digest: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        let mark = format!("@{}@", String::from_utf8_lossy(&path));
        for file in outer.iter_mut().filter(|entry| entry.path.ends_with(b"release.MF")) {
            let text = String::from_utf8_lossy(&file.content);
            file.content = text.replace(&mark, &format!("sha256:{digest}")).into_bytes();
        }
        outer.push(Entry { kind: EntryType::Regular, path, link: Vec::new(), content });
    }
    open(&compressed(*mode, tar(&outer)));
});

/// The first byte of an entry's first line, and the entry.
fn parse(text: &[u8]) -> Option<(u8, Entry)> {
    let (line, content) = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[][..]),
    };
    let (mark, line) = (*line.first()?, line.get(2..)?);
    let kind = match mark {
        b'd' => EntryType::Directory,
        b'l' => EntryType::Symlink,
        b'h' => EntryType::Link,
        _ => EntryType::Regular,
    };
    let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
    let (path, link) = match line.iter().position(|byte| *byte == b' ') {
        Some(at) if is_link => (&line[..at], &line[at + 1..]),
        _ => (line, &[][..]),
    };
    Some((mark, Entry { kind, path: path.to_vec(), link: link.to_vec(), content: content.to_vec() }))
}

/// A tar archive, with paths that no tool would write.
fn tar(entries: &[Entry]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_ustar();
        let fields = header.as_old_mut();
        let copy = |from: &[u8], to: &mut [u8]| {
            let length = from.len().min(to.len());
            to[..length].copy_from_slice(&from[..length]);
        };
        copy(&entry.path, &mut fields.name);
        copy(&entry.link, &mut fields.linkname);
        header.set_entry_type(entry.kind);
        header.set_mode(0o644);
        let content: &[u8] = if entry.kind == EntryType::Regular { &entry.content } else { &[] };
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content).expect("memory takes all");
    }
    builder.into_inner().expect("memory takes all")
}

fn compressed(mode: u8, content: Vec<u8>) -> Vec<u8> {
    if mode & 1 == 0 {
        return content;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&content).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// Opens the archive; nothing but the cache may change.
fn open(archive: &[u8]) {
    let memory = Path::new("/dev/shm");
    let around = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory");
    let (file, cache) = (around.path().join("release.tgz"), around.path().join("cache"));
    fs::write(&file, archive).expect("the archive is written");
    let opened = release::Release::open_archive(&file, &cache, &|| false);
    let again = release::Release::open_archive(&file, &cache, &|| false);
    assert_eq!(opened.is_ok(), again.is_ok(), "what is unpacked is read as it was");
    for entry in fs::read_dir(around.path()).expect("a directory").flatten() {
        assert!(["release.tgz", "cache"].iter().any(|name| entry.file_name() == *name), "{entry:?} was written");
    }
    assert_eq!(fs::read(&file).expect("the archive"), archive, "the archive was changed");
}
