//! Compiling the packages that the deployment's jobs need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use problem::{Problem, Problems, code};
use release::{CompiledPackage, Compiler, Progress as CompileProgress, Release, Stemcell};

use crate::deployment::{Deployment, Group};
use crate::failure::Failure;
use crate::packages::{Packages, Programs};
use compile_release::Stemcells;
use compile_release::{Count, Sandboxed};
use local_state::Interrupt;
use local_state::Progress;

/// Compiles what the jobs of the deployment need, each group's on its stemcell, as far as it is not in the user's cache.
pub(crate) fn compile(
    releases: &[Release],
    deployment: &Deployment,
    stemcells: &Stemcells,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Packages, Failure> {
    let step = progress.step("compiling packages");
    let count = Count::default();
    let report = |event: CompileProgress| count.report(&step, progress, event);
    let packages = of_deployment(releases, deployment, stemcells, interrupt, &report, |compiler, release, wanted| {
        compiler.compile(release, wanted)
    })?;
    step.done(&count.to_string());
    Ok(packages)
}

/// As [`compile`], but compiles nothing: the directories of packages that are not in the cache do not exist.
pub(crate) fn locate(
    releases: &[Release],
    deployment: &Deployment,
    stemcells: &Stemcells,
) -> Result<Packages, Failure> {
    of_deployment(releases, deployment, stemcells, &Interrupt::default(), &|_| {}, |compiler, release, wanted| {
        compiler.locate(release, wanted)
    })
}

/// Compiles or locates packages of a release.
type Get = fn(&Compiler, &Release, &[&str]) -> problem::Result<Vec<CompiledPackage>>;

fn of_deployment(
    releases: &[Release],
    deployment: &Deployment,
    stemcells: &Stemcells,
    interrupt: &Interrupt,
    report: &(dyn Fn(CompileProgress) + Sync),
    get: Get,
) -> Result<Packages, Failure> {
    let cache = local_state::user_dirs::cache()?;
    // Groups with the same base share their packages.
    let mut bases: BTreeMap<Option<&str>, (Option<&Stemcell>, Vec<&Group>)> = BTreeMap::new();
    for group in &deployment.groups {
        let base = stemcells.of(group.stemcell.as_deref());
        bases.entry(base.map(|base| base.id.as_str())).or_insert((base, Vec::new())).1.push(group);
    }
    let (mut packages, mut problems) = (Packages::default(), Vec::new());
    for (id, (base, groups)) in bases {
        let runner = Sandboxed::new(interrupt, base);
        let compiler = Compiler::new(&cache, &runner, report).on(id);
        let mut of_jobs = PackagesOfJobs::new();
        for release in releases {
            let compiled = of_release(release, &groups, &compiler, get, &mut of_jobs);
            if interrupt.is_asked() {
                return Err(Failure::Interrupted);
            }
            problems.extend(compiled.err().into_iter().flat_map(Problems::into_vec));
        }
        for group in groups {
            let jobs = group.pod.jobs.iter().filter_map(|job| of_jobs.get(&(&job.release, &job.name)));
            let base = base.map(|base| base.dir.clone());
            packages.add(group.name(), Programs { base, packages: jobs.flatten().cloned().collect() });
        }
    }
    Problems::check(problems)?;
    Problems::check(deployment.groups.iter().flat_map(|group| collisions(&packages, group)).collect())?;
    Ok(packages)
}

/// Name and directory of each package, by release and job.
type PackagesOfJobs<'a> = BTreeMap<(&'a str, &'a str), Vec<(String, PathBuf)>>;

/// Gets what the jobs of these groups need of a release.
fn of_release<'a>(
    release: &'a Release,
    groups: &[&Group],
    compiler: &Compiler,
    get: Get,
    packages: &mut PackagesOfJobs<'a>,
) -> Result<(), Problems> {
    let all = || groups.iter().flat_map(|group| &group.pod.jobs);
    let is_used = |job: &&release::Job| all().any(|j| j.release == release.name && j.name == job.name);
    let jobs: Vec<_> = release.jobs.iter().filter(is_used).collect();
    let wanted: BTreeSet<&str> = jobs.iter().flat_map(|job| job.packages.iter().map(String::as_str)).collect();
    let compiled = get(compiler, release, &wanted.into_iter().collect::<Vec<_>>())?;
    for job in jobs {
        let own = compiled.iter().filter(|package| job.packages.contains(&package.name));
        let own = own.map(|package: &CompiledPackage| (package.name.clone(), package.dir.clone()));
        packages.insert((&release.name, &job.name), own.collect());
    }
    Ok(())
}

/// Two packages of one name cannot both be `/var/vcap/packages/<name>`; BOSH refuses that too.
fn collisions(packages: &Packages, group: &Group) -> Vec<Problem> {
    let all = packages.of(group.name()).packages;
    let twice = all.iter().zip(all.iter().skip(1)).filter(|(a, b)| a.0 == b.0);
    twice
        .map(|((name, _), _)| {
            let message = format!("instance group {} needs two different packages named {name}", group.name());
            Problem::input(message).code(code::PACKAGE_CONFLICT).hint("move one of the jobs to another instance group")
        })
        .collect()
}
