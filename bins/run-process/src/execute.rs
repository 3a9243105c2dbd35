//! Running one program to its end, with its output teed and its end recorded.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use problem::{IoContext, Place, Problem, Result};
use supervisor::{Command, Echo, Exit, Notice, Outcome, Policy, SpawnError, Task, Tee};
use vcap::log_file::open_log;

use crate::Context;
use crate::records::Records;

/// The two log files of a program.
pub(crate) struct Logs {
    stdout: File,
    stderr: File,
}

impl Logs {
    /// Opens `<name>.stdout.log` and `<name>.stderr.log` in the job's log directory.
    pub(crate) fn open(context: &Context, name: &str, mode: u32) -> Result<Logs> {
        let open = |stream| open_log(&context.log_dir().join(format!("{name}.{stream}.log")), mode, context.owner);
        Ok(Logs { stdout: open("stdout")?, stderr: open("stderr")? })
    }

    /// To be used by one program, others to follow.
    pub(crate) fn task(&self, command: Command) -> std::io::Result<Task> {
        Ok(Task {
            command,
            stdout: Tee { file: Some(self.stdout.try_clone()?), echo: Echo::stdout() },
            stderr: Tee { file: Some(self.stderr.try_clone()?), echo: Echo::stderr() },
        })
    }
}

/// How a program ended.
pub(crate) struct Ended {
    pub(crate) result: std::result::Result<Exit, SpawnError>,
    pub(crate) stop_requested: bool,
}

/// Runs `command` until it has ended and nothing that descends from it is left.
pub(crate) fn execute(
    context: &Context,
    command: Command,
    logs: &Logs,
    policy: &Policy,
    notify: &mut dyn FnMut(Notice),
) -> Result<Ended> {
    let task = logs.task(command).io("open the logs in", &context.log_dir())?;
    let Outcome { mut results, stop_requested } = supervisor::run(&context.signals, vec![task], policy.clone(), notify)
        .map_err(|e| Problem::internal("supervising failed").because(e))?;
    let result = results.pop().unwrap_or(Ok(Exit::Code(0)));
    Ok(Ended { result, stop_requested })
}

/// Runs the job's program as [`execute`] does and records its life; gives its status. Where it is named, `at`, is told if
/// it does not start.
pub(crate) fn execute_recorded(
    context: &Context,
    command: Command,
    logs: &Logs,
    policy: &Policy,
    records: &mut Records,
    at: Option<Place>,
) -> Result<u8> {
    let program = PathBuf::from(&command.program);
    let ended = execute(context, command, logs, policy, &mut |notice| match notice {
        Notice::Started(_, pid) => records.started(pid),
        Notice::StopRequested => records.note("stopping", serde_json::json!({})),
        Notice::Exited(..) => {}
    })?;
    match ended.result {
        Ok(exit) => {
            records.ended(exit, ended.stop_requested);
            if !exit.is_success() && !ended.stop_requested {
                // What it printed may hold secrets, so only where to look is told.
                let logs = context.log_dir().join(format!("{}.stderr.log", context.process));
                startup::termination::tell(format!("{}: {exit}; see {}", context.subject(), logs.display()));
            }
            Ok(exit.status())
        }
        Err(error) => {
            let problem = not_started(&program, &error);
            let problem = Problem { place: at, ..problem };
            records.failed(&problem.to_string(), error.status());
            startup::finish(context.explain::<u8>(Err(problem.into())));
            Ok(error.status())
        }
    }
}

/// Why `program` did not start, as a problem to be printed.
pub(crate) fn not_started(program: &Path, error: &SpawnError) -> Problem {
    let problem = match error.doing {
        "execute" => Problem::internal(format!("cannot execute {}", program.display())),
        doing => Problem::internal(format!("cannot {doing} to execute {}", program.display())),
    };
    let problem = problem.because(&error.error);
    if error.status() == 127 && program.is_absolute() && program.exists() {
        return problem.hint(match interpreter(program) {
            Some(interpreter) => format!("its interpreter {} does not exist here", interpreter.display()),
            None => "the program that it needs to be loaded or interpreted does not exist here".to_owned(),
        });
    }
    problem
}

/// The program in the first line of a script.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(script).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let path = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    Some(PathBuf::from(path))
}
