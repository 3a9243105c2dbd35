//! Links of a release's `jobs` directory to other places of the release, as `shared_job_templates` has them: what they stand for
//! is copied in their place.

use std::fs;
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result, code};

use crate::item::{Item, Kind, kind_of};

/// What the link at `path` below `root` stands for, which lies in the directory `release`.
pub(crate) fn items(release: &Path, root: &Path, path: &Path) -> Result<Vec<Item>> {
    let link = root.join(path);
    let mut collector = Collector { release, link: &link, above: Vec::new(), found: Vec::new() };
    collector.add(path, &link)?;
    Ok(collector.found)
}

struct Collector<'a> {
    release: &'a Path,
    /// The link, for messages.
    link: &'a Path,
    /// The directories in which the current place is.
    above: Vec<PathBuf>,
    found: Vec<Item>,
}

impl Collector<'_> {
    /// Adds `source` as `path`.
    fn add(&mut self, path: &Path, source: &Path) -> Result<()> {
        let real = fs::canonicalize(source).map_err(|e| self.refused(&format!("{}: {e}", source.display())))?;
        if !real.starts_with(self.release) {
            let what = format!("{} is not in the release {}", real.display(), self.release.display());
            return Err(self.refused(&what).hint("copy it into the release").into());
        }
        let kind = kind_of(fs::metadata(&real).io("read", &real)?.file_type(), &real)?;
        if !matches!(kind, Kind::Dir) {
            self.found.push(Item { path: path.to_path_buf(), kind: Kind::FileOf(real) });
            return Ok(());
        }
        if self.above.contains(&real) {
            return Err(self.refused(&format!("{} contains itself", real.display())).into());
        }
        self.found.push(Item { path: path.to_path_buf(), kind: Kind::DirOf(real.clone()) });
        self.above.push(real.clone());
        for entry in fs::read_dir(&real).io("read", &real)? {
            let name = entry.io("read", &real)?.file_name();
            self.add(&path.join(&name), &real.join(&name))?;
        }
        self.above.pop();
        Ok(())
    }

    fn refused(&self, what: &str) -> Problem {
        Problem::input(format!("cannot copy what the link {} stands for: {what}", self.link.display()))
            .code(code::RELEASE_INVALID)
    }
}
