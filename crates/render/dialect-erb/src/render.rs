//! Rendering: specs and templates in, bytes or failures out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use problem::{Code, Problem, code};
use ruby::{Forker, Vm};
use template::{RenderError, Source, Span};
use value::Value;

use crate::analysis::Isolation;
use crate::contexts::Contexts;
use crate::mask::{Mask, Secrets};
use crate::pool::{self, Outcome, Process, Task};
use crate::ruby_text::utf8;
use crate::settings::{IsolationMode, Settings};
use crate::trace::{Recorder, Trace, Traced};
use crate::{analysis, eager::needs_whole_structs, scanner};

/// BOSH's evaluation context on a running VM.
pub struct Renderer {
    forker: Arc<Forker>,
    settings: Settings,
    /// Processes that are ending.
    ended: RefCell<Vec<Process>>,
    /// Notes how templates render, if that is wanted.
    recorder: Option<Recorder>,
}

/// What starts the processes that templates are evaluated in. A renderer belongs to one thread; those of several threads share
/// this.
#[derive(Debug, Clone)]
pub struct Processes(Arc<Forker>);

impl Processes {
    /// A renderer of this thread.
    pub fn renderer(&self, settings: Settings) -> Renderer {
        Renderer { forker: self.0.clone(), settings, ended: RefCell::default(), recorder: None }
    }
}

/// One template to be rendered in one context.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    /// Index of its context.
    pub context: usize,
    /// The job: with the template's name it makes `__FILE__`, as in BOSH.
    pub job: &'a str,
    /// The template.
    pub source: &'a Source,
    /// If the template needs a process of its own: whether that is also the process of the units next to this one that render
    /// it in other contexts. They may then see what it left there.
    pub together: bool,
    /// Whether it is rendered with another clock, other random numbers and other addresses of objects.
    pub later: bool,
}

impl<'a> Unit<'a> {
    /// A template that is rendered for itself, now.
    pub fn new(context: usize, job: &'a str, source: &'a Source) -> Unit<'a> {
        Unit { context, job, source, together: false, later: false }
    }

    /// Whether both render the same template in the same way.
    fn repeats(&self, other: &Unit) -> bool {
        self.job == other.job && std::ptr::eq(self.source, other.source) && self.later == other.later
    }
}

/// Why a template was not rendered; no text of it holds a property's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was raised, as BOSH shows it (`to_s`), and its line.
    pub error: RenderError,
    /// The names that were asked for, where a property is missing.
    pub properties: Vec<String>,
    /// What was asked for them.
    pub asked: Asked,
    /// The link that was asked for, where it is missing.
    pub link: Option<String>,
}

/// What has properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The job itself: `p`.
    Job,
    /// A link: `link(..).p`.
    Link,
    /// An instance of a link: `link(..).instances[0].p`.
    Instance,
}

impl Failure {
    /// BOSH's line about a failed template.
    pub fn text(&self, template: &str) -> String {
        let line = self.error.span.map_or("(unknown)".to_owned(), |span| span.line.to_string());
        format!("Error filling in template '{template}' (line {line}: {})", self.error.message)
    }
}

impl Renderer {
    /// Has the VM load BOSH's evaluation context, and does not wait for it; once per VM, before the VM has anything else to do.
    ///
    /// # Errors
    /// A system that has no more sockets.
    pub fn new(vm: &Vm, settings: Settings) -> problem::Result<Renderer> {
        vm.add_archive(ruby::archive!());
        vm.load_source("library", include_str!("../ruby/library.rb"));
        vm.load_source("context", include_str!("../ruby/context.rb"));
        vm.load_source("another_time", include_str!("../ruby/another_time.rb"));
        vm.load_source("driver", include_str!("../ruby/driver.rb"));
        Ok(Renderer { forker: Arc::new(vm.forker()?), settings, ended: RefCell::default(), recorder: None })
    }

    /// What starts the processes of this renderer, for renderers of other threads.
    pub fn processes(&self) -> Processes {
        Processes(self.forker.clone())
    }

    /// Notes from now on how each template renders, for [`Renderer::take_traces`]. Results stay the same; each rendering takes a
    /// process of its own.
    #[must_use]
    pub fn recording(self, vm: &Vm) -> Renderer {
        Renderer { recorder: Some(Recorder::new(vm.clone())), ..self }
    }

    /// How templates were rendered since the last call, in the order of the units. Empty if nothing is noted.
    pub fn take_traces(&self) -> Vec<Trace> {
        self.recorder.as_ref().map(|recorder| recorder.traces.take()).unwrap_or_default()
    }

    /// Whether the code of a template proves that it renders the same whenever it is rendered in the same context.
    pub fn is_repeatable(&self, source: &Source) -> bool {
        self.settings.isolation == IsolationMode::Auto && analysis::analyse(&source.text).repeatable
    }

    /// Renders every unit; `contexts` are the specs that templates see. Units next to each other that render the same
    /// template in several contexts share their work, and results that are known to be equal are the same object. `defaults` gives
    /// the defaults of the properties of a unit's job, which messages show; it is called for units that fail.
    ///
    /// # Errors
    /// Only where the VM itself fails; what a template does wrong is in its own result.
    pub fn render(
        &self,
        contexts: &[Value],
        units: &[Unit],
        defaults: &dyn Fn(&Unit) -> Vec<Value>,
    ) -> problem::Result<Vec<Result<Rc<[u8]>, Failure>>> {
        // BOSH fails a job that OpenStruct cannot hold, whatever its templates use.
        let parts = Contexts::new(contexts);
        let has_code = |unit: &Unit| parts.has_odd_keys(unit.context) || scanner::has_tags(&unit.source.text);
        let coded: Vec<&Unit> = units.iter().filter(|unit| has_code(unit)).collect();
        let (tasks, traced) = self.tasks(&coded, &parts)?;
        let mut ended = self.ended.borrow_mut();
        let mut outcomes = pool::evaluate(&self.forker, &self.settings, &parts, &tasks, &mut ended)?.into_iter();
        let mut traced = traced.into_iter();
        let mut secrets = HashMap::new();
        let mut last: Option<(&Source, Rc<[u8]>)> = None;
        units
            .iter()
            .map(|unit| {
                if !has_code(unit) {
                    self.note(|| Trace::of_text(unit.source, unit.job, unit.context));
                    let known = last.take().filter(|(source, _)| std::ptr::eq(*source, unit.source));
                    let (_, text) =
                        last.insert(known.unwrap_or_else(|| (unit.source, unit.source.text.as_slice().into())));
                    return Ok(Ok(text.clone()));
                }
                let mut outcome: Outcome =
                    outcomes.next().ok_or_else(|| Problem::internal("the embedded Ruby lost templates"))?;
                let mut mask = || {
                    let context = &contexts[unit.context];
                    let known = secrets.entry((unit.job, Secrets::identity(context)));
                    let of_context = known.or_insert_with(|| Rc::new(Secrets::of(context, &defaults(unit))));
                    Mask::with(of_context.clone(), &unit.source.text)
                };
                if let Some(traced) = traced.next() {
                    let (rendered, mut trace) = traced.decode(unit.source, unit.job, unit.context, outcome);
                    outcome = rendered;
                    trace.hide(&unit.source.text, &mut mask);
                    self.note(|| trace);
                }
                Ok(outcome.map_err(|facts| failure(&facts, &mask())))
            })
            .collect()
    }

    /// Units as tasks, with what decodes them if they are noted.
    fn tasks(&self, units: &[&Unit], contexts: &Contexts) -> problem::Result<(Vec<Task>, Vec<Traced>)> {
        let mode = self.settings.isolation;
        let Some(recorder) = &self.recorder else { return Ok((tasks(units, contexts, mode), Vec::new())) };
        let alone = |unit: &&Unit| {
            let task = task(unit, contexts.has_odd_keys(unit.context), mode);
            recorder.task(Task { common: contexts.common(unit.context), ..task }, unit.source)
        };
        Ok(units.iter().map(alone).collect::<problem::Result<Vec<_>>>()?.into_iter().unzip())
    }

    fn note(&self, trace: impl FnOnce() -> Trace) {
        if let Some(recorder) = &self.recorder {
            recorder.traces.borrow_mut().push(trace());
        }
    }
}

/// Units as the driver wants them: those that render the same template one after the other make one task, if their process allows it.
fn tasks(units: &[&Unit], contexts: &Contexts, mode: IsolationMode) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::with_capacity(units.len());
    let mut last: Option<&Unit> = None;
    for unit in units {
        let odd = contexts.has_odd_keys(unit.context);
        let common = contexts.common(unit.context);
        let again = last.filter(|last| last.repeats(unit) && contexts.has_odd_keys(last.context) == odd);
        match (tasks.last_mut(), again) {
            (Some(task), Some(_)) if (!task.has_own_process || unit.together) && task.common == common => {
                task.contexts.push(unit.context);
            }
            (Some(task), Some(_)) => {
                let again = Task { contexts: vec![unit.context], common, ..task.clone() };
                tasks.push(again);
            }
            _ => tasks.push(Task { common, ..task(unit, odd, mode) }),
        }
        last = Some(unit);
    }
    tasks
}

fn task(unit: &Unit, odd: bool, mode: IsolationMode) -> Task {
    let text = &unit.source.text;
    let mut facts = analysis::analyse(text);
    let mut eager = odd || facts.eager || needs_whole_structs(text, facts.isolation == Isolation::Shared);
    if mode == IsolationMode::Process {
        facts.isolation = Isolation::Process;
        eager = true;
    }
    if unit.later {
        facts.isolation = Isolation::Process;
    }
    // A magic comment is left to ERB's own compiler.
    let is_erb = scanner::has_magic_comment(text);
    let code = if is_erb { text.clone() } else { scanner::compile(text) };
    Task {
        contexts: vec![unit.context],
        common: 0,
        has_own_process: facts.isolation == Isolation::Process,
        features: facts.features,
        length: code.len(),
        unit: Value::map([
            ("file", Value::str(format!("{}/{}", unit.job, unit.source.name))),
            ("code", utf8(code)),
            ("erb", Value::Bool(is_erb)),
            ("isolation", Value::str(facts.isolation.as_str())),
            ("eager", Value::Bool(eager)),
            ("noted", Value::Bool(facts.noted && !eager)),
            ("later", Value::Bool(unit.later)),
        ]),
    }
}

fn failure(facts: &Value, mask: &Mask) -> Failure {
    let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let message = text("message");
    let names = facts.get("properties").and_then(Value::as_array).unwrap_or_default();
    let names = names.iter().filter_map(|n| n.as_str().map(str::to_owned));
    let is_syntax = matches!(facts.get("syntax"), Some(Value::Bool(true)));
    let message = if is_syntax { syntax_error(&message) } else { message };
    let line = facts.get("line").and_then(Value::as_int).and_then(|n| u32::try_from(n).ok());
    Failure {
        error: RenderError { span: line.map(Span::line), ..RenderError::new(mask.apply(&message)).code(kind(facts)) },
        // A template may ask for a name that it made of a value.
        properties: names.filter_map(|name| mask.harmless(name)).collect(),
        asked: match facts.get("asked").and_then(Value::as_str) {
            Some("link") => Asked::Link,
            Some("instance") => Asked::Instance,
            _ => Asked::Job,
        },
        link: facts.get("link").and_then(Value::as_str).and_then(|name| mask.harmless(name.to_owned())),
    }
}

/// The code of what was raised.
fn kind(facts: &Value) -> Code {
    match facts.get("class").and_then(Value::as_str) {
        _ if facts.get("link").and_then(Value::as_str).is_some() => code::LINK_UNKNOWN,
        _ if facts.get("properties").and_then(Value::as_array).is_some_and(|names| !names.is_empty()) => {
            code::PROPERTY_MISSING
        }
        Some("SyntaxError") => code::TEMPLATE_SYNTAX,
        Some(pool::TOO_SLOW) => code::TEMPLATE_TIMEOUT,
        _ => code::TEMPLATE_FAILED,
    }
}

/// Ruby's message for a syntax error, without the file before it and the generated code after it.
pub(crate) fn syntax_error(message: &str) -> String {
    let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or(message);
    match first.find(": ") {
        Some(i) if first[..i].ends_with(|c: char| c.is_ascii_digit()) => first[i + 2..].to_owned(),
        _ => first.to_owned(),
    }
}
