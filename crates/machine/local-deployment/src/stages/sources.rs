//! Names the files of the user's releases where a stage names its copies of them.

use std::path::Path;

use problem::Problems;
use release::Release;
use serde::{Deserialize, Serialize};

/// Copies and originals.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SourceNames(Vec<(String, String)>);

impl SourceNames {
    /// The copies are where every sandbox has them; `given` is each release's directory as the user named it.
    pub(crate) fn new<'a>(releases: impl IntoIterator<Item = (&'a Release, &'a Path)>) -> SourceNames {
        SourceNames::below(Path::new("/var/vcap/all-releases"), releases)
    }

    /// As [`SourceNames::new`], of copies in this directory.
    pub(crate) fn below<'a>(base: &Path, releases: impl IntoIterator<Item = (&'a Release, &'a Path)>) -> SourceNames {
        let mut names = Vec::new();
        for (release, given) in releases {
            let copies = base.join("jobs-src").join(&release.name);
            for job in &release.jobs {
                let (copy, original) = (copies.join(&job.name), given.join("jobs").join(&job.name));
                let name = |dir: &Path, file: &str| dir.join(file).display().to_string();
                let spec = job.spec.file_name().unwrap_or_default().to_string_lossy();
                names.push((name(&copy, "job.MF"), name(&original, &spec)));
                names.push((name(&copy, ""), name(&original, "")));
            }
        }
        SourceNames(names)
    }

    /// Puts the originals' names into problems.
    pub(crate) fn restore_in(&self, mut problems: Problems) -> Problems {
        for problem in problems.iter_mut() {
            let places = problem.place.iter_mut().chain(problem.notes.iter_mut().map(|note| &mut note.place));
            let files = places.map(|place| &mut place.file);
            let texts = files.chain([&mut problem.message]).chain(&mut problem.causes).chain(&mut problem.hint);
            texts.for_each(|text| *text = self.restore(text));
        }
        problems
    }

    /// The text with the originals' names.
    pub(crate) fn restore(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (copy, original)| text.replace(copy, original))
    }
}
