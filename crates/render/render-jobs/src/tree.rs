//! The rendered tree: modes, the generated file, the commit.

use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use instance_group::Resolved;
use job_templates::is_installed;
use problem::{IoContext, Result};
use vcap::Vcap;
use vcap::tree::{LINK, RenderedEntry};

use crate::RenderedJob;
use crate::options::Request;

/// Writes everything at once, BPM's command included.
pub(crate) fn commit(request: &Request, group: &Resolved, jobs: Vec<RenderedJob>) -> Result<()> {
    let mut entries = vec![bpm_command(&request.root)?];
    for job in jobs.into_iter().filter(|job| is_installed(&job.name)) {
        entries.extend(package_links(&request.root, group, &job)?);
        for file in job.files {
            entries.push(RenderedEntry {
                path: format!("{}/{}", job.name, file.path),
                content: file.content,
                mode: RenderedJob::mode(&file.path),
            });
        }
    }
    let directories: Vec<String> = group.jobs.iter().map(|job| job.name.clone()).collect();
    let (_, gid) = vcap::owner::vcap_ids(&request.root);
    vcap::tree::commit(&request.output, &entries, &directories, (nix::unistd::Uid::from_raw(0), gid))
}

/// Links to the packages of a job's spec, as BOSH's agent makes them: `packages/PACKAGE` in the job's directory.
fn package_links(root: &Path, group: &Resolved, rendered: &RenderedJob) -> Result<Vec<RenderedEntry>> {
    let packages = Vcap::under(root).base().join("packages");
    let packages = std::path::absolute(&packages).io("find", &packages)?;
    let resolved = group.jobs.iter().filter(|job| job.name == rendered.name).flat_map(|job| &job.packages);
    // A template may render to the same place.
    let is_rendered = |path: &str| {
        let below = |file: &str| file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        rendered.files.iter().any(|file| below(&file.path) || file.path == "packages")
    };
    let links = resolved.map(|package| (format!("packages/{package}"), packages.join(package)));
    let links = links.filter(|(path, _)| !is_rendered(path)).map(|(path, target)| RenderedEntry {
        path: format!("{}/{path}", rendered.name),
        content: target.into_os_string().into_vec(),
        mode: LINK,
    });
    Ok(links.collect())
}

/// Scripts call BPM as `/var/vcap/jobs/bpm/bin/bpm`; it is where `install` puts boson's.
fn bpm_command(root: &Path) -> Result<RenderedEntry> {
    let program = Vcap::under(root).installed().join(Vcap::BPM);
    let program = std::path::absolute(&program).io("find", &program)?;
    Ok(RenderedEntry {
        path: format!("{0}/bin/{0}", Vcap::BPM),
        content: program.into_os_string().into_vec(),
        mode: LINK,
    })
}
