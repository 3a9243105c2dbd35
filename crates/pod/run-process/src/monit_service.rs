//! `--monit SERVICE`: running a service of the job's `monit`.

use ::monit::{Config, Kind, Service};
use hooks::services;
use problem::{Place, Problem, Result, code};

use crate::monit::{Checks, Finder, Managed, depends, is};
use crate::process::Program;
use crate::records::Records;
use crate::{Context, bpm_process, errand, process};

/// Runs the service to its end; gives the status.
pub(crate) fn run(mut context: Context, name: &str) -> Result<u8> {
    let found = find(&context, name);
    let found = context.explain(found).inspect_err(|problems| Records::never_opened(&context, problems))?;
    let Some((config, service)) = found else { return idle(&context, name) };
    if !service.is_process() {
        warn_of_unsupported(&context, &config, &service);
        return process::run(&context, watch(&context, &config, &service).map(Some));
    }
    if let Some(bpm) = service.start.as_ref().and_then(::monit::Program::bpm_start) {
        // The rest of what monit says about it is looked up there.
        (context.job, context.process) = (bpm.job, bpm.process);
        return bpm_process::run(&context);
    }
    warn_of_unsupported(&context, &config, &service);
    process::run(&context, prepare(&context, &config, &service).map(Some))
}

/// The service in the job's `monit`; nothing if this instance's does not have it.
fn find(context: &Context, name: &str) -> Result<Option<(Config, Service)>> {
    let path = services::monit_path(&context.vcap, &context.job);
    let Some(config) = services::monit_config(&context.vcap, &context.job)? else {
        let problem = Problem::input(format!("cannot find {}", path.display())).code(code::JOB_NOT_RENDERED);
        return Err(problem.hint(bpm_process::missing_hint(context)).into());
    };
    let service = config.service(name).filter(|service| service.is_process() && service.start.is_some());
    let service = service.or_else(|| config.supervised().into_iter().find(|service| service.name == name)).cloned();
    Ok(service.map(|service| (config, service)))
}

/// This instance does not have the service, which others of its group have: its container only runs the job's scripts.
fn idle(context: &Context, name: &str) -> Result<u8> {
    tracing::info!("{}: monit of this instance does not start \"{name}\"; nothing runs", context.subject());
    let records = errand::open_records(context);
    process::run(context, records.map(|records| Some((Program::of_scripts(context, None), records))))
}

/// A file, a directory or a host of a job without processes, and all others of its `monit`: they are checked, and their programs run.
fn watch(context: &Context, config: &Config, service: &Service) -> Result<(Program, Records)> {
    let records = errand::open_records(context)?;
    let checks = Checks::new(context, config, service, true, &records)?;
    let mut program = Program::of_scripts(context, bpm_process::post_start(context));
    program.checks = Some(checks);
    Ok((program, records))
}

fn prepare(context: &Context, config: &Config, service: &Service) -> Result<(Program, Records)> {
    let at = |line| Place::line(services::monit_path(&context.vcap, &context.job).to_string_lossy(), line);
    let Kind::Process(id) = &service.kind else {
        return Err(Problem::internal("the service is not a process").at(at(service.at.line)).into());
    };
    let Some(start) = &service.start else {
        return Err(Problem::input("the service has no start program").at(at(service.at.line)).into());
    };
    let finder = Finder::new(id, |path| crate::dirs::place(&context.vcap, path)).map_err(|why| {
        Problem::template("the regular expression of check process ... matching is invalid")
            .code(code::MONIT_INVALID)
            .at(at(service.at.line))
            .because(why)
    })?;
    let managed = Managed::new(context, service, start, finder)?;
    let is_first = services::of_job(&context.vcap, &context.job)?.first().is_some_and(|first| is(context, first));
    let records = errand::open_records(context)?;
    let checks = Checks::new(context, config, service, is_first, &records)?;
    let mut program = Program::of_scripts(context, None);
    program.checks = Some(checks);
    program.described = Some(at(start.at.line));
    program.post_start = is_first.then(|| bpm_process::post_start(context)).flatten();
    program.depends = depends(context, service);
    program.managed = Some(managed);
    Ok((program, records))
}

/// What monit accepts and is not carried out here, once, with its line.
fn warn_of_unsupported(context: &Context, config: &Config, service: &Service) {
    let path = services::monit_path(&context.vcap, &context.job);
    let is_here = |owner: &Option<String>| owner.as_ref().is_none_or(|owner| *owner == service.name);
    let all = config.without_effect().into_iter().filter(|unsupported| is_here(&unsupported.service));
    let list: String = all
        .map(|unsupported| format!("\n  {}:{}: {}", path.display(), unsupported.at.line, unsupported.what))
        .collect();
    if !list.is_empty() {
        tracing::warn!("{}: these statements of monit have no effect{list}", context.subject());
    }
}
