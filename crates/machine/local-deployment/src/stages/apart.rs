//! Running a verb that evaluates templates, in a sandbox of its own without a network.
//!
//! Templates are the release's code: the verb sees what is bound into the sandbox, and nothing else of this machine.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use problem::{IoContext, Problem, Problems};
use sandbox::{Bind, Command, Exit, InstanceSpec, Once, Stdio};

use crate::executable::SANDBOX_PATH;
use crate::failure::{Failure, cannot_sandbox};
use local_state::Interrupt;

/// Variables of the verb that the user may set for `boson up`.
const FORWARDED: [&str; 6] = [
    "BOSON_LOG",
    "BOSON_LOG_FORMAT",
    "KUBE_NAMESPACE",
    "KUBE_SERVICE_DOMAIN",
    "TEMPLATE_ISOLATION",
    "TEMPLATE_TIMEOUT",
];

/// Runs a verb once in a workspace; returns how it ended and what it printed.
pub(super) fn run(
    workspace: &Path,
    argv: Vec<String>,
    binds: Vec<Bind>,
    interrupt: &Interrupt,
) -> Result<(Exit, String), Failure> {
    if interrupt.is_asked() {
        return Err(Failure::Interrupted);
    }
    let verb = argv.first().cloned().unwrap_or_default();
    let printed = workspace.join(format!("{verb}-printed"));
    let forwarded = FORWARDED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let env = forwarded.chain([("PATH".to_owned(), SANDBOX_PATH.to_owned())]).collect();
    let log = File::options().create_new(true).append(true).mode(0o600).open(&printed).io("write", &printed)?;
    let stdio = Stdio::to_file(log).io("write", &printed)?;
    let specification = specification(workspace, &verb, binds)?;
    let sandbox = Arc::new(Once::start(specification).map_err(|e| cannot_sandbox(&e))?);
    let to_end = Arc::clone(&sandbox);
    let guard = interrupt.guard(move || to_end.kill());
    let exit = sandbox.run(Command { argv, env, directory: "/".into(), stdio, privileged: false });
    drop(guard);
    if interrupt.is_asked() {
        return Err(Failure::Interrupted);
    }
    let exit = exit.map_err(|e| Problem::internal(format!("cannot run {verb}")).because(e))?;
    let mut text = Vec::new();
    File::open(&printed).and_then(|mut file| file.read_to_end(&mut text)).io("read", &printed)?;
    Ok((exit, String::from_utf8_lossy(&text).into_owned()))
}

fn specification(workspace: &Path, verb: &str, binds: Vec<Bind>) -> Result<InstanceSpec, Problems> {
    let make = |name: &str| -> Result<PathBuf, Problems> {
        let path = workspace.join(format!("{verb}-{name}"));
        fs::create_dir(&path).io("make", &path)?;
        Ok(path)
    };
    Ok(InstanceSpec {
        name: verb.to_owned(),
        hostname: verb.to_owned(),
        address: None,
        base: None,
        name_server: None,
        mount_point: make("root")?,
        vcap: make("vcap")?,
        hosts: None,
        memory: Vec::new(),
        binds,
        executable_names: vec![verb.to_owned()],
        privileged: false,
    })
}
