//! Everything before the first instance: job sources, plan, packages. What is wrong with the input is found here, and nothing
//! of a deployment that is up has changed by then.

use std::path::PathBuf;
use std::time::SystemTime;

use problem::{Problem, Problems, code};
use release::Release;

use crate::deployment::{self, Deployment, Group};
use crate::failure::Failure;
use crate::identities;
use crate::input::Input;
use crate::privileged::{GroupJobs, PrivilegedJobs};
use crate::publish::Publish;
use crate::release_patch;
use crate::report;
use crate::stages::{self, SourceNames};
use crate::workspace::{self, Workspace};
use compile_release::Stemcells;
use local_state::Interrupt;
use local_state::Progress;

/// A planned deployment, and what its packages are compiled with.
pub(crate) struct Plan {
    pub(crate) deployment: Deployment,
    releases: Vec<Release>,
    stemcells: Stemcells,
    started: SystemTime,
}

/// Plans the deployment in the workspace.
pub(crate) fn plan(
    input: &Input,
    workspace: &Workspace,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Plan, Failure> {
    let started = SystemTime::now();
    let releases = stages::open_releases(&input.releases, interrupt)?;
    let given = input.releases.iter().map(PathBuf::as_path);
    let stemcells = Stemcells::open(&input.stemcells, &local_state::user_dirs::cache()?, &|| interrupt.is_asked())?;
    let source_names = SourceNames::new(releases.iter().zip(given));
    release_patch::check(&input.patches, &releases)?;
    stages::copy_jobs(workspace.path(), &releases, &input.patches, progress, interrupt)?;
    // Before the packages: what is wrong with the manifest or a template is known at once, and only what jobs need is
    // compiled.
    let step = progress.step("planning");
    let previous = input.previous();
    let warnings = stages::plan(input, workspace.path(), previous.as_deref(), &source_names, interrupt)?;
    let mut deployment = Deployment::read(&workspace::documents(workspace.path()), &deployment::settings())?;
    deployment.continue_from(identities::read(previous.as_deref())?);
    deployment.source_names = source_names;
    deployment.variables = input.documents.variables.clone();
    let groups: Vec<String> =
        deployment.groups.iter().map(|group| format!("{} ({})", group.name(), group.members.len())).collect();
    step.done(&format!("planned {}: {}", deployment.name, groups.join(", ")));
    for line in warnings.lines() {
        progress.line(&line.strip_prefix(" WARN ").map_or_else(|| line.to_owned(), |text| format!("warning: {text}")));
    }
    check_publish(&input.publish, &deployment)?;
    let groups: Vec<GroupJobs> = deployment.groups.iter().map(Group::jobs).collect();
    deployment.privileged = PrivilegedJobs::allowed(&input.allow_privileged, &groups)?;
    if !sandbox::is_root() {
        deployment.privileged.groups().for_each(|group| progress.line(&report::privileged_without_root(group)));
    }
    stemcells.check_aliases(&deployment.stemcells)?;
    let jobs_src = workspace::all_releases(workspace.path()).join("jobs-src");
    if let Some(warning) = stages::lacking_tools(&deployment, &jobs_src, &stemcells) {
        progress.line(&warning);
    }
    Ok(Plan { deployment, releases, stemcells, started })
}

impl Plan {
    /// Names the packages of the deployment by their inputs, without compiling them.
    pub(crate) fn locate_packages(&mut self) -> Result<(), Failure> {
        self.deployment.packages = stages::locate(&self.releases, &self.deployment, &self.stemcells)?;
        Ok(())
    }

    /// Compiles the packages of the deployment.
    pub(crate) fn compile(
        mut self,
        input: &Input,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Result<Deployment, Failure> {
        self.deployment.packages =
            stages::compile(&self.releases, &self.deployment, &self.stemcells, progress, interrupt)?;
        // What this deployment uses has just been used, and stays.
        input.cache_limit.apply(self.started);
        Ok(self.deployment)
    }
}

fn check_publish(publish: &[Publish], deployment: &Deployment) -> Result<(), Problems> {
    let unknown = publish.iter().filter(|publish| deployment.member(&publish.instance).is_none());
    let names: Vec<&str> = deployment.members().map(|m| m.name.as_str()).collect();
    let problem = |instance: &str| {
        Problem::usage(format!("--publish: unknown instance '{instance}'"))
            .code(code::INSTANCE_UNKNOWN)
            .hint(format!("the instances are: {}", names.join(", ")))
    };
    Problems::check(unknown.map(|publish| problem(&publish.instance)).collect())
}
