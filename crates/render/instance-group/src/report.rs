//! The report about the templates of an instance group that failed to render, in BOSH's layout.

use problem::{Code, Note, Problem, code};

/// A template that failed.
pub struct Entry {
    /// The job.
    pub job: String,
    /// BOSH's message about it; may have several lines.
    pub text: String,
    /// Whether it is about `monit`, which BOSH shows without the job's header.
    pub is_monit: bool,
    /// The kind of the failure.
    pub code: Code,
    /// Where the template is wrong, and a hint.
    pub note: Note,
}

/// Joins all failures of an instance group into one problem. Failures of one job that follow each other share a header.
pub fn report(group: &str, entries: Vec<Entry>) -> Problem {
    let mut jobs: Vec<(String, Vec<&Entry>)> = Vec::new();
    for entry in &entries {
        match jobs.last_mut().filter(|(job, list)| *job == entry.job && list[0].is_monit == entry.is_monit) {
            Some((_, list)) => list.push(entry),
            None => jobs.push((entry.job.clone(), vec![entry])),
        }
    }
    let of_jobs: Vec<String> = jobs
        .iter()
        .map(|(job, list)| {
            if list[0].is_monit {
                return list[0].text.clone();
            }
            let lines: Vec<String> = list.iter().map(|e| format!("- {}", e.text)).collect();
            section(&format!("- Unable to render templates for job '{job}'. Errors are:"), &lines)
        })
        .collect();
    let of_group = section(&format!("- Unable to render jobs for instance group '{group}'. Errors are:"), &of_jobs);
    let whole = section("Unable to render instance groups for deployment. Errors are:", &[of_group]);
    // The report is one problem; the general code stands for failures of several kinds.
    let common = entries.first().map(|first| first.code).filter(|code| entries.iter().all(|e| e.code == *code));
    let mut problem = Problem::template(whole).code(common.unwrap_or(code::TEMPLATE_FAILED));
    problem.notes = entries.into_iter().map(|e| e.note).collect();
    problem
}

/// A header with messages below it: each trimmed, each line indented by two spaces, as BOSH's error formatter does.
fn section(header: &str, messages: &[String]) -> String {
    let body: Vec<&str> = messages.iter().map(|m| m.trim()).collect();
    let indented: Vec<String> = body.join("\n").split('\n').map(|line| format!("  {line}")).collect();
    format!("{header}\n{}", indented.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(job: &str, text: &str, is_monit: bool) -> Entry {
        Entry { job: job.into(), text: text.into(), is_monit, code: code::TEMPLATE_FAILED, note: Note::default() }
    }

    #[test]
    fn the_layout_is_boshs() {
        let problem = report(
            "foobar",
            vec![
                entry("a", "one\n\ntwo\n", false),
                entry("a", "three", false),
                entry("b", "m", true),
                entry("c", "x", false),
            ],
        );
        let expected = "Unable to render instance groups for deployment. Errors are:
  - Unable to render jobs for instance group 'foobar'. Errors are:
    - Unable to render templates for job 'a'. Errors are:
      - one
      
      two
      - three
    m
    - Unable to render templates for job 'c'. Errors are:
      - x";
        assert_eq!(problem.message, expected);
    }
}
