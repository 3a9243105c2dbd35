//! Failures of a group's templates as one report, in BOSH's layout.

use problem::{Note, Problem};

/// A failure, ready for the report.
pub struct Entry {
    /// The job.
    pub job: String,
    /// The line of the report.
    pub text: String,
    /// Whether it is about `monit`, which BOSH shows without the job's header.
    pub is_monit: bool,
    /// Where it is and what to do about it.
    pub note: Note,
}

/// One problem for all failures of an instance group.
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
    let mut problem = Problem::template(whole);
    problem.notes = entries.into_iter().map(|e| e.note).collect();
    problem
}

/// A header with messages below it: each stripped, all lines indented by two (BOSH's formatter).
fn section(header: &str, messages: &[String]) -> String {
    let body: Vec<&str> = messages.iter().map(|m| m.trim()).collect();
    let indented: Vec<String> = body.join("\n").split('\n').map(|line| format!("  {line}")).collect();
    format!("{header}\n{}", indented.join("\n"))
}

/// The most similar of some names, where one is similar enough to be meant.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .filter_map(|candidate| {
            // A long prefix that both have tells nothing of how similar the rest is.
            let (a, b) = different_parts(name, candidate);
            let distance = distance(a, b);
            let limit = (a.chars().count().max(b.chars().count()) / 4).min(3);
            (distance > 0 && distance <= limit).then_some((distance, candidate))
        })
        .min_by_key(|(d, _)| *d)
        .map(|(_, candidate)| candidate)
}

/// What is left of two dotted names without the parts with which both begin.
fn different_parts<'n>(mut a: &'n str, mut b: &'n str) -> (&'n str, &'n str) {
    while let (Some((first, rest_of_a)), Some((same, rest_of_b))) = (a.split_once('.'), b.split_once('.'))
        && first == same
    {
        (a, b) = (rest_of_a, rest_of_b);
    }
    (a, b)
}

/// Edit distance, in which two neighbours that changed places count once.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: [Vec<usize>; 3] = [vec![], vec![], (0..=b.len()).collect()];
    for i in 0..a.len() {
        rows.rotate_left(1);
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut next = (rows[1][j] + usize::from(a[i] != b[j])).min(rows[1][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                next = next.min(rows[0][j - 1] + 1);
            }
            row.push(next);
        }
        rows[2] = row;
    }
    rows[2][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(job: &str, text: &str, is_monit: bool) -> Entry {
        Entry { job: job.into(), text: text.into(), is_monit, note: Note::default() }
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

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(did_you_mean("nats.pasword", ["nats.password", "nats.port"]), Some("nats.password"));
        assert_eq!(did_you_mean("nats.prot", ["nats.password", "nats.port"]), Some("nats.port"));
        assert_eq!(did_you_mean("gnats", ["nats"]), Some("nats"));
        assert_eq!(did_you_mean("nats.tls.enabled", ["nats.tsl.enabled"]), Some("nats.tsl.enabled"));
    }

    #[test]
    fn short_names_that_differ_are_different_names() {
        assert_eq!(did_you_mean("entirely.else", ["nats.password"]), None);
        assert_eq!(did_you_mean("nats.one", ["nats.env"]), None);
        assert_eq!(did_you_mean("db", ["dc", "d"]), None);
    }
}
