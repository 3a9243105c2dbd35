//! `{{name}}`, which is not a reference to a variable.

/// The hint for a line that has `{{name}}` and that `yaml.v2` does not read.
pub(crate) fn hint(text: &[u8], error: &go_yaml::Error) -> Option<String> {
    let line = text.split(|byte| *byte == b'\n').nth((error.origin.line as usize).checked_sub(1)?)?;
    let line = String::from_utf8_lossy(line);
    let name = interpolation::in_braces(&line)?;
    Some(format!(
        "a variable is written (({name})): YAML reads {{{{{name}}}}} as a mapping; text with braces needs quotes"
    ))
}
