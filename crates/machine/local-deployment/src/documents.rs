//! What the flags make of the manifest and the configs.
//!
//! Variables are generated here, outside of the sandbox in which `plan` runs. Certificates that take names from links need the
//! releases' job specs before.

use std::path::{Path, PathBuf};

use handoff::identities::Identities;
use jobs_src::JobsSrc;
use manifest_inputs::{DefaultStore, Documents, Draft};
use plan::{NAMESPACE, SERVICE_DOMAIN, Target};
use problem::{Place, Problem, Result, code};
use ruby::Vm;

use crate::certificates;
use crate::identities;
use crate::input::Config;
use crate::releases;
use crate::stages::{self, SourceNames};
use crate::workspace::{self, Workspace};

/// The documents of a run; generated variables are written into their store. If the flags name none, `default_store` gives its place.
/// Releases that the manifest gives by URL are downloaded, and added to those of `config`.
pub fn read_documents(config: &mut Config, default_store: &DefaultStore) -> Result<Documents> {
    let (name, text) = manifest_inputs::read(&config.manifest);
    let refused = |e| {
        let problem = Problem::input("cannot read the manifest").code(code::MANIFEST_MISSING);
        problem.at(Place::file(&name)).because(e).into()
    };
    let draft = config.inputs.read(&config.configs, &name, text.map_err(refused), Some(default_store))?;
    certificates::check(&draft.certificates()?, config.allow_expired, config.inputs.strict)?;
    config.releases = releases::complete(&draft.preview()?, &config.releases, config.offline)?;
    let addresses = if draft.links().is_empty() { Vec::new() } else { addresses(&draft, config)? };
    draft.finish(&addresses)
}

/// Resolves the links of variables with the releases' job specs.
fn addresses(draft: &Draft, config: &Config) -> Result<Vec<String>> {
    let releases = stages::opened(&config.releases, &|| false)?;
    let workspace = Workspace::new()?;
    let base = workspace::all_releases(workspace.path());
    for release in &releases {
        release.stage_jobs(&base.join("jobs-src").join(&release.name))?;
    }
    let names = SourceNames::below(&base, releases.iter().zip(config.releases.iter().map(PathBuf::as_path)));
    let previous = identities::directory(&draft.preview()?, config.name.as_deref(), config.state_dir.as_deref());
    let target = target(&base, config.name.as_deref(), identities::read(previous.as_deref())?);
    Vm::beside(|vm| plan::link_addresses(vm, draft, &target).map_err(|problems| names.restore_in(problems)))
}

/// As the sandboxed `plan` gets it from its environment and its flags.
fn target(base: &Path, name: Option<&str>, previous: Identities) -> Target {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    Target {
        alone: true,
        jobs_src: JobsSrc::below(base),
        links: base.join("links"),
        previous,
        deployment_name: name.filter(|name| !name.is_empty()).map(str::to_owned),
        namespace: variable("KUBE_NAMESPACE", NAMESPACE),
        service_domain: variable("KUBE_SERVICE_DOMAIN", SERVICE_DOMAIN),
        strict: false,
    }
}
