//! What a pak contains: documents, executables, sources.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use brokerpak_model::layout;
use brokerpak_model::manifest::{Binary, Manifest};
use problem::{IoContext, Problem, Problems, Result, code};
use zip_archive::{Archive, Limits, Writer};

use crate::build::address::{Address, expand};
use crate::build::checksum::sha256;
use crate::build::downloads::Downloads;
use crate::output::print;

/// What a download may unpack to.
const LIMITS: Limits = Limits { entries: 10_000, total: 4 << 30 };
/// What a pak may have; more is not read.
const MOST: u64 = 16 << 30;

/// The content of a file.
#[derive(Debug)]
pub(crate) enum Content {
    /// A text.
    Text(String),
    /// A file of the machine.
    File(PathBuf),
    /// An entry of an archive: the archive's number and the entry's name.
    Entry(usize, String),
}

struct Item {
    content: Content,
    mode: u32,
    size: u64,
}

/// The files of a pak, in the order of the archive.
#[derive(Default)]
pub(crate) struct Contents {
    items: BTreeMap<Name, Item>,
    archives: Vec<Archive>,
}

/// A name; names are sorted as a walk through directories finds them.
#[derive(PartialEq, Eq)]
struct Name(String);

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        self.0.split('/').cmp(other.0.split('/'))
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Contents {
    /// Adds a document, which only its owner may read.
    ///
    /// # Errors
    /// A document that exists.
    pub(crate) fn document(&mut self, name: &str, text: String) -> Result<()> {
        let size = text.len() as u64;
        self.add(name.to_owned(), Item { content: Content::Text(text), mode: 0o600, size }, "")
    }

    /// Adds the executables of all platforms.
    ///
    /// # Errors
    /// All downloads that fail or are wrong.
    pub(crate) fn add_binaries(
        &mut self,
        manifest: &Manifest,
        platforms: &[String],
        downloads: &Downloads,
    ) -> Result<()> {
        let mut problems: Vec<Problem> = Vec::new();
        for platform in platforms {
            let (os, arch) = platform.split_once('/').unwrap_or((platform, ""));
            let binaries = manifest.terraform.iter().chain(&manifest.providers).chain(&manifest.other_binaries);
            for binary in binaries {
                let mut directory = layout::directory(platform);
                if manifest.terraform.iter().any(|terraform| std::ptr::eq(terraform, binary)) {
                    directory = format!("{directory}/{}", binary.version);
                }
                if let Err(failed) = self.add_binary(binary, &expand(binary, os, arch), &directory, downloads) {
                    // Several platforms may have one address.
                    for problem in failed.into_vec() {
                        if problems.iter().all(|known| known.message != problem.message) {
                            problems.push(problem);
                        }
                    }
                }
            }
        }
        Problems::check(problems)
    }

    fn add_binary(&mut self, binary: &Binary, address: &str, directory: &str, downloads: &Downloads) -> Result<()> {
        let address = downloads.address(address)?;
        let found = downloads.get(&address)?;
        print(&format!("{} -> {directory} ({})\n", address.place.shown(), found.how))?;
        if !address.is_archive {
            let size = fs::metadata(&found.path).io("read", &found.path)?.len();
            let name = format!("{directory}/{}", address.file_name);
            return self.add(name, Item { content: Content::File(found.path), mode: 0o755, size }, &binary.name);
        }
        let archive = Archive::open(&found.path, LIMITS).map_err(|error| wrong_archive(&address, &error))?;
        let number = self.archives.len();
        let entries: Vec<_> = archive.entries().iter().filter(|entry| !entry.is_directory).cloned().collect();
        self.archives.push(archive);
        for entry in entries {
            let mode = if entry.mode & 0o111 == 0 { 0o644 } else { 0o755 };
            let name = format!("{directory}/{}", entry.name);
            let item = Item { content: Content::Entry(number, entry.name), mode, size: entry.size };
            self.add(name, item, &binary.name)?;
        }
        Ok(())
    }

    /// Adds the sources of all executables that have one.
    ///
    /// # Errors
    /// All downloads that fail.
    pub(crate) fn add_sources(&mut self, manifest: &Manifest, downloads: &Downloads) -> Result<()> {
        let all = || manifest.terraform.iter().chain(&manifest.providers).chain(&manifest.other_binaries);
        let mut problems = Vec::new();
        for binary in all().filter(|binary| !binary.source.is_empty()) {
            // Several versions of one program have sources of their own.
            let is_alone = all().filter(|other| other.name == binary.name).count() == 1;
            let name = if is_alone { binary.name.clone() } else { format!("{}-{}", binary.name, binary.version) };
            if let Err(failed) = self.add_source(&binary.source, &format!("src/{name}"), downloads) {
                problems.extend(failed.into_vec());
            }
        }
        Problems::check(problems)
    }

    fn add_source(&mut self, source: &str, name: &str, downloads: &Downloads) -> Result<()> {
        let address = downloads.address(source)?;
        let found = downloads.get(&address)?;
        print(&format!("{} -> src ({})\n", address.place.shown(), found.how))?;
        let size = fs::metadata(&found.path).io("read", &found.path)?.len();
        self.add(format!("{name}.zip"), Item { content: Content::File(found.path), mode: 0o644, size }, "")
    }

    /// Adds a file. Where another one has the name, licences and the like of `owner` get its name in addition.
    fn add(&mut self, name: String, item: Item, owner: &str) -> Result<()> {
        let Some(existing) = self.items.keys().find(|key| key.0.eq_ignore_ascii_case(&name)) else {
            self.items.insert(Name(name), item);
            return Ok(());
        };
        let existing = existing.0.clone();
        let is_same = match self.items.get(&Name(existing.clone())).map(|other| (other.size, &other.content)) {
            Some((size, _)) if size != item.size => false,
            _ => self.digest_of(&existing)? == self.digest(&item.content)?,
        };
        if is_same {
            return Ok(());
        }
        let own = format!("{name}.{owner}");
        let is_document = item.mode & 0o111 == 0 && !owner.is_empty();
        if !is_document || self.items.keys().any(|key| key.0.eq_ignore_ascii_case(&own)) {
            return Err(Problem::input(format!("two different files have the name {name} in the pak")).into());
        }
        self.items.insert(Name(own), item);
        Ok(())
    }

    fn digest_of(&mut self, name: &str) -> Result<String> {
        let content = match &self.items[&Name(name.to_owned())].content {
            Content::Text(text) => Content::Text(text.clone()),
            Content::File(path) => Content::File(path.clone()),
            Content::Entry(number, name) => Content::Entry(*number, name.clone()),
        };
        self.digest(&content)
    }

    fn digest(&mut self, content: &Content) -> Result<String> {
        let digested = match content {
            Content::Text(text) => sha256(text.as_bytes()),
            Content::File(path) => File::open(path).and_then(sha256),
            Content::Entry(number, name) => {
                // Written to a file that has no name: the archive writes, the checksum reads.
                tempfile::tempfile().and_then(|mut file| {
                    self.archives[*number].copy(name, &mut file)?;
                    file.rewind()?;
                    sha256(file)
                })
            }
        };
        Ok(digested.map_err(|error| Problem::internal("cannot compare files").because(error).code(code::IO))?)
    }

    /// The names of all files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.items.keys().map(|name| name.0.as_str())
    }

    /// Makes a file executable.
    pub(crate) fn make_executable(&mut self, name: &str) {
        if let Some(item) = self.items.get_mut(&Name(name.to_owned())) {
            item.mode = 0o755;
        }
    }

    /// Writes everything.
    ///
    /// # Errors
    /// More than a pak may have, damaged archives (kind `InvalidData`); failures of the machine.
    pub(crate) fn write<W: Write + Seek>(&mut self, writer: &mut Writer<W>) -> io::Result<()> {
        let total: u64 = self.items.values().map(|item| item.size).fold(0, u64::saturating_add);
        if total > MOST {
            let message = format!("its files have {total} bytes, more than {MOST}");
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        let mut directory = String::new();
        for (Name(name), item) in &self.items {
            for (at, _) in name.match_indices('/').filter(|(at, _)| !is_within(&directory, &name[..*at])) {
                writer.directory(&name[..at])?;
            }
            name.rsplit_once('/').map_or("", |(directory, _)| directory).clone_into(&mut directory);
            match &item.content {
                Content::Text(text) => writer.copy(name, item.mode, item.size, text.as_bytes())?,
                Content::File(path) => writer.copy(name, item.mode, item.size, File::open(path)?)?,
                Content::Entry(number, entry) => {
                    let to = writer.file(name, item.mode, item.size)?;
                    self.archives[*number].copy(entry, to).map_err(|error| match error.kind() {
                        ErrorKind::InvalidData => io::Error::new(error.kind(), format!("{name}: {error}")),
                        _ => error,
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Whether `inner` is a directory or in a directory.
fn is_within(inner: &str, directory: &str) -> bool {
    Path::new(inner).starts_with(directory)
}

fn wrong_archive(address: &Address, error: &io::Error) -> Problem {
    let place = address.place.shown();
    match error.kind() {
        ErrorKind::InvalidData => Problem::input(format!("the archive {place} is invalid: {error}")),
        _ => Problem::internal(format!("cannot read {place}")).because(error).code(code::IO),
    }
}
