//! A deployment of cf-deployment's size and shape with everything that its operators give: a manifest of a quarter of a megabyte with 200
//! variables and their store, ops files, and a runtime config whose addon renders DNS aliases, also of groups that are missing.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_yaml::{Mapping, Value};

use super::job::mapping;
use super::{Input, Shape, cf_like, cf_small};

/// How many values of the manifest are variables.
pub(crate) const VARIABLES: usize = 200;
/// The DNS aliases of groups that the deployment does not have.
pub(crate) const MISSING: usize = 21;
/// The release of the addon.
const ALIASES: &str = "bosh-dns-aliases";

/// What was written.
pub(crate) struct Foundation {
    pub(crate) input: Input,
    pub(crate) ops_files: Vec<PathBuf>,
    pub(crate) runtime_config: PathBuf,
    /// Values of all variables, so that nothing is generated.
    pub(crate) vars_store: PathBuf,
}

impl Foundation {
    /// The flags of all files.
    pub(crate) fn flags(&self) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let ops_files = self.ops_files.iter().flat_map(|path| ["--ops-file".to_owned(), text(path)]);
        let others = [("--runtime-config", &self.runtime_config), ("--vars-store", &self.vars_store)];
        let others = others.into_iter().flat_map(|(flag, path)| [flag.to_owned(), text(path)]);
        ops_files.chain(others).collect()
    }
}

/// Writes it below `directory`.
pub(crate) fn write(directory: &Path) -> Result<Foundation, Box<dyn Error>> {
    write_shape(directory, cf_like(1), "group-0-9/instances, value: 6")
}

/// Writes a smaller one whose processes sleep, so that it runs in a cluster. The property `sleep.seconds` of each job says how long.
pub(crate) fn write_sleepers(directory: &Path) -> Result<Foundation, Box<dyn Error>> {
    let foundation = write_shape(directory, cf_small(), "group-0-9/instances, value: 3")?;
    let mut manifest: Value = serde_yaml::from_str(&fs::read_to_string(&foundation.input.manifest)?)?;
    // As in cf-deployment: one after the other only where it says so.
    manifest["update"] = serde_yaml::from_str(
        "{canaries: 1, max_in_flight: 1, serial: false, canary_watch_time: 1000-1200000, update_watch_time: 1000-1200000}",
    )?;
    manifest["instance_groups"][0]["update"] = mapping([("serial", true.into())]);
    fs::write(&foundation.input.manifest, serde_yaml::to_string(&manifest)?)?;
    for release in fs::read_dir(foundation.input.base.join("jobs-src"))? {
        for job in fs::read_dir(release?.path())? {
            put_to_sleep(&job?.path())?;
        }
    }
    Ok(foundation)
}

/// Replaces what a job runs; its other templates stay.
fn put_to_sleep(job: &Path) -> Result<(), Box<dyn Error>> {
    let mut spec: Value = serde_yaml::from_str(&fs::read_to_string(job.join("spec"))?)?;
    spec["packages"] = Value::Sequence(Vec::new());
    spec["properties"]["sleep.seconds"] = mapping([("default", 1_000_000.into())]);
    fs::write(job.join("spec"), serde_yaml::to_string(&spec)?)?;
    let name = spec["name"].as_str().unwrap_or_default();
    let bpm = format!(
        "processes:\n- {{name: {name}, executable: /bin/sleep, args: [\"<%= p('sleep.seconds') %>\"], limits: {{memory: 64M}}}}\n"
    );
    let templates = job.join("templates");
    for (template, text) in [("bpm.yml.erb", bpm.as_str()), ("pre-start.erb", "#!/bin/bash\necho prepared\n")] {
        if templates.join(template).exists() {
            fs::write(templates.join(template), text)?;
        }
    }
    Ok(())
}

/// Writes a deployment of these groups; an ops file replaces the value of `scaled`, for example `GROUP/instances, value: 6`.
fn write_shape(directory: &Path, shape: (Vec<Shape>, usize), scaled: &str) -> Result<Foundation, Box<dyn Error>> {
    let input = super::write(directory, shape)?;
    let mut manifest: Value = serde_yaml::from_str(&fs::read_to_string(&input.manifest)?)?;
    let mut variables = Vec::new();
    replace(&mut manifest, &mut variables);
    // It signs the others.
    let authority = variables.iter().find(|(_, kind, _)| *kind == "certificate").map_or("", |(name, ..)| name.as_str());
    let definitions = variables.iter().map(|(name, kind, _)| {
        let mut definition =
            Mapping::from_iter([("name".into(), name.as_str().into()), ("type".into(), (*kind).into())]);
        if *kind == "certificate" {
            let names = (0..12).map(|n| Value::from(format!("component-{n}-of-{name}.service.cf.internal")));
            let signer = if name == authority { ("is_ca", true.into()) } else { ("ca", authority.into()) };
            let options = [signer, ("common_name", name.as_str().into()), ("alternative_names", names.collect())];
            definition.insert("options".into(), mapping(options));
        }
        Value::Mapping(definition)
    });
    manifest["variables"] = definitions.collect();
    fs::write(&input.manifest, serde_yaml::to_string(&manifest)?)?;
    let values = variables.iter().map(|(name, _, value)| (name.as_str().into(), value.clone()));
    let vars_store = directory.join("creds.yml");
    fs::write(&vars_store, serde_yaml::to_string(&Value::Mapping(values.collect()))?)?;
    let provided = provided_link(&input.base)?;
    write_aliases(&input.base, &provided)?;
    let runtime_config = directory.join("runtime-config.yml");
    fs::write(&runtime_config, RUNTIME_CONFIG)?;
    let ops_files = vec![directory.join("scale.yml"), directory.join("tags.yml")];
    fs::write(&ops_files[0], format!("- {{type: replace, path: /instance_groups/name={scaled}}}\n"))?;
    fs::write(&ops_files[1], "- {type: replace, path: /tags?/owner, value: platform}\n")?;
    Ok(Foundation { input, ops_files, runtime_config, vars_store })
}

/// Replaces secrets by variables: the name, the type and the value of each.
fn replace(node: &mut Value, variables: &mut Vec<(String, &'static str, Value)>) {
    match node {
        Value::Mapping(map) => map.iter_mut().for_each(|(_, value)| replace(value, variables)),
        Value::Sequence(items) => items.iter_mut().for_each(|item| replace(item, variables)),
        Value::String(text) if variables.len() < VARIABLES => {
            let name = format!("variable_{}", variables.len());
            if text.starts_with("-----BEGIN CERTIFICATE") {
                let value = mapping(["ca", "certificate", "private_key"].map(|part| (part, text.as_str().into())));
                variables.push((name.clone(), "certificate", value));
                *text = format!("(({name}.certificate))");
            } else if text.len() == 32 {
                variables.push((name.clone(), "password", text.as_str().into()));
                *text = format!("(({name}))");
            }
        }
        _ => {}
    }
}

/// The name of a link that a job provides; its type has the same.
fn provided_link(base: &Path) -> Result<String, Box<dyn Error>> {
    let mut specs: Vec<PathBuf> = Vec::new();
    for release in fs::read_dir(base.join("jobs-src"))? {
        specs.extend(fs::read_dir(release?.path())?.flatten().map(|job| job.path().join("spec")));
    }
    specs.sort();
    for path in specs {
        let spec: Value = serde_yaml::from_str(&fs::read_to_string(path)?)?;
        if let Some(name) = spec["provides"][0]["name"].as_str() {
            return Ok(name.to_owned());
        }
    }
    Err("no job provides a link".into())
}

const RUNTIME_CONFIG: &str = "releases:\n- {name: bosh-dns-aliases, version: 1.0.0}\naddons:\n- name: aliases\n  \
    jobs:\n  - {name: bosh-dns-aliases, release: bosh-dns-aliases}\n";

/// The job of the addon: aliases of all groups, of missing ones, and of a link's address as bosh-dns-adapter renders it.
fn write_aliases(base: &Path, link: &str) -> Result<(), Box<dyn Error>> {
    let directory = base.join("jobs-src").join(ALIASES).join(ALIASES);
    fs::create_dir_all(directory.join("templates"))?;
    fs::write(
        directory.join("spec"),
        format!(
            "name: {ALIASES}\ntemplates: {{aliases.json.erb: dns/aliases.json}}\npackages: []\nproperties: {{}}\n\
             consumes:\n- {{name: {link}, type: {link}}}\n"
        ),
    )?;
    fs::write(directory.join("monit"), "")?;
    let mut aliases = format!("{{\n  \"link.service.cf.internal\": [\"<%= link('{link}').address %>\"]");
    for number in 0..17 {
        write!(
            aliases,
            ",\n  \"group-{number}.service.cf.internal\": [\"q-s4.group-0-{number}.default.generated.bosh\"]"
        )?;
        write!(aliases, ",\n  \"_.group-{number}.cf.internal\": [\"_.group-0-{number}.default.generated.bosh\"]")?;
    }
    for number in 0..MISSING {
        write!(
            aliases,
            ",\n  \"missing-{number}.service.cf.internal\": [\"*.missing-{number}.default.generated.bosh\"]"
        )?;
    }
    aliases.push_str("\n}\n");
    fs::write(directory.join("templates/aliases.json.erb"), aliases)?;
    Ok(())
}
