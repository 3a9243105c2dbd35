//! The manifest's settings of pods: `env` of a group; `properties.quarks` of a job and the aliases of its links.
//!
//! `deployment.yaml` gets of it what Kubernetes shows in a pod anyway. Everything else may be a secret, and of that only
//! the name is kept.

use ::pod_settings::{Fault, GroupSettings as Settings, JobSettings as RunSettings, env_vars};
use bpm::Overlay;
use handoff::deployment::{Alias, Env, EnvVar, Port, Quarks, SWITCHES, Switch, Tree};
use manifest_model::Manifest;
use manifest_model::manifest::{InstanceGroup, Job};
use problem::{Place, Problem, Step, code, did_you_mean};
use value::Value;

mod aliases;
mod bpm_overlay;
mod entries;

use self::entries::{Entry, entries};

/// What pods have, in `env`.
pub(crate) const AGENT_SETTINGS: &str = "bosh.agent.settings";

/// The keys of a job's `properties.quarks`.
const QUARKS: [&str; 13] = [
    "activePassiveProbes",
    "bpm",
    "consumes",
    "debug",
    "envs",
    "instances",
    "is_addon",
    "ports",
    "post_start",
    "pre_render_scripts",
    "release",
    "required_service",
    "run",
];

/// Those of Quarks that have no effect, each with the reason.
pub(crate) const WITHOUT_EFFECT: [(&str, &str); 8] = [
    ("consumes", "it is the result of resolving links"),
    ("debug", "a container that fails is started again, and its logs stay"),
    ("instances", "it is a result of planning"),
    ("is_addon", "addons are known"),
    ("post_start", "post-start runs when the processes of the instance run"),
    ("pre_render_scripts", "scripts that change a release's sources are not run"),
    ("release", "it is a result of planning"),
    ("required_service", "it is a setting of instance groups"),
];

/// Names of the transport protocols of Kubernetes.
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

/// A group's settings.
pub(crate) struct GroupSettings {
    /// `env`.
    pub(crate) env: Env,
    /// One for each job of the group.
    pub(crate) jobs: Vec<JobSettings>,
}

/// A job's settings.
pub(crate) struct JobSettings {
    /// `properties.quarks.ports`.
    pub(crate) ports: Vec<Port>,
    /// The rest of `properties.quarks`.
    pub(crate) quarks: Quarks,
    /// What changes in its `bpm.yml`.
    pub(crate) overlay: Overlay,
    /// The aliases of its links, by the names by which `from` finds the links.
    pub(crate) aliases: Vec<(String, Vec<Alias>)>,
}

/// Reads the settings of all groups of a manifest whose addons are placed, in order, and all that is wrong with them.
pub(crate) fn read(manifest: &Manifest) -> (Vec<GroupSettings>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut read = Vec::new();
    for group in &manifest.instance_groups {
        let mut of_group = Reader { file: &manifest.file, problems: Vec::new() };
        let env = of_group.env(group);
        problems.extend(of_group.problems);
        let mut jobs = Vec::new();
        for job in &group.jobs {
            // A job of an addon may be in a runtime config.
            let mut of_job = Reader { file: &job.file, problems: Vec::new() };
            jobs.push(of_job.job(job));
            problems.extend(of_job.problems);
        }
        read.push(GroupSettings { env, jobs });
    }
    (read, problems)
}

/// Reads values of one document.
pub(crate) struct Reader<'a> {
    file: &'a str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    pub(crate) fn wrong(&mut self, path: &[Step], message: impl Into<String>) {
        self.problems
            .push(Problem::input(message).code(code::MANIFEST_INVALID).at(Place::node(self.file, path.to_vec())));
    }

    fn env(&mut self, group: &InstanceGroup) -> Env {
        let mut env = Env::default();
        let path = below(&group.path, "env");
        if !matches!(group.env, Value::Nil | Value::Map(_)) {
            self.wrong(&path, wrong_class("env", &group.env, "Hash"));
        }
        for Entry { name, path, value } in entries(&group.env, &path, &[AGENT_SETTINGS]) {
            let is_switch = SWITCHES.contains(&name.as_str());
            match value {
                _ if name == AGENT_SETTINGS => env.settings = self.settings(value, &path, &mut env.hidden),
                Value::Bool(b) if is_switch => drop(env.values.insert(name, Switch::Bool(*b))),
                Value::Int(n) if is_switch => drop(env.values.insert(name, Switch::Number(*n))),
                _ => env.hidden.push(name),
            }
        }
        self.required_service(group, &mut env.settings);
        env
    }

    /// The settings of a group without those that have no effect, whose names are hidden.
    fn settings(&mut self, value: &Value, path: &[Step], hidden: &mut Vec<String>) -> Tree {
        if !matches!(value, Value::Map(_) | Value::Nil) {
            self.wrong(path, wrong_class(AGENT_SETTINGS, value, "Hash"));
            return Tree::Null;
        }
        let mut tree = self.tree(value, path);
        let (_, faults) = Settings::read(&tree);
        self.faults(faults, path, AGENT_SETTINGS);
        if let Some(map) = tree.as_object_mut() {
            for (name, _) in Settings::WITHOUT_EFFECT {
                hidden.extend(map.remove(name).map(|_| format!("{AGENT_SETTINGS}.{name}")));
            }
        }
        if tree.as_object().is_none_or(serde_json::Map::is_empty) { Tree::Null } else { tree }
    }

    /// Quarks' way to let a group wait for a name.
    fn required_service(&mut self, group: &InstanceGroup, settings: &mut Tree) {
        let path = below(&below(&below(&group.path, "properties"), "quarks"), "required_service");
        let Some(quarks) = group.properties.get("quarks") else { return };
        match quarks.get("required_service") {
            None | Some(Value::Nil) => {}
            Some(name) => match name.as_str().filter(|name| !name.is_empty() && !name.contains(char::is_whitespace)) {
                Some(name) => {
                    if settings.is_null() {
                        *settings = Tree::Object(serde_json::Map::new());
                    }
                    match settings["wait_for"].as_array_mut() {
                        Some(names) => names.push(name.into()),
                        None => settings["wait_for"] = vec![name].into(),
                    }
                }
                None => self.wrong(&path, "'required_service' must be a name to wait for"),
            },
        }
    }

    /// Reports faults below a path; `what` are the settings.
    pub(crate) fn faults(&mut self, faults: Vec<Fault>, path: &[Step], what: &str) {
        for fault in faults {
            let name = fault.name();
            let dot = if name.is_empty() { "" } else { "." };
            self.wrong(&[path, fault.path.as_slice()].concat(), format!("{what}{dot}{name}: {}", fault.message));
            if let (Some(hint), Some(problem)) = (fault.hint, self.problems.last_mut()) {
                problem.hint = Some(hint);
            }
        }
    }

    fn job(&mut self, job: &Job) -> JobSettings {
        let mut settings = JobSettings {
            ports: Vec::new(),
            quarks: Quarks::default(),
            overlay: Overlay::default(),
            aliases: Vec::new(),
        };
        let path = below(&below(&job.path, "properties"), "quarks");
        match job.properties.as_ref().and_then(|properties| properties.get("quarks")) {
            None | Some(Value::Nil) => {}
            Some(quarks @ Value::Map(_)) => self.quarks(quarks, &path, &mut settings),
            Some(other) => self.wrong(&path, wrong_class("quarks", other, "Hash")),
        }
        settings.aliases = self.aliases(job);
        settings
    }

    fn quarks(&mut self, quarks: &Value, path: &[Step], settings: &mut JobSettings) {
        const NAME: &str = "properties.quarks";
        for (key, value) in quarks.as_map().into_iter().flat_map(value::Map::iter) {
            let name = key.scalar_to_s().unwrap_or_default();
            let path = below(path, &name);
            let rest = &mut settings.quarks;
            match name.as_str() {
                _ if value.is_nil() => {}
                "ports" => settings.ports = self.each(value, &path, &name, Self::port),
                "envs" => self.envs(value, &path, settings),
                "bpm" => bpm_overlay::read(self, value, &path, settings),
                "run" => {
                    rest.run = self.tree(value, &path);
                    let (run, faults) = RunSettings::read(&rest.run);
                    self.faults(faults, &path, "properties.quarks.run");
                    bpm_overlay::add_privileges(run.security_context.as_ref(), &mut settings.overlay);
                    if !matches!(value, Value::Map(_)) {
                        self.wrong(&path, wrong_class(&name, value, "Hash"));
                    }
                }
                "activePassiveProbes" => {
                    rest.active_passive_probes = self.tree(value, &path);
                    let (_, faults) = RunSettings::read_active(&rest.active_passive_probes);
                    self.faults(faults, &path, "properties.quarks.activePassiveProbes");
                }
                _ if WITHOUT_EFFECT.iter().any(|(known, _)| *known == name) => {
                    let entries = entries(value, &path, &[]).into_iter().map(|entry| format!("{name}.{}", entry.name));
                    let entries: Vec<String> = entries.collect();
                    rest.hidden.extend(if entries.is_empty() { vec![name] } else { entries });
                }
                _ => {
                    self.wrong(&path, format!("{NAME}.{name}: unknown key '{name}'"));
                    self.hint(&name, &QUARKS);
                }
            }
        }
    }

    /// Adds the nearest name to the last problem.
    fn hint(&mut self, name: &str, known: &[&str]) {
        if let (Some(near), Some(problem)) = (did_you_mean(name, known.iter().copied()), self.problems.last_mut()) {
            problem.hint = Some(format!("did you mean '{near}'?"));
        }
    }

    /// Refuses all other keys.
    fn only(&mut self, map: &Value, path: &[Step], what: &str, known: &[&str]) {
        for (key, _) in map.as_map().into_iter().flat_map(value::Map::iter) {
            let key = key.scalar_to_s().unwrap_or_default();
            if !known.contains(&key.as_str()) {
                self.wrong(&below(path, &key), format!("unknown key '{key}' of {what}"));
                self.hint(&key, known);
            }
        }
    }

    /// Variables with a reference are a part of pods. Those with a value become one of the job's processes: the value may be a
    /// secret.
    fn envs(&mut self, value: &Value, path: &[Step], settings: &mut JobSettings) {
        let before = self.problems.len();
        let all = self.each(value, path, "envs", Self::env_var);
        // The numbers of variables are those of the manifest only if all were read.
        if self.problems.len() == before {
            let of =
                |(var, value): &(EnvVar, Option<String>)| (var.name.clone(), value.is_some(), var.value_from.clone());
            let read: Vec<_> = all.iter().map(of).collect();
            let faults = env_vars(read.iter().map(|(name, has, source)| (name.as_str(), *has, source.as_ref())));
            self.faults(faults, path, "properties.quarks.envs");
        }
        for (variable, value) in all {
            settings.overlay.env.extend(value.map(|value| (variable.name.clone(), value)));
            settings.quarks.envs.push(variable);
        }
    }

    /// A value as JSON.
    pub(crate) fn tree(&mut self, value: &Value, path: &[Step]) -> Tree {
        match value {
            Value::Nil => Tree::Null,
            Value::Bool(b) => (*b).into(),
            Value::Int(n) => (*n).into(),
            Value::Float(f) => (*f).into(),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(i, item)| self.tree(item, &[path, &[i.into()]].concat())).collect()
            }
            Value::Map(map) => {
                let pairs = map.iter().map(|(key, inner)| {
                    let key = key.scalar_to_s().unwrap_or_default();
                    let tree = self.tree(inner, &below(path, &key));
                    (key, tree)
                });
                Tree::Object(pairs.collect())
            }
            Value::Str(_) | Value::Symbol(_) | Value::BigInt(_) => match value.scalar_to_s() {
                Some(text) => text.into(),
                None => {
                    self.wrong(path, "a String that is not valid UTF-8 cannot become a part of a pod");
                    Tree::Null
                }
            },
        }
    }

    /// The elements of an Array of Hashes.
    pub(super) fn each<T>(
        &mut self,
        value: &Value,
        path: &[Step],
        name: &str,
        read: impl Fn(&mut Self, &Value, &[Step]) -> Option<T>,
    ) -> Vec<T> {
        let Some(items) = value.as_array() else {
            if !value.is_nil() {
                self.wrong(path, wrong_class(name, value, "Array"));
            }
            return Vec::new();
        };
        let mut read_all = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let path = [path, &[i.into()]].concat();
            if matches!(item, Value::Map(_)) {
                read_all.extend(read(self, item, &path));
            } else {
                self.wrong(&path, wrong_class(name, item, "Hash"));
            }
        }
        read_all
    }

    fn port(&mut self, port: &Value, path: &[Step]) -> Option<Port> {
        self.only(port, path, "a port", &["internal", "name", "protocol"]);
        let name = self.text(port, path, "name");
        let number =
            port.get("internal").and_then(Value::as_int).and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0);
        if number.is_none() {
            self.wrong(&below(path, "internal"), "'internal' of a port must be a number from 1 to 65535");
        }
        let protocol = self.optional_text(port, path, "protocol").unwrap_or_else(|| "TCP".to_owned());
        if !PROTOCOLS.contains(&protocol.as_str()) {
            self.wrong(
                &below(path, "protocol"),
                format!("'protocol' of a port must be one of {}", PROTOCOLS.join(", ")),
            );
        }
        Some(Port { name: name?, protocol, internal: number? })
    }

    /// A variable, and its value if it has one.
    fn env_var(&mut self, variable: &Value, path: &[Step]) -> Option<(EnvVar, Option<String>)> {
        self.only(variable, path, "a variable", &["name", "value", "valueFrom"]);
        let source = variable.get("valueFrom").filter(|source| !source.is_nil());
        let value_from = source.map(|source| self.tree(source, &below(path, "valueFrom")));
        let value = self.optional_text(variable, path, "value");
        Some((EnvVar { name: self.text(variable, path, "name")?, value_from }, value))
    }

    pub(super) fn text(&mut self, map: &Value, path: &[Step], key: &str) -> Option<String> {
        if map.get(key).is_none_or(Value::is_nil) {
            self.wrong(path, format!("Required property '{key}' was not specified"));
            return None;
        }
        self.optional_text(map, path, key)
    }

    pub(super) fn optional_text(&mut self, map: &Value, path: &[Step], key: &str) -> Option<String> {
        let value = map.get(key).filter(|value| !value.is_nil())?;
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(&below(path, key), wrong_class(key, value, "String"));
        }
        text
    }
}

pub(crate) fn below(path: &[Step], key: &str) -> Vec<Step> {
    [path, &[key.into()]].concat()
}

pub(crate) fn wrong_class(name: &str, value: &Value, class: &str) -> String {
    format!("Property '{name}' value (a {}) did not match the required type '{class}'", value.class_name())
}
