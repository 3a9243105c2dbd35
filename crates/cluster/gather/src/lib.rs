//! Prints what a cluster needs to run a deployment: the gather Job, its account, the manifest.

mod explain;
mod links;
mod manifest;
mod nodes;
mod options;
mod patches;
mod releases;

use std::path::PathBuf;

use clap::Args;
use kubernetes_objects::{Gather, Object, ReleaseRef, gather_objects, to_yaml};
use manifest_inputs::Document;
use problem::{Problem, Result, code};

use crate::manifest::Manifest;
pub use crate::options::{Options, PlanContainers};

/// One line for `--help`.
pub const ABOUT: &str = "Print what a cluster needs to run a deployment";

/// The arguments of `gather`.
#[derive(Debug, Args)]
#[command(
    long_about = "Print the Kubernetes objects that bring a deployment up: a Job that plans the manifest inside the cluster, \
        writes the documents of every instance group into Secrets and applies StatefulSets, Services and Jobs; the Job's \
        account with a role; and the manifest in a Secret. Nothing is sent to a cluster.\n\n\
        The Job's name ends in a digest of its content, so applying other content is an update. `kubectl apply` of the \
        same content does nothing while the Job exists; `kubectl boson apply` runs it again. Deleting the objects \
        deletes the deployment, except its persistent disks.",
    after_long_help = "Examples:\n\
        \x20\x20boson gather nats.yml --registry registry.example/releases | kubectl apply -f -\n\
        \x20\x20boson gather nats.yml -o scale.yml -v instances=3 --image nats=nats-release:2.3\n\
        \x20\x20boson gather nats.yml --registry R --patch nats=listen.diff\n\
        \x20\x20boson plan -m nats.yml -b all-releases --output-dir planned &&\n\
        \x20\x20boson gather nats.yml --explain-security planned\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest, an ops file, a variable, an image or a patch is wrong; 70 the environment failed."
)]
// The flags of the objects are a group of this name, too.
#[group(skip)]
pub struct PrintOptions {
    /// What is printed
    #[command(flatten)]
    pub options: Options,
    /// Print what pods need beyond the Pod Security Standard restricted, and packages of other releases, and nothing else; DIR is what `boson plan --output-dir DIR`
    /// has written
    #[arg(long, value_name = "DIR")]
    pub explain_security: Option<PathBuf>,
}

/// The most bytes of a manifest and its configs. `plan` reads them in one container of the gather Job.
const MAX_DOCUMENTS: usize = 10_000_000;
/// The most bytes of the patches of a release: what a ConfigMap holds, with room for its other fields.
const MAX_PATCHES: usize = 1_000_000;

/// Runs the verb; gives the exit code.
///
/// # Errors
/// As [`objects`], and if standard output cannot be written.
pub fn run(print: &PrintOptions) -> Result<u8> {
    let text = match explain_security(print)? {
        Some(text) => text,
        None => to_yaml(&objects(&print.options)?),
    };
    startup::write_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(0)
}

/// What pods need, if that is asked for.
///
/// # Errors
/// Documents that are missing or malformed.
pub fn explain_security(print: &PrintOptions) -> Result<Option<String>> {
    let explain = |planned: &PathBuf| explain::security(planned, print.options.pods.scripts_as());
    print.explain_security.as_ref().map(explain).transpose()
}

fn texts(documents: &[Document]) -> Vec<&[u8]> {
    documents.iter().map(Document::text).collect()
}

fn needed(releases: &[ReleaseRef]) -> impl Iterator<Item = &ReleaseRef> {
    releases.iter().filter(|release| release.is_needed)
}

/// The objects in the order in which they are applied. What a variables store lacks is generated.
///
/// # Errors
/// What is wrong with the manifest, as far as it can be known without the releases; releases without an image.
pub fn objects(options: &Options) -> Result<Vec<Object>> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let manifest = Manifest::read(options, given(&options.deployment_name))?;
    let size: usize = manifest.documents.iter().map(|document| document.text().len()).sum();
    if size > MAX_DOCUMENTS {
        let message =
            format!("the manifest and its configs have {size} bytes, and at most {MAX_DOCUMENTS} are supported");
        return Err(Problem::input(message).code(code::DOCUMENT_TOO_LARGE).into());
    }
    let settings = options.pods.settings(&manifest.releases)?;
    let releases: Vec<String> = needed(&manifest.releases).map(|release| release.name.clone()).collect();
    let patches = patches::read(&options.patches, &manifest.releases)?;
    let (runtime_configs, cloud_configs) =
        (texts(&manifest.documents.runtime_configs), texts(&manifest.documents.cloud_configs));
    let mut deploy = pod_flags::arguments(&settings);
    deploy.extend(options.run_errands.iter().flat_map(|name| ["--run-errand".to_owned(), name.clone()]));
    deploy.extend(options.ready_timeout.iter().map(|timeout| format!("--ready-timeout={timeout}")));
    deploy.extend(options.update.arguments());
    Ok(gather_objects(&Gather {
        deployment: &manifest.name,
        manifest: manifest.documents.manifest.text(),
        runtime_configs: &runtime_configs,
        cloud_configs: &cloud_configs,
        namespace: given(&options.namespace).as_deref(),
        service_domain: &options.kube_service_domain,
        releases: &releases,
        links: &manifest.links,
        patches: &patches,
        service_account: given(&options.service_account).as_deref(),
        settings: &settings,
        planned_groups: if options.plan_containers == PlanContainers::Group { &manifest.groups } else { &[] },
        api_servers: &options.api_servers,
        deploy,
        deploy_once: options.replace.arguments().collect(),
        force_conflicts: options.force_conflicts,
    }))
}
