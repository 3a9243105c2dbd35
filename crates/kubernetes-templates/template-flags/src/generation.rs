//! Values that a template leaves to generators.

use dialect_kubernetes_templates::{Declaration, Mode, UserValues, generated};
use problem::{Place, Problem, Problems, Result, code};

use crate::random::Generator;

/// Whether a parameter has a generator and no default.
pub fn is_generated(parameter: &Declaration) -> bool {
    let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    has(&parameter.generate) && !has(&parameter.default)
}

/// The stored values, and a new one for each parameter that has a generator and neither a default nor a stored value. `file` is
/// the template's name in messages.
///
/// # Errors
/// Expressions that are wrong; the kernel has no random bytes.
pub fn with_generated(parameters: &[Declaration], stored: &UserValues, file: &str) -> Result<UserValues> {
    let mut values = stored.clone();
    let mut problems = Vec::new();
    let generator = Generator::default();
    for parameter in parameters.iter().filter(|one| is_generated(one) && stored.get(&one.name).is_none()) {
        match generated(parameter, Mode::Strict, &|bytes| generator.fill(bytes)) {
            Some(Ok(value)) => values.set(&parameter.name, value, Place::default()),
            Some(Err(message)) => problems.push(wrong(parameter, file, message)),
            None => {}
        }
    }
    Problems::check(problems)?;
    generator.check()?;
    Ok(values)
}

/// A problem of a parameter's expression.
fn wrong(parameter: &Declaration, file: &str, message: String) -> Problem {
    let position = parameter.position();
    let place = Place { line: Some(position.line), column: Some(position.column), ..Place::file(file) };
    Problem::template(message).code(code::PARAMETER_INVALID).at(place)
}
