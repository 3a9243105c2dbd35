//! The manifest of a pak.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use problem::Place;
use serde_json::{Value as Json, json};

use crate::object::{Object, Placed, Unknown};
use crate::report::Report;
use crate::rules::{missing, present};
use crate::version::Version;
use crate::yaml::Node;

/// Go's name of the manifest's type, in messages about unknown keys.
const TYPE: &str = "manifest.parser";

/// Those of the reference, and `darwin/386`, which the specification lists.
const PLATFORMS: [&str; 15] = [
    "darwin/386",
    "darwin/amd64",
    "darwin/arm64",
    "freebsd/386",
    "freebsd/amd64",
    "freebsd/arm",
    "linux/386",
    "linux/amd64",
    "linux/arm",
    "linux/arm64",
    "openbsd/386",
    "openbsd/amd64",
    "solaris/amd64",
    "windows/386",
    "windows/amd64",
];

/// Whether manifests may have a platform.
pub(crate) fn is_platform(platform: &str) -> bool {
    PLATFORMS.contains(&platform)
}

/// An executable or a provider that a pak contains.
#[derive(Debug, Clone)]
pub struct Binary {
    /// Its name: `terraform`, `tofu`, `terraform-provider-x`, or any other.
    pub name: String,
    /// Its version, in canonical form unless it is neither terraform nor a provider.
    pub version: String,
    /// The address of its source code.
    pub source: String,
    /// The template of the address that it is downloaded from.
    pub url_template: String,
    /// A provider's address in full: host, namespace and type.
    pub provider: Option<String>,
    /// Whether it is the default version of terraform.
    pub is_default: bool,
    /// Where it stands in the manifest.
    pub place: Place,
    /// Its path in the manifest.
    pub path: String,
}

/// A manifest.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// Name of the pak.
    pub name: String,
    /// Version of the pak.
    pub version: String,
    /// Anything.
    pub metadata: Json,
    /// Platforms as `os/arch`.
    pub platforms: Vec<String>,
    /// Where each of the platforms stands.
    pub platform_places: Vec<Place>,
    /// Versions of terraform or tofu.
    pub terraform: Vec<Binary>,
    /// Providers.
    pub providers: Vec<Binary>,
    /// Other executables.
    pub other_binaries: Vec<Binary>,
    /// Paths of the definitions, relative to the manifest.
    pub service_definitions: Vec<Placed<String>>,
    /// Names and descriptions of variables for terraform's environment.
    pub parameters: Vec<(String, String)>,
    /// Names of variables that terraform's environment must have.
    pub required_env_variables: Vec<String>,
    /// Keys of the configuration by the variables that set them.
    pub env_config_mapping: BTreeMap<String, String>,
    /// Versions that an upgrade steps through.
    pub upgrade_path: Vec<String>,
    /// New addresses of providers by their old ones.
    pub provider_replacements: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads a manifest, and reports all that is wrong with it.
    pub fn read(node: &Node, file: &str, report: &mut Report) -> Manifest {
        let mut object = Object::new(node, file, String::new(), Unknown::Error(TYPE), report);
        match object.integer("packversion", report) {
            Some(0) => missing("packversion".to_owned(), object.place_of("packversion"), report),
            Some(1) | None => {}
            Some(other) => {
                report.error(format!("invalid value: {other}"), "packversion", object.place_of("packversion"));
            }
        }
        let [name, version] = ["name", "version"].map(|key| object.text(key, report));
        for (key, field) in [("name", &name), ("version", &version)] {
            if present(field, key.to_owned(), report) {
                file_name(field, key, report);
            }
        }
        let mut manifest = Manifest { name: name.value, version: version.value, ..Manifest::default() };
        manifest.metadata = metadata(&mut object, report);
        (manifest.platforms, manifest.platform_places) = platforms(&mut object, report);
        binaries(&mut manifest, &mut object, report);
        manifest.service_definitions = object.texts("service_definitions", report);
        if manifest.service_definitions.is_empty() {
            missing("service_definitions".to_owned(), object.place_of("service_definitions"), report);
        }
        for mut parameter in object.objects("parameters", report) {
            let [name, description] = ["name", "description"].map(|key| parameter.text(key, report));
            for (key, field) in [("name", &name), ("description", &description)] {
                present(field, parameter.at(key), report);
            }
            manifest.parameters.push((name.value, description.value));
            parameter.finish(report);
        }
        manifest.required_env_variables =
            object.texts("required_env_variables", report).into_iter().map(|name| name.value).collect();
        let mut texts = |key| -> BTreeMap<String, String> {
            object.text_map(key, report).into_iter().map(|(key, text)| (key, text.value)).collect()
        };
        manifest.env_config_mapping = texts("env_config_mapping");
        manifest.provider_replacements = texts("terraform_state_provider_replacements");
        upgrade_path(&mut manifest, &mut object, report);
        object.finish(report);
        manifest
    }

    /// The default version of terraform: the marked one, or the only one.
    pub fn default_terraform(&self) -> Option<&Binary> {
        self.terraform.iter().find(|binary| binary.is_default).or(self.terraform.first())
    }

    /// The manifest as `info` prints it.
    pub fn to_json(&self) -> Json {
        let binary = |binary: &Binary| {
            let mut json = json!({ "name": binary.name, "version": binary.version });
            for (key, text) in [("source", &binary.source), ("url_template", &binary.url_template)] {
                if !text.is_empty() {
                    json[key] = text.as_str().into();
                }
            }
            if let Some(provider) = &binary.provider {
                json["provider"] = provider.as_str().into();
            }
            json
        };
        let terraform = |terraform: &Binary| {
            let mut json = binary(terraform);
            let is_default = self.default_terraform().is_some_and(|default| default.version == terraform.version);
            json["default"] = is_default.into();
            json
        };
        let parameter = |(name, description): &(String, String)| json!({ "name": name, "description": description });
        json!({
            "packversion": 1,
            "name": self.name,
            "version": self.version,
            "metadata": self.metadata,
            "platforms": self.platforms,
            "terraform": self.terraform.iter().map(terraform).collect::<Json>(),
            "providers": self.providers.iter().map(binary).collect::<Json>(),
            "other_binaries": self.other_binaries.iter().map(binary).collect::<Json>(),
            "service_definitions": self.service_definitions.iter().map(|path| path.value.as_str()).collect::<Json>(),
            "parameters": self.parameters.iter().map(parameter).collect::<Json>(),
            "required_env_variables": self.required_env_variables,
            "env_config_mapping": self.env_config_mapping,
            "terraform_upgrade_path": self.upgrade_path,
            "terraform_state_provider_replacements": self.provider_replacements,
        })
    }
}

/// Names and versions become names of files: they may not lead elsewhere.
fn file_name(field: &Placed<String>, path: &str, report: &mut Report) {
    let text = field.value.as_str();
    if text.contains(['/', '\\', '\0']) || text == "." || text == ".." {
        report.error(format!("invalid value: {text}"), path, field.place.clone());
    }
}

/// Scalars of the metadata are texts, as they are written; what is in maps and lists keeps its type.
fn metadata(object: &mut Object<'_>, report: &mut Report) -> Json {
    let texts: Vec<(String, String)> = object
        .get("metadata")
        .and_then(Node::entries)
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| Some((entry.key.0.clone(), entry.value.text()?)))
        .collect();
    let mut metadata = object.values("metadata", report);
    for (key, text) in texts {
        metadata.insert(key, text.into());
    }
    Json::Object(metadata)
}

fn platforms(object: &mut Object<'_>, report: &mut Report) -> (Vec<String>, Vec<Place>) {
    let mut platforms = Vec::new();
    let mut places = Vec::new();
    let items = object.objects("platforms", report);
    if items.is_empty() {
        missing("platforms".to_owned(), object.place_of("platforms"), report);
    }
    for mut item in items {
        let [os, arch] = ["os", "arch"].map(|key| item.text(key, report));
        let is_complete = [("os", &os), ("arch", &arch)].map(|(key, field)| present(field, item.at(key), report));
        let platform = format!("{}/{}", os.value, arch.value);
        if is_complete == [true, true] && !is_platform(&platform) {
            report.error(format!("invalid value: {platform}"), item.path.clone(), item.place.clone());
        }
        platforms.push(platform);
        places.push(item.place.clone());
        item.finish(report);
    }
    (platforms, places)
}

fn binaries(manifest: &mut Manifest, object: &mut Object<'_>, report: &mut Report) {
    let items = object.objects("terraform_binaries", report);
    if items.is_empty() {
        missing("terraform_binaries".to_owned(), object.place_of("terraform_binaries"), report);
    }
    let mut versions: Vec<String> = Vec::new();
    for mut item in items {
        let texts = ["name", "version", "source", "url_template", "provider"].map(|key| item.text(key, report));
        let [name, version, source, url_template, provider] = texts;
        let has_name = present(&name, item.at("name"), report);
        let has_version = present(&version, item.at("version"), report);
        file_name(&name, &item.at("name"), report);
        let is_terraform = matches!(name.value.as_str(), "terraform" | "tofu");
        let kind = name.value.strip_prefix("terraform-provider-");
        let is_default = item.boolean("default", report);
        if is_default && !is_terraform && has_name {
            let tool = manifest.terraform.first().map_or("terraform", |binary| binary.name.as_str());
            let message = format!("This field is only valid for `{tool}`");
            report.error(message, item.at("default"), item.place_of("default"));
        }
        let mut binary = Binary {
            name: name.value.clone(),
            version: version.value.clone(),
            source: source.value,
            url_template: url_template.value,
            provider: None,
            is_default,
            place: item.place.clone(),
            path: item.path.clone(),
        };
        match Version::parse(&version.value) {
            Some(parsed) if is_terraform || kind.is_some() => binary.version = parsed.to_string(),
            None if has_version && (is_terraform || kind.is_some()) => {
                let message = format!("malformed version: {}", version.value);
                report.error(message, item.at("version"), version.place.clone());
            }
            _ => file_name(&version, &item.at("version"), report),
        }
        if let Some(kind) = kind {
            binary.provider = address(&provider.value, kind);
            if binary.provider.is_none() {
                let message = "invalid format; valid format is [<HOSTNAME>/]<NAMESPACE>/<TYPE>";
                report.error(message, item.at("provider"), provider.place);
            }
            manifest.providers.push(binary);
        } else if is_terraform {
            if versions.contains(&binary.version) && has_version {
                report.error(format!("duplicated value, must be unique: {}", version.value), "version", version.place);
            }
            versions.push(binary.version.clone());
            manifest.terraform.push(binary);
        } else {
            manifest.other_binaries.push(binary);
        }
        item.finish(report);
    }
    check_default(manifest, object, report);
}

/// Of several versions of terraform, one is the default: the highest.
fn check_default(manifest: &Manifest, object: &Object<'_>, report: &mut Report) {
    let Some(first) = manifest.terraform.first() else { return };
    let tool = if first.name == "tofu" { "Tofu" } else { "Terraform" };
    let defaults: Vec<&Binary> = manifest.terraform.iter().filter(|binary| binary.is_default).collect();
    let parsed = |binary: &Binary| Version::parse(&binary.version);
    let is_highest = |default: &Binary| {
        let Some(default) = parsed(default) else { return true };
        manifest.terraform.iter().filter_map(parsed).all(|other| other.compare(&default) != Ordering::Greater)
    };
    let message = match defaults.as_slice() {
        [] if manifest.terraform.len() > 1 => format!("multiple {tool} versions, but none marked as default"),
        [_, _, ..] => format!("multiple {tool} versions, and multiple marked as default"),
        [default] if !is_highest(default) => format!("default version of {tool} must be the highest version"),
        _ => return,
    };
    report.error(message, "terraform_binaries", object.place_of("terraform_binaries"));
}

/// A provider's address in full; `None` if it is malformed.
fn address(provider: &str, kind: &str) -> Option<String> {
    let is_part = |part: &&str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
            && !part.bytes().all(|byte| byte == b'.')
    };
    let kind = if provider.is_empty() { kind } else { "" };
    let parts: Vec<&str> = if provider.is_empty() { vec![kind] } else { provider.split('/').collect() };
    if !parts.iter().all(is_part) {
        return None;
    }
    match parts.as_slice() {
        [kind] => Some(format!("registry.terraform.io/hashicorp/{kind}")),
        [namespace, kind] => Some(format!("registry.terraform.io/{namespace}/{kind}")),
        [host, namespace, kind] => Some(format!("{host}/{namespace}/{kind}")),
        _ => None,
    }
}

fn upgrade_path(manifest: &mut Manifest, object: &mut Object<'_>, report: &mut Report) {
    let mut last: Option<Version> = None;
    let tool = manifest.terraform.first().map_or("terraform", |binary| binary.name.as_str()).to_owned();
    let items = object.objects("terraform_upgrade_path", report);
    let count = items.len();
    for (number, mut item) in items.into_iter().enumerate() {
        let text = item.text("version", report);
        let (path, place) = (item.at("version"), text.place.clone());
        item.finish(report);
        let Some(version) = Version::parse(&text.value) else {
            report.error(format!("invalid value: {}", text.value), path, place);
            continue;
        };
        let canonical = version.to_string();
        let floor = last.as_ref().map_or_else(|| "0.0.0".to_owned(), Version::to_string);
        let rises = last.as_ref().is_none_or(|last| version.compare(last) == Ordering::Greater);
        let is_default = manifest.default_terraform().is_some_and(|default| default.version == canonical);
        let message = if !rises {
            Some(format!("expect versions to be in ascending order: \"{}\" <= \"{floor}\"", text.value))
        } else if manifest.terraform.iter().all(|binary| binary.version != canonical) {
            Some(format!("no corresponding terrafom resource for {tool} version \"{}\"", text.value))
        } else if number + 1 == count && !is_default {
            Some("upgrade path does not terminate at default version".to_owned())
        } else {
            None
        };
        if let Some(message) = message {
            report.error(message, path, place);
        }
        manifest.upgrade_path.push(canonical);
        last = Some(version);
    }
}
