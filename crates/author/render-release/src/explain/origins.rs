//! Where a property's value comes from: default of the spec, manifest, ops file, variable.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::rc::Rc;

use instance_group::ResolvedJob;
use job_templates::job_ref;
use jobs_src::{JobRef, JobsSrc};
use manifest_inputs::{Configs, Inputs, Manifest};
use manifest_model::JobSpec;
use ops_file::Token;
use problem::{Place, Problem, Result, hint_for_unknown};
use ruby::Vm;

/// The documents of a deployment, stage by stage.
pub(crate) struct Origins<'a> {
    vm: &'a Vm,
    jobs_src: &'a JobsSrc,
    inputs: &'a Inputs,
    /// The manifest as it is written.
    plain: Manifest,
    /// With the operations of ops files.
    operated: Manifest,
    /// With the values of variables, too.
    complete: Manifest,
    /// The specs that were needed.
    specs: RefCell<BTreeMap<JobRef, Rc<JobSpec>>>,
}

/// A place that has given a property its value, or would have, if no later one did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// `default`, `manifest`, `ops file`, `variable`, `runtime config`.
    pub(crate) kind: &'static str,
    /// The place; `None` for a value that is in no file.
    pub(crate) place: Option<Place>,
    /// The variable.
    pub(crate) note: String,
}

impl Step {
    fn new(kind: &'static str, place: Option<Place>) -> Step {
        Step { kind, place, note: String::new() }
    }

    /// The place and the variable.
    pub(crate) fn text(&self) -> String {
        let place = self.place.as_ref().map(ToString::to_string);
        [place.unwrap_or_default(), self.note.clone()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("  ")
    }
}

/// The steps of a value, the last of which counts. A property that is a mapping has several values.
pub(crate) struct Chain {
    /// The path of the value in the manifest; empty for a default.
    path: String,
    pub(super) steps: Vec<Step>,
}

impl<'a> Origins<'a> {
    /// Reads the documents; generates nothing.
    pub(crate) fn read(
        vm: &'a Vm,
        jobs_src: &'a JobsSrc,
        inputs: &'a Inputs,
        configs: &Configs,
        manifest: &Path,
    ) -> Result<Origins<'a>> {
        let operations = Inputs { ops_files: inputs.ops_files.clone(), ..Inputs::default() };
        Ok(Origins {
            vm,
            jobs_src,
            inputs,
            plain: Inputs::default().apply_without_generation(&Configs::default(), manifest)?,
            operated: operations.apply_without_generation(configs, manifest)?,
            complete: inputs.apply_without_generation(configs, manifest)?,
            specs: RefCell::default(),
        })
    }

    /// The explanation of a property.
    pub(super) fn explain(&self, group: &str, job: &ResolvedJob, name: &str) -> Result<String> {
        let reference = job_ref(job);
        let spec = self.spec(&reference)?;
        if spec.property(name).is_none() {
            let names: Vec<&str> = spec.properties.iter().map(|property| property.name.as_str()).collect();
            let hint = hint_for_unknown(name, names.iter().copied(), || format!("it declares: {}", names.join(", ")));
            return Err(Problem::usage(format!("job '{}' declares no property '{name}'", job.name)).hint(hint).into());
        }
        let mut text = format!("property {name} of job {} in instance group {group}\n", job.name);
        for chain in self.chains(group, &reference, &spec, name) {
            if !chain.path.is_empty() {
                let _ = writeln!(text, "  {}", chain.path);
            }
            let last = chain.steps.len().saturating_sub(1);
            for (index, step) in chain.steps.iter().enumerate() {
                let mark = if index == last { '*' } else { ' ' };
                let _ = writeln!(text, "  {mark} {:14}  {}", step.kind, step.text());
            }
            if chain.steps.is_empty() {
                text += "    no value: neither a default nor the manifest has one\n";
            }
        }
        Ok(text)
    }

    fn spec(&self, reference: &JobRef) -> Result<Rc<JobSpec>> {
        if let Some(known) = self.specs.borrow().get(reference) {
            return Ok(known.clone());
        }
        let spec = Rc::new(self.jobs_src.specs(self.vm, std::slice::from_ref(reference), |_| None)?.remove(0));
        self.specs.borrow_mut().insert(reference.clone(), spec.clone());
        Ok(spec)
    }

    /// The step that counts for a property; `None` if it has no value.
    pub(crate) fn deciding(&self, group: &str, reference: &JobRef, name: &str) -> Option<Step> {
        let spec = self.spec(reference).ok()?;
        // Templates read parts of declared properties, too.
        let declared = spec.properties.iter().map(|property| property.name.as_str());
        let name = declared.filter(|declared| is_at_or_above(declared, name)).max_by_key(|name| name.len())?;
        self.chains(group, reference, &spec, name).pop()?.steps.pop()
    }

    fn chains(&self, group: &str, reference: &JobRef, spec: &JobSpec, name: &str) -> Vec<Chain> {
        let default = self.default(reference, spec, name);
        let found = self.paths(group, &reference.job, name).into_iter().find_map(|path| {
            let leaves = self.complete.places(&path).ok()?;
            // A null in the manifest leaves the default.
            let is_null = leaves.len() == 1 && self.complete.at(&path).is_ok_and(|text| text == "null\n");
            (!is_null).then_some((path, leaves))
        });
        let Some((property, leaves)) = found else {
            let addon = self.addon(&reference.job, name).map(|place| Step::new("runtime config", Some(place)));
            return vec![Chain { path: String::new(), steps: default.into_iter().chain(addon).collect() }];
        };
        let chain = |(path, place): (String, Option<Place>)| {
            let steps = self.steps(&property, &path, place);
            Chain { path, steps: default.clone().into_iter().chain(steps).collect() }
        };
        leaves.into_iter().map(chain).collect()
    }

    /// Where the spec has the default of a property.
    fn default(&self, reference: &JobRef, spec: &JobSpec, name: &str) -> Option<Step> {
        spec.property(name).filter(|property| !property.default.is_nil())?;
        let document = self.jobs_src.read_spec(reference).ok()?;
        let path = vec!["properties".into(), name.into(), "default".into()];
        let mut problems = Problem::input("").at(Place::node(&document.file, path)).into();
        self.vm.locate(&mut problems, &document);
        let place = problems.into_vec().pop()?.place?;
        Some(Step::new("default", Some(Place { path: Vec::new(), ..place })))
    }

    /// The paths of a property, the one that counts first: the job's own properties, else the group's over those of the deployment.
    fn paths(&self, group: &str, job: &str, name: &str) -> Vec<String> {
        let of_group = [key("instance_groups"), named(group)];
        let of_job = path(of_group.iter().cloned().chain([key("jobs"), named(job), key("properties")]));
        let levels = if self.complete.places(&of_job).is_ok() {
            vec![of_job]
        } else {
            vec![path(of_group.into_iter().chain([key("properties")])), path([key("properties")])]
        };
        let tail = path(name.split('.').map(key));
        levels.into_iter().map(|level| level + &tail).collect()
    }

    /// Where an addon of a runtime config sets a property.
    fn addon(&self, job: &str, name: &str) -> Option<Place> {
        let end = path([key("jobs"), named(job), key("properties")].into_iter().chain(name.split('.').map(key)));
        let leaves = self.complete.places("/addons").ok()?;
        let is_it = |path: &str| path.ends_with(&end) || path.contains(&format!("{end}/"));
        leaves.into_iter().find(|(path, _)| is_it(path))?.1
    }

    /// The steps after the default; `place` is that of the value.
    fn steps(&self, property: &str, leaf: &str, place: Option<Place>) -> Vec<Step> {
        let mut steps = Vec::new();
        let plain = place_at(&self.plain, property, leaf);
        steps.extend(plain.clone().map(|(_, place)| Step::new("manifest", place)));
        let operated = place_at(&self.operated, property, leaf);
        if let Some((_, place)) = operated.clone().filter(|operated| Some(operated) != plain.as_ref()) {
            steps.push(Step::new("ops file", place));
        }
        let Some((path, reference)) = operated else {
            steps.push(Step::new("variable", place));
            return steps;
        };
        let variables = self.operated.at(&path).map(|text| references(&text)).unwrap_or_default();
        for variable in variables {
            let has_file = place != reference;
            let mut note = format!("(({variable}))");
            if !has_file {
                let given = format!("{variable}=");
                let is_flag = self.inputs.vars.iter().any(|text| text.starts_with(&given));
                note += if is_flag { " of --var" } else { " without a file: generated, or of --vars-env" };
            }
            steps.push(Step { kind: "variable", place: place.clone().filter(|_| has_file), note });
        }
        steps
    }

    /// Where the manifest has the node at a path.
    pub(super) fn place(&self, keys: &[Token]) -> Option<Place> {
        self.complete.places(&path(keys.iter().cloned())).ok()?.into_iter().next()?.1
    }
}

/// Whether a dotted name is another one or above it.
fn is_at_or_above(above: &str, name: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The nearest node at a path or above it, down from the property, with its place.
fn place_at(manifest: &Manifest, property: &str, leaf: &str) -> Option<(String, Option<Place>)> {
    let mut path = leaf;
    loop {
        if let Some((_, place)) = manifest.places(path).ok().and_then(|leaves| leaves.into_iter().next()) {
            return Some((path.to_owned(), place));
        }
        path = path.rsplit_once('/').map(|(above, _)| above).filter(|above| above.len() >= property.len())?;
    }
}

/// The names of the variables that a text refers to.
fn references(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in text.split("((").skip(1) {
        let Some((name, _)) = part.split_once("))") else { continue };
        let name = name.trim_start_matches('!').trim();
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// A step of a path by key.
pub(super) fn key(name: &str) -> Token {
    Token::Key { key: name.to_owned(), optional: false }
}

/// A step of a path to the item with this name.
pub(super) fn named(name: &str) -> Token {
    Token::Match { key: "name".to_owned(), value: name.to_owned(), optional: false, modifiers: Vec::new() }
}

fn path(tokens: impl IntoIterator<Item = Token>) -> String {
    tokens.into_iter().fold(ops_file::Path::default(), |path, token| path.child(token)).to_string()
}
