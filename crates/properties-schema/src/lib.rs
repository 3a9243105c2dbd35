//! `properties_schema.json`: what a job says of its own properties, as a JSON Schema of 2020-12.
//!
//! BOSH validates with json_schemer; the keywords, the order in which their errors are told and the texts are the same.
//! What Ruby decides there (regular expressions, formats, certificates) is asked of whoever calls ([`Facts`]), so that
//! this crate has no engine of its own for any of it.
//!
//! No text holds a value of the properties: texts are made of places, names and what the schema's author wrote.

mod applicators;
mod assertions;
mod number;
mod outcome;
mod reference;
mod ruby_text;
mod schema;
mod shape;
mod words;

use problem::Step;
pub use schema::Schema;
use value::Value;

/// The only dialect that BOSH takes.
pub const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What BOSH's Ruby knows and this crate does not.
pub trait Facts {
    /// Whether the text (a String) has a match of the regular expression, in Ruby's dialect.
    ///
    /// # Errors
    /// No regular expression: why.
    fn matches(&self, pattern: &str, text: &Value) -> Result<bool, String>;

    /// Whether the text has this format; a format that is not known has every text.
    ///
    /// # Errors
    /// The caller's machinery failed: why.
    fn has_format(&self, format: &str, text: &Value) -> Result<bool, String>;

    /// Whether the text is an X.509 certificate, or several (BOSH's own type `certificate`).
    ///
    /// # Errors
    /// The caller's machinery failed: why.
    fn is_certificate(&self, text: &Value) -> Result<bool, String>;
}

/// A schema that cannot be used: why, in words for the author of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(pub String);

/// A value that is not as the schema says.
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
