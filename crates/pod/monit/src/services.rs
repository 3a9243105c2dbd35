//! Rules over the services of all jobs of an instance.

use std::collections::BTreeSet;

use problem::{Place, Problem};

use crate::model::{Config, Service, Span};

/// A problem of a file.
pub(crate) fn problem(message: String, file: &str, at: Span) -> Problem {
    let place = Place { column: Some(at.column), ..Place::line(file, at.line) };
    Problem::template(message).at(place)
}

/// Applies the rules that hold over all jobs of an instance: names are unique, `depends on` names services, and does so
/// without a loop. `files` are the jobs' files with their names for problems, in the order of jobs.
///
/// Returns the problems, in monit's wording.
pub fn check(files: &[(&str, &Config)]) -> Vec<Problem> {
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    let services =
        || files.iter().flat_map(|(file, config)| config.services.iter().map(move |service| (*file, service)));
    for (file, service) in services() {
        if !names.insert(service.name.as_str()) {
            problems.push(problem(
                format!("service name conflict, {} already defined", service.name),
                file,
                service.at,
            ));
        }
    }
    for (file, service) in services() {
        for name in service.depends_on.iter().filter(|name| !names.contains(name.as_str())) {
            let message = format!("Depend service '{name}' is not defined in the control file");
            problems.push(problem(message, file, service.at));
        }
    }
    let all: Vec<(&str, &Service)> = services().collect();
    let ordered = start_order(all.iter().map(|(_, service)| *service));
    // What depends on an unknown service is not in a loop.
    let left: Vec<&(&str, &Service)> =
        all.iter().filter(|(_, s)| !ordered.iter().any(|o| std::ptr::eq(*o, *s))).collect();
    if let Some((file, service)) = left.first() {
        let message = format!("Found a depend loop in the control file involving the service '{}'", service.name);
        problems.push(problem(message, file, service.at));
    }
    problems
}

/// The services in the order in which they can start: each after those that it depends on, and otherwise in their own
/// order. Services in a loop, and those that depend on them, are left out; unknown names count as started.
pub fn start_order<'a>(services: impl IntoIterator<Item = &'a Service>) -> Vec<&'a Service> {
    let mut rest: Vec<&Service> = services.into_iter().collect();
    let mut ordered = Vec::with_capacity(rest.len());
    loop {
        let waiting: BTreeSet<&str> = rest.iter().map(|service| service.name.as_str()).collect();
        let ready = |service: &&Service| !service.depends_on.iter().any(|name| waiting.contains(name.as_str()));
        let Some(next) = rest.iter().position(ready) else { return ordered };
        ordered.push(rest.remove(next));
    }
}
