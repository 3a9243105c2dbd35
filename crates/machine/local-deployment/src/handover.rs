//! Handing a version of a deployment from the boson that prepared it to the one that holds the deployment.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use manifest_inputs::VariableTexts;
use problem::{IoContext, Problem, Result as Outcome, code};
use sandbox::Channel;
use serde::{Deserialize, Serialize};

use crate::deploy;
use crate::deployment::{self, Deployment, Generation};
use crate::executable::INSTANCE_VERBS;
use crate::failure::Failure;
use crate::input::Input;
use crate::packages::Packages;
use crate::privileged::PrivilegedJobs;
use crate::publish::Publish;
use crate::running::RunningDeployment;
use crate::stages::SourceNames;
use crate::workspace;
use local_state::Connection;
use local_state::Interrupt;
use local_state::Progress;
use local_state::StateDir;
use local_state::control::{Deploy, Replace, Request};
use local_state::output;

/// What the documents of `plan` do not have.
#[derive(Debug, Deserialize)]
struct Supplement {
    packages: Packages,
    source_names: SourceNames,
    privileged: PrivilegedJobs,
    publish: Vec<Publish>,
    variables: VariableTexts,
}

/// The same, to be written.
#[derive(Debug, Serialize)]
struct SupplementOf<'a> {
    packages: &'a Packages,
    source_names: &'a SourceNames,
    privileged: &'a PrivilegedJobs,
    publish: &'a [Publish],
    variables: &'a VariableTexts,
}

fn supplement(workspace: &Path) -> std::path::PathBuf {
    workspace.join("supplement.json")
}

/// How a version is brought up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Whether a failure brings the version before up again.
    pub(crate) roll_back: bool,
    /// Whether instances that are replaced or removed stop without pre-stop and drain.
    pub(crate) skip_drain: bool,
    /// Which of the instances that exist are replaced.
    pub(crate) replace: Replace,
}

impl Options {
    /// Those of a run.
    pub(crate) fn new(input: &Input) -> Options {
        Options { roll_back: input.roll_back, skip_drain: input.skip_drain, replace: input.replace }
    }

    /// The request to bring up the version in a workspace.
    pub(crate) fn request(self, workspace: &Path) -> Deploy {
        let Options { roll_back, skip_drain, replace } = self;
        let version = startup::version().to_string();
        Deploy { version, workspace: workspace.to_path_buf(), roll_back, skip_drain, replace }
    }
}

/// Asks the boson at the other end of the connection to bring a version up; returns the exit code, or `None` if that boson
/// has ended without taking the request.
pub(crate) fn ask(
    connection: &Connection,
    workspace: &Path,
    deployment: &Deployment,
    publish: &[Publish],
    options: Options,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Outcome<Option<u8>> {
    write(workspace, deployment, publish)?;
    connection.ask(&Request::Deploy(options.request(workspace)), &[])?;
    let to_end = connection.channel()?;
    let guard = interrupt.guard(move || to_end.shut_down());
    let code = connection.follow_if_answered(|line| progress.line(line), |text| output::error(&text));
    drop(guard);
    if interrupt.is_asked() {
        output::error("the update goes on; boson status shows it, boson down stops everything");
        return Ok(Some(130));
    }
    code
}

/// Writes what the documents of `plan` in the workspace do not have.
pub(crate) fn write(workspace: &Path, deployment: &Deployment, publish: &[Publish]) -> Outcome<()> {
    let path = supplement(workspace);
    let Deployment { packages, source_names, privileged, variables, .. } = deployment;
    let text = serde_json::to_string(&SupplementOf { packages, source_names, privileged, publish, variables })
        .map_err(|e| Problem::internal("cannot hand the plan over").because(e))?;
    fs::write(&path, text).io("write", &path)
}

/// Reads the version that another boson, of this version, has prepared; its job sources are where that boson has them.
pub(crate) fn read(version: &str, workspace: &Path) -> Outcome<(Deployment, Vec<Publish>)> {
    let own = startup::version().to_string();
    if version != own {
        let message = format!("the deployment is held by boson {own}, this is boson {version}");
        let problem = Problem::input(message).code(code::DOCUMENT_VERSION);
        return Err(problem.hint("boson down stops the deployment; its persistent disks stay").into());
    }
    let path = supplement(workspace);
    let text = fs::read_to_string(&path).io("read", &path)?;
    let Supplement { packages, source_names, privileged, publish, variables } =
        serde_json::from_str(&text).map_err(|e| Problem::internal("cannot read the plan").because(e))?;
    let mut deployment = Deployment::read(&workspace::documents(workspace), &deployment::settings())?;
    deployment.packages = packages;
    deployment.source_names = source_names;
    deployment.privileged = privileged;
    deployment.variables = variables;
    Ok((deployment, publish))
}

/// Brings the version up that another boson has prepared.
pub(crate) fn take(running: &RunningDeployment, request: &Deploy, follower: &Arc<Channel>) -> Result<(), Failure> {
    let (mut deployment, publish) = read(&request.version, &request.workspace)?;
    deployment.generation = install(&running.host.dir, &request.workspace)?;
    running.host.progress.follow(Some(Arc::clone(follower)));
    running.skip_drain(request.skip_drain);
    let result = deploy::redeploy(running, deployment, &publish, request.roll_back, request.replace);
    running.skip_drain(false);
    if result.is_ok() {
        running.host.progress.line(&format!("{} is up", running.deployment().name));
    }
    running.host.progress.follow(None);
    result
}

/// Copies the job sources of a workspace to where instances see them.
pub(crate) fn install(dir: &StateDir, workspace: &Path) -> Outcome<Generation> {
    let parent = dir.generations();
    let path = tempfile::Builder::new().tempdir_in(&parent).io("make a directory in", &parent)?.keep();
    let generation = Generation::new(path.clone());
    let to = path.join("all-releases");
    deploy::copy_tree(&workspace::all_releases(workspace), &to).io("copy the job sources to", &to)?;
    install_executables(&to)?;
    Ok(generation)
}

/// The tree that instances see as `/var/vcap/all-releases`, as far as it does not come from releases: where `install`
/// puts executables in a pod, there are links to those of the sandbox.
fn install_executables(all_releases: &Path) -> Outcome<()> {
    let installed = all_releases.join(".boson/bin");
    local_state::user_dirs::make_private(&installed)?;
    let inside = Path::new(sandbox::EXECUTABLE).with_file_name("");
    for name in INSTANCE_VERBS {
        let link = installed.join(name);
        std::os::unix::fs::symlink(inside.join(name), &link).io("make", &link)?;
    }
    Ok(())
}
