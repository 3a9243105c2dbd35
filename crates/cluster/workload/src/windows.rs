//! Jobs for Windows: they are planned and rendered, and cannot run.

use handoff::bpm_info::BpmInfo;
use problem::{Problem, Problems, Result, code};

/// Checks that the jobs of all groups can run in instances of Linux.
///
/// # Errors
/// Each job for Windows.
pub fn check_platform<'i>(infos: impl IntoIterator<Item = &'i BpmInfo>) -> Result<()> {
    let problems = infos.into_iter().flat_map(|info| {
        let group = info.group();
        group.jobs.iter().filter(|job| job.properties.quarks.for_windows).map(|job| {
            Problem::input(format!("job '{}' of instance group '{}' is for Windows", job.name, group.name))
                .code(code::JOB_FOR_WINDOWS)
                .hint("instances are Linux: remove the group, or set its instances to 0, to run the other groups")
        })
    });
    Problems::check(problems.collect())
}
