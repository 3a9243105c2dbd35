//! The objects of a deployment without a cluster: for whoever applies them himself.

use std::path::Path;

use kubernetes_objects as objects;
use objects::{Object, UpdatedBy};
use pod_flags::ObjectFlags;
use problem::{Problem, Result, code};
use serde_json::json;

use crate::documents::Documents;

/// The objects that run a deployment.
#[derive(Debug)]
pub struct Offline {
    /// The deployment.
    pub deployment: String,
    /// Objects with the name of the file that they are for: what all groups share, and each group.
    pub files: Vec<(String, Vec<Object>)>,
    /// The Secrets that pods mount: name, key and content.
    pub secrets: Vec<(String, String, Vec<u8>)>,
}

/// What `plan` has written into a directory, as objects. `name_server` is the address that the Service of the server of DNS aliases is to
/// have.
///
/// # Errors
/// Documents that are missing or malformed, flags, names and settings that are wrong, DNS aliases without an address of their server.
pub fn offline(planned: &Path, pods: &ObjectFlags, name_server: Option<&str>) -> Result<Offline> {
    let deployment = plan_output::deployment(planned)?;
    objects::check_dns_aliases(&deployment)?;
    let mut documents = Documents::of_plan(deployment, planned)?;
    let secrets = documents.resolved_secrets(planned)?;
    documents.warn_of_ignored_aliases();
    documents.warn_of_sysctls();
    let settings = pods.settings(&documents.releases())?;
    let name_server = name_server.map(str::to_owned);
    let settings = objects::Settings { updated_by: UpdatedBy::Kubernetes, name_server, ..settings };
    let workloads = documents.workloads(&settings);
    workloads.check()?;
    let mut shared = workloads.shared();
    match (workloads.name_server_service(), &settings.name_server) {
        (Some(service), Some(address)) => {
            let is_it = |object: &&mut Object| {
                object["kind"] == service["kind"] && object["metadata"]["name"] == service["metadata"]["name"]
            };
            shared.iter_mut().filter(is_it).for_each(|service| service["spec"]["clusterIP"] = json!(address));
        }
        (Some(_), None) => {
            let problem = Problem::usage(
                "the deployment has DNS aliases, and pods name the address of the server that answers them",
            );
            let hint = "give it a free address of the cluster's Services: --name-server 10.96.0.53";
            return Err(problem.code(code::USAGE).hint(hint).into());
        }
        (None, _) => {}
    }
    shared.insert(0, objects::anchor_object(&workloads.deployment.name));
    let groups = workloads.groups().into_iter().filter(|group| !group.objects.is_empty());
    let of_groups =
        groups.map(|group| (format!("group-{}.yaml", objects::deployment_label(&group.group)), group.objects));
    let files = std::iter::once(("shared.yaml".to_owned(), shared)).chain(of_groups).collect();
    Ok(Offline { deployment: workloads.deployment.name.clone(), files, secrets })
}
