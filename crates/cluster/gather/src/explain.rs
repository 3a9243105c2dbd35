//! What the pods of a deployment need beyond the Pod Security Standard *restricted*.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use handoff::deployment::InstanceGroup;
use kubernetes_objects::{ScriptsAs, Standard, needs};
use problem::Result;
use workload::{Pod, Settings};

/// For each group the least standard that admits its pods, and below it what needs more than *restricted*. `planned` is the output
/// directory of `plan`. Packages of other releases that jobs use are listed, too.
pub(crate) fn security(planned: &Path, scripts_as: ScriptsAs) -> Result<String> {
    let deployment = plan_output::deployment(planned)?;
    // How long an instance has to stop does not matter here.
    let settings = Settings { grace: Duration::ZERO, template_settings: Vec::new() };
    let mut report = String::new();
    for (group, info) in deployment.instance_groups.iter().zip(plan_output::groups(planned, &deployment)?) {
        add(&mut report, &Pod::new(&info, group, &settings), scripts_as);
        add_packages(&mut report, group);
    }
    Ok(report)
}

fn add(report: &mut String, pod: &Pod, scripts_as: ScriptsAs) {
    let needs = needs(pod, scripts_as);
    let least = needs.iter().map(|need| need.standard).max().unwrap_or(Standard::Restricted);
    // Writing to a String does not fail.
    let _ = writeln!(report, "{}: {}", pod.group, least.name());
    for need in needs {
        let _ = writeln!(report, "  {}: {}", need.container, need.what);
    }
}

/// The packages that are copied out of the images of other releases.
fn add_packages(report: &mut String, group: &InstanceGroup) {
    for job in &group.jobs {
        for package in &job.foreign_packages {
            let _ = writeln!(report, "  {}: package {} of release {}", job.name, package.name, package.release);
        }
    }
}
