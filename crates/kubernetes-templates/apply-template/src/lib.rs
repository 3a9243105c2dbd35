//! Kubernetes Templates in a cluster: the verbs `apply-template` and `export-template`.

mod apply;
mod delete;
mod diff;
pub mod export_template;
mod instance;
mod kinds;
mod live;
mod members;
mod options;
mod plan;
mod rbac;
mod secrets;
mod template;

use std::io::Write;

use cluster::Cluster;
use problem::Result;
use startup::Common;

use crate::instance::Instance;
use crate::kinds::Kinds;
pub use crate::options::Options;
use crate::options::{Action, Request};
use crate::plan::Plan;

/// The verb's line in `--help`.
pub const ABOUT: &str = "Apply a Kubernetes Template as an instance";

/// The exit code of `--diff` if something differs, as that of `kubectl diff`.
const DIFFERS: u8 = 1;

/// Runs the verb and returns its exit code.
///
/// # Errors
/// Before anything is applied: usage, the template, the values, objects that are not the instance's, objects that the API server
/// refuses. Then: failures of the cluster.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let request = options.check()?;
    let cluster = Cluster::connect(&request.connection)?;
    let mut kinds = Kinds::new(&cluster);
    if request.action == Action::Rbac {
        print(&rbac::roles(&cluster, &request, &mut kinds)?);
        return Ok(0);
    }
    let instance = Instance::read(&cluster, &request.name)?;
    if request.action == Action::Delete {
        delete::instance(&cluster, &request, instance, &mut kinds)?;
        return Ok(0);
    }
    apply(&cluster, &request, &instance, &mut kinds)
}

fn apply(cluster: &Cluster, request: &Request, instance: &Instance, kinds: &mut Kinds) -> Result<u8> {
    let template = template::processed(cluster, request, &instance.values)?;
    let members = members::members(template.objects, instance, cluster.namespace(), kinds)?;
    let plan = Plan::new(cluster, request, instance, members, &template.secrets, kinds)?;
    if request.action == Action::Diff {
        let text = diff::of(&plan, &template.secrets);
        print(&text);
        return Ok(if text.is_empty() { 0 } else { DIFFERS });
    }
    apply::apply(cluster, request, instance, &plan, &template.values, &template.secrets)?;
    Ok(0)
}

/// Prints a text on standard output.
fn print(text: &str) {
    // Nobody may be reading.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Prints a line of progress.
fn say(line: std::fmt::Arguments) {
    print(&format!("{line}\n"));
}
