//! `job`: a Kubernetes Job that runs an operation, and what it needs.

mod objects;

use std::path::PathBuf;

use clap::Args;
use object_basics::{dns_label, to_yaml};
use problem::{Place, Problem, Result, code};
use serde_json::Value as Json;

use crate::documents;
use crate::job::objects::{BrokerpakJob, brokerpak_objects};
use crate::output::print;

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Print a Kubernetes Job that runs an operation";

const BOSON_IMAGE: &str = concat!("boson/boson:", env!("CARGO_PKG_VERSION"));
/// The most that a Secret holds, with room for its other fields.
const LARGEST: usize = 1_000_000;

/// The arguments of `job`.
#[derive(Debug, Args)]
#[command(
    // With the executable's name it would be wider than a terminal.
    override_usage = "brokerpak job [OPTIONS] --request <FILE> --image <IMAGE> <OPERATION>",
    long_about = "Print a Job that runs an operation in a cluster, and what it needs: an account with a role, and a Secret with the \
        request. Nothing is sent to a cluster.\n\n\
        The image is the unpacked pak (images/pak/build). The container with terraform has no token. Another one takes the \
        instance's Lease, brings the state from Secrets into memory and stores every change. After bind the credentials are in \
        a Secret of type servicebinding.io/SERVICE, which unbind deletes. The Job's name ends in a digest of its content: \
        another request is another Job, the same one none.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak job provision --request r.json --image my-services:1.0.0 |\n\
        \x20\x20\x20\x20kubectl apply -f -\n\
        \x20\x20brokerpak job bind --request b.json --image my-services:1.0.0 --secret mail |\n\
        \x20\x20\x20\x20kubectl apply -f -\n\n\
        Exit codes: 0 done; 2 usage; 65 the request is wrong; 70 a file could not be read."
)]
pub(crate) struct Options {
    /// provision, update, upgrade, deprovision, bind or unbind
    #[arg(value_name = "OPERATION", value_parser = ["provision", "update", "upgrade", "deprovision", "bind", "unbind"])]
    operation: String,
    /// The request, JSON; - is stdin
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The image with the unpacked pak
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// boson's image
    #[arg(long, env = "BOSON_IMAGE", value_name = "IMAGE", default_value = BOSON_IMAGE)]
    boson_image: String,
    /// The namespace of the objects [default: that of kubectl]
    #[arg(short = 'n', long, env = "KUBE_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,
    /// An account that exists; it may read and write Leases and Secrets [default: brokerpak, which is printed with a role]
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// A Secret whose keys are environment variables of terraform, such as the credentials of providers; repeatable
    #[arg(long, value_name = "SECRET")]
    environment: Vec<String>,
    /// The operator's configuration, YAML or JSON
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Values of the manifest's parameters, YAML or JSON
    #[arg(long, value_name = "FILE")]
    pak_config: Option<PathBuf>,
    /// The Secret of the binding [default: brokerpak-INSTANCE-BINDING]
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
}

/// Runs `job`; gives the exit code.
///
/// # Errors
/// A request that is wrong or too large, files that cannot be read.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let mut request = documents::json_object(&options.request)?;
    let operation = options.operation.as_str();
    let place = || Place::file(options.request.display().to_string());
    match request.get("operation") {
        None | Some(Json::Null) => drop(request.insert("operation".to_owned(), operation.into())),
        Some(given) if given == operation => {}
        Some(_) => return Err(Problem::input(format!("the request is not for {operation}")).at(place()).into()),
    }
    let text = |key: &str| request.get(key).and_then(Json::as_str).unwrap_or_default();
    let (instance, binding, service) = (text("instance_id"), text("binding_id"), text("service"));
    let is_binding = matches!(operation, "bind" | "unbind");
    for (key, value) in [("instance_id", instance), ("binding_id", binding)] {
        if value.is_empty() && (key == "instance_id" || is_binding) {
            return Err(Problem::input(format!("the request has no {key}")).at(place()).into());
        }
    }
    let mut files = vec![("request.json", Json::Object(request.clone()).to_string().into_bytes())];
    for (name, file) in [("config.yml", &options.config), ("pak-config.yml", &options.pak_config)] {
        if let Some(file) = file {
            files.push((name, documents::read(file)?));
        }
    }
    let size: usize = files.iter().map(|(_, content)| content.len()).sum();
    if size > LARGEST {
        let message = format!("the request and its configurations have {size} bytes, and a Secret holds {LARGEST}");
        return Err(Problem::input(message).code(code::DOCUMENT_TOO_LARGE).into());
    }
    let default = format!("brokerpak-{}", dns_label(&format!("{instance}-{binding}"), 50));
    let secret = options.secret.as_deref().unwrap_or(&default);
    let kind = if service.is_empty() { "brokerpak" } else { service };
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let objects = brokerpak_objects(&BrokerpakJob {
        operation,
        instance,
        files,
        image: &options.image,
        boson_image: &options.boson_image,
        namespace: given(&options.namespace).as_deref(),
        service_account: given(&options.service_account).as_deref(),
        environment: &options.environment,
        secret: is_binding.then_some((secret, kind)),
    });
    print(&to_yaml(&objects))?;
    Ok(0)
}
