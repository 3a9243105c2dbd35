//! The verb `export-template`: objects of a namespace as a Template.

mod choice;
mod clean;
mod defaults;
mod parameters;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cluster::{Cluster, Connection, Object, name};
use dialect_kubernetes_templates::{self as dialect, SYNTAX_ANNOTATION, Syntax, read, write};
use problem::{Problem, Result};
use serde_json::json;
use startup::Common;

use crate::export_template::choice::Chosen;
use crate::export_template::parameters::Parameters;
use crate::kinds::{Kinds, rank};

/// The verb's line in `--help`.
pub const ABOUT: &str = "Print objects of a namespace as a Template";

/// The mode of the file.
const MODE: u32 = 0o640;

/// The options of `export-template`.
#[derive(Debug, Args)]
#[command(
    long_about = "Print objects of a namespace as a Template, without what the cluster has added: status, metadata other than \
        name, labels and annotations, fields that the API server allocates (cluster IPs, node ports, nodes, volumes), \
        and default values. A default value is left out only if the API server gives the same object without it. Objects \
        that other objects own are left out, and objects that every namespace has.\n\n\
        Each value of a Secret becomes a required parameter of type base64, so that the Template contains no secrets. \
        `$` is escaped where it would begin a reference: processing gives equal objects.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson export-template deployment/web service/web configmap/web\n\
        \x20\x20kubectl boson export-template -l app=web --output web.yaml\n\
        \x20\x20kubectl boson export-template --all --namespace shop\n\n\
        Exit codes: 0 done; 2 usage; 65 an object or kind does not exist, or belongs to another object; 70 the cluster failed."
)]
pub struct Options {
    /// Objects: deployment/web, svc/web, widgets.example.com/a
    #[arg(value_name = "KIND/NAME")]
    pub objects: Vec<String>,
    /// All objects with these labels: app=web,tier!=db
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// All objects of the namespace
    #[arg(long)]
    pub all: bool,
    /// The name of the Template [default: the namespace's]
    #[arg(long, value_name = "NAME")]
    pub template_name: Option<String>,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "yaml")]
    pub format: Format,
    /// Write to a file with mode 0640 instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The cluster
    #[command(flatten)]
    pub connection: Connection,
}

/// The format of the Template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// YAML
    Yaml,
    /// JSON
    Json,
}

/// Runs the verb and returns its exit code.
///
/// # Errors
/// Usage; objects that do not exist or that others own; failures of the cluster.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let choices = [!options.objects.is_empty(), options.selector.is_some(), options.all];
    if choices.into_iter().filter(|is_made| *is_made).count() != 1 {
        let problem =
            Problem::usage("export-template needs objects (KIND/NAME), --selector or --all, and only one of them");
        return Err(problem.into());
    }
    let cluster = Cluster::connect(&options.connection)?;
    let mut kinds = Kinds::new(&cluster);
    let mut chosen = match options.objects.as_slice() {
        [] => choice::all(&cluster, &mut kinds, options.selector.as_deref().unwrap_or_default())?,
        names => choice::named(&cluster, &mut kinds, names)?,
    };
    chosen.sort_by_cached_key(|member| {
        (rank(&member.resource.kind), member.resource.kind.clone(), name(&member.object).to_owned())
    });
    let template = template(&cluster, &chosen, options.template_name.as_deref());
    let root = read(template.to_string().as_bytes(), dialect::Format::Json)
        .map_err(|e| Problem::internal("cannot write the template").because(e))?;
    let format = match options.format {
        Format::Yaml => dialect::Format::Yaml,
        Format::Json => dialect::Format::Json,
    };
    let text = write(&root, format);
    match &options.output {
        Some(path) => vcap::atomic::write_file(path, text.as_bytes(), MODE)?,
        None => crate::print(&text),
    }
    Ok(0)
}

fn template(cluster: &Cluster, chosen: &[Chosen], name: Option<&str>) -> Object {
    let mut parameters = Parameters::default();
    let objects: Vec<Object> =
        chosen.iter().map(|member| parameters.parameterized(exported(cluster, member), cluster.namespace())).collect();
    json!({
        // The syntax of its references, in which a `$` can be escaped. The annotation keeps it when the template is stored.
        "apiVersion": "v1",
        "kind": "Template",
        "metadata": {
            "name": name.unwrap_or(cluster.namespace()),
            "annotations": {SYNTAX_ANNOTATION: Syntax::Kubernetes.name()},
        },
        "parameters": parameters.into_list(),
        "objects": objects,
    })
}

/// An object without what the cluster has added. Defaults go only if the API server says that they are some.
fn exported(cluster: &Cluster, chosen: &Chosen) -> Object {
    let full = clean::cleaned(&chosen.object);
    let short = defaults::without(&full);
    if short == full || is_same(cluster, chosen, &full, &short) { short } else { full }
}

/// Whether the API server makes the same object of the short one.
fn is_same(cluster: &Cluster, chosen: &Chosen, full: &Object, short: &Object) -> bool {
    let mut trial = short.clone();
    if let Some(metadata) = trial["metadata"].as_object_mut() {
        metadata.remove("name");
        metadata.insert("generateName".to_owned(), "export-".into());
    }
    match cluster.try_create(&chosen.resource, cluster.namespace(), &trial) {
        Ok(made) => {
            let mut made = clean::cleaned(&made);
            made["metadata"]["name"] = full["metadata"]["name"].clone();
            made == *full
        }
        Err(problems) => {
            let what = format!("{} {}", chosen.resource.kind, name(full));
            tracing::debug!("{what} keeps its default values: {}", startup::without_control(&problems.to_string()));
            false
        }
    }
}
