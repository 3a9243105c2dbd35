//! Holding each job's properties to the job's own `properties_schema.json`.
//!
//! BOSH does it before it renders anything, and stops at the first job that fails; here all are reported.

use std::collections::{BTreeMap, BTreeSet};

use instance_group::Resolved;
use job_templates::job_ref;
use manifest_model::replaced::is_spec_unneeded;
use problem::{Note, Place, Problem, Problems, Result, Step, code};
use properties_schema::{Facts, Schema, SchemaError, Violation, report};
use ruby::Vm;
use template::Source;
use value::Value;

use crate::input::Input;

/// Checks every job of every group that has a schema; `groups` are all those of the manifest.
///
/// # Errors
/// Properties that violate a schema, and schemas that cannot be used.
pub(crate) fn check(vm: &Vm, input: &Input, groups: &[Resolved]) -> Result<()> {
    let mut problems = Vec::new();
    let schemas = read(input, groups, &mut problems)?;
    if !schemas.is_empty() {
        vm.load_source("schema_facts", include_str!("../ruby/schema_facts.rb"));
    }
    let mut broken = BTreeSet::new();
    for (g, group) in groups.iter().enumerate() {
        for (j, job) in group.jobs.iter().enumerate() {
            let name = job_ref(job);
            let Some((source, schema)) = schemas.get(&name) else { continue };
            match schema.validate(&job.properties, &Asked(vm)) {
                Ok(violations) if violations.is_empty() => {}
                Ok(violations) => {
                    let why = format!("job '{}' of instance group '{}': {}", job.name, group.name, source.file);
                    problems.push(located(vm, input, (g, j), &violations, &job.name).because(why));
                }
                Err(why) => {
                    if broken.insert(name) {
                        problems.push(unusable(&job.name, source, &why));
                    }
                }
            }
        }
    }
    Problems::check(problems)
}

type Schemas = BTreeMap<jobs_src::JobRef, (Source, Schema)>;

fn read(input: &Input, groups: &[Resolved], problems: &mut Vec<Problem>) -> Result<Schemas> {
    let mut schemas = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for job in groups.iter().flat_map(|group| &group.jobs) {
        let name = job_ref(job);
        if is_spec_unneeded(&name.release, &name.job) || !seen.insert(name.clone()) {
            continue;
        }
        let Some(source) = input.jobs_src.properties_schema(&name)? else { continue };
        match serde_json::from_slice(&source.text) {
            Ok(document) => match Schema::new(document) {
                Ok(schema) => drop(schemas.insert(name, (source, schema))),
                Err(why) => problems.push(unusable(&name.job, &source, &why)),
            },
            Err(e) => {
                let mut place = Place::file(&source.file);
                place.line = u32::try_from(e.line()).ok();
                place.column = u32::try_from(e.column()).ok();
                let problem = Problem::input(format!("{} of job '{}' is not JSON", source.name, name.job))
                    .code(code::SCHEMA_INVALID);
                problems.push(problem.at(place).because(e));
            }
        }
    }
    Ok(schemas)
}

fn unusable(job: &str, source: &Source, why: &SchemaError) -> Problem {
    let message = format!("{} of job '{job}' cannot be used", source.name);
    Problem::input(message).code(code::SCHEMA_INVALID).at(Place::file(&source.file)).because(&why.0)
}

/// BOSH's report, and where the manifest has the values (or would have them).
fn located(vm: &Vm, input: &Input, (g, j): (usize, usize), violations: &[Violation], name: &str) -> Problem {
    let group = &input.manifest.instance_groups[g];
    let job = &group.jobs[j];
    let mut root = match job.properties {
        Some(_) => job.place(),
        None => Place::node(&input.manifest.file, group.path.clone()),
    };
    root.path.push(Step::from("properties"));
    let mut problem = Problem::input(report(name, violations)).code(code::SCHEMA_VIOLATED);
    problem.notes = violations
        .iter()
        .map(|violation| {
            let path = root.path.iter().chain(&violation.path).cloned().collect();
            Note { place: Place::node(&root.file, path), what: None, hint: None }
        })
        .collect();
    let mut problem = input.documents.locate(vm, problem.into()).into_vec().remove(0);
    problem.notes.dedup_by(|a, b| a.place.line == b.place.line && a.place.column == b.place.column);
    problem
}

/// Asks the embedded Ruby.
struct Asked<'vm>(&'vm Vm);

impl Asked<'_> {
    fn ask(&self, question: &str, rule: &str, text: &Value) -> std::result::Result<bool, ruby::RubyError> {
        let question = [Value::str(question), Value::str(rule), text.clone()];
        Ok(self.0.call("schema_fact", Value::array(question))?.is_truthy())
    }
}

impl Facts for Asked<'_> {
    fn matches(&self, pattern: &str, text: &Value) -> std::result::Result<bool, String> {
        self.ask("matches", pattern, text).map_err(|e| match e.class.as_str() {
            // Speaks of the pattern, which is the author's.
            "RegexpError" => format!("a pattern is not a regular expression: {}", e.message),
            class => format!("Ruby failed to match a pattern: {class}"),
        })
    }

    fn has_format(&self, format: &str, text: &Value) -> std::result::Result<bool, String> {
        self.ask("format", format, text).map_err(|e| format!("Ruby failed to check the format {format}: {}", e.class))
    }

    fn is_certificate(&self, text: &Value) -> std::result::Result<bool, String> {
        self.ask("certificate", "", text).map_err(|e| format!("Ruby failed to check a certificate: {}", e.class))
    }
}
