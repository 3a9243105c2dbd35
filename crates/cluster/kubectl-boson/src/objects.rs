//! `kubectl boson objects`: the objects of a deployment as files, for kustomize and for programs that apply what is in a repository.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use deploy::Offline;
use kubernetes_objects as objects;
use objects::Object;
use pod_flags::ObjectFlags;
use problem::{IoContext, Problem, Result, code};
use serde_json::json;
use startup::Common;

use crate::output::line;

/// One line for `--help`.
pub const ABOUT: &str = "Write the objects of a deployment as files for kustomize";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Write the objects that run a deployment as files: a kustomization, shared.yaml, a file for each instance group, and \
        below secrets/ what templates see, from which kustomize makes Secrets. Needs no cluster, no gather Job and no \
        images: PLANNED is what `boson plan --output-dir PLANNED` has written. The same input gives the same bytes.\n\n\
        Whoever applies the objects updates the deployment: `kubectl apply -k`, Argo CD or Flux. Kubernetes then replaces the \
        pods, all of a StatefulSet one after the other. Post-deploy scripts do not run, and errands run with `kubectl boson \
        errand` only.\n\n\
        secrets/ holds the properties of all jobs, passwords included: encrypt it before you commit it, or generate it where \
        it is applied. Files of yours in the directory stay.",
    after_long_help = "Examples:\n\
        \x20\x20boson plan -m nats.yml -b all-releases --output-dir planned\n\
        \x20\x20kubectl boson objects planned --registry registry.example/releases --output nats\n\
        \x20\x20kubectl apply -k nats\n\n\
        Exit codes: 0 done; 2 usage; 65 a document, a name or an image is wrong; 70 a file cannot be written."
)]
pub struct Options {
    /// The directory that `boson plan --output-dir` has written
    #[arg(value_name = "PLANNED")]
    planned: PathBuf,
    /// The directory to write
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// The address of the server of DNS aliases, if the deployment has any: one of the cluster's Services that is free
    #[arg(long, value_name = "IP")]
    name_server: Option<std::net::IpAddr>,
    /// Images and placement
    #[command(flatten)]
    pods: ObjectFlags,
}

const KUSTOMIZATION: &str = "kustomization.yaml";
const SECRETS: &str = "secrets";
/// The start of the kustomization, by which a directory of an earlier run is recognised.
const HEADER: &str = "# Written by `kubectl boson objects`, which writes it anew: put changes into an overlay.\n";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let name_server = options.name_server.map(|address| address.to_string());
    let offline = deploy::offline(&options.planned, &options.pods, name_server.as_deref())?;
    prepare(&options.output)?;
    write(&options.output, &offline)?;
    let directory = options.output.display();
    line(format_args!(
        "{} files for deployment {}; {directory}/{SECRETS} has its passwords",
        offline.files.len() + offline.secrets.len() + 1,
        offline.deployment
    ));
    Ok(0)
}

/// Makes the directory, or removes what an earlier run has written into it.
///
/// # Errors
/// A directory with files of others and no kustomization of boson.
fn prepare(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).io("create", directory)?;
    let path = directory.join(KUSTOMIZATION);
    match fs::read_to_string(&path) {
        Ok(text) if text.starts_with(HEADER) => {}
        Ok(_) => return Err(taken(directory)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match fs::read_dir(directory).io("read", directory)?.next() {
                None => Ok(()),
                Some(_) => Err(taken(directory)),
            };
        }
        Err(error) => return Err(error).io("read", &path),
    }
    for entry in fs::read_dir(directory).io("read", directory)? {
        let entry = entry.io("read", directory)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_group = name.starts_with("group-") && name.ends_with(".yaml");
        if is_group || name == "shared.yaml" {
            fs::remove_file(entry.path()).io("remove", &entry.path())?;
        } else if name == SECRETS {
            fs::remove_dir_all(entry.path()).io("remove", &entry.path())?;
        }
    }
    Ok(())
}

fn taken(directory: &Path) -> problem::Problems {
    let problem = Problem::input(format!("{} has files that boson has not written", directory.display()));
    problem.code(code::INPUT_INVALID).hint("give an empty or a new directory").into()
}

fn write(directory: &Path, offline: &Offline) -> Result<()> {
    let resources: Vec<&String> = offline.files.iter().map(|(file, _)| file).collect();
    let mut generated: Vec<Object> = Vec::new();
    for (name, key, content) in &offline.secrets {
        let file = format!("{SECRETS}/{name}/{key}");
        write_secret(&directory.join(&file), content)?;
        generated.push(json!({"name": name, "files": [format!("{key}={file}")]}));
    }
    for (file, objects) in &offline.files {
        let path = directory.join(file);
        fs::write(&path, objects::to_yaml(objects)).io("write", &path)?;
    }
    let mut labels = json!({"app.kubernetes.io/managed-by": objects::MANAGER});
    labels[objects::DEPLOYMENT] = objects::deployment_label(&offline.deployment).into();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": resources,
        "secretGenerator": generated,
        "generatorOptions": {"immutable": true, "labels": labels},
    });
    let text = objects::to_yaml(&[kustomization]);
    let path = directory.join(KUSTOMIZATION);
    // Last: a directory without it is not complete.
    fs::write(&path, format!("{HEADER}{}", text.trim_start_matches("---\n"))).io("write", &path)
}

/// Writes a file that only its owner can read, and the directories that it needs.
pub(crate) fn write_secret(path: &Path, content: &[u8]) -> Result<()> {
    use std::io::Write;

    let parent = path.parent().unwrap_or(path);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).io("create", parent)?;
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).io("write", path)?;
    file.write_all(content).io("write", path)
}
