//! `--spec`: who the instance of a job is.

use std::path::Path;

use go_yaml::{Key, Map, Node, Source, Value};
use problem::{Place, Problem, Problems, Result, code, hint_for_unknown};
use serde_json::{Value as Json, json};

/// The keys of the file.
const KEYS: [&str; 8] = ["deployment", "name", "index", "instances", "az", "networks", "ip", "persistent_disk"];
/// What templates see, and what follows from the keys.
const COMPUTED: [&str; 6] = ["address", "bootstrap", "id", "dns_domain_name", "job", "release"];

/// An instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SpecFile {
    pub(crate) deployment: Option<String>,
    /// The name of its group.
    pub(crate) name: Option<String>,
    pub(crate) index: u32,
    /// How many instances the group has; those up to `index` where absent.
    pub(crate) instances: Option<u32>,
    pub(crate) az: Option<String>,
    /// As in a manifest's group.
    pub(crate) networks: Vec<Json>,
    pub(crate) ip: Option<String>,
    pub(crate) persistent_disk: Option<u32>,
}

impl SpecFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<SpecFile> {
        let name = path.display().to_string();
        let text = vcap::input::read(path).map_err(|e| {
            Problem::input(format!("cannot read the spec file {name}")).because(e).code(code::INPUT_FILE)
        })?;
        SpecFile::parse(&text, &name)
    }

    fn parse(text: &[u8], file: &str) -> Result<SpecFile> {
        let document = go_yaml::read(text, Source(0)).map_err(|e| {
            let problem = Problem::input("the spec file is not valid YAML").because(&e).code(code::YAML_INVALID);
            problem.at(Place { column: Some(e.origin.column), ..Place::line(file, e.origin.line) })
        })?;
        let mut reader = Reader { file, problems: Vec::new() };
        let mut spec = SpecFile::default();
        match &document.value {
            Value::Null => {}
            Value::Map(map) => map.iter().for_each(|(key, node)| reader.entry(&mut spec, key, node)),
            _ => reader.problem(&document, "the spec file is not a mapping".to_owned()),
        }
        if spec.instances.is_some_and(|instances| instances <= spec.index) {
            let message = format!("index {} is out of range: instances count from 0", spec.index);
            reader.problems.push(Problem::input(message).code(code::INSTANCE_OUT_OF_RANGE).at(Place::file(file)));
        }
        Problems::check(reader.problems)?;
        Ok(spec)
    }
}

struct Reader<'a> {
    file: &'a str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, node: &Node, message: String) {
        let place = Place { column: Some(node.origin.column), ..Place::line(self.file, node.origin.line) };
        self.problems.push(Problem::input(message).code(code::INPUT_FILE).at(place));
    }

    fn entry(&mut self, spec: &mut SpecFile, key: &Key, node: &Node) {
        match key.as_str().unwrap_or_default() {
            "deployment" => spec.deployment = self.text("deployment", node),
            "name" => spec.name = self.text("name", node),
            "index" => spec.index = self.number("index", node).unwrap_or_default(),
            "instances" => spec.instances = self.number("instances", node),
            "az" => spec.az = self.text("az", node),
            "persistent_disk" => spec.persistent_disk = self.number("persistent_disk", node),
            "networks" => spec.networks = self.networks(node),
            "ip" => {
                spec.ip = self.text("ip", node);
                if spec.ip.as_ref().is_some_and(|ip| ip.parse::<std::net::IpAddr>().is_err()) {
                    self.problem(node, "'ip' is not an IP address".to_owned());
                }
            }
            computed if COMPUTED.contains(&computed) => {
                self.problem(node, format!("'{computed}' follows from the other keys and cannot be set"));
            }
            other => {
                self.problem(node, format!("the spec file has an unknown key '{}'", other.escape_debug()));
                let hint = hint_for_unknown(other, KEYS, || format!("the keys are: {}", KEYS.join(", ")));
                if let Some(problem) = self.problems.last_mut() {
                    problem.hint = Some(hint);
                }
            }
        }
    }

    fn text(&mut self, key: &str, node: &Node) -> Option<String> {
        let text = node.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if text.is_none() {
            self.problem(node, format!("'{key}' is not a text"));
        }
        text
    }

    fn number(&mut self, key: &str, node: &Node) -> Option<u32> {
        let number = if let Value::Int(number) = node.value { u32::try_from(number).ok() } else { None };
        // The addresses of all instances are computed.
        let number = number.filter(|number| key == "persistent_disk" || *number < 100_000);
        if number.is_none() {
            self.problem(node, format!("'{key}' is not a number from 0 to 99999"));
        }
        number
    }

    /// Networks by name, or as a manifest lists them.
    fn networks(&mut self, node: &Node) -> Vec<Json> {
        let mut networks = Vec::new();
        match &node.value {
            Value::Map(map) => {
                for (name, network) in map.iter() {
                    networks.extend(self.network(name.as_str(), network));
                }
            }
            Value::List(list) => {
                for network in list {
                    networks.extend(self.network(network.as_str(), network));
                }
            }
            _ => self.problem(node, "'networks' is neither a list nor a mapping".to_owned()),
        }
        networks
    }

    fn network(&mut self, name: Option<&str>, node: &Node) -> Option<Json> {
        let empty = Map::default();
        let map = match &node.value {
            Value::Map(map) => map,
            Value::Null | Value::String(_) => &empty,
            _ => {
                self.problem(node, "a network is neither a name nor a mapping".to_owned());
                return None;
            }
        };
        let mut network = json!({});
        if let Some(name) = name {
            network["name"] = name.into();
        }
        for (key, value) in map.iter() {
            match (key.as_str().unwrap_or_default(), &value.value) {
                ("name", Value::String(name)) => network["name"] = name.as_str().into(),
                ("default", Value::List(list)) => network["default"] = list.iter().filter_map(Node::as_str).collect(),
                (key, _) => {
                    let message =
                        format!("a network has 'name' and 'default' (dns, gateway), not '{}'", key.escape_debug());
                    self.problem(value, message);
                }
            }
        }
        if network.get("name").is_none() {
            self.problem(node, "a network has no name".to_owned());
        }
        Some(network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_read() {
        let text = "deployment: d\nname: web\nindex: 2\naz: z1\nip: 10.0.0.5\npersistent_disk: 1024\nnetworks: {a: , b: {default: [dns]}}\n";
        let spec = SpecFile::parse(text.as_bytes(), "spec.yml").unwrap();
        assert_eq!((spec.index, spec.instances, spec.az.as_deref()), (2, None, Some("z1")));
        assert_eq!(spec.networks, [json!({"name": "a"}), json!({"name": "b", "default": ["dns"]})]);
        let list = SpecFile::parse(b"networks: [a, {name: b, default: [dns]}]", "spec.yml").unwrap();
        assert_eq!(list.networks, spec.networks);
        assert_eq!(SpecFile::parse(b"", "spec.yml").unwrap(), SpecFile::default());
    }

    #[test]
    fn each_mistake_is_reported_with_its_line() {
        let text = "indx: 1\nbootstrap: true\naz: 3\nip: x\nindex: -1\nnetworks: {a: {ip: 1.2.3.4}}\n";
        let problems = SpecFile::parse(text.as_bytes(), "spec.yml").unwrap_err();
        let places: Vec<String> = problems.iter().map(|problem| problem.place.as_ref().unwrap().to_string()).collect();
        assert_eq!(problems.iter().count(), 6, "{problems}");
        assert!(
            places.iter().zip(1..).all(|(place, line)| place.starts_with(&format!("spec.yml:{line}:"))),
            "{places:?}"
        );
        assert!(problems.to_string().contains("did you mean 'index'?"), "{problems}");
        for invalid in ["- a", "a: [", "index: 3\ninstances: 3", "networks: 1", "networks: [{}]"] {
            assert!(SpecFile::parse(invalid.as_bytes(), "spec.yml").is_err(), "{invalid}");
        }
    }
}
