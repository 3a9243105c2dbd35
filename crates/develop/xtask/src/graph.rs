//! The crate graph, as `cargo metadata` reports it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// The packages that a build for one target consists of.
pub struct Graph {
    packages: BTreeMap<String, Package>,
}

/// One package.
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, an SPDX expression.
    pub license: Option<String>,
    /// Its directory.
    pub directory: PathBuf,
    /// Whether it belongs to this workspace.
    pub member: bool,
    /// Ids of what gets linked into it: no development and no build dependencies.
    dependencies: Vec<String>,
}

impl Graph {
    /// Reads the graph for `target`, or for this machine if none is given.
    ///
    /// `Cargo.lock` is not changed, and nothing is downloaded that a build of the workspace has not downloaded before.
    pub fn load(target: Option<&str>) -> Result<Graph, String> {
        let target = target.map_or_else(host, |t| Ok(t.to_owned()))?;
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &target])
            .current_dir(crate::root())
            .output()
            .map_err(|e| format!("cargo metadata: {e}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let metadata: Metadata =
            serde_json::from_slice(&output.stdout).map_err(|e| format!("output of cargo metadata: {e}"))?;
        Ok(Graph::from(metadata))
    }

    /// All packages.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// The packages of this workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages().filter(|p| p.member)
    }

    /// Names of what a member is linked with directly.
    pub fn direct(&self, member: &Package) -> BTreeSet<&str> {
        member.dependencies.iter().filter_map(|id| self.packages.get(id)).map(|p| p.name.as_str()).collect()
    }

    /// Everything that ends up in a member: the package's name and the way to it, the member's name first.
    pub fn reached<'a>(&'a self, member: &'a Package) -> BTreeMap<&'a str, Vec<&'a str>> {
        let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut queue = VecDeque::from([(member, vec![member.name.as_str()])]);
        while let Some((package, way)) = queue.pop_front() {
            for dependency in package.dependencies.iter().filter_map(|id| self.packages.get(id)) {
                if !ways.contains_key(dependency.name.as_str()) {
                    let mut further = way.clone();
                    further.push(&dependency.name);
                    ways.insert(&dependency.name, further.clone());
                    queue.push_back((dependency, further));
                }
            }
        }
        ways
    }
}

impl Package {
    /// The directory below the workspace's, such as `crates/pod/bpm`.
    pub fn path(&self) -> &Path {
        self.directory.strip_prefix(crate::root()).unwrap_or(&self.directory)
    }
}

fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|e| format!("rustc -vV: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct MetadataPackage {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

impl From<Metadata> for Graph {
    fn from(metadata: Metadata) -> Self {
        let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for node in metadata.resolve.nodes {
            let linked = node.deps.into_iter().filter(|d| d.dep_kinds.iter().any(|k| k.kind.is_none()));
            edges.insert(node.id, linked.map(|d| d.pkg).collect());
        }
        let packages = metadata.packages.into_iter().filter_map(|p| {
            // A package outside `resolve` belongs to another target.
            let dependencies = edges.remove(&p.id)?;
            let package = Package {
                name: p.name,
                version: p.version,
                license: p.license,
                directory: p.manifest_path.parent().map(Path::to_path_buf).unwrap_or_default(),
                member: metadata.workspace_members.contains(&p.id),
                dependencies,
            };
            Some((p.id, package))
        });
        Graph { packages: packages.collect() }
    }
}

#[cfg(test)]
impl Package {
    pub(crate) fn for_test(name: &str, license: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            directory: PathBuf::new(),
            member: false,
            dependencies: Vec::new(),
        }
    }
}
