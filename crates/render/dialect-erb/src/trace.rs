//! How a template renders: which of its lines render which lines of the result, which properties they read, and which lines and
//! branches a rendering reaches.
//!
//! The template is rendered once, in a process of its own, with calls in its code that note what happens
//! (`ruby/trace.rb`); the result has the same bytes as without them.

mod lines;
mod sites;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use ruby::Vm;
use template::Source;
use value::Value;

use crate::mask::Mask;
use crate::pool::{self, Outcome, Task};
use crate::ruby_text::utf8;
use crate::scanner::{self, Segment};
use sites::number;
pub(crate) use sites::{Site, Sites};

/// How a template was rendered once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The job.
    pub job: String,
    /// The template, as messages name it, and its file.
    pub template: String,
    /// The file of the template.
    pub file: String,
    /// Index of the context.
    pub context: usize,
    /// For each line of the result, the lines of the template (from 1) that render it. Lines that code has output by other means
    /// than tags and text have none. Empty if the template failed.
    pub origins: Vec<Vec<u32>>,
    /// What each line of the template (from 1) reads.
    pub reads: BTreeMap<u32, BTreeSet<Read>>,
    /// The lines of the template that output or ran something.
    pub reached: BTreeSet<u32>,
    /// For each branch of the template the number of times that each way was taken, in the order of its coverage.
    pub(crate) ways: Vec<Vec<u64>>,
}

/// Something that a template reads. It never contains a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// A property of the job, by its dotted name.
    Property(String),
    /// A link, and the property of it.
    Link {
        /// Name of the link, as the job consumes it.
        link: String,
        /// The dotted name; `None` for the link itself.
        property: Option<String>,
    },
    /// A fact about the instance: `index`, `networks.default.ip`.
    Spec(String),
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Read::Property(name) => write!(f, "p('{}')", name.escape_debug()),
            Read::Link { link, property: None } => write!(f, "link('{}')", link.escape_debug()),
            Read::Link { link, property: Some(name) } => {
                write!(f, "link('{}').p('{}')", link.escape_debug(), name.escape_debug())
            }
            Read::Spec(name) => write!(f, "spec.{}", name.escape_debug()),
        }
    }
}

/// What notes how templates render.
pub(crate) struct Recorder {
    vm: Vm,
    /// By the text of a template.
    sites: RefCell<HashMap<Vec<u8>, Rc<Sites>>>,
    pub(crate) traces: RefCell<Vec<Trace>>,
}

/// What a task needs to be decoded.
pub(crate) struct Traced {
    sites: Rc<Sites>,
    segments: Vec<Segment>,
}

impl Recorder {
    pub(crate) fn new(vm: Vm) -> Recorder {
        Recorder { vm, sites: RefCell::default(), traces: RefCell::default() }
    }

    fn sites(&self, template: &[u8]) -> problem::Result<Rc<Sites>> {
        if let Some(known) = self.sites.borrow().get(template) {
            return Ok(known.clone());
        }
        let sites = Rc::new(Sites::of(&self.vm, &[template])?.pop().unwrap_or_default());
        self.sites.borrow_mut().insert(template.to_vec(), sites.clone());
        Ok(sites)
    }

    /// The task that renders a template as `task` does, and notes how.
    ///
    /// # Errors
    /// Only where the VM itself fails.
    pub(crate) fn task(&self, task: Task, source: &Source) -> problem::Result<(Task, Traced)> {
        let sites = self.sites(&source.text)?;
        let (code, segments) = scanner::compile_traced(&source.text);
        let (mut branching, _) = scanner::compile_traced(&sites.inserted(&source.text));
        // ERB's own compiler notes nothing.
        let is_erb = matches!(task.unit.get("erb"), Some(Value::Bool(true)));
        if is_erb {
            branching.clear();
        }
        let unit = task.unit.as_map().into_iter().flat_map(value::Map::iter);
        let kept = unit.filter(|(key, _)| !matches!(key.as_str(), Some("isolation" | "code")));
        let kept = kept.map(|(key, value)| (key.as_str().unwrap_or_default(), value.clone()));
        let code = if is_erb { source.text.clone() } else { code };
        let more = [
            ("isolation", Value::str("process")),
            ("code", utf8(code)),
            ("branching", utf8(branching)),
            ("trace", Value::str(include_str!("../ruby/trace.rb"))),
        ];
        let unit = Value::map(kept.chain(more).collect::<Vec<_>>());
        Ok((Task { unit, has_own_process: true, ..task }, Traced { sites, segments }))
    }
}

impl Traced {
    /// The outcome and the trace of what such a task sent. `mask` removes names that are values.
    pub(crate) fn decode(&self, source: &Source, job: &str, context: usize, outcome: Outcome) -> (Outcome, Trace) {
        let mut trace = Trace::new(source, job, context);
        trace.ways =
            self.sites.branches.iter().map(|site| vec![0; site.arms.len() + usize::from(site.has_rest)]).collect();
        let noted = match outcome.map(|bytes| ruby::load(&bytes)) {
            Ok(Ok(noted)) => noted,
            Ok(Err(_)) => return (Err(pool::no_result()), trace),
            Err(facts) => return (Err(facts), trace),
        };
        let ran = rows::<usize>(noted.get("ran"));
        let lines: BTreeSet<u32> = items(noted.get("lines")).iter().filter_map(number).collect();
        trace.reached = self.reached(&source.text, &lines, &ran);
        self.count_ways(items(noted.get("ways")), &mut trace.ways);
        for row in items(noted.get("reads")) {
            if let Some((line, read)) = row.as_array().and_then(read) {
                trace.reads.entry(line).or_default().insert(read);
            }
        }
        let outcome: Outcome = match (noted.get("bytes"), noted.get("failure")) {
            (Some(Value::Str(text)), _) => Ok(text.bytes.as_slice().into()),
            (_, Some(facts)) => Err(facts.clone()),
            _ => Err(pool::no_result()),
        };
        if let Ok(bytes) = &outcome {
            let pieces: Vec<[usize; 3]> =
                rows(noted.get("segments")).into_iter().filter_map(|row| row.try_into().ok()).collect();
            trace.origins = lines::origins(&self.segments, &pieces, bytes);
        }
        (outcome, trace)
    }

    /// The lines that output or ran something; `ran` are index of a segment, and how often.
    fn reached(&self, template: &[u8], lines: &BTreeSet<u32>, ran: &[Vec<usize>]) -> BTreeSet<u32> {
        let mut reached = lines.clone();
        for segment in ran.iter().filter_map(|row| self.segments.get(*row.first()?)) {
            reached.extend(segment.line..=segment.last_line);
        }
        let all = code_lines(template, &self.sites);
        reached.retain(|line| all.contains(line));
        reached
    }

    /// Rows are site, way and count, or line, kind, name, way and count; way -1 is the beginning of a `case`.
    fn count_ways(&self, rows: &[Value], ways: &mut [Vec<u64>]) {
        let mut begun = vec![0_u64; ways.len()];
        for row in rows.iter().filter_map(Value::as_array) {
            let (site, way, count) = match row {
                [site, way, count] => (number(site), way.as_int(), number::<u64>(count)),
                [line, kind, name, way, count] => (self.optional(line, kind, name), way.as_int(), number::<u64>(count)),
                _ => continue,
            };
            let (Some(site), Some(way), Some(count)) = (site, way, count) else { continue };
            match usize::try_from(way) {
                Ok(way) => {
                    if let Some(counted) = ways.get_mut(site).and_then(|ways: &mut Vec<u64>| ways.get_mut(way)) {
                        *counted += count;
                    }
                }
                Err(_) => begun.get_mut(site).into_iter().for_each(|begun| *begun += count),
            }
        }
        for ((site, ways), begun) in self.sites.branches.iter().zip(ways).zip(begun) {
            if let Some((rest, arms)) = ways.split_last_mut().filter(|_| site.has_rest) {
                *rest = begun.saturating_sub(arms.iter().sum());
            }
        }
    }

    /// The site of an `if_p` or `if_link`.
    fn optional(&self, line: &Value, kind: &Value, name: &Value) -> Option<usize> {
        let line: u32 = number(line)?;
        let is_it = |site: &&Site| site.line == line && Some(site.kind.as_str()) == kind.as_str();
        let mut fitting = self.sites.branches.iter().enumerate().filter(|(_, site)| is_it(site));
        let exact = fitting.clone().find(|(_, site)| site.name.is_some() && site.name.as_deref() == name.as_str());
        exact.or_else(|| fitting.find(|(_, site)| site.name.is_none())).map(|(index, _)| index)
    }
}

impl Trace {
    fn new(source: &Source, job: &str, context: usize) -> Trace {
        Trace {
            job: job.to_owned(),
            template: source.name.clone(),
            file: source.file.clone(),
            context,
            origins: Vec::new(),
            reads: BTreeMap::new(),
            reached: BTreeSet::new(),
            ways: Vec::new(),
        }
    }

    /// The trace of a template without tags.
    pub(crate) fn of_text(source: &Source, job: &str, context: usize) -> Trace {
        let lines: Vec<&[u8]> = source.text.split_inclusive(|b| *b == b'\n').collect();
        let origins = (1..).take(lines.len()).map(|line| vec![line]).collect();
        let reached = code_lines(&source.text, &Sites::default());
        Trace { origins, reached, ..Trace::new(source, job, context) }
    }

    /// Removes names that are, or contain, values of properties.
    pub(crate) fn hide(&mut self, template: &[u8], mask: impl FnOnce() -> Mask) {
        let is_written = |name: &str| memchr::memmem::find(template, name.as_bytes()).is_some();
        let names = |read: &Read| match read {
            Read::Property(name) | Read::Spec(name) => vec![name.clone()],
            Read::Link { link, property } => property.iter().chain([link]).cloned().collect(),
        };
        if self.reads.values().flatten().flat_map(names).all(|name| is_written(&name)) {
            return;
        }
        let mask = mask();
        for reads in self.reads.values_mut() {
            reads.retain(|read| names(read).into_iter().all(|name| is_written(&name) || mask.harmless(name).is_some()));
        }
        self.reads.retain(|_, reads| !reads.is_empty());
    }
}

/// The lines of a template that output text or run something.
pub(crate) fn code_lines(template: &[u8], sites: &Sites) -> BTreeSet<u32> {
    let mut lines: BTreeSet<u32> = sites.statements.iter().copied().collect();
    for segment in scanner::compile_traced(template).1 {
        let Some(text) = segment.text else {
            lines.insert(segment.line);
            continue;
        };
        let parts = (segment.line..).zip(text.split(|b| *b == b'\n'));
        lines.extend(parts.filter(|(_, part)| !part.trim_ascii().is_empty()).map(|(line, _)| line));
    }
    lines
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).unwrap_or_default()
}

/// Rows of numbers.
fn rows<N: TryFrom<i64>>(value: Option<&Value>) -> Vec<Vec<N>> {
    let row = |row: &Value| row.as_array().unwrap_or_default().iter().filter_map(number).collect();
    items(value).iter().map(row).collect()
}

/// Line, kind and names.
fn read(row: &[Value]) -> Option<(u32, Read)> {
    let (line, rest) = row.split_first()?;
    let texts: Vec<&str> = rest.iter().filter_map(Value::as_str).collect();
    let read = match texts.as_slice() {
        ["p", name] => Read::Property((*name).to_owned()),
        ["link", link] => Read::Link { link: (*link).to_owned(), property: None },
        ["link", link, name] => Read::Link { link: (*link).to_owned(), property: Some((*name).to_owned()) },
        // `spec.properties.a` is `properties.a`.
        ["spec", name] => match name.strip_prefix("properties.") {
            Some(property) => Read::Property(property.to_owned()),
            None => Read::Spec((*name).to_owned()),
        },
        _ => return None,
    };
    Some((number(line)?, read))
}
