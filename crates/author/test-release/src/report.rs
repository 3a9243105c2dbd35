//! Outcomes as people and CI systems read them.

use std::time::Duration;

use dialect_erb::trace::Trace;
use problem::Result;
use startup::{without_control, write_stdout};

use crate::case::Case;
use crate::options::Format;
use crate::outcome::Outcome;

/// A case that was run.
pub(crate) struct Ran<'a> {
    pub(crate) case: &'a Case,
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
    /// How its templates were rendered, if that is noted.
    pub(crate) traces: Vec<Trace>,
}

/// Prints the outcomes.
pub(crate) fn print(format: Format, release: &str, ran: &[Ran]) -> Result<()> {
    let text = match format {
        Format::Human => human(ran),
        Format::Junit => junit(release, ran).into_bytes(),
    };
    write_stdout(|out| out.write_all(&text))
}

fn human(ran: &[Ran]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut line = |line: String| text.extend(format!("{line}\n").into_bytes());
    for Ran { case, outcome, .. } in ran {
        match outcome {
            Outcome::Passed => line(format!("ok       {}", case.id())),
            Outcome::Updated(files) => line(format!("updated  {}: {}", case.id(), files.join(", "))),
            Outcome::Failed { message, patch } => {
                line(format!("FAILED   {}: {message}", case.id()));
                if !patch.is_empty() {
                    // A patch can be applied as it is.
                    line(String::from_utf8_lossy(patch).trim_end_matches('\n').to_owned());
                }
            }
        }
    }
    let failed = failures(ran);
    line(format!("{} passed, {failed} failed", ran.len() - failed));
    text
}

/// The number of cases that failed.
pub(crate) fn failures(ran: &[Ran]) -> usize {
    ran.iter().filter(|ran| matches!(ran.outcome, Outcome::Failed { .. })).count()
}

fn junit(release: &str, ran: &[Ran]) -> String {
    let seconds: f64 = ran.iter().map(|ran| ran.time.as_secs_f64()).sum();
    let counts = format!("tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{seconds:.3}\"", ran.len(), failures(ran));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"{}\" {counts}>\n",
        escaped(release)
    );
    for Ran { case, outcome, time, .. } in ran {
        let start = format!(
            "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.3}\"",
            escaped(&case.job),
            escaped(&case.name),
            escaped(&case.label),
            time.as_secs_f64()
        );
        match outcome {
            Outcome::Failed { message, patch } => {
                let first = message.lines().next().unwrap_or_default();
                let details = if patch.is_empty() { message.as_bytes() } else { patch };
                let details = escaped(&String::from_utf8_lossy(details));
                text += &format!(
                    "{start}>\n      <failure message=\"{}\">{details}</failure>\n    </testcase>\n",
                    escaped(first)
                );
            }
            _ => text += &format!("{start}/>\n"),
        }
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// A text in XML; characters that XML does not have are escaped as in messages.
pub(crate) fn escaped(text: &str) -> String {
    let text: Vec<String> = text.split('\n').map(|line| without_control(line).to_string()).collect();
    text.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_is_escaped() {
        assert_eq!(escaped("<a b=\"c\">&\n\u{1b}"), "&lt;a b=&quot;c&quot;&gt;&amp;\n\\u{1b}");
    }
}
