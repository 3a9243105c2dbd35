//! Reading cloud configs, and merging several.

use std::collections::HashSet;

use problem::{Note, Place, Problem, code};
use value::Value;

use super::{CPU, CloudConfig, DiskType, EPHEMERAL_DISK, Named, Network, RAM, STORAGE_CLASS, ZONE};
use crate::names::canonical;
use crate::reader::{Object, Reader};
use crate::variables;

/// The keys that are read; of several configs, all others are dropped.
const KEYS: [&str; 6] = ["azs", "vm_types", "vm_extensions", "disk_types", "networks", "compilation"];

/// A document and what problems call it.
type Document<'a> = (&'a Value, &'a str);

impl CloudConfig {
    /// Reads one config, or several as one, and reports all that is wrong with them.
    pub fn read(documents: &[Document]) -> (CloudConfig, Vec<Problem>) {
        let mut merger = Merger::default();
        for document in documents {
            merger.add(*document);
        }
        merger.finish(documents)
    }
}

#[derive(Default)]
struct Merger<'a> {
    config: CloudConfig,
    problems: Vec<Problem>,
    /// Names that the sections have, networks' in their canonical form.
    taken: HashSet<(&'static str, String)>,
    /// Sections that any document has.
    sections: HashSet<&'static str>,
    /// Compilations, and their documents.
    compilations: Vec<(Object<'a>, &'a str)>,
    /// References of networks to AZs.
    zones: Vec<(String, String, Place)>,
}

impl<'a> Merger<'a> {
    fn add(&mut self, (value, file): Document<'a>) {
        let mut reader = Reader::new(file, code::CONFIG_INVALID);
        reader.problems.extend(variables::unresolved_absolute(value, file));
        if let Some(root) = reader.document(value) {
            self.sections.extend(KEYS.into_iter().filter(|key| root.map.get(key).is_some()));
            let mut named = |merger: &mut Self, key: &'static str, what: &str| {
                merger.named(&mut reader, &root, key, what).into_iter().map(|(_, named)| named).collect::<Vec<_>>()
            };
            let azs = named(self, "azs", "az");
            let vm_types = named(self, "vm_types", "vm type");
            let vm_extensions = named(self, "vm_extensions", "vm extension");
            self.config.azs.extend(azs);
            self.config.vm_types.extend(vm_types);
            self.config.vm_extensions.extend(vm_extensions);
            self.disk_types(&mut reader, &root);
            self.networks(&mut reader, &root);
            if let Some(compilation) = reader.hash(&root, "compilation") {
                if !self.compilations.is_empty() {
                    let message = "Cloud config 'compilation' key cannot be defined in multiple cloud configs.";
                    reader.problem(root.at("compilation"), message);
                }
                self.compilations.push((compilation, file));
            }
            self.unused_keys(&root, file);
        }
        self.problems.extend(reader.problems);
    }

    /// The entries of a section, with their objects; names that occur twice are reported.
    fn named<'v>(
        &mut self,
        reader: &mut Reader,
        root: &Object<'v>,
        key: &'static str,
        what: &str,
    ) -> Vec<(Object<'v>, Named)> {
        let mut entries = Vec::new();
        for object in reader.hashes(root, key) {
            let name = reader.required_string(&object, "name", &format!("an entry of '{key}'"));
            reader.hash(&object, "cloud_properties");
            if !name.is_empty() && !self.taken.insert((key, name.clone())) {
                reader.problem(object.path.clone(), format!("Duplicate {what} name '{name}'"));
            }
            let cloud_properties = object.map.get("cloud_properties").cloned().unwrap_or(Value::Nil);
            self.unused_properties(reader.file, &object, key, &cloud_properties);
            entries.push((object, Named { name, cloud_properties }));
        }
        entries
    }

    fn disk_types(&mut self, reader: &mut Reader, root: &Object) {
        for (object, named) in self.named(reader, root, "disk_types", "disk type") {
            let owner = format!("disk type '{}'", named.name);
            let size = reader.required_number(&object, "disk_size", &owner);
            let storage_class = match named.cloud_properties.get(STORAGE_CLASS) {
                None | Some(Value::Nil) => None,
                Some(value) => {
                    let text = value.as_str().map(str::to_owned);
                    if text.is_none() {
                        let mut path = object.at("cloud_properties");
                        path.push(STORAGE_CLASS.into());
                        let class = value.class_name();
                        reader.problem(
                            path,
                            format!(
                                "Property '{STORAGE_CLASS}' value (a {class}) did not match the required type 'String'"
                            ),
                        );
                    }
                    text
                }
            };
            self.config.disk_types.push(DiskType { name: named.name, size, storage_class });
        }
    }

    fn networks(&mut self, reader: &mut Reader, root: &Object) {
        for object in reader.hashes(root, "networks") {
            let name = reader.required_string(&object, "name", "an entry of 'networks'");
            if !name.is_empty() && !self.taken.insert(("networks", canonical(&name))) {
                let message = format!("Invalid network name '{name}', canonical name already taken");
                reader.problem(object.path.clone(), message);
            }
            let kind = reader.string(&object, "type").unwrap_or_else(|| "manual".to_owned());
            if !matches!(kind.as_str(), "manual" | "dynamic" | "vip") {
                reader.problem(object.at("type"), format!("Invalid network type '{kind}'"));
            }
            let is_vip = kind == "vip";
            if kind == "manual" && object.map.get("subnets").is_none() {
                reader.missing(&object, "subnets", &format!("network '{name}'"));
            }
            let azs = self.subnets(reader, &object, &name, is_vip);
            self.config.networks.push(Network { name, is_vip, azs });
        }
    }

    /// The AZs of a network's subnets.
    fn subnets(&mut self, reader: &mut Reader, network: &Object, name: &str, is_vip: bool) -> Vec<String> {
        let (mut azs, mut with, mut without) = (Vec::new(), false, false);
        for subnet in reader.hashes(network, "subnets") {
            let key = if subnet.map.get("azs").is_some() { "azs" } else { "az" };
            let of_subnet = match key {
                "azs" => reader.strings(&subnet, "azs"),
                _ => reader.string(&subnet, "az").into_iter().collect(),
            };
            if of_subnet.is_empty() {
                without = true
            } else {
                with = true
            }
            for az in of_subnet {
                self.zones.push((name.to_owned(), az.clone(), Place::node(reader.file, subnet.at(key))));
                if !azs.contains(&az) {
                    azs.push(az);
                }
            }
        }
        if with && without && !is_vip {
            let message = format!("Subnets on network '{name}' must all either specify availability zone or not");
            reader.problem(network.at("subnets"), message);
        }
        azs
    }

    /// Checks what only all documents together show.
    fn finish(mut self, documents: &[Document]) -> (CloudConfig, Vec<Problem>) {
        // What is not a Hash has no sections.
        let are_hashes = documents.iter().all(|(value, _)| matches!(value, Value::Map(_)));
        let all = documents.iter().map(|(_, file)| *file).collect::<Vec<_>>().join(", ");
        let mut problem = |message: String| {
            let place = Place::file(documents.first().map_or("", |(_, file)| file));
            self.problems.push(Problem::input(message).code(code::CONFIG_INVALID).at(place));
        };
        for key in ["networks", "compilation"].into_iter().filter(|key| are_hashes && !self.sections.contains(key)) {
            problem(format!("Required property '{key}' was not specified in the cloud config ({all})"));
        }
        if self.sections.contains("networks") && self.config.networks.is_empty() {
            problem("No networks specified".to_owned());
        }
        for (network, az, place) in std::mem::take(&mut self.zones) {
            if !self.config.azs.iter().any(|known| known.name == az) {
                let message = format!("Network '{network}' refers to an unknown availability zone '{az}'");
                self.problems.push(Problem::input(message).code(code::CONFIG_INVALID).at(place));
            }
        }
        for (compilation, file) in std::mem::take(&mut self.compilations) {
            self.compilation(&compilation, file);
        }
        (self.config, self.problems)
    }

    fn compilation(&mut self, object: &Object, file: &str) {
        let mut reader = Reader::new(file, code::CONFIG_INVALID);
        reader.required_number(object, "workers", "'compilation'");
        let network = reader.required_string(object, "network", "'compilation'");
        let config = &self.config;
        if !network.is_empty() && !config.networks.iter().any(|known| known.name == network) {
            let message = format!("Compilation config references an unknown network '{network}'");
            reader.problem(object.at("network"), message);
        }
        let names = |list: &[Named]| list.iter().map(|named| named.name.clone()).collect::<Vec<_>>();
        let az = reader.string(object, "az").filter(|az| !names(&config.azs).contains(az));
        if let Some(az) = az {
            let known = names(&config.azs).join(", ");
            let message = format!("Compilation config references unknown az '{az}'. Known azs are: [{known}]");
            reader.problem(object.at("az"), message);
        }
        let vm_type = reader.string(object, "vm_type").filter(|name| !names(&config.vm_types).contains(name));
        if let Some(name) = vm_type {
            let known = names(&config.vm_types).join(", ");
            let message =
                format!("Compilation config references unknown vm type '{name}'. Known vm types are: {known}");
            reader.problem(object.at("vm_type"), message);
        }
        self.problems.extend(reader.problems);
    }

    fn unused_keys(&mut self, root: &Object, file: &str) {
        let meaningless = |key: &str| match key {
            "networks" => Some("networks: their types, addresses and cloud properties"),
            "compilation" => Some("compilation"),
            _ => None,
        };
        for (key, _) in root.map.iter() {
            let Some(key) = key.as_str() else { continue };
            let what = if KEYS.contains(&key) { meaningless(key) } else { Some(key) };
            self.note(file, root.at(key), what);
        }
    }

    /// Notes the cloud properties of an entry that are no sizes.
    fn unused_properties(&mut self, file: &str, object: &Object, key: &str, properties: &Value) {
        let is_zone = |name: &str| ZONE.contains(&name) && properties.get(name).is_some_and(|v| v.as_str().is_some());
        let is_used = |name: &str| match key {
            "disk_types" => name == STORAGE_CLASS,
            "azs" if is_zone(name) => true,
            _ => CPU.iter().chain(&RAM).chain(&EPHEMERAL_DISK).any(|known| *known == name),
        };
        for (name, _) in properties.as_map().into_iter().flat_map(value::Map::iter) {
            let Some(name) = name.scalar_to_s().filter(|name| !is_used(name)) else { continue };
            let mut path = object.at("cloud_properties");
            path.push(name.as_str().into());
            self.note(file, path, Some(&format!("cloud_properties.{name} of '{key}'")));
        }
    }

    fn note(&mut self, file: &str, path: Vec<problem::Step>, what: Option<&str>) {
        let Some(what) = what else { return };
        self.config.unused.push(Note { place: Place::node(file, path), what: Some(what.to_owned()), hint: None });
    }
}
