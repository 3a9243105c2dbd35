//! Which instances run an errand: decisions only, with the messages of BOSH's director.

use problem::{Problem, Result, code};

/// An instance group, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) group: String,
    /// Whether its lifecycle is `errand`.
    pub(crate) is_errand: bool,
    /// All its jobs.
    pub(crate) jobs: Vec<String>,
    /// The jobs that can run as an errand.
    pub(crate) errands: Vec<String>,
    /// `group/index`, by index.
    pub(crate) instances: Vec<String>,
}

/// Where an errand runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) instances: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// Selects the instances of the errand `name`: those with a job of this name, else the first one of a group of this name. The
/// `filters` are groups or instances (`group`, `group/index`, `group/first`).
///
/// # Errors
/// No such errand; filters that match no instance, or that come with the name of a group.
pub(crate) fn select(candidates: &[Candidate], name: &str, filters: &[String]) -> Result<Selection> {
    let group = candidates.iter().find(|candidate| candidate.group == name);
    let with_job: Vec<&Candidate> =
        candidates.iter().filter(|candidate| candidate.jobs.iter().any(|job| job == name)).collect();
    if with_job.is_empty() {
        return match group {
            None => Err(unknown(candidates, name).into()),
            Some(group) if !group.is_errand => {
                let message = format!(
                    "Instance group '{name}' is not an errand. To mark an instance group as an errand set its lifecycle to \
                     'errand' in the deployment manifest."
                );
                Err(Problem::input(message).code(code::ERRAND_UNKNOWN).into())
            }
            Some(group) => of_group(group, filters),
        };
    }
    if !with_job.iter().any(|candidate| candidate.errands.iter().any(|errand| errand == name)) {
        // The agent's message: the job has no `bin/run`.
        return Err(Problem::input(format!("Could not find errand {name}")).code(code::ERRAND_UNKNOWN).into());
    }
    let mut warnings = Vec::new();
    if group.is_some_and(|group| group.is_errand) {
        warnings.push(format!(
            "Ambiguous request: the requested errand name '{name}' matches both a job name and an errand instance group name. \
             Executing errand on all relevant instances with job '{name}'."
        ));
    }
    let matching: Vec<String> = with_job
        .iter()
        .filter(|candidate| candidate.errands.iter().any(|errand| errand == name))
        .flat_map(|candidate| candidate.instances.iter().take(if candidate.is_errand { 1 } else { usize::MAX }))
        .filter(|instance| filters.is_empty() || filters.iter().any(|filter| matches(filter, instance)))
        .cloned()
        .collect();
    if matching.is_empty() && !filters.is_empty() {
        let message = format!("No instances match selection criteria: [{}]", filters.join(", "));
        return Err(Problem::input(message).code(code::INSTANCE_UNKNOWN).into());
    }
    Ok(Selection { instances: matching, warnings })
}

fn of_group(group: &Candidate, filters: &[String]) -> Result<Selection> {
    if !filters.is_empty() {
        let message = "Filtering by instances is not supported when running errand by instance group name";
        return Err(Problem::usage(message).code(code::USAGE).into());
    }
    if group.errands.is_empty() {
        let job = group.jobs.first().map_or("", String::as_str);
        return Err(Problem::input(format!("Could not find errand {job}")).code(code::ERRAND_UNKNOWN).into());
    }
    Ok(Selection { instances: group.instances.iter().take(1).cloned().collect(), warnings: Vec::new() })
}

fn matches(filter: &str, instance: &str) -> bool {
    let group = instance.rsplit_once('/').map(|(group, _)| group);
    // The first instance of a group has index 0.
    filter == instance
        || group == Some(filter)
        || filter.strip_suffix("/first").is_some_and(|of| group == Some(of) && instance.ends_with("/0"))
}

fn unknown(candidates: &[Candidate], name: &str) -> Problem {
    let mut known: Vec<&str> = candidates.iter().flat_map(|c| &c.errands).map(String::as_str).collect();
    known.sort_unstable();
    known.dedup();
    let problem = Problem::input(format!("Errand '{name}' doesn't exist")).code(code::ERRAND_UNKNOWN);
    if known.is_empty() {
        problem.hint("the deployment has no errands")
    } else {
        problem.hint(format!("the errands are: {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(group: &str, is_errand: bool, jobs: &[&str], errands: &[&str], count: u32) -> Candidate {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Candidate {
            group: group.to_owned(),
            is_errand,
            jobs: owned(jobs),
            errands: owned(errands),
            instances: (0..count).map(|n| format!("{group}/{n}")).collect(),
        }
    }

    fn all() -> Vec<Candidate> {
        vec![
            candidate("web", false, &["web", "check"], &["check"], 2),
            candidate("checks", true, &["check", "agent"], &["check"], 2),
            candidate("smoke", true, &["smoke"], &["smoke"], 1),
            candidate("empty", true, &["agent"], &[], 1),
        ]
    }

    fn selected(name: &str, filters: &[&str]) -> std::result::Result<(Vec<String>, usize), String> {
        let filters: Vec<String> = filters.iter().map(|&filter| filter.to_owned()).collect();
        select(&all(), name, &filters)
            .map(|selection| (selection.instances, selection.warnings.len()))
            .map_err(|problems| problems.iter().map(|problem| problem.message.clone()).collect())
    }

    #[test]
    fn a_jobs_name_comes_before_a_groups() {
        let ok = |instances: &[&str], warnings| Ok((instances.iter().map(|&i| i.to_owned()).collect(), warnings));
        assert_eq!(selected("check", &[]), ok(&["web/0", "web/1", "checks/0"], 0));
        assert_eq!(selected("checks", &[]), ok(&["checks/0"], 0));
        assert_eq!(selected("smoke", &[]), ok(&["smoke/0"], 1));
        assert_eq!(selected("check", &["web/1"]), ok(&["web/1"], 0));
        assert_eq!(selected("check", &["checks", "web/first"]), ok(&["web/0", "checks/0"], 0));
    }

    #[test]
    fn what_is_not_an_errand_is_refused_as_bosh_does() {
        let error = |name, filters: &[&str]| selected(name, filters).unwrap_err();
        assert_eq!(error("chekc", &[]), "Errand 'chekc' doesn't exist");
        assert_eq!(error("agent", &[]), "Could not find errand agent");
        assert_eq!(error("empty", &[]), "Could not find errand agent");
        assert_eq!(error("check", &["web/7", "x"]), "No instances match selection criteria: [web/7, x]");
        assert!(error("checks", &["checks/0"]).starts_with("Filtering by instances is not supported"));
        let service = vec![candidate("web", false, &["server"], &[], 1)];
        let problems = select(&service, "web", &[]).unwrap_err().to_string();
        assert!(problems.contains("Instance group 'web' is not an errand. To mark an instance group"), "{problems}");
    }
}
