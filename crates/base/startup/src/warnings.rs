//! Warnings of a run, which `--strict` makes errors.

use std::cell::RefCell;

use problem::{Problem, Problems, Result, code};

/// Logs warnings as they are found, or collects them.
#[derive(Debug)]
pub struct Warnings {
    /// What was found, where warnings are errors.
    collected: Option<RefCell<Vec<Problem>>>,
}

impl Warnings {
    /// None yet; `strict` makes them errors.
    pub fn new(strict: bool) -> Warnings {
        Warnings { collected: strict.then(RefCell::default) }
    }

    /// Adds a problem that is only a warning; its class and its code count where warnings are errors.
    pub fn warn(&self, problem: Problem) {
        match &self.collected {
            Some(collected) => collected.borrow_mut().push(problem.code(code::WARNING)),
            None => tracing::warn!("{}", problem.text()),
        }
    }

    /// # Errors
    /// The warnings so far, where they are errors.
    pub fn check(&self) -> Result<()> {
        Problems::check(self.collected.as_ref().map(RefCell::take).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_errors_on_request() {
        let logged = Warnings::new(false);
        logged.warn(Problem::input("a"));
        assert_eq!(logged.check(), Ok(()));
        let strict = Warnings::new(true);
        assert_eq!(strict.check(), Ok(()));
        strict.warn(Problem::input("a").hint("look"));
        let problems = strict.check().unwrap_err();
        let found: Vec<_> = problems.iter().map(|problem| (problem.code, problem.to_string())).collect();
        assert_eq!(found, [(code::WARNING, "error: a\n  hint: look".to_owned())]);
    }
}
