//! Everything before the first instance: job sources, plan, network, packages.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use problem::{IoContext, Problem, Problems, code};
use sandbox::{Ids, Network, ProcessId, Subnet};

use super::deployment::Deployment;
use super::failure::{Failure, cannot_sandbox};
use super::host::{Event, Host};
use super::input::Input;
use super::running::RunningDeployment;
use super::stages::{self, SourceNames};
use super::status_table::StatusTable;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::state::Record;

/// Makes everything that the instances need; none of them exists afterwards.
pub(crate) fn prepare(
    input: &Input,
    progress: Progress,
    interrupt: Interrupt,
    events: Sender<Event>,
) -> Result<RunningDeployment, Failure> {
    let dir = &input.dir;
    // First of all: that a port is taken is better known before the work than after it.
    let published = input.publish.iter().map(|p| Ok((p.clone(), p.listen()?))).collect::<Result<Vec<_>, Problems>>()?;
    let plan_dir = stages::plan_dir(dir)?;
    let plan = plan_dir.path().to_path_buf();
    let mut record = Record { deployment: input.name.clone(), boson: ProcessId::own(), network: None, plan };
    dir.write(&record)?;
    dir.populate()?;

    let releases = stages::open_releases(input, &interrupt)?;
    let given = input.releases.iter().map(PathBuf::as_path);
    let source_names = SourceNames::new(releases.iter().zip(given));
    stages::copy_jobs(input, &releases, &progress, &interrupt)?;
    // Before the packages: what is wrong with the manifest is known at once, and only what jobs need is compiled.
    let deployment = stages::plan(input, plan_dir, &source_names, &progress, &interrupt)?;
    check_publish(input, &deployment)?;
    fs::write(dir.hosts(), deployment.hosts()).io("write", &dir.hosts())?;

    let log = dir.sandbox_log();
    let log = File::options().create(true).append(true).open(&log).io("write", &log)?;
    let network = Network::start(Subnet::default(), Some(&log)).map_err(|e| cannot_sandbox(&e))?;
    record.network = network.process();
    dir.write(&record)?;
    if network.ids() == Ids::Single {
        progress.line(
            "note: every process runs as one user: this user has no subordinate ids (see newuidmap(1) and subuid(5))",
        );
    }
    let packages = stages::compile(&releases, &deployment, &progress, &interrupt)?;
    let status = StatusTable::default();
    for group in deployment.groups.iter().filter(|group| !group.pod.is_errand()) {
        for member in &group.members {
            status.add(&member.name, member.instance.az.as_deref(), &member.ip.to_string());
        }
    }
    let host = Host { dir: dir.clone(), network, packages, source_names, status, progress, interrupt, events };
    Ok(RunningDeployment::new(host, deployment, published))
}

fn check_publish(input: &Input, deployment: &Deployment) -> Result<(), Problems> {
    let unknown = input.publish.iter().filter(|publish| deployment.member(&publish.instance).is_none());
    let names: Vec<&str> = deployment.groups.iter().flat_map(|g| &g.members).map(|m| m.name.as_str()).collect();
    let problem = |instance: &str| {
        Problem::usage(format!("--publish names an instance that there is not: {instance}"))
            .code(code::INSTANCE_UNKNOWN)
            .hint(format!("the instances are: {}", names.join(", ")))
    };
    Problems::check(unknown.map(|publish| problem(&publish.instance)).collect())
}
