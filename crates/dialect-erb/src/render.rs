//! Rendering: specs and templates in, bytes or failures out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use problem::{Code, Problem, code};
use ruby::Vm;
use template::{RenderError, Source, Span};
use value::{Encoding, Text, Value};

use crate::analysis::Isolation;
use crate::contexts::Contexts;
use crate::mask::{Mask, Secrets};
use crate::pool::{self, Process, Task};
use crate::settings::{IsolationMode, Settings};
use crate::{analysis, eager::needs_whole_structs, scanner};

/// BOSH's evaluation context on a running VM.
pub struct Renderer<'vm> {
    vm: &'vm Vm,
    settings: Settings,
    /// Processes that are ending.
    ended: RefCell<Vec<Process>>,
}

/// One template to be rendered in one context.
#[derive(Debug, Clone)]
pub struct Unit<'a> {
    /// Index of its context.
    pub context: usize,
    /// The job: with the template's name it makes `__FILE__`, as in BOSH.
    pub job: &'a str,
    /// The template.
    pub source: &'a Source,
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

/// What is proven about a template's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proven {
    /// It is the same for every instance of a group.
    pub same_for_all_instances: bool,
    /// It is the same whenever the template is rendered in the same context.
    pub repeatable: bool,
}

impl<'vm> Renderer<'vm> {
    /// Has the VM load BOSH's evaluation context, and does not wait for it; once per VM.
    pub fn new(vm: &'vm Vm, settings: Settings) -> Renderer<'vm> {
        vm.add_archive(ruby::archive!());
        vm.load_source("library", include_str!("../ruby/library.rb"));
        vm.load_source("context", include_str!("../ruby/context.rb"));
        vm.load_source("driver", include_str!("../ruby/driver.rb"));
        Renderer { vm, settings, ended: RefCell::default() }
    }

    /// What the code of a template proves about its output; nothing where nothing may be concluded from it.
    pub fn proven(&self, source: &Source) -> Proven {
        match self.settings.isolation {
            IsolationMode::Process => Proven::default(),
            IsolationMode::Auto => {
                let facts = analysis::analyse(&source.text);
                Proven { same_for_all_instances: facts.same_for_all_instances, repeatable: facts.repeatable }
            }
        }
    }

    /// Renders every unit; `contexts` are the specs that templates see.
    ///
    /// # Errors
    /// Only where the VM itself fails; what a template does wrong is in its own result.
    pub fn render(&self, contexts: &[Value], units: &[Unit]) -> problem::Result<Vec<Result<Vec<u8>, Failure>>> {
        // BOSH fails a job that OpenStruct cannot hold, whatever its templates use.
        let parts = Contexts::new(contexts);
        let has_code = |unit: &Unit| parts.has_odd_keys(unit.context) || scanner::has_tags(&unit.source.text);
        let coded: Vec<&Unit> = units.iter().filter(|unit| has_code(unit)).collect();
        let tasks = tasks(&coded, &parts, self.settings.isolation);
        let mut ended = self.ended.borrow_mut();
        let mut outcomes = pool::evaluate(self.vm, &self.settings, &parts, &tasks, &mut ended)?.into_iter();
        let mut secrets = HashMap::new();
        units
            .iter()
            .map(|unit| {
                if !has_code(unit) {
                    return Ok(Ok(unit.source.text.clone()));
                }
                let outcome = outcomes.next().ok_or_else(|| Problem::internal("the embedded Ruby lost templates"))?;
                Ok(outcome.map_err(|facts| {
                    let context = &contexts[unit.context];
                    let known = secrets.entry(Secrets::identity(context));
                    let of_context = known.or_insert_with(|| Rc::new(Secrets::of(context)));
                    failure(&facts, &Mask::with(of_context.clone(), &unit.source.text))
                }))
            })
            .collect()
    }
}

/// Units as the driver wants them. A template that is rendered for many instances is analysed once.
fn tasks(units: &[&Unit], contexts: &Contexts, mode: IsolationMode) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::with_capacity(units.len());
    let mut last: Option<(&Unit, bool)> = None;
    for unit in units {
        let odd = contexts.has_odd_keys(unit.context);
        let again = last
            .is_some_and(|(last, was)| was == odd && last.job == unit.job && std::ptr::eq(last.source, unit.source));
        tasks.push(match tasks.last() {
            Some(task) if again => Task { context: unit.context, ..task.clone() },
            _ => task(unit, odd, mode),
        });
        last = Some((unit, odd));
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
    // A magic comment is left to ERB's own compiler.
    let is_erb = scanner::has_magic_comment(text);
    let code = if is_erb { text.clone() } else { scanner::compile(text) };
    Task {
        context: unit.context,
        features: facts.features,
        length: code.len(),
        unit: Value::map([
            ("file", Value::str(format!("{}/{}", unit.job, unit.source.name))),
            ("code", utf8(code)),
            ("erb", Value::Bool(is_erb)),
            ("isolation", Value::str(facts.isolation.as_str())),
            ("eager", Value::Bool(eager)),
        ]),
    }
}

fn utf8(bytes: Vec<u8>) -> Value {
    Value::Str(Rc::new(Text { bytes, encoding: Encoding::Utf8 }))
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
fn syntax_error(message: &str) -> String {
    let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or(message);
    match first.find(": ") {
        Some(i) if first[..i].ends_with(|c: char| c.is_ascii_digit()) => first[i + 2..].to_owned(),
        _ => first.to_owned(),
    }
}
