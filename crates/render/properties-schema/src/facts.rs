//! What Ruby decides: regular expressions, formats, certificates.

use value::Value;

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
