//! `--output`: the pages as files.

use std::path::Path;

use problem::{Problem, Result};
use render_release::{OutputDir, OutputFile, Previews};

use crate::options::Options;
use crate::routes;
use crate::site::Site;

/// Writes all pages of the deployment; returns the exit code: that of templates that fail, which the pages show.
///
/// # Errors
/// What is wrong with the deployment, and a directory that contains something else. Nothing is written then.
pub(crate) fn write(previews: &Previews, options: &Options, directory: &Path) -> Result<u8> {
    let output = OutputDir { verb: "view", directory };
    output.check()?;
    previews.with(|preview| {
        let site = Site::new(Ok(preview?), previews, options.releases(), None);
        let mut problems: Vec<Problem> = Vec::new();
        for name in site.instance_names() {
            match site.instance(&name).as_ref() {
                Ok(instance) => problems.extend(instance.problems.iter().cloned()),
                Err(found) => problems.extend(found.iter().cloned()),
            }
        }
        let files = site.paths().into_iter().filter_map(|path| {
            let page = routes::page(&site, &path, false)?;
            Some(OutputFile { path, content: page.body.into_bytes().into(), mode: 0o644 })
        });
        output.write(files)?;
        // Instances of a group mostly have the same.
        problems.dedup();
        let Err(problems) = problem::Problems::check(problems) else { return Ok(0) };
        startup::print(&problems);
        Ok(problems.exit_code())
    })
}
