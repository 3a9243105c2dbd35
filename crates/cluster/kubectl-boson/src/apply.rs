//! `kubectl boson apply`: what `boson gather` prints, applied, and followed until the deployment is up.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use cluster::{Cluster, Connection, Object};
use deploy::{Interrupt, Preview};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use startup::{Common, confirmation};

use crate::diff::{self, DIFFERS, Format};
use crate::look::Look;
use crate::output::line;
use crate::planned::PlannedRun;
use crate::{follow, run};

/// One line for `--help`.
pub const ABOUT: &str = "Bring a deployment up, or update it";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Apply what `boson gather` prints for a manifest, and show what the gather Job does until all instances are \
        ready, or why they are not. Each call is a new run, which restores objects that were deleted or edited by hand. \
        If a run of the same content is under way, join it. The namespace is that of --namespace or of the context. With \
        --vars-store, first generate the variables that the manifest defines and nothing else sets; the next run needs \
        the same file.\n\n\
        At a terminal, first show which instances and objects the run would change, and ask. A Job plans the manifest for this in the \
        cluster, where the releases are. --diff only shows it. With --out it is written into a file, and `apply FILE` does exactly that, or \
        refuses if anything has changed since. The file holds no secret: the manifest stays in a Secret of the cluster, until another run.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson apply nats.yml --registry registry.example/releases\n\
        \x20\x20kubectl boson apply nats.yml -o scale.yml --image nats=nats-release:2.3 --context test\n\
        \x20\x20kubectl boson apply nats.yml --vars-store creds.yml --registry registry.example/releases\n\
        \x20\x20kubectl boson apply nats.yml --registry registry.example/releases --out run.json\n\
        \x20\x20kubectl boson apply run.json\n\n\
        Exit codes: 0 done; 1 --diff: something would change, or you have answered no; 2 usage; 65 the manifest, an ops file or an image is \
        wrong, or an object belongs to others; 66 a template failed; 69 the update failed, or is not what was planned; 70 the API server \
        failed or cannot be reached; 130 interrupted, the Job goes on."
)]
// The flags of gather are a group of this name, too.
#[group(skip)]
pub struct Options {
    #[command(flatten)]
    gather: gather::Options,
    /// Show what the run would change, and change nothing; exit with 1 if that is something
    #[arg(long, visible_alias = "dry-run", help_heading = "Looking before")]
    diff: bool,
    /// The form of what --diff shows
    #[arg(long, value_name = "FORMAT", default_value = "text", requires = "diff", help_heading = "Looking before")]
    format: Format,
    /// Write the run into a file instead, for `apply FILE`
    #[arg(long, value_name = "FILE", help_heading = "Looking before")]
    out: Option<PathBuf>,
    /// Do not show what changes and ask; never asked without a terminal
    #[arg(long, env = "BOSH_NON_INTERACTIVE", help_heading = "Looking before")]
    non_interactive: bool,
    /// The file with the cluster's address and credentials [default: KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    kubeconfig: Option<PathBuf>,
    /// The context in that file [default: the current one]
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    context: Option<String>,
}

/// The exit code if the person at the terminal does not want the run.
const DECLINED: u8 = 1;

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    if let Some(planned) = PlannedRun::read(&options.gather.manifest)? {
        return options.apply_planned(planned);
    }
    let mut all = gather::objects(&options.gather)?;
    let interrupt = Interrupt::handle()?;
    let cluster = Cluster::connect(&options.connection())?;
    let asks = !options.non_interactive && confirmation::is_possible();
    let looks = options.diff || options.out.is_some() || asks;
    // A run of the same content is what was wanted before.
    if looks && (options.diff || options.out.is_some() || !run::is_under_way(&cluster, &all)?) {
        interrupt.explain("no run was started", "the Job that plans the manifest ends by itself");
        let force = options.gather.force_conflicts;
        let look = Look::at(&cluster, &all, force, options.limit())?;
        if options.diff || options.out.is_some() {
            return options.end_look(&cluster, all, look);
        }
        diff::print(&look.preview, Format::Text)?;
        if !look.preview.is_empty() && !confirmation::is_confirmed() {
            look.forget(&cluster)?;
            line(format_args!("stopped; nothing has changed"));
            return Ok(DECLINED);
        }
        expect(&mut all, &look.preview)?;
    }
    options.start(&cluster, &interrupt, &all, options.gather.force_conflicts)
}

/// Has the run do what was shown, and nothing else.
fn expect(all: &mut [Object], preview: &Preview) -> Result<()> {
    let job = all.iter_mut().find(|object| object["kind"] == cluster::Kind::JOB.kind);
    let set = job.and_then(|job| objects::expecting(job, &preview.expectation()));
    Ok(set.ok_or_else(|| Problem::internal("the gather Job has no container that compares"))?)
}

impl Options {
    fn connection(&self) -> Connection {
        let (kubeconfig, context) = (self.kubeconfig.clone(), self.context.clone());
        Connection { kubeconfig, context, namespace: self.gather.namespace.clone() }
    }

    /// How long something may keep the pods of a Job from starting.
    fn limit(&self) -> Duration {
        let timeout = self.gather.ready_timeout.as_deref();
        timeout.and_then(|text| startup::parse_duration(text).ok()).unwrap_or(follow::START)
    }

    /// Shows what a run would do, or writes it into a file.
    fn end_look(&self, cluster: &Cluster, all: Vec<Object>, look: Look) -> Result<u8> {
        let is_empty = look.preview.is_empty();
        if self.diff {
            diff::print(&look.preview, self.format)?;
        }
        match &self.out {
            Some(path) => {
                let planned = PlannedRun::new(cluster, all, look.preview.clone(), self.gather.force_conflicts);
                if let Err(problems) = planned.and_then(|planned| planned.write(path)) {
                    // The first problem is the one to be reported.
                    let _ = look.forget(cluster);
                    return Err(problems);
                }
                if !self.diff {
                    line(format_args!("{}: `kubectl boson apply {0}` does this, or refuses", path.display()));
                }
            }
            None => look.forget(cluster)?,
        }
        Ok(if self.diff && !is_empty { DIFFERS } else { 0 })
    }

    /// Starts the run, or joins it, and follows it.
    fn start(&self, cluster: &Cluster, interrupt: &Interrupt, all: &[Object], force: bool) -> Result<u8> {
        let deployment = run::deployment(all)?;
        let job = run::start(cluster, all, force)?;
        let namespace = cluster.namespace();
        interrupt.explain(
            &format!("Job {job} goes on in namespace {namespace}"),
            &format!(
                "the same `kubectl boson apply` follows it again, `kubectl boson status {deployment} -n {namespace}` shows the \
                 instances, `kubectl delete job {job} -n {namespace}` stops it"
            ),
        );
        follow::job(cluster, &job, "deploy", Some(self.limit()))?;
        Ok(0)
    }

    /// Does what `apply --out` has written into a file.
    fn apply_planned(&self, planned: PlannedRun) -> Result<u8> {
        let usage = |message: &str| Problem::usage(message).code(code::USAGE);
        if self.diff || self.out.is_some() || self.has_flags_of_gather()? {
            let problem = usage("a planned run takes no flags except those of the cluster and --non-interactive");
            return Err(problem.hint("it has the flags with which it was planned").into());
        }
        let mut connection = self.connection();
        let namespace = connection.namespace.get_or_insert_with(|| planned.namespace.clone());
        if *namespace != planned.namespace {
            let message = format!("the run was planned for namespace {}, not {namespace}", planned.namespace);
            return Err(usage(&message).into());
        }
        let interrupt = Interrupt::handle()?;
        let cluster = Cluster::connect(&connection)?;
        let force = planned.force;
        let all = planned.objects(&cluster)?;
        self.start(&cluster, &interrupt, &all, force)
    }

    /// Whether the command line has a flag that a planned run has already.
    fn has_flags_of_gather(&self) -> Result<bool> {
        let command = Options::augment_args(clap::Command::new("apply").no_binary_name(true));
        let internal = |error| Problem::internal("cannot read the flags").because(error);
        // With the same variables of the environment.
        let matches = command.try_get_matches_from([&self.gather.manifest]).map_err(internal)?;
        let plain = Options::from_arg_matches(&matches).map_err(internal)?.gather;
        let plain = gather::Options { namespace: self.gather.namespace.clone(), ..plain };
        Ok(format!("{:?}", self.gather) != format!("{plain:?}"))
    }
}
