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
        // The pages of an instance follow one another: it is rendered once.
        let of_instances = site.instance_names().into_iter().flat_map(|name| {
            let instance = site.instance(&name);
            let found: Vec<&Problem> = match instance.as_ref() {
                Ok(instance) => instance.problems.iter().collect(),
                Err(found) => found.iter().collect(),
            };
            for problem in found {
                // Instances of a group mostly have the same.
                if !problems.contains(problem) {
                    problems.push(problem.clone());
                }
            }
            site.paths_of(&name)
        });
        let paths = routes::COMMON.map(str::to_owned).into_iter().chain(of_instances);
        let files = paths.filter_map(|path| {
            let page = routes::page(&site, &path, false)?;
            Some(OutputFile { path, content: page.body.into_bytes().into(), mode: 0o644 })
        });
        output.write(files)?;
        let Err(problems) = problem::Problems::check(problems) else { return Ok(0) };
        startup::print(&problems);
        Ok(problems.exit_code())
    })
}
