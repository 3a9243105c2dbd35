//! What of an instance is run on request.

use handoff::bpm_info::{self, ErrandKind};
use handoff::deployment::{Lifecycle, Script};
use handoff::process_state::ERRAND;

use super::{Builder, configs};
use crate::container::{Command, Container, Privileges, Program, RootUse, User};
use crate::pod::{Errand, JobRequests};
use crate::privileges;

impl Builder<'_> {
    /// What of a job can be run to its end.
    pub(super) fn errands(&self, job: &bpm_info::Job) -> Vec<Errand> {
        let containers = match job.properties.quarks.errand {
            Some(ErrandKind::Script) => vec![Container {
                name: format!("{}/{ERRAND}", job.name),
                command: self.run_process(job, &["--errand", "--job", &job.name], job.properties.quarks.errand),
                user: User::Root(vec![RootUse::Errand]),
                privileges: privileges::of_any(configs(job)),
                ..self.supervised(job)
            }],
            Some(ErrandKind::Bpm) => {
                configs(job).iter().map(|config| self.process(job, config, Some(ErrandKind::Bpm), Vec::new())).collect()
            }
            None => Vec::new(),
        };
        containers.into_iter().map(|container| Errand { job: job.name.clone(), container }).collect()
    }

    /// What waits for requests to run a job's post-deploy script or its errand; nothing if it has neither. The instances of an
    /// errand group exist only while its errand runs.
    pub(super) fn requests(&self, job: &bpm_info::Job) -> Option<JobRequests> {
        let post_deploy = self.has(job, Script::PostDeploy);
        let errand = job.properties.quarks.errand == Some(ErrandKind::Script);
        if self.group.lifecycle == Lifecycle::Errand || !(post_deploy || errand) {
            return None;
        }
        let mut command = Command::new(Program::RunRequests, &["--job", &job.name]);
        command.args.extend(post_deploy.then(|| "--post-deploy".to_owned()));
        if errand {
            command.args.push("--errand".to_owned());
            command.args.extend(self.passed(&job.name).into_iter().map(str::to_owned));
        }
        let uses = [post_deploy.then_some(RootUse::Script(Script::PostDeploy)), errand.then_some(RootUse::Errand)];
        let container = Container {
            name: format!("{}/requests", job.name),
            command,
            user: User::Root(uses.into_iter().flatten().collect()),
            privileges: if errand { privileges::of_any(configs(job)) } else { Privileges::default() },
            ..self.supervised(job)
        };
        Some(JobRequests { job: job.name.clone(), post_deploy, errand, container })
    }
}
