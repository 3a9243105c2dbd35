//! The command line of `render`.

use std::path::PathBuf;

use clap::Args;
use handoff::identities::Identities;
use job_templates::RenderingOptions;
use jobs_src::JobsSrc;
use manifest_inputs::{Configs, Inputs};
use plan::{NAMESPACE, SERVICE_DOMAIN, Target};
use problem::{Problem, Result};

use crate::job_manifest::JobInput;
use crate::releases::Releases;

/// The command line of `render`.
#[derive(Debug, Args)]
#[command(
    long_about = "Render job templates as the director and its agents do, and show the files: a single one as it is, \
        several below a line with instance, job and path. Needs no director, no cluster, no root and no network.\n\n\
        With a manifest (--manifest): the files of every instance. INSTANCE is a group, GROUP/INDEX or GROUP/ID (web, web/0, \
        web/web-0), FILE is JOB or JOB/PATH. Both may be patterns: `*` and `?` within a name, `**` over directories, [ab], \
        {a,b}. A FILE that is a directory means all that is in it. Variables of the manifest that nothing sets are generated \
        and forgotten, unless --vars-store keeps them.\n\n\
        With one job (--job): the files of this job, from the defaults of its spec. The words after the options are all FILE; \
        the path alone (config/web.yml) is enough.\n\n\
        Templates are code: they run with your permissions. Rendered files contain the secrets of the manifest.",
    after_long_help = "Examples:\n\
        \x20\x20boson render -m nats.yml -r ./nats-release\n\
        \x20\x20boson render -m nats.yml -r ./nats-release nats/0 nats/config/nats.conf\n\
        \x20\x20boson render -m nats.yml -r ./nats-release '*' '*/config/*.yml' --list\n\
        \x20\x20boson render -m nats.yml -o scale.yml -r ./nats-release --output rendered\n\
        \x20\x20boson render --job nats -r ./nats-release --properties nats.yml config/nats.conf\n\
        \x20\x20boson render --job nats -r ./nats-release --watch\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest, a release or a file that it needs is wrong; 66 a template failed; 70 \
        the environment failed."
)]
pub struct Options {
    /// The instances: GROUP, GROUP/INDEX, GROUP/ID or a pattern; with --job, this is a FILE too [default: all]
    #[arg(value_name = "INSTANCE")]
    instance: Option<String>,
    /// The files: JOB, JOB/PATH or a pattern [default: all]
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// The deployment manifest; `-` is standard input
    #[arg(long, short, env = "BOSH_MANIFEST_PATH", value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// A release: its source directory, an archive made by bosh, or the jobs-src of its image; once for each. NAME is needed
    /// for a jobs-src, which has no name
    #[arg(long = "release", short, env = "BOSON_RELEASE", value_name = "[NAME=]PATH", required = true)]
    pub(crate) releases: Vec<String>,
    #[command(flatten)]
    pub(crate) deployment: DeploymentName,
    /// Write the files to DIR/GROUP-INDEX/JOB/PATH instead, all at once; DIR is replaced and may contain nothing else
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print only the names of the files; render no template that does not decide about them
    #[arg(long, conflicts_with_all = ["output", "watch"])]
    pub(crate) list: bool,
    /// Render again whenever a file changes, and print the differences, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// spec.ip of the instances
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) ip: String,
    /// Render this job without a manifest
    #[arg(long, value_name = "[RELEASE/]JOB", help_heading = "One job")]
    pub(crate) job: Option<String>,
    /// Properties of the job, as in a manifest
    #[arg(long, value_name = "FILE", requires = "job", help_heading = "One job")]
    pub(crate) properties: Option<PathBuf>,
    /// Links that the job consumes: by name, a mapping of instances, properties and address, as in `consumes` of a manifest
    #[arg(long, value_name = "FILE", requires = "job", help_heading = "One job")]
    pub(crate) links: Option<PathBuf>,
    /// The instance: a mapping of deployment, name (of the group), index, instances, az, networks, ip and persistent_disk
    #[arg(long, value_name = "FILE", requires = "job", help_heading = "One job")]
    pub(crate) spec: Option<PathBuf>,
    /// Use the `example` of the spec for properties that have neither a value nor a default
    #[arg(long, requires = "job", help_heading = "One job")]
    pub(crate) examples: bool,
    /// Make warnings errors: properties that no job declares, keys that occur twice, keys that BPM ignores
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
    #[command(flatten)]
    pub(crate) rendering: RenderingOptions,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) configs: Configs,
}

/// The deployment's name, for `render` and `diff`.
#[derive(Debug, Args)]
pub struct DeploymentName {
    /// Name of the deployment [default: the manifest's]
    #[arg(
        long = "deployment",
        short = 'd',
        visible_aliases = ["name", "deployment-name"],
        env = "DEPLOYMENT_NAME",
        value_name = "NAME"
    )]
    pub(crate) name: Option<String>,
}

/// What addresses are made of, and the links from outside.
#[derive(Debug, Args)]
#[command(next_help_heading = "Addresses and links")]
pub struct Addresses {
    /// Directory with identities.json, or one that plan wrote for the version before: instances keep their indexes
    #[arg(long, env = "PREVIOUS_DIR", value_name = "DIR")]
    previous: Option<PathBuf>,
    /// Directory with the links of other deployments, DEPLOYMENT/NAME/TYPE
    #[arg(long, env = "LINKS_DIR", value_name = "DIR")]
    links_dir: Option<PathBuf>,
    /// Namespace, the second part of addresses
    #[arg(long, env = "KUBE_NAMESPACE", value_name = "NAME", default_value = NAMESPACE)]
    kube_namespace: String,
    /// The rest of addresses, appended as it is
    #[arg(long, env = "KUBE_SERVICE_DOMAIN", value_name = "DOMAIN", default_value = SERVICE_DOMAIN)]
    kube_service_domain: String,
}

impl Addresses {
    /// The deployment that is planned of these job sources; `name` takes precedence over the manifest's.
    ///
    /// # Errors
    /// Identities of the version before that are not valid.
    pub(crate) fn target(&self, jobs_src: JobsSrc, name: Option<&str>) -> Result<Target> {
        let previous = self.previous.as_deref().map_or_else(|| Ok(Identities::default()), plan::read_identities)?;
        Ok(Target {
            jobs_src,
            links: self.links_dir.clone().unwrap_or_default(),
            alone: false,
            previous,
            deployment_name: name.filter(|name| !name.is_empty()).map(str::to_owned),
            namespace: self.kube_namespace.clone(),
            service_domain: self.kube_service_domain.clone(),
            strict: false,
        })
    }
}

/// How the manifest of a deployment and its releases are read.
#[derive(Debug, Args)]
pub struct ReadingOptions {
    #[command(flatten)]
    pub(crate) deployment: DeploymentName,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
    #[command(flatten)]
    pub(crate) rendering: RenderingOptions,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) configs: Configs,
}

impl ReadingOptions {
    /// The deployment that is planned of the job sources of these releases.
    ///
    /// # Errors
    /// Identities of the version before that are not valid.
    pub(crate) fn target(&self, releases: &Releases) -> Result<Target> {
        self.addresses.target(releases.jobs_src(), self.deployment.name.as_deref())
    }
}

/// What is rendered.
pub(crate) enum Subject<'a> {
    Manifest(&'a PathBuf),
    Job { release: Option<String>, job: String },
}

impl Options {
    /// Checks what is known without reading a file.
    pub(crate) fn check(&self) -> Result<()> {
        self.subject()?;
        if self.ip.parse::<std::net::IpAddr>().is_err() {
            return Err(Problem::usage(format!("--ip must be an IP address, not '{}'", self.ip)).into());
        }
        let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
        if self.watch && self.manifest.as_ref().is_some_and(is_stdin) {
            return Err(Problem::usage("--watch needs a manifest in a file, not standard input").into());
        }
        Ok(())
    }

    /// All words of the command line: the instance, then files.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &String> {
        self.instance.iter().chain(&self.files)
    }

    /// What is to be rendered.
    pub(crate) fn subject(&self) -> Result<Subject<'_>> {
        match (&self.manifest, &self.job) {
            (Some(_), Some(_)) => Err(Problem::usage("--job and --manifest exclude each other")
                .hint("for one job of a manifest, give '*' JOB after the options; BOSH_MANIFEST_PATH counts as --manifest")
                .into()),
            (None, None) => Err(Problem::usage("render needs a manifest or a job")
                .hint("give --manifest FILE, or --job JOB to render one job from its spec")
                .into()),
            (Some(manifest), None) => Ok(Subject::Manifest(manifest)),
            (None, Some(job)) if !self.configs.is_empty() || !self.inputs.ops_files.is_empty() => {
                let message = format!("--job {job} has no manifest that ops files or configs could change");
                Err(Problem::usage(message).hint("give the properties with --properties FILE").into())
            }
            (None, Some(job)) => {
                let (release, job) = job.rsplit_once('/').map_or((None, job.as_str()), |(r, j)| (Some(r), j));
                Ok(Subject::Job { release: release.map(str::to_owned), job: job.to_owned() })
            }
        }
    }

    /// The files about the job of `--job`.
    pub(crate) fn job_input(&self) -> JobInput {
        JobInput {
            properties: self.properties.clone(),
            links: self.links.clone(),
            spec: self.spec.clone(),
            ..JobInput::default()
        }
    }

    /// Every file that is read beside the releases, as far as the command line names it.
    pub(crate) fn input_files(&self) -> impl Iterator<Item = PathBuf> {
        let named = [&self.manifest, &self.properties, &self.links, &self.spec].into_iter().flatten().cloned();
        named.chain(self.inputs.files()).chain(self.configs.files().cloned())
    }
}
