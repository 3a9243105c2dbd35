//! The names that shells complete: deployments of this user, their instances, and their errands.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use clap::{Arg, Command};
use command_line::{ArgValueCandidates, CompletionCandidate};
use local_state::StateDir;

/// The variable of every flag that names a deployment.
const DEPLOYMENT: &str = "BOSH_DEPLOYMENT";

/// Adds the candidates to a grammar; `typed` is the command line, which may name the deployment that is meant.
pub fn add(grammar: Command, typed: &[OsString]) -> Command {
    let typed: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    grammar.mut_subcommands(|verb| {
        let named = verb.get_arguments().find(|arg| is_deployment(arg)).and_then(|arg| value(arg, &typed));
        let add = |arg: Arg| with_names(arg, named.as_deref());
        verb.mut_args(add).mut_subcommands(|verb| verb.mut_args(add))
    })
}

fn is_deployment(arg: &Arg) -> bool {
    arg.get_env().is_some_and(|variable| variable == DEPLOYMENT)
}

fn with_names(arg: Arg, deployment: Option<&str>) -> Arg {
    let deployment = deployment.map(str::to_owned);
    let names: fn(Option<&str>) -> Vec<String> = match arg.get_value_names().unwrap_or_default() {
        _ if is_deployment(&arg) => |_| chosen(None).iter().filter_map(deployment_name).collect(),
        [name] if name == "GROUP/INDEX" => |deployment| instances(deployment),
        [name] if name == "GROUP[/INDEX]" || name == "GROUP[/INDEX[/JOB]]" => {
            |deployment| with_groups(instances(deployment))
        }
        _ if arg.get_id() == "errand" => errands,
        _ => return arg,
    };
    let candidates = move || names(deployment.as_deref()).into_iter().map(CompletionCandidate::new).collect();
    arg.add(ArgValueCandidates::new(candidates))
}

/// The value that the command line has for a flag.
fn value(flag: &Arg, typed: &[String]) -> Option<String> {
    let longs = flag.get_long_and_visible_aliases().unwrap_or_default().into_iter().map(|name| format!("--{name}"));
    let shorts = flag.get_short_and_visible_aliases().unwrap_or_default().into_iter().map(|name| format!("-{name}"));
    let names: Vec<String> = longs.chain(shorts).collect();
    let value = |(at, word): (usize, &String)| match word.split_once('=') {
        Some((name, value)) if names.iter().any(|known| known == name) => Some(value.to_owned()),
        _ if names.contains(word) => typed.get(at + 1).cloned(),
        _ => None,
    };
    typed.iter().enumerate().find_map(value)
}

fn deployment_name(dir: &StateDir) -> Option<String> {
    Some(dir.record().ok()??.deployment)
}

/// The deployment of this name, or all.
fn chosen(deployment: Option<&str>) -> Vec<StateDir> {
    let mut all = StateDir::all().unwrap_or_default();
    all.retain(|dir| deployment.is_none_or(|name| deployment_name(dir).is_some_and(|own| own == name)));
    all
}

fn instances(deployment: Option<&str>) -> Vec<String> {
    let records = chosen(deployment).into_iter().filter_map(|dir| dir.record().ok()?);
    sorted(records.flat_map(|record| record.addresses.into_keys()))
}

fn with_groups(mut instances: Vec<String>) -> Vec<String> {
    let groups = sorted(instances.iter().filter_map(|name| Some(name.rsplit_once('/')?.0.to_owned())));
    instances.splice(0..0, groups);
    instances
}

/// The jobs that have a script `bin/run`, in the sources of the deployments that are up.
fn errands(deployment: Option<&str>) -> Vec<String> {
    let sources = chosen(deployment).into_iter().flat_map(|dir| entries(dir.generations()));
    let releases = sources.flat_map(|generation| entries(generation.join("all-releases/jobs-src")));
    let jobs = releases.flat_map(entries);
    let errands = jobs.filter(|job| {
        let specification = fs::read_to_string(job.join("job.MF")).or_else(|_| fs::read_to_string(job.join("spec")));
        specification.is_ok_and(|text| text.contains("bin/run"))
    });
    sorted(errands.filter_map(|job| job.file_name()?.to_str().map(str::to_owned)))
}

fn entries(directory: PathBuf) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<std::collections::BTreeSet<String>>().into_iter().collect()
}
