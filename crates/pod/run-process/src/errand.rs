//! Running a job's `bin/run` once, as BOSH's agent runs an errand.

use std::path::Path;

use hooks::agent;
use nix::unistd::Uid;
use problem::{Problem, Result, code};
use supervisor::{Command, OUTPUT_GRACE, ResourceLimits};
use vcap::own_dir::ensure_dir;

use crate::process::Program;
use crate::records::Records;
use crate::{Context, environment, process};

/// Runs the errand to its end; gives its status.
pub(crate) fn run(context: &Context) -> Result<u8> {
    let script = context.vcap.job(&context.job).join("bin/run");
    let records = check(&script).and_then(|()| open_records(context));
    process::run(context, records.map(|records| Some((program(context, &script), records))))
}

/// The records, with the log directory as BOSH's agent makes it for scripts.
pub(crate) fn open_records(context: &Context) -> Result<Records> {
    ensure_dir(&context.log_dir(), 0o770, (Uid::from_raw(0), context.owner.1))?;
    Records::open(context)
}

fn check(script: &Path) -> Result<()> {
    if script.exists() {
        return Ok(());
    }
    Err(Problem::input(format!("cannot find {}", script.display()))
        .code(code::JOB_NOT_RENDERED)
        .hint("an errand is a job with a template for bin/run, rendered by render-jobs")
        .into())
}

fn program(context: &Context, script: &Path) -> Program {
    let main = Command {
        program: script.into(),
        args: Vec::new(),
        env: environment::with(agent::environment(&context.vcap), &context.passed),
        dir: Some(agent::working_directory(&context.vcap)),
        identity: None,
        no_new_privileges: false,
        limits: ResourceLimits::default(),
    };
    Program { main: Some(main), scripts: false, output_grace: OUTPUT_GRACE, ..Program::of_scripts(context, None) }
}
