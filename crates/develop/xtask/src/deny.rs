//! Dependencies against `deny.toml`: licences, banned crates, sources. Advisories need a network and are left to cargo-deny.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use spdx::{Expression, ParseMode};

use crate::graph::{Graph, Package};

/// The findings of the check.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of packages checked.
    pub packages: usize,
    /// Breaches.
    pub errors: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Checks the workspace.
pub fn check() -> Result<Report, String> {
    let config: Config = toml::from_str(&crate::read("deny.toml")?).map_err(|e| format!("deny.toml: {e}"))?;
    let lock: Lock = toml::from_str(&crate::read("Cargo.lock")?).map_err(|e| format!("Cargo.lock: {e}"))?;
    let mut errors = BTreeSet::new();
    let mut warnings = BTreeSet::new();
    for target in &config.graph.targets {
        let graph = Graph::load(Some(target))?;
        graph.packages().for_each(|p| errors.extend(config.licenses.breach(p)));
        errors.extend(config.bans.breaches(&graph));
        for duplicate in duplicates(&graph) {
            match config.bans.multiple_versions {
                Level::Allow => false,
                Level::Warn => warnings.insert(duplicate),
                Level::Deny => errors.insert(duplicate),
            };
        }
    }
    errors.extend(config.sources.breaches(&lock));
    Ok(Report { packages: lock.package.len(), errors: Vec::from_iter(errors), warnings: Vec::from_iter(warnings) })
}

fn duplicates(graph: &Graph) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    graph.packages().for_each(|p| {
        versions.entry(&p.name).or_default().insert(&p.version);
    });
    versions.retain(|_, v| v.len() > 1);
    versions.iter().map(|(name, v)| format!("{name}: {} versions: {}", v.len(), join(v))).collect()
}

fn join(texts: &BTreeSet<&str>) -> String {
    texts.iter().copied().collect::<Vec<_>>().join(", ")
}

/// cargo-deny's file, as far as it is enforced here; an unknown key is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    graph: Targets,
    #[serde(rename = "advisories")]
    _advisories: Advisories,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

/// Read, so that a mistake in it is found, and not enforced: the database of advisories is on the network.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advisories {
    #[serde(rename = "yanked")]
    _yanked: Level,
    #[serde(rename = "ignore")]
    _ignore: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Targets {
    targets: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Licenses {
    allow: BTreeSet<String>,
}

impl Licenses {
    fn breach(&self, package: &Package) -> Option<String> {
        let who = format!("{} {}", package.name, package.version);
        let Some(text) = &package.license else {
            return Some(format!("{who}: names no licence"));
        };
        match Expression::parse_mode(text, ParseMode::LAX) {
            Err(_) => Some(format!("{who}: licence `{text}` is not an SPDX expression")),
            Ok(expression) if expression.evaluate(|r| self.allow.contains(&r.to_string())) => None,
            Ok(_) => Some(format!("{who}: licence `{text}` is not allowed")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Level,
    deny: Vec<Ban>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Level {
    Allow,
    Warn,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

impl Bans {
    fn breaches(&self, graph: &Graph) -> Vec<String> {
        let mut breaches = Vec::new();
        for ban in &self.deny {
            for member in graph.members() {
                if let Some(way) = graph.reached(member).get(ban.name.as_str()) {
                    breaches.push(format!("{} is banned ({}): {}", ban.name, ban.reason, way.join(" -> ")));
                }
            }
        }
        breaches
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: Level,
    unknown_git: Level,
    /// cargo-deny's default is the registry that cargo itself has; here, that all packages are from one.
    #[serde(default)]
    allow_registry: Vec<String>,
    allow_git: Vec<String>,
}

impl Sources {
    fn breaches(&self, lock: &Lock) -> Vec<String> {
        let mut breaches = Vec::new();
        let registries = lock.package.iter().filter_map(|package| package.source.as_deref()?.strip_prefix("registry+"));
        let only = registries.clone().next().filter(|first| registries.clone().all(|url| url == *first));
        for package in &lock.package {
            // No source: a directory of this workspace.
            let Some(source) = &package.source else { continue };
            let known = |allowed: &[String], text: &str| allowed.iter().any(|a| a == text);
            let wrong = if let Some(url) = source.strip_prefix("git+") {
                let url = url.split(['?', '#']).next().unwrap_or(url);
                self.unknown_git == Level::Deny && !known(&self.allow_git, url)
            } else {
                let url = source.strip_prefix("registry+").unwrap_or(source);
                let by_default = self.allow_registry.is_empty() && only == Some(url);
                self.unknown_registry == Level::Deny && !by_default && !known(&self.allow_registry, url)
            };
            if wrong {
                breaches.push(format!("{} {}: source {source} is not allowed", package.name, package.version));
            } else if source.starts_with("registry+") && package.checksum.is_none() {
                breaches.push(format!("{} {}: has no checksum in Cargo.lock", package.name, package.version));
            }
        }
        breaches
    }
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(license: Option<&str>) -> Package {
        Package::for_test("x", license)
    }

    fn licenses() -> Licenses {
        Licenses { allow: ["MIT", "Apache-2.0 WITH LLVM-exception"].map(String::from).into() }
    }

    #[test]
    fn a_licence_is_an_expression_of_allowed_ones() {
        for good in
            ["MIT", "MIT/GPL-3.0", "GPL-2.0-only OR MIT", "MIT AND (MIT OR GPL-2.0)", "Apache-2.0 WITH LLVM-exception"]
        {
            assert_eq!(licenses().breach(&package(Some(good))), None, "{good}");
        }
        for bad in [Some("GPL-3.0"), Some("MIT AND GPL-3.0"), Some("Apache-2.0"), Some("mine"), None] {
            assert!(licenses().breach(&package(bad)).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn a_source_is_an_allowed_registry_with_a_checksum() {
        let sources = Sources {
            unknown_registry: Level::Deny,
            unknown_git: Level::Deny,
            allow_registry: vec!["https://good".into()],
            allow_git: vec!["https://git/ok".into()],
        };
        let breaches = |source: &str, checksum: Option<&str>| {
            let package = Locked {
                name: "x".into(),
                version: "1.0.0".into(),
                source: Some(source.into()),
                checksum: checksum.map(str::to_owned),
            };
            sources.breaches(&Lock { package: vec![package] })
        };
        assert!(breaches("registry+https://good", Some("0")).is_empty());
        assert!(breaches("git+https://git/ok?rev=1#1", None).is_empty());
        assert_eq!(breaches("registry+https://good", None), ["x 1.0.0: has no checksum in Cargo.lock"]);
        assert_eq!(breaches("git+https://git/x#1", None), ["x 1.0.0: source git+https://git/x#1 is not allowed"]);
        assert_eq!(breaches("registry+https://bad", Some("0")).len(), 1);
    }
    #[test]
    fn without_a_list_one_registry_is_allowed() {
        let sources = Sources {
            unknown_registry: Level::Deny,
            unknown_git: Level::Deny,
            allow_registry: vec![],
            allow_git: vec![],
        };
        let package = |url: &str| Locked {
            name: "x".into(),
            version: "1.0.0".into(),
            source: Some(format!("registry+{url}")),
            checksum: Some("0".into()),
        };
        assert!(sources.breaches(&Lock { package: vec![package("https://one"), package("https://one")] }).is_empty());
        assert_eq!(sources.breaches(&Lock { package: vec![package("https://one"), package("https://two")] }).len(), 2);
    }
}
