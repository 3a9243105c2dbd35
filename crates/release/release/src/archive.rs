//! A release as an archive: what `bosh create-release` or `bosh export-release` made of it.
//!
//! ```text
//! release.MF                   names, digests and dependencies
//! jobs/<job>.tgz               job.MF, monit, templates/
//! packages/<package>.tgz       what it is compiled from, `packaging` among it
//! compiled_packages/<package>.tgz
//! ```
//!
//! All of them are tar archives, compressed with gzip or not at all.

mod file;

use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Component, Path, PathBuf};

use problem::{Class, IoContext, Place, Problem, Problems, Result, code};

use crate::blobs::Blobs;
use crate::cache::{Cache, Stop};
use crate::checksum::{self, Fault};
use crate::job::Job;
use crate::package::{Content, PACKAGING, Package};
use crate::release::Release;
use crate::spec::{self, Manifest, Part, is_name};
use crate::tree::{flush, remove_tree};
pub(crate) use file::ArchiveFile;

const MANIFEST: &str = "release.MF";
/// The directories of an archive, which are those of the unpacked release too.
const JOBS: &str = "jobs";
const PACKAGES: &str = "packages";
const COMPILED: &str = "compiled_packages";

/// Where the archives in an archive lie while it is unpacked.
const OUTER: &str = "archives";

impl Release {
    /// Opens a source directory or an archive, whatever `path` is; archives are unpacked into `cache_dir`, once.
    pub fn open_any(path: &Path, cache_dir: &Path, stop: Stop) -> Result<Self> {
        if path.is_file() { Release::open_archive(path, cache_dir, stop) } else { Release::open(path) }
    }

    /// Opens an archive; checks the digests of all that is in it, and reports all problems.
    pub fn open_archive(file: &Path, cache_dir: &Path, stop: Stop) -> Result<Self> {
        let mut archive = ArchiveFile { read: File::open(file).io("read", file)?, stop };
        let digest = checksum::sha256(&mut archive).io("read", file)?;
        let (dir, _lock) = Cache::new(cache_dir).begin_unpacking(&digest, stop)?;
        if !dir.is_dir() {
            // Left by a run that was killed.
            let part = dir.with_extension("part");
            remove(&part).io("remove", &part)?;
            if let Err(problems) = unpack_release(file, archive, &part) {
                // Best effort: the next run that unpacks this archive removes it.
                let _ = remove(&part);
                return Err(named(problems, file, &part));
            }
            flush(&part).io("flush", &part)?;
            fs::rename(&part, &dir).io("write", &dir)?;
        }
        read_unpacked(&dir).map_err(|problems| named(problems, file, &dir))
    }
}

fn remove(dir: &Path) -> io::Result<()> {
    match remove_tree(dir) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Replaces the directory that the archive was unpacked to by the archive's name and the path in it.
fn named(mut problems: Problems, archive: &Path, dir: &Path) -> Problems {
    let archive = format!("{}: ", archive.display());
    let places = [dir.join(OUTER), dir.to_path_buf()].map(|place| format!("{}/", place.display()));
    let within = |text: &mut String| {
        for place in &places {
            *text = text.replace(place, &archive);
        }
    };
    for problem in problems.iter_mut() {
        within(&mut problem.message);
        if let Some(place) = &mut problem.place {
            within(&mut place.file);
        }
    }
    problems
}

/// Unpacks the archive and the archives in it; `dir` is made.
fn unpack_release(file: &Path, archive: ArchiveFile, dir: &Path) -> Result<()> {
    let (outer, stop) = (dir.join(OUTER), archive.stop);
    unpack_outer(file, archive, &outer)?;
    let manifest_file = outer.join(MANIFEST);
    let manifest: Manifest = spec::read(&manifest_file)?;
    let mut problems = Vec::new();
    for (directory, parts) in
        [(JOBS, &manifest.jobs), (PACKAGES, &manifest.packages), (COMPILED, &manifest.compiled_packages)]
    {
        for part in parts.iter().flatten() {
            let name = name_of(part, &manifest_file);
            let (from, to) = (outer.join(directory), dir.join(directory));
            if let Err(found) = name.and_then(|name| unpack_part(&name, part, &from, &to, stop)) {
                problems.extend(found.into_vec());
            }
        }
    }
    Problems::check(problems)?;
    fs::rename(&manifest_file, dir.join(MANIFEST)).io("write", &dir.join(MANIFEST))?;
    fs::remove_dir_all(&outer).io("remove", &outer)
}

/// Takes the manifest and the archives of jobs and packages out of a release's archive.
fn unpack_outer(file: &Path, archive: ArchiveFile, to: &Path) -> Result<()> {
    let unreadable = |e: io::Error| {
        let problem = cannot_unpack(file, &e);
        let hint =
            "a release is a directory, or an archive made by `bosh create-release --tarball` or `bosh export-release`";
        if problem.class == Class::Input { problem.hint(hint) } else { problem }
    };
    fs::create_dir_all(to).io("create", to)?;
    let mut archive = archive.content().map_err(unreadable)?;
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?;
        let names: Vec<_> = path.components().filter(|part| *part != Component::CurDir).collect();
        let path: PathBuf = names.iter().collect();
        let wanted = match path.parent().and_then(Path::to_str) {
            Some("") => path == Path::new(MANIFEST),
            Some(JOBS | PACKAGES | COMPILED) => path.extension().is_some_and(|extension| extension == "tgz"),
            _ => false,
        };
        if wanted && entry.header().entry_type().is_file() {
            let file = to.join(&path);
            fs::create_dir_all(file.parent().unwrap_or(to)).io("create", &file)?;
            let mut file = File::create(&file).io("create", &file)?;
            io::copy(&mut entry, &mut file).map_err(unreadable)?;
        }
    }
    if !to.join(MANIFEST).is_file() {
        return Err(unreadable(io::Error::other(format!("it does not contain {MANIFEST}"))).into());
    }
    Ok(())
}

/// Unpacks a job or package into its directory below `to`, if its digest is the manifest's.
fn unpack_part(name: &str, part: &Part, from: &Path, to: &Path, stop: Stop) -> Result<()> {
    let path = from.join(format!("{name}.tgz"));
    let missing =
        |e| Problem::input(format!("{} is not in the archive", path.display())).code(code::RELEASE_DAMAGED).because(e);
    let mut archive = ArchiveFile { read: File::open(&path).map_err(missing)?, stop };
    let wrong = |fault: Fault| match fault {
        Fault::Unreadable(e) => Problem::internal(format!("cannot read {}", path.display())).code(code::IO).because(e),
        Fault::Unknown(_) => {
            Problem::input(format!("{} cannot be checked", path.display())).code(code::RELEASE_DAMAGED).because(fault)
        }
        Fault::Other { .. } => {
            Problem::input(format!("{} is damaged: its digest is not the manifest's", path.display()))
                .code(code::RELEASE_DAMAGED)
                .because(fault)
        }
    };
    checksum::check(&mut archive, &spec::text(&part.sha1).unwrap_or_default()).map_err(wrong)?;
    archive.read.rewind().io("read", &path)?;
    let dir = to.join(name);
    fs::create_dir_all(&dir).io("create", &dir)?;
    let cannot = |e: io::Error| cannot_unpack(&path, &e);
    let mut archive = archive.content().map_err(cannot)?;
    archive.set_preserve_ownerships(false);
    // Refuses what would lie outside of `dir`, and to write through links that lead there.
    archive.unpack(&dir).map_err(cannot)?;
    Ok(())
}

pub(crate) fn cannot_unpack(path: &Path, e: &io::Error) -> Problem {
    // The archive may be as it should.
    let is_ours = matches!(
        e.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem
    );
    let message = format!("cannot unpack {}", path.display());
    let problem = if is_ours {
        Problem::internal(message).code(code::IO)
    } else {
        Problem::input(message).code(code::RELEASE_DAMAGED)
    };
    problem.because(deepest(e))
}

/// The crate's errors name the directory that is unpacked to; the causes are added below.
fn deepest(e: &io::Error) -> String {
    let mut deepest: &dyn std::error::Error = e;
    while let Some(source) = deepest.source() {
        // The cause below this one is no more than "Invalid argument".
        if deepest.to_string().contains("outside of destination path") {
            return "an entry leads out of the archive".to_owned();
        }
        deepest = source;
    }
    deepest.to_string()
}

fn name_of(part: &Part, manifest: &Path) -> Result<String> {
    let name = spec::text(&part.name).unwrap_or_default();
    if is_name(&name) {
        Ok(name)
    } else {
        Err(Problem::input(format!("'{}' is not a valid name of a job or package", name.escape_debug()))
            .code(code::RELEASE_INVALID)
            .at(Place::file(manifest.display().to_string()))
            .into())
    }
}

fn read_unpacked(dir: &Path) -> Result<Release> {
    let manifest_file = dir.join(MANIFEST);
    let manifest: Manifest = spec::read(&manifest_file)?;
    let mut problems = Vec::new();
    let name = spec::text(&manifest.name).unwrap_or_default();
    if !is_name(&name) {
        let place = Place::file(manifest_file.display().to_string());
        problems.push(
            Problem::input(format!("'{}' is not a valid release name", name.escape_debug()))
                .code(code::RELEASE_INVALID)
                .at(place),
        );
    }
    let (mut jobs, mut packages) = (Vec::new(), Vec::new());
    let mut keep = |found: Problems| problems.extend(found.into_vec());
    for part in manifest.jobs.iter().flatten() {
        let job = name_of(part, &manifest_file).and_then(|name| Job::read(&dir.join(JOBS).join(name), "job.MF", dir));
        jobs.extend(job.map_err(&mut keep));
    }
    let (plain, compiled) = (&manifest.packages, &manifest.compiled_packages);
    for part in plain.iter().flatten() {
        packages.extend(read_package(part, dir, &manifest_file).map_err(&mut keep));
    }
    let known: Vec<String> = compiled.iter().flatten().filter_map(|part| spec::text(&part.name)).collect();
    for part in compiled.iter().flatten() {
        packages.extend(read_compiled(part, dir, &manifest_file, &known).map_err(&mut keep));
    }
    let twice = |names: Vec<&str>, what: &str| -> Vec<Problem> {
        let names = names.iter().enumerate().filter(|(at, name)| names[..*at].contains(name));
        let place = || Place::file(manifest_file.display().to_string());
        names
            .map(|(_, name)| {
                Problem::input(format!("{what} '{name}' is listed twice")).code(code::RELEASE_INVALID).at(place())
            })
            .collect()
    };
    problems.extend(twice(jobs.iter().map(|job: &Job| job.name.as_str()).collect(), "job"));
    problems.extend(twice(packages.iter().map(|package: &Package| package.name.as_str()).collect(), "package"));
    jobs.sort_by(|a, b| a.name.cmp(&b.name));
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    let version = spec::text(&manifest.version);
    Release { name, version, dir: dir.to_path_buf(), jobs, packages, blobs: Blobs::default() }.checked(problems)
}

fn read_package(part: &Part, release: &Path, manifest: &Path) -> Result<Package> {
    let name = name_of(part, manifest)?;
    let dir = release.join(PACKAGES).join(&name);
    if !dir.join(PACKAGING).is_file() {
        let expected = dir.join(PACKAGING);
        return Err(Problem::input(format!("Expected to find '{}' for package '{name}'", expected.display()))
            .code(code::RELEASE_INVALID)
            .into());
    }
    Ok(Package {
        spec: manifest.to_path_buf(),
        dependencies: dependencies(part, manifest)?,
        content: Content::Packed,
        name,
        dir,
    })
}

/// The compile-time dependencies of a compiled package need not be in the archive.
fn read_compiled(part: &Part, release: &Path, manifest: &Path, known: &[String]) -> Result<Package> {
    let name = name_of(part, manifest)?;
    let mut dependencies = dependencies(part, manifest)?;
    dependencies.retain(|name| known.contains(name));
    let content = Content::Compiled(spec::text(&part.sha1).unwrap_or_default());
    Ok(Package { dir: release.join(COMPILED).join(&name), spec: manifest.to_path_buf(), dependencies, content, name })
}

fn dependencies(part: &Part, manifest: &Path) -> Result<Vec<String>> {
    spec::texts(&part.dependencies).ok_or_else(|| {
        let name = spec::text(&part.name).unwrap_or_default();
        Problem::input(format!("Package '{name}' has invalid dependencies"))
            .code(code::RELEASE_INVALID)
            .at(Place::file(manifest.display().to_string()))
            .into()
    })
}
