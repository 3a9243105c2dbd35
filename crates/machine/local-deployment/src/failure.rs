//! Why a deployment does not start, or an errand does not run.

use std::fmt::Write;

use problem::{Class, Problem, Problems, code};

/// Why something failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Problems that this process found.
    Problems(Problems),
    /// Stages that failed, each with its own messages.
    Stages(Vec<FailedStage>),
    /// What another boson has reported, with its exit code.
    Reported(String, u8),
    /// The user interrupted it.
    Interrupted,
}

/// A stage that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedStage {
    /// The instance that it ran in, if any.
    pub(crate) instance: Option<String>,
    /// Its verb.
    pub(crate) verb: String,
    /// What it printed.
    pub(crate) output: String,
    /// Its exit code.
    pub(crate) code: u8,
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::Problems(problems)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Problems(problem.into())
    }
}

impl From<FailedStage> for Failure {
    fn from(stage: FailedStage) -> Failure {
        Failure::Stages(vec![stage])
    }
}

impl Failure {
    /// The text for the user and the exit code.
    pub(crate) fn report(&self) -> (String, u8) {
        match self {
            Failure::Problems(problems) => (format!("{problems}\n"), problems.exit_code()),
            Failure::Stages(stages) => (text(stages), code(stages)),
            Failure::Reported(text, code) => (text.clone(), *code),
            Failure::Interrupted => (String::new(), 130),
        }
    }

    /// One failure of all that happened at the same time; an interruption is the reason for all others.
    pub(crate) fn all(failures: Vec<Failure>) -> Result<(), Failure> {
        let (mut problems, mut stages) = (Vec::new(), Vec::new());
        for failure in failures {
            match failure {
                Failure::Interrupted => return Err(Failure::Interrupted),
                Failure::Problems(p) => problems.extend(p.into_vec()),
                Failure::Reported(output, code) => {
                    stages.push(FailedStage { instance: None, verb: "up".into(), output, code });
                }
                Failure::Stages(s) => stages.extend(s),
            }
        }
        if stages.is_empty() {
            return Ok(Problems::check(problems)?);
        }
        if let Err(problems) = Problems::check(problems) {
            let code = problems.exit_code();
            stages.push(FailedStage { instance: None, verb: "up".into(), output: format!("{problems}\n"), code });
        }
        Err(Failure::Stages(stages))
    }
}

/// The failure to make namespaces or a root file system.
pub(crate) fn cannot_sandbox(e: &std::io::Error) -> Problem {
    Problem::internal("cannot make a sandbox on this machine").code(code::SANDBOX_UNAVAILABLE).because(e).hint(
        "boson needs Linux namespaces: as root all of them, else user namespaces (sysctl user.max_user_namespaces, \
         kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
    )
}

/// What the stages printed; what several instances printed identically is shown once.
fn text(stages: &[FailedStage]) -> String {
    let mut text = String::new();
    let mut shown: Vec<&str> = Vec::new();
    for stage in stages {
        if shown.contains(&stage.output.as_str()) {
            continue;
        }
        shown.push(&stage.output);
        let mut same: Vec<&str> =
            stages.iter().filter(|s| s.output == stage.output).filter_map(|s| s.instance.as_deref()).collect();
        same.sort_unstable();
        let whose = if same.is_empty() { String::new() } else { format!(" of {}", same.join(", ")) };
        // Writing to a string cannot fail.
        let _ = write!(text, "{}", stage.output);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "boson: {}{whose} failed with exit status {}", stage.verb, stage.code);
    }
    text
}

/// The exit code of the gravest class.
fn code(stages: &[FailedStage]) -> u8 {
    let class = |stage: &FailedStage| match stage.code {
        2 => Class::Usage,
        65 => Class::Input,
        66 => Class::Template,
        _ => Class::Internal,
    };
    stages.iter().map(class).max().unwrap_or(Class::Internal).exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_output_of_instances_is_shown_once() {
        let stage = |n: u32, output: &str, code| FailedStage {
            instance: Some(format!("nats/{n}")),
            verb: "render-jobs".into(),
            output: output.into(),
            code,
        };
        let failure =
            Failure::Stages(vec![stage(0, "error: x\n", 66), stage(1, "error: y", 65), stage(2, "error: x\n", 66)]);
        let (text, code) = failure.report();
        assert_eq!(
            text,
            "error: x\nboson: render-jobs of nats/0, nats/2 failed with exit status 66\n\
             error: y\nboson: render-jobs of nats/1 failed with exit status 65\n"
        );
        assert_eq!(code, 65);
    }
}
