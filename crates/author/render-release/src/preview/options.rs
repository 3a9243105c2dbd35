//! The command line of a preview.

use std::path::PathBuf;

use clap::Args;
use problem::Problem;

use crate::options::ReadingOptions;

/// The deployment of a preview.
#[derive(Debug, Args)]
pub struct PreviewOptions {
    /// The deployment manifest
    #[arg(long, short, env = "BOSH_MANIFEST_PATH", value_name = "FILE")]
    pub manifest: PathBuf,
    /// A release: its source directory, an archive made by bosh, or the jobs-src of its image; once for each
    #[arg(long = "release", short, env = "BOSON_RELEASE", value_name = "[NAME=]PATH", required = true)]
    pub releases: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingOptions,
}

impl PreviewOptions {
    /// Adds what is wrong without reading a file.
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        // It is read several times.
        if self.manifest.as_os_str() == "-" {
            problems.push(Problem::usage("the manifest must be a file, not standard input"));
        }
    }

    /// Every file that is read beside the releases.
    pub(crate) fn input_files(&self) -> impl Iterator<Item = PathBuf> {
        [self.manifest.clone()]
            .into_iter()
            .chain(self.reading.inputs.files())
            .chain(self.reading.configs.files().cloned())
    }
}
