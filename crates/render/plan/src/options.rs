//! The command line of `plan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dialect_erb::Settings;
use handoff::identities::Identities;
use job_templates::RenderingOptions;
use jobs_src::JobsSrc;
use manifest_inputs::{Configs, Inputs};
use manifest_model::identity::Domain;
use problem::{Problem, Problems, Result};
use startup::Common;

use crate::previous;

/// `KUBE_NAMESPACE` where it is absent.
pub const NAMESPACE: &str = "default";
/// `KUBE_SERVICE_DOMAIN` where it is absent.
pub const SERVICE_DOMAIN: &str = "svc.cluster.local";

/// The command line of `plan`.
#[derive(Debug, Args)]
#[command(
    long_about = "Read the deployment manifest and the job specs in BASE_DIR/jobs-src/RELEASE/JOB/, resolve properties and links, \
        and render every bpm.yml. Write one document (KIND) for one instance group, or everything for every group \
        (--output-dir). With --output-dir, also render all templates of all instances, and remove the documents of \
        groups that the manifest no longer has.\n\n\
        With ops files or variables, the manifest is what `boson interpolate` prints with the same flags; variables \
        without a value are errors. Messages name the file and line that a value comes from.\n\n\
        All errors are reported in one run; then nothing is written.",
    after_long_help = "One group, as a container of the gather Job does:\n\
        \x20\x20plan ig-resolved -m manifest.yml -g nats -o output.json\n\n\
        All groups, to out/GROUP/ig-resolved/output.json, out/GROUP/bpm/output.json and \
        out/deployment/output.json:\n\
        \x20\x20plan -m manifest.yml -b all-releases --output-dir out\n\
        \x20\x20plan -m manifest.yml --ops-file scale.yml -l vars.yml -b all-releases --output-dir out\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest, a job spec or a link is wrong; 66 a template \
        failed; 70 the environment failed.",
    mut_arg("ops_files", |arg| arg
        .short(None)
        .help("Apply the operations of a file to the manifest; repeatable, in order (no -o, which is --output)"))
)]
pub struct Options {
    /// What to write; without it, everything for every group (needs --output-dir)
    #[arg(value_name = "KIND")]
    pub kind: Option<Kind>,
    /// The deployment manifest; `-` is standard input [default: /var/run/secrets/deployment/manifest.yaml]
    #[arg(short = 'm', long, env = "BOSH_MANIFEST_PATH", value_name = "FILE")]
    pub bosh_manifest_path: Option<PathBuf>,
    /// Directory with jobs-src/<release>/<job>/ [default: /var/vcap/all-releases]
    #[arg(short = 'b', long, env = "BASE_DIR", value_name = "DIR")]
    pub base_dir: Option<PathBuf>,
    /// Directory with the links of other deployments, DEPLOYMENT/NAME/TYPE [default: /var/run/secrets/links]
    #[arg(long, env = "LINKS_DIR", value_name = "DIR")]
    pub links_dir: Option<PathBuf>,
    /// Directory with identities.json, or one that an earlier plan wrote: its instances keep their indexes [default:
    /// /var/run/secrets/previous]
    #[arg(long, env = "PREVIOUS_DIR", value_name = "DIR")]
    pub previous: Option<PathBuf>,
    /// The deployment's name [default: the manifest's]
    #[arg(short = 'd', long, env = "DEPLOYMENT_NAME", value_name = "NAME")]
    pub deployment_name: Option<String>,
    /// Namespace, the second part of addresses
    #[arg(long, env = "KUBE_NAMESPACE", value_name = "NAME", default_value = NAMESPACE)]
    pub kube_namespace: String,
    /// The rest of addresses, appended as it is
    #[arg(long, env = "KUBE_SERVICE_DOMAIN", value_name = "DOMAIN", default_value = SERVICE_DOMAIN)]
    pub kube_service_domain: String,
    /// The instance group (needed with KIND; else only this one)
    #[arg(short = 'g', long, env = "INSTANCE_GROUP_NAME", value_name = "NAME")]
    pub instance_group_name: Option<String>,
    /// Make warnings errors: properties that no job declares, keys that occur twice, keys that BPM ignores
    #[arg(long)]
    pub strict: bool,
    /// How templates are rendered
    #[command(flatten)]
    pub rendering: RenderingOptions,
    /// The file to write, with KIND [default: /mnt/quarks/output.json]
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "output_dir")]
    pub output: Option<PathBuf>,
    /// The directory to write, without KIND
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Ops files and variables
    #[command(flatten)]
    pub inputs: Inputs,
    /// Runtime and cloud configs
    #[command(flatten)]
    pub configs: Configs,
    /// The manifest and where its nodes come from, as another verb has read them
    #[arg(long, hide = true, conflicts_with = "bosh_manifest_path")]
    pub documents: Option<PathBuf>,
}

/// The documents that `plan` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// properties.yaml: properties, links and identities of the group
    IgResolved,
    /// bpm.yaml: what runs in the group
    Bpm,
}

/// The options, checked and completed.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) manifest: PathBuf,
    pub(crate) inputs: Inputs,
    pub(crate) configs: Configs,
    /// A file of [`manifest_inputs::Documents`], which replaces the manifest and the inputs.
    pub(crate) documents: Option<PathBuf>,
    pub(crate) target: Target,
    pub(crate) group: Option<String>,
    pub(crate) output: Output,
    pub(crate) rendering: Settings,
}

/// The deployment that is planned: its job sources and what its addresses are made of.
#[derive(Debug, Clone)]
pub struct Target {
    /// The job sources of its releases.
    pub jobs_src: JobsSrc,
    /// The directory with the links of other deployments; it may be missing.
    pub links: PathBuf,
    /// Whether instances of other deployments cannot be reached.
    pub alone: bool,
    /// Who the instances were in the versions before.
    pub previous: Identities,
    /// The deployment's name; the manifest's where absent.
    pub deployment_name: Option<String>,
    /// `KUBE_NAMESPACE`.
    pub namespace: String,
    /// `KUBE_SERVICE_DOMAIN`.
    pub service_domain: String,
    /// Whether warnings are errors.
    pub strict: bool,
}

impl Target {
    /// What the addresses of a deployment are made of; `name` is the manifest's.
    pub(crate) fn domain(&self, name: &str) -> Domain {
        Domain {
            deployment: self.deployment_name.clone().unwrap_or_else(|| name.to_owned()),
            namespace: self.namespace.clone(),
            service_domain: self.service_domain.clone(),
        }
    }
}

/// Where to write what.
#[derive(Debug)]
pub(crate) enum Output {
    File(Kind, PathBuf),
    Directory(PathBuf),
}

impl Request {
    /// Whether everything of the deployment is written: a directory is the whole deployment's unless it is to be one
    /// group's.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.output, Output::Directory(_)) && self.group.is_none()
    }
}

impl Options {
    /// Completes the options; empty values count as absent, as pod specs give them.
    pub(crate) fn check(self, common: &Common) -> Result<Request> {
        let given = |text: Option<String>| text.filter(|t| !t.is_empty());
        let path = |path: Option<PathBuf>| path.filter(|p| !p.as_os_str().is_empty());
        let group = given(self.instance_group_name);
        let mut problems = Vec::new();
        if self.kind.is_some() && group.is_none() {
            problems.push(
                Problem::usage("plan KIND needs an instance group")
                    .hint("give --instance-group-name or INSTANCE_GROUP_NAME"),
            );
        }
        let output_dir = path(self.output_dir);
        if self.kind.is_none() && output_dir.is_none() {
            problems.push(
                Problem::usage("plan needs a KIND or --output-dir")
                    .hint("`plan ig-resolved -g GROUP` writes one document, `plan --output-dir DIR` all of them"),
            );
        }
        let rendering = self.rendering.check(&mut problems);
        Problems::check(problems)?;
        let output = match (self.kind, output_dir) {
            (Some(kind), _) => Output::File(kind, common.path(path(self.output).as_deref(), "/mnt/quarks/output.json")),
            (None, dir) => Output::Directory(dir.unwrap_or_default()),
        };
        Ok(Request {
            manifest: common
                .path(path(self.bosh_manifest_path).as_deref(), "/var/run/secrets/deployment/manifest.yaml"),
            inputs: Inputs { strict: self.strict, ..self.inputs },
            configs: self.configs,
            // `boson up` has read them, on one machine.
            target: Target {
                alone: self.documents.is_some(),
                jobs_src: JobsSrc::below(&common.path(path(self.base_dir).as_deref(), "/var/vcap/all-releases")),
                links: common.path(path(self.links_dir).as_deref(), "/var/run/secrets/links"),
                previous: previous::read(&common.path(path(self.previous).as_deref(), "/var/run/secrets/previous"))?,
                deployment_name: given(self.deployment_name),
                namespace: self.kube_namespace,
                service_domain: self.kube_service_domain,
                strict: self.strict,
            },
            documents: self.documents,
            group,
            output,
            rendering,
        })
    }
}
