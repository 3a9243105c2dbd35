//! Reading the documents, whose certificates may take names from links.

use instance_group::{Deployment, VariableLink};
use manifest_inputs::Draft;
use problem::Result;
use ruby::Vm;

use crate::documents::{self, Documents};
use crate::options::{Request, Target};
use crate::{external_links, input};

/// Reads everything that the command line names, and applies operations and variables.
pub(crate) fn read_documents(vm: &Vm, request: &Request) -> Result<Documents> {
    if let Some(path) = &request.documents {
        return Documents::read_together(path);
    }
    let (name, text) = manifest_inputs::read(&request.manifest);
    let text = text.map_err(|e| documents::refused(&name, &request.manifest, e));
    let draft = request.inputs.read(&request.configs, &name, text, None)?;
    let addresses = addresses(vm, &draft, &request.target)?;
    draft.finish(&addresses).map(Documents::of)
}

/// The addresses of the links that the variables of a draft consume, in their order.
///
/// # Errors
/// All that is wrong with the manifest, the configs, the job specs and their links.
pub fn addresses(vm: &Vm, draft: &Draft, target: &Target) -> Result<Vec<String>> {
    let links: Vec<VariableLink> = draft
        .links()
        .into_iter()
        .map(|(link, place)| VariableLink {
            variable: link.variable,
            name: link.name.as_str().to_owned(),
            from: link.from,
            link_type: link.link_type,
            place: place.unwrap_or_default(),
        })
        .collect();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let input = input::read(vm, Documents::of(draft.preview()?), target, false)?;
    let domain = target.domain(&input.manifest.name);
    let external = external_links::read(vm, &target.links, &domain, input.specs.values())?;
    let (manifest, specs) = (&input.manifest, &input.specs);
    let deployment = Deployment { manifest, domain, specs, external: &external, alone: target.alone };
    instance_group::link_addresses(&deployment, &links).map_err(|problems| input.documents.locate(vm, problems))
}
