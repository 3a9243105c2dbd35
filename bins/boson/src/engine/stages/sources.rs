//! Names the files of the user's releases where a stage names its copies of them.

use std::path::Path;

use release::Release;
use serde::{Deserialize, Serialize};

/// Copies and originals.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SourceNames(Vec<(String, String)>);

impl SourceNames {
    /// The copies are where every sandbox has them; `given` is each release's directory as the user named it.
    pub(crate) fn new<'a>(releases: impl IntoIterator<Item = (&'a Release, &'a Path)>) -> SourceNames {
        let mut names = Vec::new();
        for (release, given) in releases {
            let copies = Path::new("/var/vcap/all-releases/jobs-src").join(&release.name);
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

    /// The text with the originals' names.
    pub(crate) fn restore(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (copy, original)| text.replace(copy, original))
    }
}
