//! Compiling the packages that the deployment's jobs need.

use std::collections::BTreeSet;

use problem::{Problem, Problems, code};
use release::{Compiler, Progress as CompileProgress, Release};

use crate::compile::{Count, Sandboxed};
use crate::engine::deployment::{Deployment, Group};
use crate::engine::failure::Failure;
use crate::engine::packages::Packages;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::state;

/// Compiles what the jobs of the deployment need, as far as it is not in the user's cache.
pub(crate) fn compile(
    releases: &[Release],
    deployment: &Deployment,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Packages, Failure> {
    let step = progress.step("compiling packages");
    let cache = state::cache()?;
    let count = Count::default();
    let report = |event: CompileProgress| count.report(&step, progress, event);
    let runner = Sandboxed::new(interrupt);
    let compiler = Compiler::new(&cache, &runner, &report);
    let (mut packages, mut problems) = (Packages::default(), Vec::new());
    for release in releases {
        let jobs: Vec<_> = release.jobs.iter().filter(|job| is_used(deployment, &release.name, &job.name)).collect();
        let wanted: BTreeSet<&str> = jobs.iter().flat_map(|job| job.packages.iter().map(String::as_str)).collect();
        let compiled = compiler.compile(release, &wanted.into_iter().collect::<Vec<_>>());
        if interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(found) => {
                problems.extend(found.into_vec());
                continue;
            }
        };
        for job in jobs {
            let own = compiled.iter().filter(|package| job.packages.contains(&package.name));
            let own = own.map(|package| (package.name.clone(), package.dir.clone())).collect();
            packages.add(&release.name, &job.name, own);
        }
    }
    Problems::check(problems)?;
    Problems::check(deployment.groups.iter().flat_map(|group| collisions(&packages, group)).collect())?;
    step.done(&count.to_string());
    Ok(packages)
}

fn is_used(deployment: &Deployment, release: &str, job: &str) -> bool {
    deployment.groups.iter().flat_map(|group| &group.pod.jobs).any(|j| j.release == release && j.name == job)
}

/// Two packages of one name cannot both be `/var/vcap/packages/<name>`; BOSH refuses that too.
fn collisions(packages: &Packages, group: &Group) -> Vec<Problem> {
    let all = packages.of(&group.pod.jobs);
    let twice = all.iter().zip(all.iter().skip(1)).filter(|(a, b)| a.0 == b.0);
    twice
        .map(|((name, _), _)| {
            let message = format!("instance group {} needs two different packages named {name}", group.name());
            Problem::input(message).code(code::PACKAGE_CONFLICT).hint("move one of the jobs to another instance group")
        })
        .collect()
}
