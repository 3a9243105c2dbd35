//! A root file system that is the base of compiling and running: a directory, an archive, or an OCI image.
//!
//! | given | content |
//! |---|---|
//! | directory | a root file system, used where it is; or an OCI image layout (`oci-layout`, `index.json`, `blobs/`) |
//! | archive (tar, plain or compressed with gzip) | a root file system; an OCI image layout; or a BOSH stemcell, whose `image` is an archive of a root file system |
//!
//! Archives and images are unpacked once, into the cache, by their content.

mod oci;
mod scoped;
mod unpack;

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use problem::{Class, IoContext, Problem, Result, code};
use sha2::{Digest, Sha256};

use crate::archive::{ArchiveFile, cannot_unpack};
use crate::cache::{Cache, Stop};
use crate::checksum::{self, hex};
use crate::tree::remove_tree;
use unpack::Unpacker;

/// What an OCI image layout has in its root (OCI Image Format Specification, "Image Layout").
const OCI_LAYOUT: &str = "oci-layout";
/// The files in the root of a BOSH stemcell, and the archive among them.
const STEMCELL_MANIFEST: &str = "stemcell.MF";
const STEMCELL_IMAGE: &str = "image";

/// The base of sandboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stemcell {
    /// Its root directory, which must not be written to.
    pub dir: PathBuf,
    /// Identifies its content: packages that were compiled on another base are not used.
    pub id: String,
}

/// What an archive contains.
enum Kind {
    RootFs,
    OciLayout,
    Bosh,
}

impl Stemcell {
    /// Opens a stemcell; archives and images are unpacked into `cache_dir`, once, until `stop` returns true.
    ///
    /// # Errors
    /// A path that is of none of these kinds, or is damaged.
    pub fn open(path: &Path, cache_dir: &Path, stop: Stop) -> Result<Stemcell> {
        let missing = |e| Problem::input(format!("cannot read the stemcell {}", path.display())).because(e);
        let real = fs::canonicalize(path).map_err(missing)?;
        if !real.is_dir() {
            let mut archive = ArchiveFile { read: File::open(&real).map_err(missing)?, stop };
            let digest = checksum::sha256(&mut archive).io("read", path)?;
            return unpacked(&digest, cache_dir, stop, |to| unpack_archive(path, archive, to));
        }
        if real.join(OCI_LAYOUT).is_file() {
            let index = fs::read(real.join(oci::INDEX)).io("read", &real.join(oci::INDEX))?;
            let digest = hex(&Sha256::digest(&index));
            return unpacked(&digest, cache_dir, stop, |to| oci::unpack(&real, to, stop));
        }
        check_root(&real, path)?;
        Ok(Stemcell { id: id_of_directory(&real), dir: real })
    }
}

/// The root file system with this digest in the cache, which `unpack` fills where it is missing.
fn unpacked(digest: &str, cache_dir: &Path, stop: Stop, unpack: impl FnOnce(&Path) -> Result<()>) -> Result<Stemcell> {
    let (dir, _lock) = Cache::new(cache_dir).begin_stemcell(digest, stop)?;
    if !dir.is_dir() {
        let part = dir.with_extension("part");
        remove(&part).io("remove", &part)?;
        fs::create_dir(&part).io("create", &part)?;
        fs::set_permissions(&part, Permissions::from_mode(0o755)).io("create", &part)?;
        if let Err(problems) = unpack(&part) {
            // Best effort: the next run that unpacks it removes it.
            let _ = remove(&part);
            return Err(problems);
        }
        // All at once: a root file system has tens of thousands of files.
        let opened = File::open(&part).io("open", &part)?;
        nix::unistd::syncfs(&opened).map_err(io::Error::from).io("flush", &part)?;
        fs::rename(&part, &dir).io("write", &dir)?;
    }
    Ok(Stemcell { dir, id: digest.to_owned() })
}

fn remove(dir: &Path) -> io::Result<()> {
    match remove_tree(dir) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn unpack_archive(path: &Path, archive: ArchiveFile, to: &Path) -> Result<()> {
    let stop = archive.stop;
    match kind_of(path, &archive)? {
        Kind::RootFs => {
            unpack(path, archive, to)?;
            check_root(to, path)
        }
        Kind::OciLayout => {
            let layout = to.with_extension("layout");
            remove(&layout).io("remove", &layout)?;
            fs::create_dir(&layout).io("create", &layout)?;
            let done = unpack(path, archive, &layout).and_then(|()| oci::unpack(&layout, to, stop));
            remove(&layout).io("remove", &layout)?;
            done
        }
        Kind::Bosh => {
            let image = to.with_extension("image");
            let done = take_image(path, archive, &image).and_then(|()| {
                let inner = ArchiveFile { read: File::open(&image).io("read", &image)?, stop };
                unpack(path, inner, to)?;
                check_root(to, path)
            });
            fs::remove_file(&image).io("remove", &image)?;
            done
        }
    }
}

/// Finds the kind by the files in it.
fn kind_of(path: &Path, archive: &ArchiveFile) -> Result<Kind> {
    let cannot = |e: io::Error| not_a_stemcell(path, &e);
    let again = ArchiveFile { read: archive.read.try_clone().io("read", path)?, stop: archive.stop };
    for entry in again.content().map_err(cannot)?.entries().map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.path().map_err(cannot)?;
        match name.strip_prefix("./").unwrap_or(&name).to_str() {
            Some(OCI_LAYOUT) => return Ok(Kind::OciLayout),
            Some(STEMCELL_MANIFEST) => return Ok(Kind::Bosh),
            _ => {}
        }
    }
    Ok(Kind::RootFs)
}

fn take_image(path: &Path, archive: ArchiveFile, to: &Path) -> Result<()> {
    let cannot = |e: io::Error| not_a_stemcell(path, &e);
    for entry in archive.content().map_err(cannot)?.entries().map_err(cannot)? {
        let mut entry = entry.map_err(cannot)?;
        let is_image = {
            let name = entry.path().map_err(cannot)?;
            name.strip_prefix("./").unwrap_or(&name) == Path::new(STEMCELL_IMAGE)
        };
        if is_image {
            let mut file = File::create(to).io("create", to)?;
            io::copy(&mut entry, &mut file).map_err(cannot)?;
            return Ok(());
        }
    }
    File::create(to).io("create", to)?;
    Err(Problem::input(format!("the stemcell {} has no {STEMCELL_IMAGE}", path.display()))
        .code(code::STEMCELL_INVALID)
        .into())
}

fn unpack(path: &Path, archive: ArchiveFile, to: &Path) -> Result<()> {
    let mut content = archive.content().map_err(|e| not_a_stemcell(path, &e))?;
    let mut unpacker = Unpacker::new(to);
    unpacker.layer(&mut content).and_then(|()| unpacker.finish()).map_err(|e| not_a_stemcell(path, &e).into())
}

fn not_a_stemcell(path: &Path, e: &io::Error) -> Problem {
    let problem = cannot_unpack(path, e);
    if problem.class == Class::Input { problem.code(code::STEMCELL_INVALID).hint(HINT) } else { problem }
}

const HINT: &str = "a stemcell is a directory or an archive (tar, tar.gz) of a root file system, an OCI image layout, or a BOSH \
                    stemcell for Warden";

/// Refuses a root without programs.
fn check_root(dir: &Path, given: &Path) -> Result<()> {
    if dir.join("usr").is_dir() || dir.join("bin").exists() {
        return Ok(());
    }
    let disk = ["root.img", "image.vmdk", "image.ovf", "disk.raw"].iter().find(|name| dir.join(name).exists());
    let why = match disk {
        Some(name) => format!("it is the image of a disk ({name})"),
        None => "it has neither usr nor bin".to_owned(),
    };
    Err(Problem::input(format!("{} is not a root file system", given.display()))
        .code(code::STEMCELL_INVALID)
        .because(why)
        .hint(HINT)
        .into())
}

/// Identifies a directory by its path, its system and the list of its packages: its content may change under the same path.
fn id_of_directory(dir: &Path) -> String {
    let mut all = Sha256::new();
    all.update(dir.as_os_str().as_bytes());
    for file in ["etc/os-release", "usr/lib/os-release", "var/lib/dpkg/status", "lib/apk/db/installed"] {
        all.update(fs::read(dir.join(file)).unwrap_or_default());
    }
    hex(&all.finalize())
}
