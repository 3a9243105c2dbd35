//! What an update would change, before it is made.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use deployment_diff::Supplement;
use problem::{IoContext, Problem, Result as Outcome};
use serde::{Deserialize, Serialize};

use crate::addresses::Addresses;
use crate::failure::Failure;
use crate::input::Input;
use crate::packages::Packages;
use crate::prepare::Plan;
use crate::privileged::PrivilegedJobs;
use crate::running::RunningDeployment;
use crate::stages::{self, Comparison};
use crate::workspace::{self, Workspace};
use crate::{deploy, handover};
use local_state::control::{Deploy, Request};
use local_state::{Connection, Interrupt, Progress, output};
use manifest_inputs::VariableTexts;

/// Whether an update is shown before it is made.
pub enum Preview<'a> {
    /// It is made at once.
    No,
    /// It is shown, and not made.
    DryRun,
    /// An update of a deployment that is up is shown, and made if the function returns true.
    Ask(&'a mut dyn FnMut() -> Outcome<bool>),
}

/// What the boson that holds the deployment writes for the one that asks, beside the documents of its version.
#[derive(Serialize, Deserialize)]
struct Answer {
    /// Instances that are replaced.
    replaced: Vec<String>,
    /// Those of them whose last start was not complete.
    incomplete: Vec<String>,
    packages: Packages,
    privileged: PrivilegedJobs,
    variables: VariableTexts,
    all_releases: PathBuf,
}

/// Writes what the version in a workspace would change.
pub(crate) fn write(running: &RunningDeployment, request: &Deploy) -> Result<(), Failure> {
    let (mut target, _) = handover::read(&request.version, &request.workspace)?;
    let current = running.deployment();
    let taken: BTreeMap<_, _> = current.members().map(|member| (member.name.clone(), member.ip)).collect();
    target.assign(&mut Addresses::new(taken))?;
    let existing: Vec<_> = running.instances();
    let changes = deploy::changes(running, &target, request.replace);
    let updated = changes.groups.into_iter().flat_map(|group| group.updated);
    let replaced: Vec<String> =
        updated.filter(|name| existing.iter().any(|instance| instance.name() == name)).collect();
    let incomplete = existing.iter().filter(|instance| !instance.is_complete()).map(|one| one.name().to_owned());
    let answer = Answer {
        incomplete: incomplete.collect(),
        replaced,
        packages: current.packages.clone(),
        privileged: current.privileged.clone(),
        variables: current.variables.clone(),
        all_releases: current.generation.all_releases(),
    };
    current.write(&old_documents(&request.workspace))?;
    let text = serde_json::to_string(&answer).map_err(|e| Problem::internal("cannot write the preview").because(e))?;
    let path = answer_file(&request.workspace);
    Ok(fs::write(&path, text).io("write", &path)?)
}

fn old_documents(workspace: &Path) -> PathBuf {
    workspace.join("old")
}

fn answer_file(workspace: &Path) -> PathBuf {
    workspace.join("preview.json")
}

/// Shows what the planned version changes, if that is wanted; returns the exit code if the version is not to be brought up.
pub(crate) fn show(
    preview: Preview,
    input: &Input,
    workspace: &Workspace,
    plan: &mut Plan,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Option<u8>, Failure> {
    if matches!(preview, Preview::No) {
        return Ok(None);
    }
    let dir = input.dir(&plan.deployment.name)?;
    let connection = Connection::open(&dir);
    let is_up = connection.is_some();
    if !is_up && matches!(preview, Preview::Ask(_)) {
        return Ok(None);
    }
    plan.locate_packages()?;
    let step = progress.step("comparing with the version that is up");
    let answer =
        connection.map(|connection| ask(&connection, workspace, plan, handover::Options::new(input))).transpose()?;
    let (text, differs) = compare(workspace, plan, answer, interrupt)?;
    drop(step);
    output::line(text.trim_end());
    match preview {
        Preview::Ask(confirm) => {
            if differs && !confirm()? {
                output::error("stopped; nothing has changed");
                return Ok(Some(1));
            }
            Ok(None)
        }
        Preview::No => Ok(None),
        Preview::DryRun => Ok(Some(u8::from(differs))),
    }
}

/// Asks the boson that holds the deployment.
fn ask(
    connection: &Connection,
    workspace: &Workspace,
    plan: &Plan,
    options: handover::Options,
) -> Result<Answer, Failure> {
    let path = workspace.path();
    handover::write(path, &plan.deployment, &[])?;
    connection.ask(&Request::Preview(options.request(path)), &[])?;
    let mut failed = None;
    let code = connection.follow_reporting(|_| {}, |text| failed = Some(text))?;
    if let Some(text) = failed {
        return Err(Failure::Reported(text, code));
    }
    let file = answer_file(path);
    let text = fs::read(&file).io("read", &file)?;
    Ok(serde_json::from_slice(&text).map_err(|e| Problem::internal("cannot read the preview").because(e))?)
}

/// The text of the differences, and whether there are any.
fn compare(
    workspace: &Workspace,
    plan: &Plan,
    answer: Option<Answer>,
    interrupt: &Interrupt,
) -> Result<(String, bool), Failure> {
    let path = workspace.path();
    let (old, new) = (old_documents(path), workspace::documents(path));
    let deployment = &plan.deployment;
    let mut secrets: Vec<String> = deployment.variables.iter().map(str::to_owned).collect();
    let mut supplement = Supplement { new_programs: Some(deployment.packages.compared()), ..Supplement::default() };
    match &answer {
        Some(answer) => {
            secrets.extend(answer.variables.iter().map(str::to_owned));
            supplement.old_programs = Some(answer.packages.compared());
            for name in &answer.replaced {
                let group = name.rsplit_once('/').map_or(name.as_str(), |(group, _)| group);
                let reason = if answer.incomplete.contains(name) {
                    "its last start has failed"
                } else if answer.privileged.of(group) != deployment.privileged.of(group) {
                    "privileged jobs"
                } else {
                    "on request"
                };
                supplement.replaced.insert(name.clone(), reason.to_owned());
            }
        }
        None => deployment.write_without_groups(&old)?,
    }
    supplement.secrets = secrets;
    let file = path.join("diff-supplement.json");
    let text =
        serde_json::to_vec(&supplement).map_err(|e| Problem::internal("cannot write the comparison").because(e))?;
    fs::write(&file, text).io("write", &file)?;
    let releases = answer.as_ref().map(|answer| answer.all_releases.join("jobs-src"));
    let comparison = Comparison {
        old: &old,
        old_releases: releases.as_deref().filter(|path| path.is_dir()),
        new: &new,
        new_releases: &workspace::all_releases(path).join("jobs-src"),
        supplement: &file,
        is_colored: startup::is_colored(&std::io::stdout()),
    };
    stages::diff(path, &comparison, &deployment.source_names, interrupt)
}
