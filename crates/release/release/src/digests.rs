//! Digests of files, remembered so that an unchanged file is not read again.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use problem::{Problem, Problems, Result, code};
use sha2::{Digest, Sha256};

/// SHA-256 of a file's content.
pub(crate) type FileDigest = [u8; 32];

/// A file that changed this shortly before it was read could change again without a change of its times.
const UNSETTLED: Duration = Duration::from_secs(3);
const MAX_THREADS: usize = 8;

/// Changes whenever a file changes; no program can set the change time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([i64; 7]);

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        let signed = u64::cast_signed;
        Stamp([
            signed(meta.dev()),
            signed(meta.ino()),
            signed(meta.size()),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ])
    }
}

/// The digests of these files; those of earlier runs are taken from `memory`, and all are kept there.
pub(crate) fn digests(files: &BTreeSet<&Path>, memory: &Path) -> Result<HashMap<PathBuf, FileDigest>> {
    let known = remembered(memory);
    let files: Vec<&Path> = files.iter().copied().collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new((HashMap::new(), Vec::new(), false));
    let work = || {
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let digest = digest(path, &known);
            // Another thread's panic ends the scope anyway.
            let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match digest {
                Ok((digest, stamp, read)) => {
                    done.2 |= read;
                    done.0.insert(path.to_path_buf(), (digest, stamp));
                }
                Err(e) => {
                    done.1.push(Problem::internal(format!("cannot read {}", path.display())).code(code::IO).because(e))
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS)).min(files.len() / 8);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let (found, problems, anything_read) = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Problems::check(problems)?;
    if anything_read {
        // Also those of packages that are not requested now, as long as their files exist.
        let others = known.iter().filter(|(path, _)| !found.contains_key(*path) && path.exists());
        let others = others.map(|(path, (digest, stamp))| (path, (digest, Some(stamp))));
        let found = found.iter().map(|(path, (digest, stamp))| (path, (digest, stamp.as_ref())));
        remember(memory, found.chain(others));
    }
    Ok(found.into_iter().map(|(path, (digest, _))| (path, digest)).collect())
}

type Known = HashMap<PathBuf, (FileDigest, Stamp)>;

/// A file's digest, its stamp if that can be relied on, and whether it had to be read.
fn digest(path: &Path, known: &Known) -> io::Result<(FileDigest, Option<Stamp>, bool)> {
    let stamp = Stamp::of(&fs::metadata(path)?);
    if let Some((digest, of)) = known.get(path)
        && *of == stamp
    {
        return Ok((*digest, Some(stamp), false));
    }
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hash.update(&buffer[..n]),
        }
    }
    let meta = file.metadata()?;
    let settled = changed(&meta).is_some_and(|at| at + UNSETTLED < SystemTime::now()) && Stamp::of(&meta) == stamp;
    Ok((hash.finalize().into(), settled.then_some(stamp), true))
}

fn changed(meta: &Metadata) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(meta.ctime()).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(seconds)
}

/// What earlier runs found; invalid lines are skipped.
fn remembered(memory: &Path) -> Known {
    let text = fs::read_to_string(memory).unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<(PathBuf, (FileDigest, Stamp))> {
    let mut fields = line.splitn(9, ' ');
    let hex = fields.next().filter(|hex| hex.len() == 64 && hex.is_ascii())?;
    let mut digest = FileDigest::default();
    for (byte, at) in digest.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&hex[at..at + 2], 16).ok()?;
    }
    let mut stamp = [0; 7];
    for part in &mut stamp {
        *part = fields.next()?.parse().ok()?;
    }
    Some((PathBuf::from(fields.next()?), (digest, Stamp(stamp))))
}

/// Stores the digests; if that fails, the next run reads the files again.
fn remember<'a>(memory: &Path, found: impl Iterator<Item = (&'a PathBuf, (&'a FileDigest, Option<&'a Stamp>))>) {
    let mut text = String::new();
    for (path, (digest, stamp)) in found {
        let (Some(Stamp(stamp)), Some(path)) = (stamp, path.to_str().filter(|path| !path.contains('\n'))) else {
            continue;
        };
        for byte in digest {
            let _ = write!(text, "{byte:02x}");
        }
        for part in stamp {
            let _ = write!(text, " {part}");
        }
        let _ = writeln!(text, " {path}");
    }
    let _ = vcap::atomic::write_file_with_parents(memory, text.as_bytes(), 0o600);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_digests_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let memory = dir.path().join("digests/x");
        let stamp = Stamp([1, -2, 3, 4, 5, 6, 7]);
        let found = [
            (&PathBuf::from("/a b/c"), (&[0xab; 32], Some(&stamp))),
            (&PathBuf::from("/unsettled"), (&[1; 32], None)),
            (&PathBuf::from("/new\nline"), (&[1; 32], Some(&stamp))),
        ];
        remember(&memory, found.into_iter());
        let expected = HashMap::from([(PathBuf::from("/a b/c"), ([0xab; 32], stamp))]);
        assert_eq!(remembered(&memory), expected);
        fs::write(&memory, "nonsense\n\u{e9}\n0 1 2\n").unwrap();
        assert!(remembered(&memory).is_empty());
    }

    #[test]
    fn a_known_file_is_not_read_unless_it_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "one").unwrap();
        let stamp = Stamp::of(&fs::metadata(&path).unwrap());
        let known = HashMap::from([(path.clone(), ([7; 32], stamp))]);
        assert_eq!(digest(&path, &known).unwrap(), ([7; 32], Some(stamp), false));
        fs::write(&path, "other").unwrap();
        let (digest, stamp, read) = super::digest(&path, &known).unwrap();
        assert_eq!((digest, read), (Sha256::digest("other").into(), true));
        assert_eq!(stamp, None, "it changed just now, and may again");
    }

    #[test]
    fn digests_of_other_packages_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let memory = dir.path().join("memory");
        let [one, two, gone] = ["one", "two", "gone"].map(|name| dir.path().join(name));
        fs::write(&one, "1").unwrap();
        fs::write(&two, "2").unwrap();
        let stamp = Stamp::of(&fs::metadata(&two).unwrap());
        let before = [(&two, (&[2; 32], Some(&stamp))), (&gone, (&[3; 32], Some(&stamp)))];
        remember(&memory, before.into_iter());
        let found = digests(&BTreeSet::from([one.as_path()]), &memory).unwrap();
        assert_eq!(found[&one], FileDigest::from(Sha256::digest("1")));
        assert_eq!(remembered(&memory), HashMap::from([(two, ([2; 32], stamp))]));
    }
}
