//! Runtime and cloud configs: what they add to the manifest.

use manifest_model::{CloudConfig, Manifest, RuntimeConfig};
use problem::{Note, Problem};

use crate::documents::Values;

/// Adds what the configs have to a manifest whose own addons are placed; `deployment` is the name given, which overrides the
/// manifest's. Returns the cloud config, if any is given, and what has no effect.
pub(crate) fn apply(
    manifest: &mut Manifest,
    values: &Values,
    deployment: Option<&str>,
    problems: &mut Vec<Problem>,
) -> (Option<CloudConfig>, Vec<Note>) {
    let mut unused = Vec::new();
    let mut runtime_configs = Vec::new();
    for (number, (file, value)) in values.runtime_configs.iter().enumerate() {
        let (config, found) = RuntimeConfig::read(value, file, number + 1);
        problems.extend(found);
        unused.extend(config.unused.clone());
        runtime_configs.push(config);
    }
    let name = deployment.map_or_else(|| manifest.name.clone(), str::to_owned);
    problems.extend(manifest.apply_runtime_configs(&runtime_configs, &name));
    let mut cloud_config = None;
    if !values.cloud_configs.is_empty() {
        let documents: Vec<_> = values.cloud_configs.iter().map(|(file, value)| (value, file.as_str())).collect();
        let (mut config, found) = CloudConfig::read(&documents);
        let is_valid = found.is_empty();
        problems.extend(found);
        // What a section lacks that cannot be read is no mistake of the manifest.
        if is_valid {
            problems.extend(config.check(manifest));
            config.apply(manifest);
        }
        unused.append(&mut config.unused);
        cloud_config = Some(config);
    }
    (cloud_config, unused)
}
