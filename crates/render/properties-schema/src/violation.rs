//! What is wrong with properties.

use problem::Step;

/// A value that violates the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where the value is, from the root of the properties.
    pub path: Vec<Step>,
    /// json_schemer's text.
    pub text: String,
}

/// BOSH's report about a job's properties.
pub fn report(job: &str, violations: &[Violation]) -> String {
    let mut text = format!("Error validating properties for {job}");
    for violation in violations {
        text.push('\n');
        text.push_str(&violation.text);
    }
    text
}
