//! A package of a release, and which files it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use problem::{IoContext, Place, Problem, Problems, Result};
use walkdir::{DirEntry, WalkDir};

use crate::release::Release;
use crate::spec::{self, PackageSpec};

/// One package of a release: `packages/<package>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub dir: PathBuf,
    /// Where its dependencies are named: its spec, or an archive's manifest.
    pub spec: PathBuf,
    /// The packages that it needs while it is compiled.
    pub dependencies: Vec<String>,
    /// Where its files are.
    pub content: Content,
}

/// Where a package's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// In the release's source directory.
    Source {
        /// Patterns of the files that it is compiled from, below `src/` or `blobs/`.
        files: Vec<String>,
        /// Patterns of files that are left out.
        excluded_files: Vec<String>,
    },
    /// In its own directory, which `bosh create-release` filled.
    Packed,
    /// In its own directory, compiled (`bosh export-release`); from an archive with this digest.
    Compiled(String),
    /// In the blobstore of another release's authors (`bosh vendor-package`): the directory only has a `spec.lock`.
    Vendored,
}

/// The script that compiles a package.
pub(crate) const PACKAGING: &str = "packaging";
/// The script that prepares a package's files when a release is created.
pub(crate) const PRE_PACKAGING: &str = "pre_packaging";

/// One file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackageFile {
    /// Where it lies in the release.
    pub(crate) source: PathBuf,
    pub(crate) kind: FileKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileKind {
    File { executable: bool },
    Link(PathBuf),
}

impl PackageFile {
    fn of(entry: &DirEntry) -> Result<Self> {
        let kind = entry.file_type();
        let kind = if kind.is_symlink() || entry.path_is_symlink() {
            FileKind::Link(fs::read_link(entry.path()).io("read", entry.path())?)
        } else if kind.is_file() {
            let meta = entry.metadata().map_err(std::io::Error::from).io("read", entry.path())?;
            FileKind::File { executable: meta.mode() & 0o111 != 0 }
        } else {
            let special = format!("cannot take {} into a package", entry.path().display());
            return Err(Problem::input(special).because("it is neither a file nor a link").into());
        };
        Ok(PackageFile { source: entry.path().to_path_buf(), kind })
    }
}

fn unreadable(dir: &Path, e: &walkdir::Error) -> Problem {
    Problem::internal(format!("cannot read {}", e.path().unwrap_or(dir).display())).because(e)
}

impl Package {
    /// Reads the package in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let spec_file = dir.join("spec");
        let directory = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lock = dir.join("spec.lock");
        let vendored = !spec_file.is_file() && lock.is_file();
        let spec_file = if vendored { lock } else { spec_file };
        let at = || Place::file(spec_file.display().to_string());
        if !spec_file.is_file() {
            return Err(Problem::input(format!("Package '{directory}' has no spec")).at(at()).into());
        }
        let spec: PackageSpec = spec::read(&spec_file)?;
        let mut problems = Vec::new();
        match spec::text(&spec.name) {
            Some(name) if name == directory => {}
            Some(name) => problems.push(
                Problem::input(format!("Package directory '{directory}' does not match package name '{name}' in spec"))
                    .at(at()),
            ),
            None => problems.push(Problem::input(format!("Package '{directory}' has no name in its spec")).at(at())),
        }
        let mut list = |what: &str, value| {
            spec::texts(value).unwrap_or_else(|| {
                problems.push(Problem::input(format!("Package '{directory}' has invalid {what} in its spec")).at(at()));
                Vec::new()
            })
        };
        let dependencies = list("dependencies", &spec.dependencies);
        let files = list("files", &spec.files);
        let excluded_files = list("excluded_files", &spec.excluded_files);
        if !vendored && !dir.join(PACKAGING).is_file() {
            let expected = dir.join(PACKAGING);
            problems
                .push(Problem::input(format!("Expected to find '{}' for package '{directory}'", expected.display())));
        }
        Problems::check(problems)?;
        let content = if vendored { Content::Vendored } else { Content::Source { files, excluded_files } };
        let dir = dir.to_path_buf();
        Ok(Package { name: directory, dir, spec: spec_file, dependencies, content })
    }

    /// The files that the package is compiled from, by their path in its work directory.
    pub(crate) fn collect(&self, release: &Release) -> Result<BTreeMap<PathBuf, PackageFile>> {
        match &self.content {
            Content::Source { files, excluded_files } => self.collect_source(release, files, excluded_files),
            Content::Packed => self.collect_packed(),
            Content::Compiled(_) => Ok(BTreeMap::new()),
            Content::Vendored => Err(Problem::input(format!("Package '{}' has no files", self.name))
                .at(Place::file(self.spec.display().to_string()))
                .because("it is another release's (spec.lock), and lies in a blobstore")
                .hint("`bosh create-release --tarball release.tgz` fetches it: give that archive instead of the directory")
                .into()),
        }
    }

    /// All files of the package's directory. BOSH: `packaging` lies among them; `pre_packaging` has been run.
    fn collect_packed(&self) -> Result<BTreeMap<PathBuf, PackageFile>> {
        let mut found = BTreeMap::new();
        for entry in WalkDir::new(&self.dir) {
            let entry = entry.map_err(|e| unreadable(&self.dir, &e))?;
            let path = entry.path().strip_prefix(&self.dir).unwrap_or(entry.path());
            if !entry.file_type().is_dir() && path != Path::new(PACKAGING) {
                found.insert(path.to_path_buf(), PackageFile::of(&entry)?);
            }
        }
        Ok(found)
    }

    /// From `src/` or else `blobs/` of the release.
    fn collect_source(
        &self,
        release: &Release,
        files: &[String],
        excluded_files: &[String],
    ) -> Result<BTreeMap<PathBuf, PackageFile>> {
        let at = || Place::file(self.spec.display().to_string());
        let mut found: BTreeMap<PathBuf, PackageFile> = BTreeMap::new();
        let mut blobs = BTreeSet::new();
        let mut problems = Vec::new();
        let patterns = |patterns: &[String], problems: &mut Vec<Problem>| -> Vec<Pattern> {
            let read = |pattern: &String| {
                let refused = |found: Problems| problems.extend(found.into_vec().into_iter().map(|p| p.at(at())));
                Pattern::new(pattern).map_err(refused).ok()
            };
            patterns.iter().filter_map(read).collect()
        };
        let excluded = patterns(excluded_files, &mut problems);
        for pattern in patterns(files, &mut problems) {
            let mut any = false;
            // A blob never replaces a source file of the same path.
            for base in ["src", "blobs"] {
                for (path, file) in pattern.find(&release.dir, base)? {
                    any = true;
                    if !excluded.iter().any(|pattern| pattern.matcher.is_match(&path)) {
                        found.entry(path).or_insert(file);
                    }
                }
            }
            let listed = release.blobs.paths().filter(|path| pattern.matcher.is_match(path));
            for path in listed.inspect(|_| any = true).filter(|path| !excluded.iter().any(|p| p.matcher.is_match(path)))
            {
                if found.get(path).is_none_or(|file| !file.source.starts_with(release.dir.join("src"))) {
                    blobs.insert(path);
                }
            }
            if !any {
                let missing = format!("Missing files for pattern '{}' of package '{}'", pattern.text, self.name);
                problems.push(Problem::input(missing).at(at()).hint(
                    "patterns are matched below src/ and blobs/; a directory's files match only with `<directory>/**/*`; \
                     blobs are downloaded with `bosh sync-blobs`",
                ));
            }
        }
        problems.extend(blobs.into_iter().filter_map(|path| release.blobs.missing(path)));
        for special in [PACKAGING, PRE_PACKAGING] {
            if found.contains_key(Path::new(special)) {
                let special = format!(
                    "Expected special '{special}' file to not be included via 'files' key for package '{}'",
                    self.name
                );
                problems.push(Problem::input(special).at(at()));
            }
        }
        Problems::check(problems)?;
        drop_links_above_files(&mut found);
        Ok(found)
    }

    /// Its script of this name, if it has one.
    pub(crate) fn script(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let file = self.dir.join(name);
        if file.is_file() { Ok(Some(fs::read(&file).io("read", &file)?)) } else { Ok(None) }
    }
}

/// Where one pattern finds a link and another what lies below it, the directory counts: nothing is written through a link.
fn drop_links_above_files(found: &mut BTreeMap<PathBuf, PackageFile>) {
    let above: BTreeSet<PathBuf> =
        found.keys().flat_map(|path| path.ancestors().skip(1).map(Path::to_path_buf)).collect();
    found.retain(|path, _| !above.contains(path));
}

/// A pattern as BOSH's command line reads it: `*` and `?` within a name, `**` over directories, `[..]`, `{a,b}`.
struct Pattern {
    text: String,
    matcher: GlobMatcher,
    /// The directories before the first special character.
    start: PathBuf,
    /// How deep below `start` a match can lie.
    depth: usize,
}

impl Pattern {
    fn new(text: &str) -> Result<Self> {
        let invalid = |why: &str| Problem::input(format!("invalid pattern '{}': {why}", text.escape_debug()));
        if Path::new(text).components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir)) {
            return Err(invalid("it must stay below src/ and blobs/").into());
        }
        let clean = text.trim_start_matches("./");
        let glob = GlobBuilder::new(clean).literal_separator(true).backslash_escape(true).build();
        let matcher = glob.map_err(|e| invalid(&e.to_string()))?.compile_matcher();
        let special = |part: &std::ffi::OsStr| part.to_string_lossy().contains(['*', '?', '[', '{', '\\']);
        let start: PathBuf = Path::new(clean).iter().take_while(|part| !special(part)).collect();
        // Without `**` the number of slashes is fixed (alternatives may hold some: then it is not counted).
        let fixed = !clean.contains("**") && !clean.contains('{');
        let depth = if fixed { Path::new(clean).iter().count() - start.iter().count() } else { usize::MAX };
        Ok(Pattern { text: text.to_owned(), matcher, start, depth })
    }

    /// All files and links below `<release>/<base>` that match.
    fn find(&self, release: &Path, base: &str) -> Result<Vec<(PathBuf, PackageFile)>> {
        let base = release.join(base);
        let start = base.join(&self.start);
        // A submodule's directory may be a link; what it leads to must be the release's all the same.
        match fs::canonicalize(&start) {
            Ok(real) if !real.starts_with(release) => {
                let outside = format!("{} leads out of the release", start.display());
                return Err(Problem::input(outside).hint("a release must hold everything that it is made of").into());
            }
            Ok(_) => {}
            Err(_) if start.is_symlink() => {}
            Err(_) => return Ok(Vec::new()),
        }
        let mut found = Vec::new();
        for entry in WalkDir::new(&start).max_depth(self.depth) {
            let entry = entry.map_err(|e| unreadable(&start, &e))?;
            let path = entry.path().strip_prefix(&base).unwrap_or(entry.path());
            if !entry.file_type().is_dir() && self.matcher.is_match(path) {
                found.push((path.to_path_buf(), PackageFile::of(&entry)?));
            }
        }
        Ok(found)
    }
}
