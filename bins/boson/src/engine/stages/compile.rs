//! Compiling the packages that the deployment's jobs need.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use problem::{IoContext, Problem, Problems};
use release::{CompileStep, Compiler, Progress as Told, Runner, SourceRelease};
use sandbox::{Bind, Command, InstanceSpec, Once, Stdio};

use crate::engine::deployment::{Deployment, Group};
use crate::engine::failure::Failure;
use crate::engine::interrupt::Interrupt;
use crate::progress::{Progress, Step};
use crate::state;

/// The compiled packages of every job: name and directory, by release and job.
#[derive(Debug, Default)]
pub(crate) struct Packages(BTreeMap<(String, String), Vec<(String, PathBuf)>>);

impl Packages {
    /// The packages of a group's instances.
    pub(crate) fn of(&self, group: &Group) -> Vec<(String, PathBuf)> {
        let jobs = group.info().jobs.iter();
        let packages = jobs.filter_map(|job| self.0.get(&(job.release.clone(), job.name.clone()))).flatten();
        packages.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Compiles what the jobs of the deployment need, as far as it is not in the user's cache.
pub(crate) fn compile(
    releases: &[SourceRelease],
    deployment: &Deployment,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Packages, Failure> {
    let step = progress.step("compiling packages");
    let cache = state::cache()?;
    let count = std::cell::Cell::new((0, 0));
    let tell = |told: Told| told_of(&step, progress, &count, told);
    let runner = Sandboxed { interrupt: interrupt.clone() };
    let compiler = Compiler::new(&cache, &runner, &tell);
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
            packages.0.insert((release.name.clone(), job.name.clone()), own);
        }
    }
    Problems::check(problems)?;
    Problems::check(deployment.groups.iter().flat_map(|group| collisions(&packages, group)).collect())?;
    let (new, cached) = count.get();
    step.done(&format!("packages: {new} compiled, {cached} from the cache"));
    Ok(packages)
}

fn told_of(step: &Step, progress: &Progress, count: &std::cell::Cell<(u32, u32)>, told: Told) {
    let (new, cached) = count.get();
    match told {
        Told::Started { package } => step.at(format!("compiling {package}")),
        Told::Finished { package, took } => {
            count.set((new + 1, cached));
            progress.line(&format!("  compiled {package} ({:.1} s)", took.as_secs_f64()));
        }
        Told::Cached { .. } => count.set((new, cached + 1)),
    }
}

fn is_used(deployment: &Deployment, release: &str, job: &str) -> bool {
    deployment.groups.iter().flat_map(|group| &group.info().jobs).any(|j| j.release == release && j.name == job)
}

/// Two packages of one name cannot both be `/var/vcap/packages/<name>`; BOSH refuses that too.
fn collisions(packages: &Packages, group: &Group) -> Vec<Problem> {
    let all = packages.of(group);
    let twice = all.iter().zip(all.iter().skip(1)).filter(|(a, b)| a.0 == b.0);
    twice
        .map(|((name, _), _)| {
            let message = format!("instance group {} needs two different packages named {name}", group.name());
            Problem::input(message).hint("move one of the jobs to another instance group")
        })
        .collect()
}

/// Runs a package's scripts where they see what they see on a compilation VM.
struct Sandboxed {
    interrupt: Interrupt,
}

impl Runner for Sandboxed {
    fn run(&self, step: &CompileStep) -> problem::Result<u8> {
        let cannot =
            |e: io::Error| Problem::internal(format!("cannot compile {} in a sandbox", step.package)).because(e);
        let (compile, install) = (step.compile_target(), step.install_target());
        let command = Command {
            argv: step.argv(),
            env: step.env(&compile, &install),
            directory: compile,
            stdio: Stdio::to_file(step.log.try_clone().map_err(cannot)?).map_err(cannot)?,
        };
        let sandbox = Arc::new(Once::start(specification(step)?).map_err(cannot)?);
        let to_end = Arc::clone(&sandbox);
        let guard = self.interrupt.guard(move || to_end.kill());
        let exit = sandbox.run(command).map_err(cannot)?;
        drop(guard);
        Ok(exit.code())
    }

    fn remove(&self, dir: &Path) -> io::Result<()> {
        sandbox::remove_tree(dir)
    }
}

fn specification(step: &CompileStep) -> problem::Result<InstanceSpec> {
    let (vcap, mount_point) = (step.scratch_dir.join("vcap"), step.scratch_dir.join("root"));
    for dir in [&vcap, &mount_point] {
        fs::create_dir_all(dir).io("make", dir)?;
    }
    let bind = |source: &Path, target: PathBuf, read_only| Bind { source: source.to_path_buf(), target, read_only };
    let mut binds = vec![
        bind(step.compile_dir, step.compile_target(), false),
        bind(step.install_dir, step.install_target(), false),
        // `pre_packaging` is told where it is.
        bind(step.release_dir, step.release_dir.to_path_buf(), true),
    ];
    binds.extend(step.dependency_targets().map(|(target, source)| bind(source, target, true)));
    Ok(InstanceSpec {
        name: step.package.to_owned(),
        hostname: "compilation".to_owned(),
        address: None,
        mount_point,
        vcap,
        hosts: None,
        memory: Vec::new(),
        binds,
        executable_names: Vec::new(),
    })
}
