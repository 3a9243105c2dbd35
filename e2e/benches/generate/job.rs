//! A job: its spec, its monit file and its templates.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_yaml::{Mapping, Value};

use super::property::{self, Kind, Property};
use super::random::Random;
use super::template::{self, Draw};

pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) release: String,
    properties: Vec<Property>,
    pub(crate) provides: Option<Provided>,
    pub(crate) consumes: Vec<Consumed>,
    /// Source, destination, text; `monit` comes first and is not in the spec.
    pub(crate) templates: Vec<(String, String, String)>,
}

/// A link that the job provides; its name is also its type, so it is found by type.
#[derive(Clone)]
pub(crate) struct Provided {
    pub(crate) name: String,
    properties: Vec<String>,
}

/// A link that a job consumes.
#[derive(Clone)]
pub(crate) struct Consumed {
    pub(crate) name: String,
    /// A property that it exposes and that is a number.
    pub(crate) number: String,
}

impl Provided {
    pub(crate) fn consumed(&self) -> Consumed {
        Consumed { name: self.name.clone(), number: self.properties[0].clone() }
    }
}

impl Job {
    /// A job without templates: these need to know what the job consumes.
    pub(crate) fn new(name: String, release: String, random: &mut Random) -> Job {
        let properties = property::generate(random);
        let numbers = properties.iter().filter(|p| p.kind == Kind::Number);
        let texts = properties.iter().filter(|p| matches!(p.kind, Kind::Text | Kind::List));
        let exposed: Vec<String> = numbers.take(2).chain(texts.take(2)).map(|p| p.name.clone()).collect();
        let provides = random.percent(40).then(|| Provided { name: format!("{name}-link"), properties: exposed });
        Job { name, release, properties, provides, consumes: Vec::new(), templates: Vec::new() }
    }

    /// Gives it up to six templates, `monit` counted.
    pub(crate) fn add_templates(&mut self, wanted: usize, random: &mut Random) {
        let job = self.name.as_str();
        let draw = Draw { job, properties: &self.properties, consumes: &self.consumes };
        let main = template::configuration(&draw, random);
        let second = if random.percent(60) {
            template::structured(&draw, random)
        } else {
            template::configuration(&draw, random)
        };
        let last = match random.below(10) {
            0 => template::static_script(job),
            1..=4 => template::certificate(&draw, random),
            _ => template::script(&draw, random),
        };
        let all = [
            ("monit", "monit".into(), template::monit(job)),
            ("bpm.yml.erb", "config/bpm.yml".into(), template::bpm(&draw, random)),
            ("config.erb", format!("config/{job}.conf"), main),
            ("second.erb", "config/second.conf".into(), second),
            ("pre-start.erb", "bin/pre-start".into(), template::script(&draw, random)),
            ("last.erb", "config/certs/last".into(), last),
        ];
        let some = all.into_iter().take(wanted);
        self.templates = some.map(|(source, destination, text)| (source.to_owned(), destination, text)).collect();
    }

    /// Writes `<base>/jobs-src/<release>/<job>/`.
    pub(crate) fn write(&self, base: &Path) -> Result<(), Box<dyn Error>> {
        let directory = base.join("jobs-src").join(&self.release).join(&self.name);
        fs::create_dir_all(directory.join("templates"))?;
        fs::write(directory.join("spec"), serde_yaml::to_string(&self.spec())?)?;
        for (source, _, text) in &self.templates {
            let below =
                if source == "monit" { directory.join(source) } else { directory.join("templates").join(source) };
            fs::write(below, text)?;
        }
        Ok(())
    }

    fn spec(&self) -> Value {
        let mut spec = Mapping::new();
        spec.insert("name".into(), self.name.as_str().into());
        let templates = self.templates.iter().filter(|(source, ..)| source != "monit");
        let templates = templates.map(|(source, destination, _)| (source.as_str().into(), destination.as_str().into()));
        spec.insert("templates".into(), Value::Mapping(templates.collect()));
        spec.insert("packages".into(), Value::Sequence(vec![self.name.as_str().into()]));
        if let Some(link) = &self.provides {
            let exposed: Vec<Value> = link.properties.iter().map(|p| p.as_str().into()).collect();
            let link = [
                ("name", link.name.as_str().into()),
                ("type", link.name.as_str().into()),
                ("properties", exposed.into()),
            ];
            spec.insert("provides".into(), Value::Sequence(vec![mapping(link)]));
        }
        let consumed =
            |link: &Consumed| mapping([("name", link.name.as_str().into()), ("type", link.name.as_str().into())]);
        spec.insert("consumes".into(), self.consumes.iter().map(consumed).collect());
        let properties = self.properties.iter().map(|p| {
            let mut body = Mapping::new();
            body.insert("description".into(), p.description.as_str().into());
            body.extend(p.default.clone().map(|default| ("default".into(), default)));
            (p.name.as_str().into(), Value::Mapping(body))
        });
        spec.insert("properties".into(), Value::Mapping(properties.collect()));
        Value::Mapping(spec)
    }

    /// Its part of the manifest.
    pub(crate) fn in_manifest(&self) -> Value {
        let mut sections = Mapping::new();
        for property in &self.properties {
            let (Some(value), Some((section, leaf))) = (&property.set, property.name.split_once('.')) else { continue };
            let section = sections.entry(section.into()).or_insert_with(|| Value::Mapping(Mapping::new()));
            if let Value::Mapping(section) = section {
                section.insert(leaf.into(), value.clone());
            }
        }
        mapping([
            ("name", self.name.as_str().into()),
            ("release", self.release.as_str().into()),
            ("properties", Value::Mapping(sections)),
        ])
    }
}

pub(crate) fn mapping<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    Value::Mapping(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())
}
