//! Which jobs are privileged: those that the user allows, and they must comprise those that ask for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use handoff::bpm_info::{self, BpmInfo};
use handoff::deployment::InstanceGroup;
use problem::{IoContext, Problem, Problems, Result, code, hint_for_unknown};
use serde::{Deserialize, Serialize};
use workload::Pod;

/// A value of `--allow-privileged`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowPrivileged {
    /// `GROUP` or `GROUP/JOB`.
    Jobs(Scope),
    /// `@FILE`: a file with one of these on each line.
    File(PathBuf),
}

/// All jobs of an instance group, or one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    group: String,
    job: Option<String>,
}

impl FromStr for AllowPrivileged {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<AllowPrivileged, String> {
        match text.strip_prefix('@') {
            Some("") => Err("'@' without the name of a file".to_owned()),
            Some(file) => Ok(AllowPrivileged::File(file.into())),
            None => text.parse().map(AllowPrivileged::Jobs),
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Scope, String> {
        let (group, job) = text.split_once('/').map_or((text, None), |(group, job)| (group, Some(job)));
        if group.is_empty() || job.is_some_and(|job| job.is_empty() || job.contains('/')) {
            return Err(format!("'{text}' is not of the form GROUP or GROUP/JOB"));
        }
        Ok(Scope { group: group.to_owned(), job: job.map(str::to_owned) })
    }
}

/// An instance group, as far as its privileges are concerned.
#[derive(Debug)]
pub(crate) struct GroupJobs<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The names of its jobs.
    pub(crate) jobs: Vec<&'a str>,
    /// Those that ask to be privileged.
    pub(crate) requests: &'a [PrivilegeRequest],
}

/// The privileged jobs, by their groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PrivilegedJobs(BTreeMap<String, BTreeSet<String>>);

impl PrivilegedJobs {
    /// The jobs of a group.
    pub(crate) fn of(&self, group: &str) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.0.get(group).unwrap_or(&NONE)
    }

    /// Whether the job of a group is privileged.
    pub(crate) fn contains(&self, group: &str, job: &str) -> bool {
        self.of(group).contains(job)
    }

    /// The groups whose instances are privileged.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The jobs that the user allows, of a deployment that asks for no others.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown group or job, a job that asks to be privileged and is not allowed to.
    pub(crate) fn allowed(values: &[AllowPrivileged], groups: &[GroupJobs]) -> Result<PrivilegedJobs> {
        let mut problems = Vec::new();
        let mut jobs = BTreeMap::<String, BTreeSet<String>>::new();
        for scope in read(values)? {
            match named(&scope, groups) {
                Ok(named) => jobs.entry(scope.group).or_default().extend(named),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        let allowed = PrivilegedJobs(jobs);
        for group in groups {
            let refused = group.requests.iter().filter(|request| !allowed.contains(group.name, &request.job));
            problems.extend(refused.map(|request| request.refused(group.name)));
        }
        Problems::check(problems)?;
        Ok(allowed)
    }
}

/// The scopes of all values, those in files included.
fn read(values: &[AllowPrivileged]) -> Result<Vec<Scope>> {
    let (mut scopes, mut problems) = (Vec::new(), Vec::new());
    for value in values {
        let file = match value {
            AllowPrivileged::Jobs(scope) => {
                scopes.push(scope.clone());
                continue;
            }
            AllowPrivileged::File(file) => file,
        };
        let text = fs::read_to_string(file).io("read", file)?;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            match line.parse() {
                _ if line.is_empty() => {}
                Ok(scope) => scopes.push(scope),
                Err(e) => {
                    problems.push(Problem::usage(format!("--allow-privileged: {}:{}: {e}", file.display(), number + 1)))
                }
            }
        }
    }
    Problems::check(problems)?;
    Ok(scopes)
}

/// The jobs that a scope names.
fn named(scope: &Scope, groups: &[GroupJobs]) -> Result<Vec<String>> {
    let unknown = |what: String, code, name: &str, known: &[&str]| {
        let hint = hint_for_unknown(name, known.iter().copied(), || format!("known are: {}", known.join(", ")));
        Problem::usage(format!("--allow-privileged: {what}")).code(code).hint(hint)
    };
    let Some(group) = groups.iter().find(|group| group.name == scope.group) else {
        let known: Vec<&str> = groups.iter().map(|group| group.name).collect();
        let what = format!("unknown instance group '{}'", scope.group);
        return Err(unknown(what, code::GROUP_UNKNOWN, &scope.group, &known).into());
    };
    let known = &group.jobs;
    match &scope.job {
        None => Ok(known.iter().map(|&job| job.to_owned()).collect()),
        Some(job) if known.contains(&job.as_str()) => Ok(vec![job.clone()]),
        Some(job) => {
            let what = format!("instance group '{}' has no job '{job}'", scope.group);
            Err(unknown(what, code::JOB_UNKNOWN, job, known).into())
        }
    }
}

/// That a job asks to be privileged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrivilegeRequest {
    job: String,
    /// Where it asks for it.
    what: String,
}

impl PrivilegeRequest {
    /// Those of a group's jobs: in the manifest, or in a rendered `bpm.yml`, also for a process that `monit` starts without BPM.
    pub(crate) fn of_group(info: &BpmInfo, group: &InstanceGroup, pod: &Pod) -> Vec<PrivilegeRequest> {
        let runs = |job: &&bpm_info::Job| pod.jobs.iter().any(|running| running.name == job.name);
        let jobs = info.group().jobs.iter().filter(runs);
        let request = |job: &bpm_info::Job| {
            let mut of_manifest = group.jobs.iter().filter(|planned| planned.name == job.name);
            if of_manifest.any(|planned| planned.quarks.run["security_context"]["privileged"] == true) {
                return Some("properties.quarks.run.security_context.privileged in the manifest".to_owned());
            }
            let processes = job.properties.quarks.bpm.iter().flat_map(|bpm| &bpm.processes);
            let names: Vec<&str> =
                processes.filter(|process| process.unsafe_.privileged).map(|process| process.name.as_str()).collect();
            let plural = if names.len() == 1 { "" } else { "es" };
            (!names.is_empty()).then(|| format!("unsafe.privileged of process{plural} {} in bpm.yml", names.join(", ")))
        };
        jobs.filter_map(|job| Some(PrivilegeRequest { what: request(job)?, job: job.name.clone() })).collect()
    }

    fn refused(&self, group: &str) -> Problem {
        let PrivilegeRequest { job, what } = self;
        Problem::input(format!("job {job} of instance group {group} must be privileged: {what}"))
            .code(code::PRIVILEGED_NOT_ALLOWED)
            .hint(format!("--allow-privileged {group}/{job} allows it: its root can then change this machine"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_group_a_job_of_it_or_a_file() {
        let scope = |group: &str, job: Option<&str>| {
            AllowPrivileged::Jobs(Scope { group: group.to_owned(), job: job.map(str::to_owned) })
        };
        assert_eq!("cell".parse(), Ok(scope("cell", None)));
        assert_eq!("cell/garden".parse(), Ok(scope("cell", Some("garden"))));
        assert_eq!("@allowed".parse(), Ok(AllowPrivileged::File("allowed".into())));
        for wrong in ["", "/", "/garden", "cell/", "cell/0/garden", "@"] {
            assert!(wrong.parse::<AllowPrivileged>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn jobs_that_ask_must_be_allowed_and_others_may_be() {
        let request = PrivilegeRequest { job: "garden".to_owned(), what: "unsafe.privileged".to_owned() };
        let requests = [request];
        let groups = [
            GroupJobs { name: "cell", jobs: vec!["garden", "rep"], requests: &requests },
            GroupJobs { name: "web", jobs: vec!["web"], requests: &[] },
        ];
        let allowed = |values: &[&str]| {
            let values: Vec<AllowPrivileged> = values.iter().map(|value| value.parse().unwrap()).collect();
            PrivilegedJobs::allowed(&values, &groups).map_err(|problems| problems.to_string())
        };
        assert!(allowed(&["cell"]).is_ok_and(|jobs| jobs.contains("cell", "rep") && jobs.of("web").is_empty()));
        assert!(allowed(&["cell/garden", "web"]).is_ok_and(|jobs| !jobs.contains("cell", "rep")));
        for (values, message) in [
            (&[][..], "job garden of instance group cell must be privileged: unsafe.privileged"),
            (&["cell/rep"], "job garden of instance group cell must be privileged"),
            (&["cell", "cells"], "--allow-privileged: unknown instance group 'cells'\n  hint: did you mean 'cell'?"),
            (&["cell", "web/rep"], "--allow-privileged: instance group 'web' has no job 'rep'\n  hint: known are: web"),
            (&["@/nowhere"], "cannot read /nowhere"),
        ] {
            let problems = allowed(values).unwrap_err();
            assert!(problems.contains(message), "{values:?}: {problems}");
        }
    }
}
