//! Running a process of a job's `bpm.yml`.

use std::io;
use std::path::PathBuf;

use bpm::{Hooks, ProcessConfig, ShutdownSignal};
use hooks::{Script, services};
use nix::libc::{SIGINT, SIGTERM};
use problem::{IoContext, Place, Problem, Problems, Result, code};
use serde_json::json;
use supervisor::{Capability, Command, Identity, Policy, Privileges, ResourceLimits};

use crate::process::Program;
use crate::records::Records;
use crate::{Context, container, dirs, environment, monit, process};

/// BPM: only the process' user reads what it prints.
const LOG_MODE: u32 = 0o600;

/// Runs the process to its end; gives its status.
pub(crate) fn run(context: &Context) -> Result<u8> {
    process::run(context, prepare(context))
}

/// Everything up to the process' own start; nothing, if there is nothing to be started.
fn prepare(context: &Context) -> Result<Option<(Program, Records)>> {
    // Wrong input is reported before anything is touched.
    let mut config = read_config(context)?;
    add(context, &mut config)?;
    if context.once.is_some() && Records::are_open(context) {
        // BPM: `bpm run` of a running process does nothing and succeeds.
        return Ok(None);
    }
    let described = Place::file(config_path(context));
    let mut program = program(context, &config, &described)?;
    let unfulfilled = container::check(context, &config, &described)?;
    dirs::create(context, &config)?;
    program.volumes = config.hooks.is_some().then_some(config);
    let mut records = Records::open(context)?;
    if !unfulfilled.is_empty() {
        records.note("requests-unfulfilled", json!({"requests": unfulfilled}));
    }
    if context.once.is_none() {
        // The script is the job's: of several processes, one runs it.
        let is_first = is_first(context)?;
        program.post_start = is_first.then(|| post_start(context)).flatten();
        if let Some((config, service)) = monit::of_bpm_process(context)? {
            program.depends = monit::depends(context, &service);
            program.checks = Some(monit::Checks::new(context, &config, &service, is_first, &records)?);
        }
    }
    Ok(Some((program, records)))
}

fn program(context: &Context, config: &ProcessConfig, described: &Place) -> Result<Program> {
    let main = command(context, config)?;
    let stop_signal = match config.shutdown_signal {
        ShutdownSignal::Term => SIGTERM,
        ShutdownSignal::Int => SIGINT,
    };
    Ok(Program {
        hook: config.hooks.as_ref().map(|hooks| hook(hooks, &main)),
        main: Some(main),
        policy: Policy { stop_signal, ..context.policy.clone() },
        log_mode: LOG_MODE,
        described: Some(described.clone()),
        scripts: context.once.is_none(),
        ..Program::of_scripts(context, None)
    })
}

/// Adds what the command line of `bpm run` adds.
fn add(context: &Context, config: &mut ProcessConfig) -> Result<()> {
    let Some(additions) = &context.once else { return Ok(()) };
    let volumes: Vec<_> = additions.volumes.iter().map(|volume| config.add_volume(volume, &context.job)).collect();
    let env: Vec<_> = additions.env.iter().map(|variable| config.add_env(variable)).collect();
    let faults = volumes.into_iter().chain(env).filter_map(std::result::Result::err);
    Problems::check(faults.map(Problem::usage).collect())
}

/// The job's post-start, recorded as what is to come unless it has succeeded before.
pub(crate) fn post_start(context: &Context) -> Option<Script> {
    let script = Script::of_job(&context.vcap, &context.job, "post-start", context.owner.1)?;
    if !script.has_succeeded() {
        script.waiting();
    }
    Some(script)
}

/// The hook as BPM runs it: by itself, not as vcap, with the process' environment and logs.
fn hook(hooks: &Hooks, main: &Command) -> Command {
    Command {
        program: hooks.pre_start.clone().into(),
        args: Vec::new(),
        env: main.env.clone(),
        dir: None,
        identity: None,
        no_new_privileges: false,
        limits: ResourceLimits::default(),
    }
}

fn config_path(context: &Context) -> String {
    context.vcap.job(&context.job).join("config/bpm.yml").display().to_string()
}

/// Whether the process is the first one of its job that runs all the time.
fn is_first(context: &Context) -> Result<bool> {
    Ok(services::of_job(&context.vcap, &context.job)?.first().is_some_and(|first| monit::is(context, first)))
}

/// The process as `bpm.yml` describes it.
fn read_config(context: &Context) -> Result<ProcessConfig> {
    let path = PathBuf::from(config_path(context));
    let text = match std::fs::read_to_string(&path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {
            let problem =
                Problem::input(format!("cannot read {}", path.display())).code(code::JOB_NOT_RENDERED).because(e);
            return Err(problem.hint(missing_hint(context)).into());
        }
        other => other.io("read", &path)?,
    };
    let config = bpm::parse_for_job(&text, &path.to_string_lossy(), &context.job)?;
    Ok(config.process(&context.process)?.clone())
}

pub(crate) fn missing_hint(context: &Context) -> String {
    match context.vcap.rendered_jobs() {
        Ok(jobs) if !jobs.is_empty() => format!("rendered are the jobs: {}", jobs.join(", ")),
        _ => format!("{} holds no rendered job; render-jobs puts them there", context.vcap.jobs().display()),
    }
}

fn command(context: &Context, config: &ProcessConfig) -> Result<Command> {
    let Context { vcap, job, .. } = context;
    Ok(Command {
        program: config.executable.clone().into(),
        args: config.args.iter().map(Into::into).collect(),
        env: environment::with(environment::of_process(&config.env, vcap, job), &context.passed),
        dir: Some(config.workdir.as_ref().map_or_else(|| vcap.job(job), PathBuf::from)),
        identity: identity(context, config)?,
        no_new_privileges: !config.unsafe_.privileged,
        limits: ResourceLimits { open_files: config.limits.open_files, core_file_size: config.limits.core_file_size },
    })
}

/// Vcap, unless the process is privileged or this is not root (or a root who cannot become anybody else).
fn identity(context: &Context, config: &ProcessConfig) -> Result<Option<Identity>> {
    let mut problems = Vec::new();
    let mut capabilities = Vec::new();
    for name in &config.capabilities {
        match Capability::named(name) {
            Some(capability) => capabilities.push(capability),
            None => problems.push(
                Problem::input(format!("capabilities: unknown capability \"{name}\""))
                    .code(code::BPM_INVALID)
                    .at(Place::file(config_path(context))),
            ),
        }
    }
    Problems::check(problems)?;
    let (uid, gid) = context.owner;
    let privileges = Privileges::current();
    if config.unsafe_.privileged {
        return Ok(None);
    }
    if !privileges.is_root() || !privileges.can_become(uid, gid) {
        return Ok(None);
    }
    Ok(Some(Identity { uid, gid, capabilities, inherits: false }))
}
