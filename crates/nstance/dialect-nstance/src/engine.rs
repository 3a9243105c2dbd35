//! Executing the templates of a group.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use go_template::{Bounds, Delimiters, Error, MissingKey, Options, Stage, Template, Value};
use problem::{Problem, did_you_mean};

use crate::configuration::{Configuration, Group};
use crate::data::{self, MAPS, NONCE, PARTS};
use crate::document::{Node, Object, Position};
use crate::instance::Instance;
use crate::json;
use crate::vars;

/// What a message shows in place of data.
pub const REDACTED: &str = "<redacted>";

/// Ids of images, or why one has none, by name.
pub type Images = BTreeMap<String, Result<String, String>>;

/// How templates are executed.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Whether a var or image that does not exist is an error; else it is empty.
    pub missing_is_error: bool,
    /// How long a template may take; zero is no limit.
    pub timeout: Duration,
    /// The largest output of a template, in bytes.
    pub output_limit: usize,
    /// The largest userdata template when it is inflated, in bytes.
    pub inflated_limit: usize,
}

/// Executes templates with the data of one instance.
pub(crate) struct Engine<'e> {
    configuration: &'e Configuration,
    group: &'e Group,
    instance: &'e Instance,
    vars: &'e Object,
    images: Images,
    settings: Settings,
    data: Value,
    /// The data without the images that have no id, if there are such.
    without_unresolved: Option<Value>,
}

/// Where a template stands.
pub(crate) struct Place<'p> {
    /// What Go calls the template.
    pub(crate) name: &'p str,
    /// Its path in the configuration.
    pub(crate) path: &'p str,
    pub(crate) position: &'p Position,
}

impl<'e> Engine<'e> {
    pub(crate) fn new(
        configuration: &'e Configuration,
        group: &'e Group,
        instance: &'e Instance,
        vars: &'e Object,
        looked_up: &Images,
        settings: Settings,
    ) -> Self {
        let mut images: Images = looked_up.clone();
        let given =
            instance.images.iter().filter_map(|(name, node)| Some((name.clone(), Ok(node.as_str()?.to_owned()))));
        images.extend(given);
        let data = Value::Nil;
        let mut engine =
            Engine { configuration, group, instance, vars, images, settings, data, without_unresolved: None };
        engine.data = engine.data(&|_| true);
        if engine.images.values().any(Result::is_err) {
            engine.without_unresolved = Some(engine.data(&|_| false));
        }
        engine
    }

    /// A field of the structs.
    pub(crate) fn field(&self, part: &str, field: &str) -> &str {
        let template = self.configuration.template_of(self.group);
        let of_template = |get: fn(&crate::configuration::InstanceTemplate) -> &Option<String>| {
            template.and_then(|template| get(template).as_deref())
        };
        let other = || match (part, field) {
            ("Instance", "Kind") => of_template(|template| &template.kind),
            ("Instance", "Arch") => of_template(|template| &template.arch),
            ("Instance", "Type") => {
                let machines = [&self.instance.machine, &self.instance.machine_pool];
                let types = machines.into_iter().map(|machine| machine.instance_type.as_deref());
                let types =
                    types.chain([self.group.instance_type.as_deref(), of_template(|template| &template.instance_type)]);
                types.flatten().find(|text| !text.is_empty())
            }
            _ => self.configuration.fact(part, field),
        };
        self.instance.field(part, field).or_else(other).unwrap_or_default()
    }

    /// The data of the templates. An image without an id has a stand-in, if `has` says so, else it does not exist.
    fn data(&self, has: &dyn Fn(&str) -> bool) -> Value {
        let bytes = |text: &str| Box::from(text.as_bytes());
        let image = |(name, id): (&'_ String, &'_ Result<String, String>)| match id {
            Ok(id) => Some((name.clone(), id.clone())),
            Err(_) => has(name).then(|| (name.clone(), format!("the id of the image {name}"))),
        };
        let images: Vec<(String, String)> = self.images.iter().filter_map(image).collect();
        let map = |name: &str| {
            let images = images.iter().map(|(name, id)| (name.as_str(), id.as_str()));
            Ok(if name == "Image" { data::strings(images) } else { vars::value(self.vars) })
        };
        let nonce = self.instance.nonce.as_ref().and_then(Node::as_str).unwrap_or_default();
        let field = |part: &'static str, field: &'static str| Ok(bytes(self.field(part, field)));
        let built: Result<Value, std::convert::Infallible> = data::root(field, map, || Ok(bytes(nonce)));
        built.unwrap_or_else(|never| match never {})
    }

    /// Executes a template.
    ///
    /// # Errors
    /// Go's message without data, or the images without an id that the template uses.
    pub(crate) fn render(&self, place: &Place<'_>, text: &[u8]) -> problem::Result<Vec<u8>> {
        if !text.windows(2).any(|pair| pair == b"{{") {
            return if text.len() > self.settings.output_limit {
                Err(self.too_large(place).into())
            } else {
                Ok(text.to_vec())
            };
        }
        let template = Template::parse(place.name, text, &Delimiters::default());
        let template = template.map_err(|error| self.problem(place, &error))?;
        let output = self.execute(&template, &self.data);
        if let Some(without) = &self.without_unresolved
            && self.execute(&template, without) != output
        {
            return Err(self.unresolved(place, &template, &output).into());
        }
        Ok(output.map_err(|error| self.problem(place, &error))?)
    }

    fn execute(&self, template: &Template, data: &Value) -> Result<Vec<u8>, Box<Error>> {
        let start = Instant::now();
        let expired = || !self.settings.timeout.is_zero() && start.elapsed() >= self.settings.timeout;
        let missing_key = if self.settings.missing_is_error { MissingKey::Error } else { MissingKey::Zero };
        let bounds = Bounds { output: self.settings.output_limit, expired: Some(&expired), ..Bounds::default() };
        template.execute(data, &Options { missing_key, bounds })
    }

    /// The problem of a template whose result depends on images without an id: on those without which it is another.
    fn unresolved(&self, place: &Place<'_>, template: &Template, output: &Result<Vec<u8>, Box<Error>>) -> Problem {
        let all = || self.images.iter().filter_map(|(name, id)| Some((name, id.as_ref().err()?)));
        let uses = |name: &str| self.execute(template, &self.data(&|other| other != name)) != *output;
        let mut used: Vec<_> = all().filter(|(name, _)| uses(name)).collect();
        if used.is_empty() {
            used = all().collect();
        }
        let names: Vec<String> = used.iter().map(|(name, _)| format!("'{}'", name.escape_debug())).collect();
        let what = if let [name] = &names[..] {
            format!("the image {name} has")
        } else {
            format!("the images {} have", names.join(", "))
        };
        let mut problem = Problem::internal(format!("{}: {what} no id", place.path)).at(place.position.place());
        for (_, cause) in used {
            problem = problem.because(cause);
        }
        problem
    }

    fn problem(&self, place: &Place<'_>, error: &Error) -> Problem {
        let text = json::lossy(&error.redacted(REDACTED));
        let problem = Problem::template(format!("{}: {text}", place.path)).at(place.position.place());
        match (error.stage, self.hint(&json::lossy(&error.text))) {
            (Stage::Limit, _) => problem.hint("TEMPLATE_TIMEOUT and OUTPUT_LIMIT set how much a template may use"),
            (_, Some(hint)) => problem.hint(hint),
            _ => problem,
        }
    }

    fn too_large(&self, place: &Place<'_>) -> Problem {
        let limit = self.settings.output_limit;
        Problem::template(format!("{}: the output exceeds the limit of {limit} bytes", place.path))
            .at(place.position.place())
            .hint("OUTPUT_LIMIT sets how much a template may write")
    }

    /// The name that is probably meant by one that does not exist.
    fn hint(&self, text: &str) -> Option<String> {
        let known: Vec<&str>;
        let name;
        if let Some((_, rest)) = text.split_once("map has no entry for key \"") {
            name = rest.strip_suffix('"')?;
            let vars = self.vars.keys().map(String::as_str);
            let uses_images = text.contains(".Image");
            known = if uses_images { self.images.keys().map(String::as_str).collect() } else { vars.collect() };
        } else {
            let (field, kind) = text.split_once("can't evaluate field ")?.1.split_once(" in type nstance.")?;
            name = field;
            let part = PARTS.iter().find(|(part, _)| *part == kind);
            let root = || PARTS.iter().map(|part| part.0).chain(MAPS).chain([NONCE]).collect();
            known = part.map_or_else(root, |(_, fields)| fields.to_vec());
        }
        let same = known.iter().find(|known| known.eq_ignore_ascii_case(name) && **known != name).copied();
        let similar = same.or_else(|| did_you_mean(name, known.iter().copied()));
        similar.map(|known| format!("did you mean '{known}'?"))
    }
}
