//! Handing a version of a deployment from the boson that prepared it to the one that holds the deployment.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use problem::{IoContext, Problem, Result as Outcome, code};
use sandbox::Channel;
use serde::{Deserialize, Serialize};

use crate::deploy;
use crate::deployment::{self, Deployment, Generation};
use crate::executable::INSTANCE_VERBS;
use crate::failure::Failure;
use crate::packages::Packages;
use crate::publish::Publish;
use crate::running::RunningDeployment;
use crate::stages::SourceNames;
use crate::workspace;
use local_state::Connection;
use local_state::Interrupt;
use local_state::Progress;
use local_state::StateDir;
use local_state::control::{Deploy, Request};
use local_state::output;

/// What the documents of `plan` do not have.
#[derive(Debug, Deserialize)]
struct Supplement {
    packages: Packages,
    source_names: SourceNames,
    publish: Vec<Publish>,
}

/// The same, to be written.
#[derive(Debug, Serialize)]
struct SupplementOf<'a> {
    packages: &'a Packages,
    source_names: &'a SourceNames,
    publish: &'a [Publish],
}

fn supplement(workspace: &Path) -> std::path::PathBuf {
    workspace.join("supplement.json")
}

/// Asks the boson at the other end of the connection to bring a version up; returns the exit code, or `None` if that boson
/// has ended without taking the request.
pub(crate) fn ask(
    connection: &Connection,
    workspace: &Path,
    deployment: &Deployment,
    publish: &[Publish],
    roll_back: bool,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Outcome<Option<u8>> {
    let path = supplement(workspace);
    let Deployment { packages, source_names, .. } = deployment;
    let text = serde_json::to_string(&SupplementOf { packages, source_names, publish })
        .map_err(|e| Problem::internal("cannot hand the plan over").because(e))?;
    fs::write(&path, text).io("write", &path)?;
    let version = startup::version().to_string();
    let request = Request::Deploy(Deploy { version, workspace: workspace.to_path_buf(), roll_back });
    connection.ask(&request, &[])?;
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

/// Brings the version up that another boson has prepared.
pub(crate) fn take(running: &RunningDeployment, request: &Deploy, follower: &Arc<Channel>) -> Result<(), Failure> {
    let own = startup::version().to_string();
    if request.version != own {
        let message = format!("the deployment is held by boson {own}, this is boson {}", request.version);
        let problem = Problem::input(message).code(code::DOCUMENT_VERSION);
        return Err(problem.hint("boson down stops the deployment; its persistent disks stay").into());
    }
    let path = supplement(&request.workspace);
    let text = fs::read_to_string(&path).io("read", &path)?;
    let Supplement { packages, source_names, publish } =
        serde_json::from_str(&text).map_err(|e| Problem::internal("cannot read the plan").because(e))?;
    let mut deployment = Deployment::read(&workspace::documents(&request.workspace), &deployment::settings())?;
    deployment.packages = packages;
    deployment.source_names = source_names;
    deployment.generation = install(&running.host.dir, &request.workspace)?;
    running.host.progress.follow(Some(Arc::clone(follower)));
    let result = deploy::redeploy(running, deployment, &publish, request.roll_back);
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
