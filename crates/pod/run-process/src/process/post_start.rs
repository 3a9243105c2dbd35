//! The post-start script of a job beside its process.

use problem::{Class, Problem, code};
use serde_json::json;
use supervisor::failures::not_started;
use supervisor::{Exit, SpawnError, State, Task};

use super::Running;

impl Running<'_> {
    /// BOSH: the script runs once all is started, not whenever a process is started again.
    pub(super) fn post_start(&self) -> Option<Task> {
        let script = self.program.post_start.as_ref().filter(|script| !script.has_succeeded())?;
        // Its failure is not the process'.
        let failed = |problems| {
            startup::finish(self.context.explain::<u8>(Err(problems)));
            script.ended(Exit::Code(Class::Internal.exit_code()));
        };
        script.task("[post-start] ").map_err(failed).ok()
    }

    pub(super) fn post_start_ended(&mut self, result: &std::result::Result<Exit, SpawnError>) {
        let Some(script) = &self.program.post_start else { return };
        let exit = result.as_ref().map_or_else(|error| Exit::Code(error.status()), |exit| *exit);
        script.ended(exit);
        // A later run that succeeds takes the report about an earlier one back.
        if exit.is_success() && std::mem::take(&mut self.post_start_failed) {
            startup::termination::report("");
        }
        self.records.note("post-start-ended", json!({"status": exit.status()}));
        // A script that is stopped together with its process has not failed.
        if exit.is_success() || self.state != State::Running {
            return;
        }
        let problem =
            Problem::internal("post-start failed, so that it does not become ready").code(code::SCRIPT_FAILED);
        let problem = match result {
            Ok(exit) => problem.because(script.failure(*exit)),
            Err(error) => {
                let reason = not_started(script.path(), None, error);
                let causes = reason.causes.iter().chain(&reason.hint);
                causes.fold(problem.because(&reason.message), Problem::because)
            }
        };
        let problem = problem.hint("the process goes on, and post-start is tried again");
        self.post_start_failed = true;
        startup::finish(self.context.explain::<u8>(Err(problem.into())));
    }
}
