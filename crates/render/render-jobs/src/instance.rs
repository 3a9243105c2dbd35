//! The files of one instance, in memory.

use std::collections::BTreeSet;

use bpm::Overlay;
use dialect_erb::{Renderer, Unit};
use instance_group::{Instance, Resolved, ResolvedJob};
use job_templates::{LINKS_JSON, Template, is_installed, links_json};
use jobs_src::JobsSrc;
use problem::Result;
use ruby::Vm;
use template::RenderedFile;

use crate::failed::{self, Failed};
use crate::sources;

/// Where BPM looks for a job's configuration, below the job's directory.
pub const BPM_YML: &str = "config/bpm.yml";
/// What BOSH calls the file of a job that monit reads.
const MONIT: &str = "monit";

/// Whether what the manifest changes in a job's `bpm.yml` decides about this file: processes that it adds are unknown to `monit`.
pub fn depends_on_overlay(path: &str) -> bool {
    [BPM_YML, MONIT].contains(&path)
}

/// The rendered files of one job.
pub struct RenderedJob {
    /// The job's name.
    pub name: String,
    /// Its files.
    pub files: Vec<RenderedFile>,
}

impl RenderedJob {
    /// The permission bits of a file, from its path below the job's directory. BOSH's agent: everything 0640, but `bin/` 0750,
    /// whatever the modes of the sources.
    pub fn mode(path: &str) -> u32 {
        if path.starts_with("bin/") { 0o750 } else { 0o640 }
    }
}

/// The templates of a resolved instance group, and what renders them.
pub struct InstanceFiles<'a> {
    vm: &'a Vm,
    renderer: &'a Renderer,
    jobs_src: &'a JobsSrc,
    group: &'a Resolved,
    /// The templates of each job.
    jobs: Vec<Vec<Template>>,
}

impl<'a> InstanceFiles<'a> {
    /// Reads the templates of all jobs of a group.
    ///
    /// # Errors
    /// Everything that is wrong with any of them.
    pub fn read(
        vm: &'a Vm,
        renderer: &'a Renderer,
        jobs_src: &'a JobsSrc,
        group: &'a Resolved,
    ) -> Result<InstanceFiles<'a>> {
        let jobs = sources::read(vm, group, jobs_src)?;
        Ok(InstanceFiles { vm, renderer, jobs_src, group, jobs })
    }

    /// The files that an instance has, as job and path below the job's directory, without rendering them. What the manifest
    /// changes in a `bpm.yml` may add that file to a job, and remove `monit`: those jobs are in the second result.
    pub fn names(&self) -> (BTreeSet<(String, String)>, Vec<String>) {
        let mut names = BTreeSet::new();
        let mut changed = Vec::new();
        for (job, templates) in self.installed() {
            let destinations = templates.iter().map(|template| template.destination.as_str()).chain([LINKS_JSON]);
            names.extend(destinations.map(|path| (job.name.clone(), path.to_owned())));
            if job.bpm_overlay.is_some() {
                changed.push(job.name.clone());
            }
        }
        (names, changed)
    }

    fn installed(&self) -> impl Iterator<Item = (&ResolvedJob, &Vec<Template>)> {
        self.group.jobs.iter().zip(&self.jobs).filter(|(job, _)| is_installed(&job.name))
    }

    /// Renders the files of an instance that `is_chosen` accepts, by job and path below the job's directory; `ip` is the
    /// instance's address.
    ///
    /// # Errors
    /// The report about all templates that fail, in BOSH's layout.
    pub fn render(
        &self,
        instance: &Instance,
        ip: Option<&str>,
        is_chosen: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<RenderedJob>> {
        let (jobs, failed) = self.render_all(instance, ip, is_chosen)?;
        if failed.is_empty() {
            return Ok(jobs);
        }
        Err(failed::report_of(self.vm, self.jobs_src, self.group, &self.jobs, &failed))
    }

    /// As [`InstanceFiles::render`], without the files whose templates fail.
    ///
    /// # Errors
    /// A `bpm.yml` that cannot be changed as the manifest wants it.
    pub fn render_what_renders(
        &self,
        instance: &Instance,
        ip: Option<&str>,
        is_chosen: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<RenderedJob>> {
        Ok(self.render_all(instance, ip, is_chosen)?.0)
    }

    /// The files that render, and the templates that fail.
    fn render_all(
        &self,
        instance: &Instance,
        ip: Option<&str>,
        is_chosen: impl Fn(&str, &str) -> bool,
    ) -> Result<(Vec<RenderedJob>, Vec<Failed>)> {
        // The job of each context, and job and template of each unit.
        let (mut contexts, mut of_contexts, mut units, mut origins) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let group = self.group;
        for (j, (job, templates)) in group.jobs.iter().zip(&self.jobs).enumerate() {
            let is_read = |path: &str| job.bpm_overlay.is_some() && depends_on_overlay(path);
            let identity = group.instance(&job.name, instance.index, instance.az.clone());
            let context = contexts.len();
            for (t, template) in templates.iter().enumerate() {
                let path = template.destination.as_str();
                if is_read(path) || is_chosen(&job.name, path) {
                    units.push(Unit::new(context, &job.name, &template.source));
                    origins.push((j, t));
                }
            }
            if units.last().is_some_and(|unit| unit.context == context) {
                contexts.push(group.spec(job, &identity, ip));
                of_contexts.push(job);
            }
        }
        let mut rendered: Vec<Vec<RenderedFile>> = group.jobs.iter().map(|_| Vec::new()).collect();
        let mut failed: Vec<Failed> = Vec::new();
        let defaults = |unit: &Unit| sources::defaults(self.vm, self.jobs_src, of_contexts[unit.context]);
        let results = self.renderer.render(&contexts, &units, &defaults)?;
        for ((job, template), result) in origins.into_iter().zip(results) {
            match result {
                Ok(content) => {
                    let path = self.jobs[job][template].destination.clone();
                    rendered[job].push(RenderedFile { path, content: content.to_vec() });
                }
                // BOSH renders monit first, and where it fails none of the job's templates.
                Err(_) if failed.iter().any(|f| f.job == job && self.jobs[job][f.template].is_monit()) => {}
                Err(failure) => failed.push(Failed { job, template, failure }),
            }
        }
        let mut jobs = Vec::new();
        for (job, mut files) in group.jobs.iter().zip(rendered) {
            overlay(job, &mut files)?;
            files.push(RenderedFile { path: LINKS_JSON.into(), content: links_json(&job.provides) });
            files.retain(|file| is_chosen(&job.name, &file.path));
            jobs.push(RenderedJob { name: job.name.clone(), files });
        }
        Ok((jobs, failed))
    }
}

/// Changes the `bpm.yml` of a job as the manifest wants it. Processes that the manifest adds are unknown to `monit`, which then
/// has no say.
fn overlay(job: &ResolvedJob, files: &mut Vec<RenderedFile>) -> Result<()> {
    let Some(overlay) = &job.bpm_overlay else { return Ok(()) };
    let rendered = files.iter().position(|file| file.path == BPM_YML);
    let text = rendered.map(|index| files[index].content.as_slice());
    let path = format!("{BPM_YML} of job '{}'", job.name);
    let Some(overlaid) = Overlay::decode(overlay)?.apply(text, &path, &job.name)? else { return Ok(()) };
    match rendered {
        Some(index) => files[index].content = overlaid.text,
        None => files.push(RenderedFile { path: BPM_YML.to_owned(), content: overlaid.text }),
    }
    if overlaid.has_added {
        files.retain(|file| file.path != MONIT);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_bin_is_executable() {
        let mode = RenderedJob::mode;
        assert_eq!((mode("bin/a"), mode("config/bin/a"), mode("x")), (0o750, 0o640, 0o640));
    }
}
