//! The manifest's settings of pods: `env` of a group; `properties.quarks` of a job and the aliases of its links.
//!
//! `deployment.yaml` gets of it what Kubernetes shows in a pod anyway. Everything else may be a secret, and of that only
//! the name is kept.

use deployment::Manifest;
use deployment::manifest::{InstanceGroup, Job};
use handoff::deployment::{Alias, Env, EnvVar, Port, Quarks, Switch, Tree};
use problem::{Place, Problem, Step, code};
use value::Value;

/// The known switches and sizes of `env`; all are booleans or numbers.
const SWITCHES: [&str; 7] = [
    "bosh.agent.tmpfs",
    "bosh.ipv6.enable",
    "bosh.job_dir.tmpfs",
    "bosh.keep_root_password",
    "bosh.remove_dev_tools",
    "bosh.remove_static_libraries",
    "bosh.swap_size",
];

/// What pods have, in `env`.
pub(crate) const AGENT_SETTINGS: &str = "bosh.agent.settings";

/// The keys of `env.bosh.agent.settings` that become a part of pods.
const SETTINGS: [&str; 16] = [
    "affinity",
    "annotations",
    "automountServiceAccountToken",
    "disable_log_sidecar",
    "disks",
    "dns",
    "ephemeralAsPVC",
    "imagePullSecrets",
    "injectReplicasEnv",
    "jobBackoffLimit",
    "labels",
    "nodeSelector",
    "priorityClassName",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "tolerations",
];

/// The keys of `properties.quarks.run` that become a part of pods.
const RUN: [&str; 2] = ["healthcheck", "security_context"];

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

struct Reader<'a> {
    file: &'a str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, path: &[Step], message: impl Into<String>) {
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
                _ if name == AGENT_SETTINGS => {
                    env.settings = self.shown(value, &path, &name, &SETTINGS, &mut env.hidden);
                }
                Value::Bool(b) if is_switch => drop(env.values.insert(name, Switch::Bool(*b))),
                Value::Int(n) if is_switch => drop(env.values.insert(name, Switch::Number(*n))),
                _ => env.hidden.push(name),
            }
        }
        env
    }

    fn job(&mut self, job: &Job) -> JobSettings {
        let mut settings = JobSettings { ports: Vec::new(), quarks: Quarks::default(), aliases: Vec::new() };
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
        let rest = &mut settings.quarks;
        for Entry { name, path, value } in entries(quarks, path, &["run", "activePassiveProbes"]) {
            match name.as_str() {
                "ports" => settings.ports = self.each(value, &path, &name, Self::port),
                "envs" => rest.envs = self.each(value, &path, &name, Self::env_var),
                "run" => rest.run = self.shown(value, &path, &name, &RUN, &mut rest.hidden),
                "activePassiveProbes" => rest.active_passive_probes = self.tree(value, &path),
                _ => rest.hidden.push(name),
            }
        }
    }

    /// The keys of a Hash that are shown, and the names of the others.
    fn shown(&mut self, value: &Value, path: &[Step], name: &str, keys: &[&str], hidden: &mut Vec<String>) -> Tree {
        let Value::Map(map) = value else {
            if !value.is_nil() {
                self.wrong(path, wrong_class(name, value, "Hash"));
            }
            return Tree::Null;
        };
        let mut tree = serde_json::Map::new();
        for (key, inner) in map.iter() {
            match key.as_str().filter(|key| keys.contains(key)) {
                Some(key) => drop(tree.insert(key.to_owned(), self.tree(inner, &below(path, key)))),
                None => hidden.push(format!("{name}.{}", key.scalar_to_s().unwrap_or_default())),
            }
        }
        if tree.is_empty() { Tree::Null } else { Tree::Object(tree) }
    }

    /// A value as JSON.
    fn tree(&mut self, value: &Value, path: &[Step]) -> Tree {
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
    fn each<T>(
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

    fn env_var(&mut self, variable: &Value, path: &[Step]) -> Option<EnvVar> {
        let source = variable.get("valueFrom").filter(|source| !source.is_nil());
        let value_from = source.map(|source| self.tree(source, &below(path, "valueFrom")));
        Some(EnvVar { name: self.text(variable, path, "name")?, value_from })
    }

    /// The aliases of the links that a job provides; what is wrong with `provides` itself was reported with the links.
    fn aliases(&mut self, job: &Job) -> Vec<(String, Vec<Alias>)> {
        let path = below(&job.path, "provides");
        let mut found = Vec::new();
        for (link, entry) in job.provides.as_map().into_iter().flat_map(value::Map::iter) {
            let (link, Some(aliases)) = (link.scalar_to_s().unwrap_or_default(), entry.get("aliases")) else {
                continue;
            };
            let path = below(&below(&path, &link), "aliases");
            let aliases = self.each(aliases, &path, "aliases", Self::alias);
            found.push((entry.get("as").and_then(Value::scalar_to_s).unwrap_or(link), aliases));
        }
        found
    }

    fn alias(&mut self, alias: &Value, path: &[Step]) -> Option<Alias> {
        let domain = self.text(alias, path, "domain");
        Some(Alias {
            placeholder_type: self.optional_text(alias, path, "placeholder_type"),
            health_filter: self.optional_text(alias, path, "health_filter"),
            initial_health_check: self.optional_text(alias, path, "initial_health_check"),
            domain: domain?,
        })
    }

    fn text(&mut self, map: &Value, path: &[Step], key: &str) -> Option<String> {
        if map.get(key).is_none_or(Value::is_nil) {
            self.wrong(path, format!("Required property '{key}' was not specified"));
            return None;
        }
        self.optional_text(map, path, key)
    }

    fn optional_text(&mut self, map: &Value, path: &[Step], key: &str) -> Option<String> {
        let value = map.get(key).filter(|value| !value.is_nil())?;
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(&below(path, key), wrong_class(key, value, "String"));
        }
        text
    }
}

/// A value in a Hash of Hashes.
pub(crate) struct Entry<'a> {
    /// The keys that lead to it, with dots between them.
    pub(crate) name: String,
    pub(crate) path: Vec<Step>,
    value: &'a Value,
}

/// Everything in a Hash of Hashes, at any depth, that is not a Hash or has one of the names `whole`.
pub(crate) fn entries<'a>(value: &'a Value, path: &[Step], whole: &[&str]) -> Vec<Entry<'a>> {
    fn collect<'a>(value: &'a Value, path: &[Step], name: &str, whole: &[&str], found: &mut Vec<Entry<'a>>) {
        for (key, inner) in value.as_map().into_iter().flat_map(value::Map::iter) {
            let key = key.scalar_to_s().unwrap_or_default();
            let path = below(path, &key);
            let name = if name.is_empty() { key } else { format!("{name}.{key}") };
            match inner {
                Value::Map(_) if !whole.contains(&name.as_str()) => collect(inner, &path, &name, whole, found),
                _ => found.push(Entry { name, path, value: inner }),
            }
        }
    }
    let mut found = Vec::new();
    collect(value, path, "", whole, &mut found);
    found
}

pub(crate) fn below(path: &[Step], key: &str) -> Vec<Step> {
    [path, &[key.into()]].concat()
}

fn wrong_class(name: &str, value: &Value, class: &str) -> String {
    format!("Property '{name}' value (a {}) did not match the required type '{class}'", value.class_name())
}
