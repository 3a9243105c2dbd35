//! Resolving the deployment, in a sandbox of its own.
//!
//! `plan` evaluates templates, which are the release's code: it sees the manifest and the job sources, and nothing else of
//! this machine. It renders all templates of all instances, so that a mistake in one is known before anything is compiled.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use problem::{IoContext, Problem, Problems};
use sandbox::{Access, Bind, Command, Exit, InstanceSpec, Once, Stdio};

use super::sources::SourceNames;
use crate::executable::SANDBOX_PATH;
use crate::failure::{FailedStage, Failure, cannot_sandbox};
use crate::input::Input;
use crate::workspace;
use local_state::Interrupt;

/// Where the sandbox has what `plan` reads and writes.
const DOCUMENTS: &str = "/mnt/documents.json";
const RELEASES: &str = "/var/vcap/all-releases";
const OUTPUT: &str = "/mnt/output";

/// Variables of `plan` that the user may set for `boson up`.
const FORWARDED: [&str; 6] = [
    "BOSON_LOG",
    "BOSON_LOG_FORMAT",
    "KUBE_NAMESPACE",
    "KUBE_SERVICE_DOMAIN",
    "TEMPLATE_ISOLATION",
    "TEMPLATE_TIMEOUT",
];

/// Resolves everything, in this workspace; gives the warnings.
pub(crate) fn plan(input: &Input, dir: &Path, sources: &SourceNames, interrupt: &Interrupt) -> Result<String, Failure> {
    if interrupt.is_asked() {
        return Err(Failure::Interrupted);
    }
    let (documents, printed) = (dir.join("documents.json"), dir.join("printed"));
    let text = serde_json::to_vec(&input.documents)
        .map_err(|e| Problem::internal("cannot write the manifest for plan").because(e))?;
    fs::write(&documents, text).io("write", &documents)?;
    let mut argv =
        ["plan", "--documents", DOCUMENTS, "-b", RELEASES, "--output-dir", OUTPUT].map(str::to_owned).to_vec();
    argv.extend(input.given_name.iter().flat_map(|name| ["--deployment-name".to_owned(), name.clone()]));
    let forwarded = FORWARDED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let env = forwarded.chain([("PATH".to_owned(), SANDBOX_PATH.to_owned())]).collect();
    let log = File::options().create_new(true).append(true).mode(0o600).open(&printed).io("write", &printed)?;
    let stdio = Stdio::to_file(log).io("write", &printed)?;

    let sandbox = Arc::new(Once::start(specification(dir, &documents)?).map_err(|e| cannot_sandbox(&e))?);
    let to_end = Arc::clone(&sandbox);
    let guard = interrupt.guard(move || to_end.kill());
    let exit = sandbox.run(Command { argv, env, directory: "/".into(), stdio });
    drop(guard);
    if interrupt.is_asked() {
        return Err(Failure::Interrupted);
    }
    let exit = exit.map_err(|e| Problem::internal("cannot run plan").because(e))?;
    let mut text = Vec::new();
    File::open(&printed).and_then(|mut file| file.read_to_end(&mut text)).io("read", &printed)?;
    let output = sources.restore(&String::from_utf8_lossy(&text));
    if exit == Exit::Code(0) {
        return Ok(output);
    }
    Err(FailedStage { instance: None, verb: "plan".to_owned(), output, code: exit.code() }.into())
}

fn specification(dir: &Path, documents: &Path) -> Result<InstanceSpec, Problems> {
    let make = |path: PathBuf| -> Result<PathBuf, Problems> {
        fs::create_dir(&path).io("make", &path)?;
        Ok(path)
    };
    let bind =
        |source: &Path, target: &str, access| Bind { source: source.to_path_buf(), target: target.into(), access };
    Ok(InstanceSpec {
        name: "plan".to_owned(),
        hostname: "plan".to_owned(),
        address: None,
        base: None,
        name_server: None,
        mount_point: make(dir.join("root"))?,
        vcap: make(dir.join("vcap"))?,
        hosts: None,
        memory: Vec::new(),
        binds: vec![
            bind(documents, DOCUMENTS, Access::ReadOnly),
            bind(&workspace::all_releases(dir), RELEASES, Access::ReadOnly),
            bind(&make(workspace::documents(dir))?, OUTPUT, Access::ReadWrite),
        ],
        executable_names: vec!["plan".to_owned()],
    })
}
