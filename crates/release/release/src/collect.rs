//! Which files a package is compiled from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use problem::{Place, Problem, Problems, Result};
use walkdir::WalkDir;

use crate::package::{Content, PACKAGING, PRE_PACKAGING, Package};
use crate::package_file::{self, PackageFile};
use crate::pattern::Pattern;
use crate::release::Release;
use crate::submodules;

impl Package {
    /// The patterns of its spec that match neither a file nor a blob of `config/blobs.yml`. None if the package has no patterns, or a
    /// submodule of git that could hold the files is not checked out.
    ///
    /// # Errors
    /// Patterns that are invalid, and directories that cannot be read.
    pub fn unmatched_patterns(&self, release: &Release) -> Result<Vec<String>> {
        let Content::Source { files, .. } = &self.content else { return Ok(Vec::new()) };
        let mut unmatched = Vec::new();
        for text in files {
            let pattern = Pattern::new(text)?;
            let is_blob = release.blobs.paths().any(|path| pattern.matcher.is_match(path));
            let concerns = |module: &Path| module.strip_prefix("src").is_ok_and(|module| pattern.overlaps(module));
            let is_file = || -> Result<bool> {
                Ok(!pattern.find(&release.dir, "src")?.is_empty() || !pattern.find(&release.dir, "blobs")?.is_empty())
            };
            if !is_blob && !is_file()? && submodules::problem(&release.dir, concerns).is_none() {
                unmatched.push(text.clone());
            }
        }
        Ok(unmatched)
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
            let entry = entry.map_err(|e| package_file::unreadable(&self.dir, &e))?;
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
            let concerns = |module: &Path| module.strip_prefix("src").is_ok_and(|module| pattern.overlaps(module));
            if any {
                continue;
            }
            if let Some(problem) = submodules::problem(&release.dir, concerns) {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            } else {
                let missing = format!("Missing files for pattern '{}' of package '{}'", pattern.text, self.name);
                problems.push(Problem::input(missing).at(at()).hint(
                    "patterns are matched below src/ and blobs/; a directory's files match only with `<directory>/**/*`; \
                     blobs are downloaded with `bosh sync-blobs`",
                ));
            }
        }
        problems.extend(blobs.into_iter().filter_map(|path| release.blobs.missing(path)));
        problems.extend(self.reserved_files(&found).map(|problem| problem.at(at())));
        Problems::check(problems)?;
        drop_links_above_files(&mut found);
        Ok(found)
    }

    /// Files of the package whose names are those of its scripts.
    fn reserved_files(&self, found: &BTreeMap<PathBuf, PackageFile>) -> impl Iterator<Item = Problem> {
        let reserved = [PACKAGING, PRE_PACKAGING].into_iter().filter(|script| found.contains_key(Path::new(script)));
        reserved.map(|script| {
            Problem::input(format!(
                "Expected special '{script}' file to not be included via 'files' key for package '{}'",
                self.name
            ))
        })
    }
}

/// Where one pattern finds a link and another what lies below it, the directory counts: nothing is written through a link.
fn drop_links_above_files(found: &mut BTreeMap<PathBuf, PackageFile>) {
    let above: BTreeSet<PathBuf> =
        found.keys().flat_map(|path| path.ancestors().skip(1).map(Path::to_path_buf)).collect();
    found.retain(|path, _| !above.contains(path));
}
