//! Unresolved `((variables))`: what is planned has none.

use std::collections::HashSet;

use problem::{Note, Place, Problem, Step, code};
use value::Value;

/// How many of the variables are shown.
const SHOWN: usize = 20;

/// One problem that lists the placeholders of the document, or none. The section `variables`, which defines them, is left
/// out. Few variables are listed with all their places; of many, the first ones in the document with their first places.
pub(crate) fn unresolved(manifest: &Value, file: &str) -> Option<Problem> {
    listed(found(manifest), file)
}

/// As [`unresolved`], of a document in which only absolute names have a meaning: a cloud config, which belongs to no
/// deployment.
pub(crate) fn unresolved_absolute(config: &Value, file: &str) -> Vec<Problem> {
    let (absolute, relative): (Vec<Found>, Vec<Found>) =
        found(config).into_iter().partition(|(name, _)| name.starts_with('/'));
    let mut names: Vec<String> = relative.iter().map(|(name, _)| format!("'{name}'")).collect();
    names.sort_unstable();
    names.dedup();
    let mut problems: Vec<Problem> = listed(absolute, file).into_iter().collect();
    if !names.is_empty() {
        let message = format!(
            "Relative paths are not allowed in this context. The following must be be switched to use absolute paths: {}",
            names.join(", ")
        );
        let mut problem = Problem::input(message).code(code::VARIABLE_UNRESOLVED).hint(HINT);
        problem.notes = relative.into_iter().take(SHOWN).map(|found| note(found, file)).collect();
        problems.push(problem);
    }
    problems
}

/// A placeholder's name, and its path.
type Found = (String, Vec<Step>);

const HINT: &str =
    "give values with --var, --vars-file or --vars-env; --vars-store generates those that the manifest defines";

fn note((name, path): Found, file: &str) -> Note {
    Note { place: Place::node(file, path), what: Some(format!("(({name}))")), hint: None }
}

fn found(document: &Value) -> Vec<Found> {
    let mut found = Vec::new();
    for (key, value) in document.as_map().into_iter().flat_map(value::Map::iter) {
        match key.as_str() {
            Some("variables") => {}
            Some(key) => walk(value, &mut vec![key.into()], &mut found),
            None => {}
        }
    }
    found.dedup();
    found
}

fn listed(found: Vec<Found>, file: &str) -> Option<Problem> {
    let mut seen = HashSet::new();
    let first: Vec<_> = found.iter().filter(|(name, _)| seen.insert(name.clone())).cloned().collect();
    let (message, places) = match first.len() {
        0 => return None,
        count if count > SHOWN => {
            let message = format!("{count} unresolved variables in {} places; the first {SHOWN} are:", found.len());
            (message, first.into_iter().take(SHOWN).collect())
        }
        _ => {
            let mut names: Vec<String> = first.iter().map(|(name, _)| format!("(({name}))")).collect();
            names.sort_unstable();
            let more = if found.len() > SHOWN { format!(" (in {} places)", found.len()) } else { String::new() };
            let places = if found.len() > SHOWN { first } else { found };
            (format!("unresolved variables{more}: {}", names.join(", ")), places)
        }
    };
    let mut problem = Problem::input(message).code(code::VARIABLE_UNRESOLVED).hint(HINT);
    problem.notes = places.into_iter().map(|found| note(found, file)).collect();
    Some(problem)
}

fn walk(value: &Value, path: &mut Vec<Step>, found: &mut Vec<(String, Vec<Step>)>) {
    match value {
        Value::Str(_) => {
            let names = value.as_str().map(placeholders).unwrap_or_default();
            found.extend(names.into_iter().map(|name| (name, path.clone())));
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push(i.into());
                walk(item, path, found);
                path.pop();
            }
        }
        Value::Map(map) => {
            for (key, inner) in map.iter() {
                path.push(Step::Key(key.scalar_to_s().unwrap_or_default()));
                walk(inner, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Names of the placeholders in a text: `((name))` or `((!name))`, a name of letters, digits and `-_./:`.
fn placeholders(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("((") {
        rest = &rest[start + 1..];
        let body = rest[1..].strip_prefix('!').unwrap_or(&rest[1..]);
        let length = body.find(|c: char| !(c.is_alphanumeric() || "-_./:".contains(c))).unwrap_or(body.len());
        if length > 0 && body[length..].starts_with("))") {
            names.push(body[..length].to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_placeholders_are_found() {
        assert_eq!(placeholders("a((x))b ((!/d/y.z)) ((a b)) (((w))) ((open"), ["x", "/d/y.z", "w"]);
        assert!(placeholders("^((25[0-5])|(x))$").is_empty());
    }

    #[test]
    fn of_many_the_first_are_listed_and_all_are_counted() {
        let item = |i: usize| Value::str(format!("((v{}))((all))", i % 30));
        let problem = unresolved(&Value::map([("properties", Value::array((0..60).map(item)))]), "m.yml").unwrap();
        assert_eq!(problem.message, "31 unresolved variables in 120 places; the first 20 are:");
        let notes: Vec<_> = problem.notes.iter().map(|n| n.what.as_deref().unwrap()).collect();
        assert_eq!((notes.len(), notes[..3].to_vec()), (20, vec!["((v0))", "((all))", "((v1))"]));
        let many = Value::array((0..60).map(|_| Value::str("((a))")));
        let problem = unresolved(&Value::map([("properties", many)]), "m.yml").unwrap();
        assert_eq!(problem.message, "unresolved variables (in 60 places): ((a))");
        assert_eq!(problem.notes.len(), 1);
    }

    #[test]
    fn all_are_listed_and_definitions_are_not() {
        let manifest = Value::map([
            ("variables", Value::str("((v))")),
            ("properties", Value::array([Value::str("((b))"), Value::map([("k", Value::str("((a))"))])])),
        ]);
        let problem = unresolved(&manifest, "m.yml").unwrap();
        assert_eq!(problem.message, "unresolved variables: ((a)), ((b))");
        let notes: Vec<_> =
            problem.notes.iter().map(|n| (n.what.as_deref().unwrap(), n.place.path.as_slice())).collect();
        let [list, key] = ["properties", "k"].map(Step::from);
        assert_eq!(notes, [("((b))", &[list.clone(), 0.into()][..]), ("((a))", &[list, 1.into(), key][..])]);
    }
}
