//! Resolving the deployment, in a sandbox of its own.
//!
//! `plan` sees the manifest and the job sources. It renders all templates of all instances, so that a mistake in one is known
//! before anything is compiled.

use std::fs;
use std::path::Path;

use handoff::identities::IDENTITIES_JSON;
use problem::{IoContext, Problem};
use sandbox::{Access, Bind, Exit};

use super::apart;
use super::sources::SourceNames;
use crate::failure::{FailedStage, Failure};
use crate::input::Input;
use crate::workspace;
use local_state::Interrupt;

/// Where the sandbox has what `plan` reads and writes.
const DOCUMENTS: &str = "/mnt/documents.json";
const RELEASES: &str = "/var/vcap/all-releases";
const OUTPUT: &str = "/mnt/output";
const PREVIOUS: &str = "/mnt/previous";

/// Resolves everything, in this workspace; gives the warnings.
/// `previous` is the directory with the identities of the version before.
pub(crate) fn plan(
    input: &Input,
    dir: &Path,
    previous: Option<&Path>,
    sources: &SourceNames,
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    let documents = dir.join("documents.json");
    let text = serde_json::to_vec(&input.documents)
        .map_err(|e| Problem::internal("cannot write the manifest for plan").because(e))?;
    fs::write(&documents, text).io("write", &documents)?;
    let mut argv =
        ["plan", "--documents", DOCUMENTS, "-b", RELEASES, "--output-dir", OUTPUT].map(str::to_owned).to_vec();
    argv.extend(input.strict.then(|| "--strict".to_owned()));
    argv.extend(input.given_name.iter().flat_map(|name| ["--deployment-name".to_owned(), name.clone()]));
    let copied = dir.join("previous");
    if let Some(previous) = previous {
        let from = previous.join(IDENTITIES_JSON);
        fs::create_dir(&copied).io("make", &copied)?;
        fs::copy(&from, copied.join(IDENTITIES_JSON)).io("copy", &from)?;
        argv.extend(["--previous".to_owned(), PREVIOUS.to_owned()]);
    }
    let output = workspace::documents(dir);
    fs::create_dir(&output).io("make", &output)?;
    let bind =
        |source: &Path, target: &str, access| Bind { source: source.to_path_buf(), target: target.into(), access };
    let mut binds = vec![
        bind(&documents, DOCUMENTS, Access::ReadOnly),
        bind(&workspace::all_releases(dir), RELEASES, Access::ReadOnly),
        bind(&output, OUTPUT, Access::ReadWrite),
    ];
    binds.extend(previous.map(|_| bind(&copied, PREVIOUS, Access::ReadOnly)));
    let (exit, printed) = apart::run(dir, argv, binds, interrupt)?;
    let output = sources.restore(&printed);
    if exit == Exit::Code(0) {
        return Ok(output);
    }
    Err(FailedStage { instance: None, verb: "plan".to_owned(), output, code: exit.code() }.into())
}
