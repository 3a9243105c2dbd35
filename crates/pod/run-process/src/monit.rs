//! What the job's `monit` says about a service, carried out as monit does.

mod checks;
mod connection;
mod depends;
mod expression;
mod finder;
mod follow;
mod monitoring;
mod pid_file;
mod program;
mod restarts;
mod rule;

use std::collections::BTreeSet;

use ::monit::{Config, Service};
use hooks::services;
use problem::{Problem, Problems, Result};

pub(crate) use self::checks::Checks;
pub(crate) use self::depends::Depends;
pub(crate) use self::finder::Finder;
pub(crate) use self::follow::Follow;
pub(crate) use self::monitoring::Monitoring;
pub(crate) use self::program::Managed;
use crate::Context;

/// Whether this is the process that `service` is.
pub(crate) fn is(context: &Context, service: &services::Service) -> bool {
    (&service.job, &service.process) == (&context.job, &context.process)
}

/// The service of the job's `monit` that starts this process of `bpm.yml`, if there is one.
pub(crate) fn of_bpm_process(context: &Context) -> Result<Option<(Config, Service)>> {
    let Some(config) = services::monit_config(&context.vcap, &context.job)? else { return Ok(None) };
    let starts = |service: &&Service| {
        let bpm = service.start.as_ref().and_then(::monit::Program::bpm_start);
        bpm.is_some_and(|bpm| (bpm.job, bpm.process) == (context.job.clone(), context.process.clone()))
    };
    let service = config.services.iter().find(starts).cloned();
    Ok(service.map(|service| (config, service)))
}

/// The processes that the service depends on, directly. A service that has none, such as a file, always runs.
pub(crate) fn depends(context: &Context, service: &Service) -> BTreeSet<(String, String)> {
    let mut wanted = BTreeSet::new();
    if service.depends_on.is_empty() {
        return wanted;
    }
    let is_wanted = |other: &services::Service| {
        other.monit.as_ref().is_some_and(|name| service.depends_on.contains(name)) && !is(context, other)
    };
    let all = services::of_instance(&context.vcap);
    wanted.extend(all.into_iter().filter(is_wanted).map(|other| (other.job, other.process)));
    wanted
}

/// Several problems of a program at once.
fn all_of<A, B>(a: Result<A>, b: Result<B>) -> Result<(A, B)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => {
            let problems = [a.err(), b.err()].into_iter().flatten().flat_map(Problems::into_vec).collect();
            Err(Problems::check(problems).err().unwrap_or_else(|| Problem::internal("no problem").into()))
        }
    }
}
