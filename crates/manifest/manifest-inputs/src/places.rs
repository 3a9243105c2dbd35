//! Which file a node comes from.

use go_yaml::{Origin, Source};
use interpolation::{Failure, Missing};
use problem::{Code, Note, Place, Problem, Problems, Result, code};

/// How many references to one variable are shown.
const SHOWN: usize = 3;

/// The names of documents, by their numbers.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    names: Vec<String>,
    /// Whether warnings are errors.
    strict: bool,
}

impl Sources {
    /// Of no document yet.
    pub(crate) fn new(strict: bool) -> Sources {
        Sources { names: Vec::new(), strict }
    }

    /// The number of a new document.
    pub(crate) fn add(&mut self, name: String) -> Source {
        self.names.push(name);
        Source(u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX))
    }

    /// The names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of a node; `None` if no document contains it.
    pub(crate) fn place(&self, origin: Origin) -> Option<Place> {
        let file = self.names.get(origin.source.0 as usize).filter(|_| origin.line != 0)?;
        Some(Place { column: Some(origin.column), ..Place::line(file, origin.line) })
    }

    /// Problems of references and definitions.
    pub(crate) fn problems(&self, failures: Vec<Failure>) -> Problems {
        self.with_code(failures, code::VARIABLE_UNRESOLVED)
    }

    /// Problems of definitions that cannot be generated.
    pub(crate) fn invalid_definitions(&self, failures: Vec<Failure>) -> Problems {
        self.with_code(failures, code::VARIABLE_INVALID)
    }

    /// Logs warnings about documents and definitions.
    ///
    /// # Errors
    /// The warnings, if they are errors.
    pub(crate) fn warn(&self, warnings: Vec<Failure>) -> Result<()> {
        if self.strict && !warnings.is_empty() {
            return Err(self.with_code(warnings, code::WARNING));
        }
        for warning in warnings {
            let place = self.place(warning.origin).map(|place| format!("\n  --> {place}")).unwrap_or_default();
            let cause = warning.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            let hint = warning.hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            tracing::warn!("{}{cause}{place}{hint}", warning.message);
        }
        Ok(())
    }

    fn with_code(&self, failures: Vec<Failure>, code: Code) -> Problems {
        let problems = failures.into_iter().map(|failure| {
            let mut problem = Problem::input(failure.message).code(code);
            problem.place = self.place(failure.origin);
            problem.causes.extend(failure.cause);
            problem.hint = failure.hint;
            problem
        });
        match Problems::check(problems.collect()) {
            Err(problems) => problems,
            Ok(()) => Problem::internal("interpolation failed without a reason").into(),
        }
    }

    /// Where a variable without a value is referred to; `similar` is the nearest name that has one.
    pub(crate) fn note(&self, missing: &Missing, similar: Option<String>) -> Note {
        let places: Vec<Place> = missing.origins.iter().filter_map(|origin| self.place(*origin)).collect();
        let more: Vec<String> = places.iter().skip(1).take(SHOWN - 1).map(ToString::to_string).collect();
        let rest = places.len().saturating_sub(SHOWN);
        let mut what = missing.name.clone();
        if !more.is_empty() {
            what += &format!(", also at {}", more.join(", "));
        }
        if rest > 0 {
            what += &format!(" and {rest} more");
        }
        let hint = similar.map(|name| format!("did you mean '{name}'?"));
        Note { place: places.into_iter().next().unwrap_or_default(), what: Some(what), hint }
    }
}
