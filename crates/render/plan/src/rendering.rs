//! Rendering templates for every instance of every group.

use std::ops::Range;
use std::rc::Rc;

use dialect_erb::{Failure, Renderer, Unit};
use instance_group::Resolved;
use instance_group::report::{Entry, report};
use job_templates::failed;
use problem::{Problem, Problems, Result};
use sha2::{Digest, Sha256};
use value::Value;

use crate::input::Input;
use crate::referenced_names::ReferencedNames;
use crate::templates::{JobTemplate, Rendered, Scope};

/// What stands for the pod's address while planning (BOSH: the address of a dynamic network before it is known).
pub(crate) const STAND_IN_IP: &str = "127.0.0.1";

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
        let mut batch = Batch { input, groups, contexts: Vec::new(), templates: Vec::new() };
        let mut count = 0;
        while count < BATCH
            && let Some(template) = rest.next()
        {
            count += batch.add(template, scope);
        }
        for (template, texts, differs) in batch.render(renderer)? {
            match texts {
                Ok(texts) => rendered.push(Rendered::new(template, texts, differs)),
                Err(failure) => failures.push((template, failure)),
            }
        }
    }
    Problems::check(reports(input, groups, &failures))?;
    Ok(rendered)
}

/// What a template renders to for each instance, or the first failure.
type Texts = std::result::Result<Vec<Rc<[u8]>>, Failure>;
/// What a template renders to for each instance.
type Results = Vec<std::result::Result<Rc<[u8]>, Failure>>;

/// Templates that are rendered together.
struct Batch<'g> {
    input: &'g Input,
    groups: &'g [Resolved],
    /// The specs that templates see.
    contexts: Vec<Value>,
    templates: Vec<Rendering>,
}

/// A template that is to be rendered.
struct Rendering {
    template: JobTemplate,
    /// Whether it is rendered twice.
    twice: bool,
    /// The contexts of its job's instances.
    contexts: Range<usize>,
}

impl Batch<'_> {
    /// Adds a template; gives the number of renderings.
    fn add(&mut self, template: JobTemplate, scope: Scope) -> usize {
        let of = |template: &JobTemplate| (template.group, template.job);
        let known = self.templates.last().filter(|last| of(&last.template) == of(&template));
        let contexts = known.map(|last| last.contexts.clone()).unwrap_or_else(|| {
            let first = self.contexts.len();
            let (group, job) = (&self.groups[template.group], template.job(self.groups));
            let specs = job.instances.iter().map(|instance| group.spec(job, instance, Some(STAND_IN_IP)));
            self.contexts.extend(specs);
            first..self.contexts.len()
        });
        let twice = scope == Scope::Everything && !template.is_repeatable;
        let count = contexts.len() * if twice { 2 } else { 1 };
        self.templates.push(Rendering { template, twice, contexts });
        count
    }

    /// Renders all of it: texts, or the failure of the first instance that fails (BOSH reports one instance of a group), and
    /// whether a second rendering gave something else.
    ///
    /// A template that is rendered twice and needs a process of its own gets one for all instances, and another one for the
    /// second time, where they come in reverse order: what an instance leaves behind would then be seen by others than before.
    /// If the results are not equal, each instance gets processes of its own.
    fn render(self, renderer: &Renderer) -> Result<Vec<(JobTemplate, Texts, bool)>> {
        let all: Vec<usize> = (0..self.templates.len()).collect();
        let mut results = self.render_some(renderer, &all, true)?;
        let unequal = |i: &usize| self.templates[*i].contexts.len() > 1 && !is_equal(&results[*i]);
        let again: Vec<usize> = all.into_iter().filter(|i| self.templates[*i].twice).filter(unequal).collect();
        for (i, result) in again.iter().zip(self.render_some(renderer, &again, false)?) {
            results[*i] = result;
        }
        let done = self.templates.into_iter().zip(results).map(|(rendering, result)| {
            let differs = rendering.twice && !is_equal(&result);
            (rendering.template, result.0.into_iter().collect(), differs)
        });
        Ok(done.collect())
    }

    /// What some of the templates render to, the first and the second time.
    fn render_some(&self, renderer: &Renderer, indexes: &[usize], together: bool) -> Result<Vec<(Results, Results)>> {
        let mut units = Vec::new();
        for rendering in indexes.iter().map(|i| &self.templates[*i]) {
            let job = &rendering.template.job(self.groups).name;
            let source = &rendering.template.template.source;
            let unit = |context| Unit { together: together && rendering.twice, ..Unit::new(context, job, source) };
            units.extend(rendering.contexts.clone().map(unit));
            if rendering.twice {
                units.extend(rendering.contexts.clone().rev().map(|context| Unit { later: true, ..unit(context) }));
            }
        }
        let defaults = |unit: &Unit| {
            let of_context = self.templates.iter().find(|rendering| rendering.contexts.contains(&unit.context));
            of_context.map(|rendering| self.input.defaults(rendering.template.job(self.groups))).unwrap_or_default()
        };
        let mut results = renderer.render(&self.contexts, &units, &defaults)?.into_iter();
        let of_template = |i: &usize| {
            let rendering = &self.templates[*i];
            let count = rendering.contexts.len();
            let once = results.by_ref().take(count).collect();
            let mut twice: Results = results.by_ref().take(if rendering.twice { count } else { 0 }).collect();
            twice.reverse();
            (once, twice)
        };
        Ok(indexes.iter().map(of_template).collect())
    }
}

/// Whether both times nothing failed and the texts were the same.
fn is_equal((once, twice): &(Results, Results)) -> bool {
    once.iter().zip(twice).all(|(once, twice)| matches!((once, twice), (Ok(once), Ok(twice)) if once == twice))
}

impl Rendered {
    fn new(of: JobTemplate, texts: Vec<Rc<[u8]>>, differs: bool) -> Rendered {
        let mut different: Vec<&Rc<[u8]>> = texts.iter().collect();
        different.dedup_by(|text, before| Rc::ptr_eq(text, before));
        // The second rendering is missing where the first one is proven to be repeatable, addresses apart.
        let differs = differs || different.iter().any(|text| shows_address(text));
        let mentions = ReferencedNames::of(different.iter().map(|text| &***text));
        let mut digests: Vec<[u8; 32]> = Vec::with_capacity(texts.len());
        for (i, text) in texts.iter().enumerate() {
            let known = i.checked_sub(1).filter(|before| texts[*before] == *text);
            digests.push(known.map_or_else(|| Sha256::digest(text).into(), |before| digests[before]));
        }
        let texts = if of.is_read() { texts } else { Vec::new() };
        Rendered { of, texts, digests, mentions, differs }
    }
}

/// Whether a text shows an object by its address, as Ruby does with one that has no text of its own: `#<Object:0x00007f...>`.
/// The address is another one in every run, and the same one for all renderings of a run.
fn shows_address(text: &[u8]) -> bool {
    const ADDRESS: &[u8] = b":0x0000";
    memchr::memmem::find(text, ADDRESS).is_some()
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
