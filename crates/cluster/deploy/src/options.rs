//! The flags of `deploy`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::Resettable;
use clap::{Args, FromArgMatches};
use cluster::Connection;
use handoff::versions::Run;
use pod_flags::{ObjectFlags, ReplaceFlags, UpdateFlags};
use problem::{Problem, Problems, Result, code};

use crate::session::Session;
use crate::tasks::Task;

/// The arguments of `deploy`.
#[derive(Debug, Clone, Args)]
#[command(
    long_about = "Apply the objects that run a deployment, from the documents that `write-secrets` has written: for each instance \
        group and AZ a StatefulSet, for each instance and group a Service, for each errand a suspended Job. Groups are \
        applied in the manifest's order; groups after a serial group wait until it is ready. A pod restarts only if \
        something that it renders or runs has changed. Objects that are no longer in the manifest are deleted.",
    after_long_help = "Examples:\n\
        \x20\x20deploy --deployment-name nats --image nats=nats-release:2.3\n\
        \x20\x20deploy --deployment-name nats --registry registry.example --output-dir objects\n\
        \x20\x20deploy --deployment-name nats --registry registry.example --check planned\n\n\
        Exit codes: 0 done; 2 usage; 65 a name, an image or a document is wrong; 69 instances are not ready, or a script or an \
        errand failed in them; 70 the API server failed or cannot be reached."
)]
pub struct Options {
    /// The deployment
    #[arg(short = 'd', long, env = "DEPLOYMENT_NAME", value_name = "NAME")]
    pub deployment_name: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long, env = "DRY_RUN")]
    pub dry_run: bool,
    /// Check the documents that `plan` has written into this directory, and whether the cluster takes their objects; apply nothing
    #[arg(long, env = "CHECK_DIR", value_name = "DIR", conflicts_with_all = ["dry_run", "output_dir"])]
    pub check: Option<PathBuf>,
    /// With --check, print what the run would do as a JSON object
    #[arg(long, requires = "check")]
    pub diff: bool,
    /// With --check, refuse unless the run would do what a JSON object of --diff says: its `expect`
    #[arg(long, value_name = "DIGEST", requires = "check", conflicts_with = "diff")]
    pub expect: Option<String>,
    /// The gather Job that this is a part of
    #[arg(long, env = "GATHER_JOB", value_name = "NAME")]
    pub gather_job: Option<String>,
    /// Write the objects into files of this directory, and apply nothing
    #[arg(long, env = "OUTPUT_DIR", value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Take over objects and fields that belong to others
    #[arg(long, env = "FORCE_CONFLICTS")]
    pub force_conflicts: bool,
    /// How long the instances of a group may take until they are ready, instead of the manifest's watch times, and each errand until
    /// it has ended; 0: do not wait [default: canary_watch_time and update_watch_time of `update`; 15m for an errand]
    #[arg(long, env = "READY_TIMEOUT", value_name = "DURATION")]
    pub ready_timeout: Option<String>,
    /// How instances are updated
    #[command(flatten)]
    pub update: UpdateFlags,
    /// Instances that are replaced although nothing of them changes
    #[command(flatten)]
    pub replace: ReplaceFlags,
    /// The ConfigMap with the patches of a release's job sources, which the gather Job names; repeatable
    #[arg(long = "patches", value_name = "RELEASE=CONFIGMAP")]
    pub patches: Vec<String>,
    /// Run an errand when all instances are ready, unless it has succeeded since it last changed; repeatable, in order
    #[arg(long = "run-errand", value_name = "NAME")]
    pub run_errands: Vec<String>,
    /// Images and placement
    #[command(flatten)]
    pub pods: ObjectFlags,
    /// The cluster
    #[command(flatten)]
    pub connection: Connection,
}

/// The options, checked.
pub(crate) struct Request {
    pub(crate) deployment: String,
    pub(crate) dry_run: bool,
    pub(crate) check: Option<PathBuf>,
    pub(crate) diff: bool,
    pub(crate) expect: Option<String>,
    pub(crate) gather_job: Option<String>,
    pub(crate) output_dir: Option<PathBuf>,
    pub(crate) force_conflicts: bool,
    /// The time limit instead of those of the manifest.
    pub(crate) ready_timeout: Option<Duration>,
    pub(crate) update: UpdateFlags,
    pub(crate) replace: ReplaceFlags,
    pub(crate) run_errands: Vec<String>,
    pub(crate) patches: BTreeMap<String, String>,
    pub(crate) pods: ObjectFlags,
    pub(crate) connection: Connection,
    /// The run that may change the deployment; without it, nothing is changed.
    pub(crate) session: Option<Session>,
}

impl Options {
    /// The options of a run: its flags as the record has them, whatever variables the environment has.
    ///
    /// # Errors
    /// A run whose flags are not recorded, or that has flags that this program does not know.
    pub fn of_run(deployment: &str, run: &Run, connection: Connection) -> Result<Options> {
        let flags = run.flags.as_ref().ok_or_else(|| {
            Problem::input(format!("the flags of run {} are not known: an earlier release of boson made it", run.run))
                .code(code::INPUT_INVALID)
                .hint("apply the manifest with the images of that run: kubectl boson apply")
        })?;
        let command = Options::augment_args(clap::Command::new("deploy").no_binary_name(true));
        let command = command.mut_args(|arg| arg.env(Resettable::Reset));
        let parsed = command.try_get_matches_from(flags);
        let options = parsed.and_then(|matches| Options::from_arg_matches(&matches)).map_err(|_| {
            Problem::internal(format!("the record of run {} has flags that this program does not know", run.run))
                .code(code::DOCUMENT_INVALID)
                .hint("use the release of boson that made the run")
        })?;
        Ok(Options { deployment_name: Some(deployment.to_owned()), connection, ..options })
    }

    /// The options for comparing: these images and this placement, and the patches of `present`.
    pub fn of_flags(deployment: &str, pods: ObjectFlags, present: Option<&Options>, connection: Connection) -> Options {
        Options {
            deployment_name: Some(deployment.to_owned()),
            dry_run: true,
            check: None,
            diff: false,
            expect: None,
            gather_job: None,
            output_dir: None,
            force_conflicts: false,
            ready_timeout: None,
            update: UpdateFlags::default(),
            replace: ReplaceFlags::default(),
            patches: present.map(|present| present.patches.clone()).unwrap_or_default(),
            run_errands: Vec::new(),
            pods,
            connection,
        }
    }

    pub(crate) fn check(self) -> Result<Request> {
        let mut problems = Vec::new();
        let deployment = self.deployment_name.filter(|name| !name.is_empty()).unwrap_or_else(|| {
            problems.push(Problem::usage("deploy needs the deployment's name").hint("give --deployment-name"));
            String::new()
        });
        let ready_timeout = self.ready_timeout.filter(|text| !text.is_empty()).and_then(|text| {
            let malformed = |why| problems.push(Problem::usage(format!("--ready-timeout {why}, not '{text}'")));
            startup::parse_duration(&text).map_err(malformed).ok()
        });
        let mut patches = BTreeMap::new();
        for text in &self.patches {
            match text.split_once('=').filter(|(release, name)| !release.is_empty() && !name.is_empty()) {
                Some((release, name)) => drop(patches.insert(release.to_owned(), name.to_owned())),
                None => {
                    problems.push(Problem::usage(format!("--patches must be RELEASE=CONFIGMAP, not '{text}'")));
                }
            }
        }
        Problems::check(problems)?;
        Ok(Request {
            deployment,
            dry_run: self.dry_run,
            check: self.check.filter(|path| !path.as_os_str().is_empty()),
            diff: self.diff,
            expect: self.expect,
            gather_job: self.gather_job.filter(|name| !name.is_empty()),
            output_dir: self.output_dir.filter(|path| !path.as_os_str().is_empty()),
            force_conflicts: self.force_conflicts,
            ready_timeout,
            update: self.update,
            replace: self.replace,
            run_errands: self.run_errands,
            patches,
            pods: self.pods,
            connection: self.connection,
            session: None,
        })
    }
}

impl Request {
    /// Whether the deployment stays as it is.
    pub(crate) fn only_looks(&self) -> bool {
        self.dry_run || self.check.is_some() || self.output_dir.is_some()
    }

    /// Checks that this run may change the deployment: that no other one has taken it over, and that it was not cancelled.
    pub(crate) fn check_session(&self) -> Result<()> {
        self.session.as_ref().map_or(Ok(()), Session::check)
    }

    /// Takes note of what the run does.
    pub(crate) fn note(&self, note: impl FnOnce(&mut Task)) {
        if let Some(session) = &self.session {
            session.note(note);
        }
    }

    /// How long an errand or a script of all instances may take.
    const RUN: Duration = Duration::from_mins(15);

    /// Whether nothing is waited for.
    pub(crate) fn is_unattended(&self) -> bool {
        self.dry_run || self.ready_timeout.is_some_and(|timeout| timeout.is_zero())
    }

    /// The time limit of what the manifest has no time for: an errand, a script of all instances.
    pub(crate) fn run_timeout(&self) -> Duration {
        self.ready_timeout.unwrap_or(Self::RUN)
    }
}
