//! `--init`: a first case for jobs that have none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jobs_src::{JobRef, JobsSrc};
use manifest_model::JobSpec;
use problem::{IoContext, Problem, Problems, Result, code};
use render_release::{JobRun, JobSources};
use serde_json::{Map, Value as Json, json};
use startup::write_stdout;

use crate::case::{self, Case, TESTS};
use crate::outcome::{self, Outcome};

/// The name of a first case.
const NAME: &str = "default";

/// Makes a case for each job that has none and that a pattern names, or all; returns whether all could be made.
pub(crate) fn run(run: &JobRun, release: &Path, sources: &JobSources, patterns: &[String]) -> Result<bool> {
    let unknown = patterns.iter().find(|name| !sources.jobs.contains(name));
    if let Some(name) = unknown {
        let hint = problem::hint_for_unknown(name, sources.jobs.iter().map(String::as_str), || {
            format!("the jobs are: {}", sources.jobs.join(", "))
        });
        return Err(Problem::usage(format!("the release has no job '{name}'"))
            .code(code::JOB_UNKNOWN)
            .hint(hint)
            .into());
    }
    let mut is_complete = true;
    let mut lines = Vec::new();
    for job in sources.jobs.iter().filter(|job| patterns.is_empty() || patterns.contains(job)) {
        let tests = release.join(TESTS).join(job);
        if !case::directories(&tests)?.is_empty() {
            lines.push(format!("exists   {job}"));
            continue;
        }
        match make(run, release, sources, job) {
            Ok(files) => lines.push(format!("made     {job}/{NAME}: {}", files.join(", "))),
            Err(problems) => {
                is_complete = false;
                lines.push(format!("FAILED   {job}: {}", problems.with_codes()));
                // Half a case is none.
                let _ = fs::remove_dir_all(tests.join(NAME));
                let _ = fs::remove_dir(&tests);
            }
        }
    }
    write_stdout(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(is_complete)
}

/// A case with the defaults of the spec, and what templates need besides: links, and properties with their example or their name as value.
fn make(run: &JobRun, release: &Path, sources: &JobSources, job: &str) -> Result<Vec<String>> {
    let spec = spec(run, sources, job)?;
    let directory = release.join(TESTS).join(job).join(NAME);
    fs::create_dir_all(&directory).io("make", &directory)?;
    let required = spec.consumes.iter().filter(|link| !link.optional);
    let links: Vec<(&str, &str)> = required.map(|link| (link.name.as_str(), link.link_type.as_str())).collect();
    if !links.is_empty() {
        write(&directory.join("links.yml"), &links_of(run, sources, &links))?;
    }
    let mut properties = json!({});
    // Each rendering may ask for more.
    loop {
        let problems = match try_case(run, release, sources, job) {
            Ok(files) => return Ok(files),
            Err(problems) => problems,
        };
        let asked = missing(&problems.to_string());
        let required =
            spec.properties.iter().filter(|property| asked.contains(&property.name) && property.default.is_nil());
        let before = properties.clone();
        for property in required {
            let value = json_of(&property.example).filter(|value| !value.is_null());
            set(&mut properties, &property.name, value.unwrap_or_else(|| property.name.as_str().into()));
        }
        if properties == before {
            return Err(problems);
        }
        write(&directory.join("properties.yml"), &properties)?;
    }
}

/// The properties that templates could not do without, from BOSH's messages: `Can't find property '["a"]'`.
fn missing(message: &str) -> BTreeSet<String> {
    let names = message.split("Can't find property '[").skip(1).filter_map(|rest| rest.split("]'").next());
    names.flat_map(|names| names.split(", ")).map(|name| name.trim_matches('"').to_owned()).collect()
}

/// Renders the case that is on the disk, and writes the files; their names.
fn try_case(run: &JobRun, release: &Path, sources: &JobSources, job: &str) -> Result<Vec<String>> {
    let cases = case::find(release, &sources.jobs, &[format!("{job}/{NAME}")])?;
    let case: &Case = cases.first().ok_or_else(|| Problem::internal("the case is gone"))?;
    let run = crate::with_examples(run, case);
    // The problems themselves, where it fails.
    outcome::render(&run, case)?;
    match outcome::run(&run, case, true)? {
        Outcome::Updated(files) => Ok(files),
        Outcome::Passed => Ok(Vec::new()),
        Outcome::Failed { message, .. } => Err(Problem::input(message).into()),
    }
}

fn spec(run: &JobRun, sources: &JobSources, job: &str) -> Result<JobSpec> {
    let directory = [(sources.name.clone(), sources.directory.clone())].into();
    let reference = JobRef { release: sources.name.clone(), job: job.to_owned() };
    let mut specs = JobsSrc::apart(directory).specs(run.vm, &[reference], |_| None)?;
    specs.pop().ok_or_else(|| Problems::from(Problem::internal("a spec is missing")))
}

/// One instance for each link, given by name and type, with the properties that a job of the release provides and has a value for.
fn links_of(run: &JobRun, sources: &JobSources, links: &[(&str, &str)]) -> Json {
    let specs: Vec<JobSpec> = sources.jobs.iter().filter_map(|job| spec(run, sources, job).ok()).collect();
    let mut all = Map::new();
    for (name, link_type) in links {
        let provider = specs.iter().find_map(|spec| {
            let provided = spec.provides.iter().find(|provided| provided.link_type == *link_type)?;
            Some((spec, provided))
        });
        let listed: Vec<&str> =
            provider.iter().flat_map(|(_, provided)| &provided.properties).map(String::as_str).collect();
        let mut properties = nested(&listed);
        for (spec, property) in provider.iter().flat_map(|(spec, _)| listed.iter().map(move |name| (spec, name))) {
            let definition = spec.property(property);
            let values = definition.map(|property| [&property.default, &property.example]).into_iter().flatten();
            if let Some(value) = values.into_iter().find(|value| !value.is_nil()).and_then(json_of) {
                set(&mut properties, property, value);
            }
        }
        let address = format!("{}.example", name.replace('_', "-"));
        let link = json!({"address": address, "instances": [{"address": address}], "properties": properties});
        all.insert((*name).to_owned(), link);
    }
    Json::Object(all)
}

/// A value of a spec, which went through JSON.
fn json_of(value: &value::Value) -> Option<Json> {
    use value::Value;
    Some(match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Str(_) => value.as_str()?.into(),
        Value::Array(items) => items.iter().map(json_of).collect::<Option<_>>()?,
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| Some((key.as_str()?.to_owned(), json_of(value)?)));
            Json::Object(entries.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Properties whose values are their names.
fn nested(names: &[&str]) -> Json {
    let mut all = json!({});
    for name in names {
        set(&mut all, name, (*name).into());
    }
    all
}

fn set(root: &mut Json, name: &str, value: Json) {
    let mut at = root;
    for part in name.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value;
}

fn write(path: &Path, value: &Json) -> Result<()> {
    // JSON is YAML; the bosh CLI's writer makes it readable.
    let text = value.to_string();
    let node = go_yaml::read(text.as_bytes(), go_yaml::Source(0))
        .map_err(|e| Problem::internal("cannot write YAML").because(e))?;
    write_text(path, &go_yaml::write(&node))
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    vcap::atomic::replace_file(path, text.as_bytes(), 0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_properties_are_read_from_messages() {
        let message = "x (line 1: Can't find property '[\"a.b\", \"c\"]')\n y (line 2: Can't find property '[\"d\"]')";
        assert_eq!(missing(message), ["a.b", "c", "d"].map(str::to_owned).into());
        assert_eq!(nested(&["a.b", "a.c"]), json!({"a": {"b": "a.b", "c": "a.c"}}));
    }
}
