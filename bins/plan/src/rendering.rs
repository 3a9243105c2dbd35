//! Rendering templates for every instance of every group.

use dialect_erb::{Failure, Renderer, Unit};
use instance_group::Resolved;
use instance_group::report::{Entry, report};
use job_templates::failed;
use problem::{Problem, Problems, Result};
use sha2::{Digest, Sha256};
use template::Source;
use value::Value;

use crate::input::Input;
use crate::mentions::Mentions;
use crate::templates::{JobTemplate, Rendered, Scope};

/// What stands for the pod's address while planning (BOSH: the address of a dynamic network before it is known).
pub(crate) const STAND_IN_IP: &str = "127.0.0.1";

/// Ruby code after which the clock, chance and addresses are others.
const ANOTHER_TIME: &str = include_str!("../ruby/another_time.rb");

/// So many renderings at a time: their texts are in memory together.
const BATCH: usize = 4_000;

/// Renders the templates. With [`Scope::Everything`] those that are not proven to render the same each time are rendered
/// twice.
///
/// # Errors
/// Templates that fail, of all groups, in BOSH's layout.
pub(crate) fn render(
    renderer: &Renderer,
    input: &Input,
    groups: &[Resolved],
    templates: Vec<JobTemplate>,
    scope: Scope,
) -> Result<Vec<Rendered>> {
    let mut rendered = Vec::new();
    let mut failures = Vec::new();
    let mut rest = templates.into_iter().peekable();
    while rest.peek().is_some() {
        let mut batch = Batch::default();
        while batch.units.len() < BATCH
            && let Some(template) = rest.next()
        {
            let twice = scope == Scope::Everything && !template.proven.repeatable;
            batch.add(groups, template, twice);
        }
        for result in batch.render(renderer, groups)? {
            match result {
                Ok(done) => rendered.push(done),
                Err(failed) => failures.push(failed),
            }
        }
    }
    Problems::check(reports(input, groups, &failures))?;
    Ok(rendered)
}

/// Templates that are rendered together.
#[derive(Default)]
struct Batch {
    templates: Vec<JobTemplate>,
    /// For each template what is rendered besides it, where that is needed.
    again: Vec<Option<Source>>,
    /// The specs that templates see.
    contexts: Vec<Value>,
    /// For each rendering the context, the template, and whether it is the second one.
    units: Vec<(usize, usize, bool)>,
}

impl Batch {
    fn add(&mut self, groups: &[Resolved], template: JobTemplate, twice: bool) {
        let group = &groups[template.group];
        let job = template.job(groups);
        let instances = template.instances(groups);
        let (first, index) = (self.contexts.len(), self.templates.len());
        self.contexts.extend(instances.iter().map(|instance| group.spec(job, instance, Some(STAND_IN_IP))));
        for second in [false, true].into_iter().take(if twice { 2 } else { 1 }) {
            self.units.extend((first..self.contexts.len()).map(|context| (context, index, second)));
        }
        self.again.push(twice.then(|| at_another_time(&template.template.source)));
        self.templates.push(template);
    }

    /// Renders all of it; a template that fails for an instance is the first one's failure.
    fn render(
        self,
        renderer: &Renderer,
        groups: &[Resolved],
    ) -> Result<Vec<std::result::Result<Rendered, (JobTemplate, Failure)>>> {
        let units: Vec<Unit> = self
            .units
            .iter()
            .map(|(context, index, second)| {
                let template = &self.templates[*index];
                let again = self.again[*index].as_ref().filter(|_| *second);
                let source = again.unwrap_or(&template.template.source);
                Unit { context: *context, job: &template.job(groups).name, source }
            })
            .collect();
        let mut results = renderer.render(&self.contexts, &units)?.into_iter();
        let mut done = Vec::new();
        for (of, again) in self.templates.into_iter().zip(self.again) {
            let count = of.instances(groups).len();
            let once: Vec<_> = results.by_ref().take(count).collect();
            let twice: Vec<_> = results.by_ref().take(if again.is_some() { count } else { 0 }).collect();
            done.push(match once.into_iter().collect() {
                Ok(texts) => Ok(Rendered::new(of, texts, &twice)),
                // The first failing instance is enough (BOSH reports one instance of a group).
                Err(failure) => Err((of, failure)),
            });
        }
        Ok(done)
    }
}

impl Rendered {
    fn new(of: JobTemplate, texts: Vec<Vec<u8>>, twice: &[std::result::Result<Vec<u8>, Failure>]) -> Rendered {
        // The second rendering is missing where the first one is proven to be repeatable, addresses apart.
        let same = texts.iter().zip(twice).all(|(once, twice)| twice.as_ref() == Ok(once));
        let differs = !same || texts.iter().any(|text| shows_address(text));
        let digests = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        let mentions = Mentions::of(texts.iter().map(Vec::as_slice));
        let texts = if of.is_read() { texts } else { Vec::new() };
        Rendered { of, texts, digests, mentions, differs }
    }
}

/// The template with code in front after which it renders something else if it depends on more than its context.
fn at_another_time(source: &Source) -> Source {
    Source { text: [b"<% ", ANOTHER_TIME.as_bytes(), b" %>", &source.text].concat(), ..source.clone() }
}

/// Whether a text shows an object by its address, as Ruby does with one that has no text of its own: `#<Object:0x00007f...>`.
/// The address is another one in every run, and the same one for all renderings of a run.
fn shows_address(text: &[u8]) -> bool {
    const ADDRESS: &[u8] = b":0x0000";
    text.windows(ADDRESS.len()).any(|window| window == ADDRESS)
}

/// One report for each group with failures.
fn reports(input: &Input, groups: &[Resolved], failures: &[(JobTemplate, Failure)]) -> Vec<Problem> {
    let mut reports = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        let mut entries: Vec<Entry> = Vec::new();
        let mut failed_monit = None;
        for (template, failure) in failures.iter().filter(|(template, _)| template.group == g) {
            // BOSH renders monit first, and where it fails none of the job's templates.
            if failed_monit == Some(template.job) {
                continue;
            }
            if template.template.is_monit() {
                failed_monit = Some(template.job);
            }
            let job = &group.jobs[template.job];
            entries.push(failed(job, &template.template, failure, input.spec(job)));
        }
        if !entries.is_empty() {
            reports.push(report(&group.name, entries));
        }
    }
    reports
}
