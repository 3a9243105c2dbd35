//! Why a deployment does not come up, or an errand does not run.

use std::fmt::Write;

use problem::{Class, Problem, Problems};

/// Why something failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Found here.
    Problems(Problems),
    /// Found by stages, each of which has said what it found.
    Stages(Vec<Stage>),
    /// The user did not want to wait.
    Interrupted,
}

/// A stage that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Its instance, if it is one of an instance.
    pub(crate) instance: Option<String>,
    /// Its verb.
    pub(crate) verb: String,
    /// What it said.
    pub(crate) said: String,
    /// How it ended.
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

impl From<Stage> for Failure {
    fn from(stage: Stage) -> Failure {
        Failure::Stages(vec![stage])
    }
}

impl Failure {
    /// The text for the user and the exit code.
    pub(crate) fn report(&self) -> (String, u8) {
        match self {
            Failure::Problems(problems) => (format!("{problems}\n"), problems.exit_code()),
            Failure::Stages(stages) => (text(stages), code(stages)),
            Failure::Interrupted => (String::new(), 130),
        }
    }

    /// All failures of steps that were made at the same time, as one; an interruption is the reason for all others.
    pub(crate) fn all(failures: Vec<Failure>) -> Result<(), Failure> {
        let (mut problems, mut stages) = (Vec::new(), Vec::new());
        for failure in failures {
            match failure {
                Failure::Interrupted => return Err(Failure::Interrupted),
                Failure::Problems(p) => problems.extend(p.into_vec()),
                Failure::Stages(s) => stages.extend(s),
            }
        }
        if stages.is_empty() {
            return Ok(Problems::check(problems)?);
        }
        if let Err(problems) = Problems::check(problems) {
            let code = problems.exit_code();
            stages.push(Stage { instance: None, verb: "up".into(), said: format!("{problems}\n"), code });
        }
        Err(Failure::Stages(stages))
    }
}

/// What the stages said, as it is; what several instances' stages say in the same words is shown once.
fn text(stages: &[Stage]) -> String {
    let mut text = String::new();
    let mut shown: Vec<&str> = Vec::new();
    for stage in stages {
        if shown.contains(&stage.said.as_str()) {
            continue;
        }
        shown.push(&stage.said);
        let mut same: Vec<&str> =
            stages.iter().filter(|s| s.said == stage.said).filter_map(|s| s.instance.as_deref()).collect();
        same.sort_unstable();
        let whose = if same.is_empty() { String::new() } else { format!(" of {}", same.join(", ")) };
        // Writing to a string cannot fail.
        let _ = write!(text, "{}", stage.said);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "boson: {}{whose} failed with exit status {}", stage.verb, stage.code);
    }
    text
}

/// That of the gravest class.
fn code(stages: &[Stage]) -> u8 {
    let class = |stage: &Stage| match stage.code {
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
    fn what_all_instances_say_is_shown_once() {
        let stage = |n: u32, said: &str, code| Stage {
            instance: Some(format!("nats/{n}")),
            verb: "render-jobs".into(),
            said: said.into(),
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
